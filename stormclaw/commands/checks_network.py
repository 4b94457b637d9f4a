"""Checks of the network: proxies, and whether the provider's host answers. No key is sent."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from stormclaw.commands.checkup import Check, Patient, Result
from stormclaw.protocol.effects import Autonomy

CONNECT_S = 4.0

PROXIES = ("https_proxy", "http_proxy", "all_proxy")


def proxy(patient: Patient) -> Iterator[Result]:
    """Which proxies are named, and can they be read?"""
    named = {name: value for name in PROXIES if (value := _variable(patient.env, name))}
    if not named:
        yield "ok", "none named"
    for name, value in named.items():
        host = _host(value)
        if host is None:
            yield "problem", f"{name} is no address", f"set {name}=http://HOST:PORT, or unset it"
        else:
            yield "ok", f"{name}: {host[0]}:{host[1]}"


def provider(patient: Patient) -> Iterator[Result]:
    """Is a model connected, and does its host answer?"""
    from stormclaw.config.keys import stored_keys
    from stormclaw.providers.choose import DEMO, choose, look_around

    stored = tuple(stored_keys(patient.home))
    installed = look_around(patient.env, patient.home)
    chosen = choose(patient.settings, patient.env, None, stored=stored, installed=installed)
    if chosen is None:
        text = f"default_provider: {patient.settings.default_provider} is not known"
        yield "problem", text, "`stormclaw provider list` shows the names"
        return
    if chosen.name == DEMO:
        text = "no model is connected: the demo answers, scripted"
        yield "warning", text, "`stormclaw onboard` connects one"
        return
    if not chosen.settings.base_url:
        todo = f"`stormclaw provider test {chosen.name}` asks it something"
        yield "ok", f"{chosen.name} ({chosen.settings.kind}): {chosen.why}", todo
        return
    yield from _reach(chosen.name, chosen.settings.base_url, patient)


def _reach(name: str, base_url: str, patient: Patient) -> Iterator[Result]:
    target = _host(base_url)
    if target is None:
        yield "problem", f"{name}: {base_url} is no address", f"mend base_url of {name}"
        return
    through = _proxy_for(base_url, target[0], patient.env)
    dialled = through or target
    way = f"the proxy {through[0]}:{through[1]}" if through else f"{target[0]}:{target[1]}"
    try:
        socket.create_connection(dialled, CONNECT_S).close()
    except socket.gaierror as problem:
        text = f"{name}: the name {dialled[0]} cannot be resolved ({problem.strerror})"
        yield "problem", text, "check the network, or set https_proxy"
    except OSError as problem:
        text = f"{name}: {way} cannot be reached ({problem.strerror or problem})"
        todo = "is the server running?" if _is_here(target[0]) else "check network and proxy"
        yield "problem", text, todo
    else:
        todo = f"`stormclaw provider test {name}` asks it something"
        yield "ok", f"{name}: {way} answers", todo


def web(patient: Patient) -> Iterator[Result]:
    """What the tools may do without asking."""
    hosts = patient.settings.security.allowed_hosts
    level: Autonomy = patient.settings.security.autonomy
    named = ", ".join(hosts[:5]) + (", ..." if len(hosts) > 5 else "")
    yield "ok", f"autonomy {level}; hosts without asking: {named or 'none'}"


def _variable(env: Mapping[str, str], name: str) -> str:
    return env.get(name) or env.get(name.upper()) or ""


def _host(address: str) -> tuple[str, int] | None:
    """Host and port of an address, never its user and password."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname else None


def _proxy_for(base_url: str, host: str, env: Mapping[str, str]) -> tuple[str, int] | None:
    from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

    scheme = urlsplit(base_url).scheme
    named = _variable(env, f"{scheme}_proxy") or _variable(env, "all_proxy")
    if not named or proxy_bypass_environment(host, {"no": _variable(env, "no_proxy")}):
        return None
    return _host(named)


def _is_here(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


CHECKS: Mapping[str, Check] = {"proxy": proxy, "provider": provider, "web": web}
