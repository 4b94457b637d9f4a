"""Which addresses are this machine or its network, in every notation, and what opens them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stormclaw.config.settings import SecuritySettings
from stormclaw.protocol.effects import Decision, Fetches, Grant, Risk, Segment
from stormclaw.security.gate import Policy, judge, policy_from
from stormclaw.security.hosts import (
    allowing,
    host_of,
    is_local,
    judge_address,
    opening,
    port_of,
)


def policy_with(tmp_path: Path, *allowed: str) -> Policy:
    settings = SecuritySettings(allowed_hosts=allowed)
    return policy_from(settings, workspace=tmp_path / "ws", home=tmp_path / "home")


PUBLIC = (
    "8.8.8.8",
    "1.1.1.1",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.1",
    "192.169.0.1",
    "11.0.0.1",
    "9.255.255.255",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
)
NOT_PUBLIC = (
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.0",
    "10.255.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.168.0.1",
    "100.64.0.0",
    "100.127.255.255",
    "100.100.100.200",
    "169.254.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "2002:7f00:1::1",
    "2002:a00:1::1",
    "2001:0:53aa:64c::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "100::1",
    "fc00::1",
    "fdff::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "0",
    "999.1.1.1",
    "",
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses(address: str, tmp_path: Path) -> None:
    assert not is_local(address)
    assert judge_address("example.com", address, policy_with(tmp_path)) == ""


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_addresses_of_this_machine_its_network_or_nobody(address: str, tmp_path: Path) -> None:
    assert is_local(address)
    refusal = judge_address("example.com", address, policy_with(tmp_path, "other.com"))
    assert refusal == f"example.com leads to {address}, this machine or its network"


@pytest.mark.parametrize(
    ("host", "address", "allowed", "open_"),
    [
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", True),
        ("localhost", "127.0.0.1", "localhost", True),
        ("localhost", "::1", "localhost:3000", True),
        ("::1", "::1", "[::1]", True),
        ("::1", "::1", "[::1]:8080", True),
        ("::1", "::1", "::1", True),
        ("any.example", "10.0.0.7", "10.0.0.7", True),
        ("any.example", "::ffff:10.0.0.7", "10.0.0.7", False),
        ("git.corp.example", "10.0.0.7", "git.corp.example", True),
        ("git.corp.example", "fd12::7", "git.corp.example", True),
        ("git.corp.example", "100.64.3.2", "git.corp.example", True),
        ("git.corp.example", "10.0.0.7", "*.corp.example", False),
        ("evil.com", "10.0.0.7", "*.com", False),
        ("evil.com", "127.0.0.1", "evil.com", False),
        ("evil.com", "169.254.169.254", "evil.com", False),
        ("evil.com", "168.63.129.16", "evil.com", False),
        ("evil.com", "100.100.100.200", "evil.com", False),
        ("evil.com", "fd00:ec2::254", "evil.com", False),
        ("evil.com", "fe80::1", "evil.com", False),
        ("evil.com", "::ffff:127.0.0.1", "evil.com", False),
        ("evil.com", "::", "evil.com", False),
        ("evil.com", "not an address", "evil.com", False),
        ("evil.com", "notanaddress", "evil.com", False),
        ("api.internal", "10.0.0.7", "*.internal", True),
        ("api.corp.internal", "10.0.0.7", "*.corp.internal", True),
        ("printer.lan", "192.168.1.4", "other.lan", False),
        ("169.254.169.254", "169.254.169.254", "169.254.169.254", True),
        ("169.254.169.253", "169.254.169.253", "169.254.169.254", False),
    ],
)
def test_what_opens_an_address_that_is_not_public(
    host: str, address: str, allowed: str, open_: bool, tmp_path: Path
) -> None:
    policy = policy_with(tmp_path, allowed)
    assert (judge_address(host, address, policy) == "") is (open_ or not is_local(address))
    if is_local(address):
        assert opening(host, address, policy.allowed_hosts) == (allowed if open_ else "")


@pytest.mark.parametrize(
    ("url", "allowed", "risk", "decision"),
    [
        ("http://localhost:3000/x", "localhost:3000", "low", "allow"),
        ("http://localhost:3001/x", "localhost:3000", "high", "deny"),
        ("http://localhost/x", "localhost:80", "low", "allow"),
        ("https://localhost/x", "localhost:443", "low", "allow"),
        ("https://localhost/x", "localhost:80", "high", "deny"),
        ("http://localhost:9/x", "localhost", "low", "allow"),
        ("http://localhost:9/x", "localhost:x", "high", "deny"),
        ("http://localhost:9/x", "localhost:", "high", "deny"),
        ("http://127.0.0.1:9/x", "localhost", "high", "deny"),
        ("http://2130706433/", "127.0.0.1", "low", "allow"),
        ("http://[::1]:8080/", "[::1]:8080", "low", "allow"),
        ("http://[::1]:8081/", "[::1]:8080", "high", "deny"),
        ("http://[::1]:8081/", "::1", "low", "allow"),
        ("https://example.com:444/", "example.com:443", "medium", "ask"),
        ("https://example.com/", "example.com:443", "low", "allow"),
        ("http://api.internal/", "*.internal", "low", "allow"),
        ("http://intranet/", "intranet", "low", "allow"),
        ("http://intranet/", "*.com", "high", "deny"),
        ("http://metadata/", "example.com", "high", "deny"),
    ],
)
def test_a_local_address_is_high_until_the_person_lists_that_very_one(
    url: str, allowed: str, risk: Risk, decision: Decision, tmp_path: Path
) -> None:
    verdict = judge((Fetches(url),), policy_with(tmp_path, allowed))
    assert (verdict.risk, verdict.decision) == (risk, decision)
    if risk == "low":
        assert verdict.rule == f"allowed_hosts: {allowed}"
    if risk == "high":
        assert (verdict.rule, verdict.grants) == ("private addresses", ())


def test_sending_to_a_listed_local_address_asks(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "localhost")
    verdict = judge((Fetches("http://localhost/x", "POST"),), policy)
    assert (verdict.decision, verdict.rule) == ("ask", "method POST")
    assert verdict.reason == "POST may change something at localhost"


def test_a_method_that_is_not_said_is_a_look(tmp_path: Path) -> None:
    verdict = judge((Fetches("https://example.com", ""),), policy_with(tmp_path, "example.com"))
    assert (verdict.decision, verdict.segments[0].text) == ("allow", "https://example.com")
    head = judge((Fetches("https://example.com", "head"),), policy_with(tmp_path))
    assert head.segments[0].text == "HEAD https://example.com"


def test_every_hop_of_a_redirect_is_judged_by_itself(tmp_path: Path) -> None:
    policy = policy_with(tmp_path, "example.com")
    hops = ("https://example.com", "http://127.0.0.1/", "http://169.254.169.254/", "file:///x")
    found = [judge((Fetches(url),), policy).decision for url in hops]
    assert found == ["allow", "deny", "deny", "deny"]


@pytest.mark.parametrize(
    ("host", "pattern", "covered"),
    [
        ("a.example.com", "*.example.com", True),
        ("example.com", "*.example.com", False),
        (".example.com", "*.example.com", False),
        ("notexample.com", "*.example.com", False),
        ("example.com", "example.com", True),
        ("example.com", "example.com.", True),
        ("example.comx", "example.com", False),
        ("8.8.8.8", "8.8.8.8", True),
        ("134744072", "8.8.8.8", True),
        ("2606:4700:4700::1111", "2606:4700:4700:0:0:0:0:1111", True),
    ],
)
def test_patterns_of_hosts(host: str, pattern: str, covered: bool) -> None:
    assert allowing(host, ("none.example", pattern)) == (pattern if covered else "")


def test_ports() -> None:
    assert port_of("https://a.example/") == 443
    assert port_of("HTTP://a.example/") == 80
    assert port_of("https://a.example:8443/") == 8443
    assert port_of("gopher://a.example/") is None


def test_what_the_person_is_shown_of_a_host(tmp_path: Path) -> None:
    policy = policy_from(
        SecuritySettings(allowed_hosts=("a.example",)),
        workspace=tmp_path / "ws",
        home=tmp_path / "home",
        origins={"security.allowed_hosts": "/c:4", "grant:host:b.example": "/g:2"},
        grants=(Grant("host", "b.example"), Grant("command", "c.example")),
    )
    found = {
        url: (verdict.decision, verdict.origin, verdict.grants, *verdict.segments)
        for url in ("https://a.example", "https://b.example", "https://c.example", "http://db", "x")
        for verdict in [judge((Fetches(url),), policy)]
    }
    shown = Segment("https://a.example", "low", "an allowed host", "allowed_hosts: a.example")
    assert found["https://a.example"] == ("allow", "/c:4", (), shown)
    shown = Segment("https://b.example", "medium", "a host you allowed", "granted: b.example")
    assert found["https://b.example"] == ("allow", "/g:2", (), shown)
    why = "c.example is not among the allowed hosts"
    shown = Segment("https://c.example", "medium", why, "allowed_hosts")
    offer = (Grant("host", "c.example"),)
    assert found["https://c.example"] == ("ask", "/c:4", offer, shown)
    why = "db is this machine, its network or a metadata service"
    shown = Segment("http://db", "high", why, "private addresses")
    assert found["http://db"] == ("deny", "shipped", (), shown)
    why = "only http and https, not an address without a scheme"
    assert found["x"] == ("deny", "shipped", (), Segment("x", "blocked", why, "bad address"))


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("0x7F.1", True),
        ("0X8080808", True),
        ("010.0.0.1", False),
        ("012.0.0.1", True),
        ("0x", True),
        ("08.8.8.8", True),
        ("8.8.8.010", False),
        ("134744072.", False),
        ("1.1", False),
        ("10.1", True),
        ("192.168.257", True),
        ("192.169.257", False),
        ("1.2.3.4.5", False),
        ("[::1]", True),
        ("[2606:4700::1]", False),
    ],
)
def test_numbers_as_the_c_library_reads_them(host: str, wanted: bool) -> None:
    assert is_local(host) is wanted


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://Exämple.COM./x", ("xn--exmple-cua.com", "")),
        ("http://[2606:4700::1]:8080/", ("2606:4700::1", "")),
        ("http://a_b.example", ("a_b.example", "")),
        ("http://a b", ("", "the address holds white space, a backslash or control characters")),
        ("http://", ("", "no host in the address")),
        ("http://.", ("", "no host in the address")),
        ("http://u@h.example", ("", "a name or password in the address")),
        ("http://:p@h.example", ("", "a name or password in the address")),
        ("ws://h.example", ("", "only http and https, not ws")),
        ("http://[::1", ("", "not an address: Invalid IPv6 URL")),
        (f"http://{'a' * 64}.example", ("", f"not a host name: {'a' * 64}.example")),
    ],
)
def test_the_host_of_an_address(url: str, found: tuple[str, str]) -> None:
    assert host_of(url) == found


@pytest.mark.parametrize(
    "host", ["0x8.8.8.8", "0X08.0x8.010.8", "010.8.8.8", "8.8.2056", "8.526344"]
)
def test_one_address_in_many_notations(host: str) -> None:
    assert allowing(host, ("8.8.8.8",)) == "8.8.8.8"
    assert not is_local(host)
    assert allowing(host, ("8.8.8.9", "8.8.8.7")) == ""


def test_the_request_that_sends_is_shown_with_its_method(tmp_path: Path) -> None:
    verdict = judge((Fetches("https://a.example/", "post"),), policy_with(tmp_path))
    assert verdict.segments[0].text == "POST https://a.example/"
