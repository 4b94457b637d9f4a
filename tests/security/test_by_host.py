"""Commands in bubblewrap that may talk to some hosts: to those they can, to nothing else."""

from __future__ import annotations

import contextlib
import http.server
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from boxed import Box, box

from stormclaw.errors import ToolFailure
from stormclaw.protocol.effects import Reach
from stormclaw.security.walls.bwrap import Bwrap
from stormclaw.security.walls.proxy import MOST_CONNECTIONS, PORT, Proxy

PY = sys.executable
CURL = pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")


class Names:
    """Names that lead to loopback, as if they were public hosts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.leads: Mapping[str, Sequence[str]] = {}

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.leads.get(host, ("127.0.0.1",))


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def walls(tmp_path: Path, names: Names) -> Iterator[Box]:
    for made in box(tmp_path):
        assert isinstance(made.walls, Bwrap)
        proxied = replace(made.walls, proxy=Proxy(names))
        try:
            yield replace(made, walls=proxied)
        finally:
            proxied.proxy.close()


class Pages(http.server.SimpleHTTPRequestHandler):
    """A folder as a web site."""

    protocol_version = "HTTP/1.1"
    heard: list[tuple[str, str]]

    def __init__(self, *args: Any, heard: list[tuple[str, str]], **more: Any) -> None:
        self.heard = heard
        super().__init__(*args, **more)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        self.heard.append((self.headers.get("Host", ""), self.path))


@contextmanager
def site(folder: Path, tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[Any]]]:
    """Serve a folder on loopback -> (port, the requests so far)."""
    folder.mkdir(parents=True, exist_ok=True)
    heard: list[tuple[str, str]] = []
    handler = partial(Pages, directory=str(folder), heard=heard)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    try:
        yield server.server_address[1], heard
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def both_free(tcp: socket.socket) -> socket.socket:
    """Have `tcp` listen at a port that is free for UDP too -> bound to it."""
    while True:
        with socket.socket() as asked:
            asked.bind(("127.0.0.1", 0))
            port = asked.getsockname()[1]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(("127.0.0.1", port))
            tcp.bind(("127.0.0.1", port))
        except OSError:
            udp.close()
            continue
        tcp.listen()
        return udp


@contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """Something on loopback that remembers whoever comes, by TCP and UDP -> (port, who came)."""
    came: list[bytes] = []
    with socket.socket() as tcp, both_free(tcp) as udp:
        port = tcp.getsockname()[1]
        udp.setblocking(False)
        tcp.setblocking(False)
        yield port, came
        with contextlib.suppress(BlockingIOError):
            tcp.accept()[0].close()
            came.append(b"tcp")
        with contextlib.suppress(BlockingIOError):
            came.append(udp.recv(99))


def listed(port: int, *more: str) -> tuple[str, ...]:
    """The site as `index.example`, whose name leads to loopback."""
    return (f"index.example:{port}", "127.0.0.1:1", *more)


@CURL
def test_curl_reaches_a_listed_host_and_no_other(walls: Box, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page").write_text("the page\n")
    with site(tmp_path / "site") as (port, heard):
        hosts = listed(port)
        ended = walls.run(f"curl -sSf http://index.example:{port}/page", hosts=hosts)
        assert (ended.code, ended.output) == (0, "the page\n")
        tunnelled = walls.run(f"curl -sSfp http://index.example:{port}/page", hosts=hosts)
        assert (tunnelled.code, tunnelled.output) == (0, "the page\n")
        refused = walls.run(f"curl -sSf http://evil.example:{port}/page", hosts=hosts)
    assert refused.code != 0
    assert [host for host, _ in heard] == [f"index.example:{port}"] * 2
    assert refused.lack is not None
    assert refused.lack.reach == Reach(hosts=(f"evil.example:{port}",))
    assert "evil.example" in refused.lack.sign


@CURL
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here")
def test_tls_is_between_the_program_and_the_host(walls: Box, tmp_path: Path) -> None:
    key, cert = tmp_path / "key.pem", walls.workspace / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-keyout", key, "-out", cert, "-subj", "/CN=index.example",
         "-addext", "subjectAltName=DNS:index.example"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page").write_text("the page\n")
    with site(tmp_path / "site", context) as (port, heard):
        hosts = listed(port)
        line = f"curl -sSf --cacert cert.pem https://index.example:{port}/page"
        ended = walls.run(line, hosts=hosts)
        assert (ended.code, ended.output) == (0, "the page\n"), ended.output
        there = f"--connect-to evil.example:{port}:index.example:{port}"
        fronted = walls.run(f"curl -sSfk {there} https://evil.example:{port}/page", hosts=hosts)
    assert fronted.code != 0
    assert len(heard) == 1


def test_pip_installs_from_a_listed_index(walls: Box, tmp_path: Path) -> None:
    index = tmp_path / "site" / "simple" / "tide"
    index.mkdir(parents=True)
    wheel = index / "tide-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tide.py", "HIGH = 42\n")
        facts = "tide-1.0.dist-info"
        archive.writestr(f"{facts}/METADATA", "Metadata-Version: 2.1\nName: tide\nVersion: 1.0\n")
        archive.writestr(f"{facts}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{facts}/RECORD", "tide.py,,\n")
    (index / "index.html").write_text(f"<a href='{wheel.name}'>{wheel.name}</a>\n")
    with site(tmp_path / "site") as (port, _):
        source = f"-i http://index.example:{port}/simple --trusted-host index.example"
        pip = f"{PY} -m pip install -q --no-cache-dir --retries 0 --disable-pip-version-check"
        line = f"{pip} --target lib {source} tide && PYTHONPATH=lib {PY} -c 'import tide'"
        ended = walls.run(line, hosts=listed(port))
        other = walls.run(f"{pip} --target far {source} tide", hosts=("pypi.org",))
    if "No module named pip" in ended.output:
        pytest.skip("no pip here")
    assert ended.code == 0, ended.output
    assert other.code != 0
    assert other.lack is not None
    assert other.lack.reach.hosts == (f"index.example:{port}",)


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_git_clones_from_a_listed_host(walls: Box, tmp_path: Path) -> None:
    made = (
        "git init -q made && cd made && echo tide > file && git add file && git commit -qm one"
        " && cd .. && git clone -q --bare made bare.git && cd bare.git && git update-server-info"
    )
    walls.ok(made)
    (tmp_path / "site").mkdir()
    shutil.copytree(walls.workspace / "bare.git", tmp_path / "site" / "tide.git")
    with site(tmp_path / "site") as (port, _):
        url = f"http://index.example:{port}/tide.git"
        ended = walls.run(f"git clone -q {url} copy && cat copy/file", hosts=listed(port))
        other = walls.run(f"git clone -q {url} far", hosts=("github.com",))
    assert (ended.code, ended.output) == (0, "tide\n"), ended.output
    assert other.lack is not None
    assert other.lack.reach.hosts == (f"index.example:{port}",)


PROBES = {
    "TCP": "socket.create_connection(('127.0.0.1', {port}), 3)",
    "TCP to the listed port by address": "socket.create_connection(('127.0.0.1', {site}), 3)",
    "TCP elsewhere": "socket.create_connection(('192.0.2.1', 80), 3)",
    "TCP by IPv6": "socket.create_connection(('::1', {port}), 3)",
    "a name": "socket.getaddrinfo('index.example', 80)",
}


@pytest.mark.parametrize("probe", PROBES)
def test_nothing_is_reached_but_through_the_proxy(walls: Box, tmp_path: Path, probe: str) -> None:
    with listener() as (port, came), site(tmp_path / "site") as (there, heard):
        code = PROBES[probe].format(port=port, site=there)
        ended = walls.run(f'{PY} -c "import socket; {code}"', hosts=listed(there))
    assert ended.code != 0, ended.output
    assert (came, heard) == ([], [])


def test_no_datagram_gets_out(walls: Box, tmp_path: Path) -> None:
    with listener() as (port, came):
        send = f"socket.socket(2, 2).sendto(b'x', ('127.0.0.1', {port}))"
        walls.run(f'{PY} -c "import socket; {send}"', hosts=("index.example",))
    assert came == []


def test_a_command_without_hosts_has_no_proxy(walls: Box) -> None:
    knock = f"{PY} -c \"import socket; socket.create_connection(('127.0.0.1', {PORT}), 3)\""
    door = walls.walls.launch("sleep 60", walls.workspace, walls.ground.environ, hosts("a.example"))
    with started(door):
        assert walls.run(knock).code != 0
        assert "proxy" not in walls.ok("env").lower()
        assert walls.run(knock, hosts=("a.example",)).code == 0


def hosts(*names: str) -> Reach:
    return Reach(hosts=names)


@contextmanager
def started(launch: Any) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        launch.argv,
        pass_fds=launch.descriptors,
        env=launch.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    for descriptor in launch.descriptors:
        os.close(descriptor)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        launch.finish()


def test_only_listed_places_are_offered_and_few(walls: Box) -> None:
    ask = (
        f"{PY} - <<'EOF'\n"
        "import socket\n"
        "places = ['10.0.0.1:443', 'localhost:443', '169.254.169.254:80', 'intranet:443']\n"
        "places += [f'h{number}.example:443' for number in range(40)]\n"
        "for place in places:\n"
        f"    s = socket.create_connection(('127.0.0.1', {PORT}))\n"
        "    s.sendall(f'CONNECT {place} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
        "    assert s.recv(12) == b'HTTP/1.1 403', place\n"
        "    s.close()\n"
        "raise SystemExit(1)\n"
        "EOF"
    )
    ended = walls.run(ask, hosts=("index.example",))
    assert ended.lack is not None, ended.output
    assert ended.lack.reach == hosts(*(f"h{number}.example" for number in range(8)))


def test_a_listed_name_that_leads_inside(walls: Box, names: Names, tmp_path: Path) -> None:
    with site(tmp_path / "site") as (port, heard):
        ask = f'{PY} -c "{CONNECT}" index.example:{port}'
        answers = {}
        for address in ("127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"):
            names.leads = {"index.example": ("93.184.216.34", address)}
            answers[address] = walls.run(ask, hosts=(f"*.example:{port}",)).output
    assert {answer[:12] for answer in answers.values()} == {"HTTP/1.1 403"}, answers
    assert heard == []


CONNECT = (
    f"import socket, sys; s = socket.create_connection(('127.0.0.1', {PORT}));"
    r" s.sendall(f'CONNECT {sys.argv[1]} HTTP/1.1\r\n\r\n'.encode()); print(s.recv(99).decode())"
)


def test_more_connections_than_are_served_wait_and_are_served(walls: Box, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "page").write_text("the page\n")
    many = MOST_CONNECTIONS + 30
    with site(tmp_path / "site") as (port, _):
        ask = (
            f"{PY} - <<'EOF'\n"
            "import socket\n"
            "def connected():\n"
            f"    return socket.create_connection(('127.0.0.1', {PORT}))\n"
            f"held = [connected() for _ in range({many})]\n"
            f"page = b'GET http://index.example:{port}/page HTTP/1.1\\r\\n\\r\\n'\n"
            "for each in held:\n"
            "    each.sendall(page)\n"
            "for each in held:\n"
            "    answer = b''\n"
            "    while chunk := each.recv(999):\n"
            "        answer += chunk\n"
            "    assert answer.endswith(b'the page\\n'), answer\n"
            "EOF"
        )
        ended = walls.run(ask, hosts=listed(port))
    assert ended.code == 0, ended.output


def test_the_command_finds_all_as_without_a_proxy(walls: Box) -> None:
    look = "env | grep -vi proxy | sort; ls /proc/self/fd | wc -l; grep Sig /proc/self/status"
    assert walls.run(look, hosts=("a.example",)).output == walls.run(look).output
    yes = walls.run("yes | head -1; echo ${PIPESTATUS[0]}; exit 7", hosts=("a.example",))
    assert (yes.code, yes.output) == (7, "y\n141\n")
    odd = "printf %s '\udcff\u00e9' | od -An -tx1"
    assert walls.run(odd, hosts=("a.example",)).output == walls.run(odd).output


def test_a_server_of_its_own_is_reached_directly(walls: Box) -> None:
    serve = f"{PY} -m http.server --bind 127.0.0.1 8123 >/dev/null 2>&1 &"
    fetch = (
        f'{PY} -c "import time, urllib.request as u\n'
        "for turn in range(1200):\n"
        "    try: print(u.urlopen('http://127.0.0.1:8123/').status); break\n"
        '    except OSError: time.sleep(0.05)"'
    )
    assert walls.run(f"{serve} {fetch}", hosts=("a.example",)).output == "200\n"


def test_all_connections_end_with_the_command(walls: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = server.getsockname()[1]
        hold = f"{CONNECT}; import time; time.sleep(600)"
        line = f'{PY} -c "{hold}" index.example:{port}'
        reach = hosts(*listed(port, "127.0.0.1"))
        launch = walls.walls.launch(line, walls.workspace, walls.ground.environ, reach)
        with started(launch):
            connection, _ = server.accept()
            connection.settimeout(60)
        with connection, contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    assert launch.refused() == ()


def test_all_end_with_stormclaw(walls: Box, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = server.getsockname()[1]
        script = tmp_path / "claw.py"
        script.write_text(CLAW)
        hold = f"{CONNECT}; import time; time.sleep(600)"
        words = [
            str(tmp_path / "second"),
            f'{PY} -c "{hold}" 127.0.0.1:{port}',
            f"127.0.0.1:{port}",
        ]
        helpers = Path(__file__).parents[1] / "helpers"
        environ = {**os.environ, "PYTHONPATH": f"{helpers}:{Path.cwd()}"}
        claw = subprocess.Popen([PY, str(script), *words], env=environ, stdin=subprocess.DEVNULL)
        try:
            connection, _ = server.accept()
            connection.settimeout(60)
        finally:
            claw.send_signal(signal.SIGKILL)
            claw.wait()
        with connection, contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


CLAW = """\
import sys
from pathlib import Path
from boxed import box
for walls in box(Path(sys.argv[1])):
    walls.run(sys.argv[2], hosts=(sys.argv[3],))
"""


def test_what_is_handed_over_is_looked_at(walls: Box) -> None:
    proxy = Proxy()
    try:
        for listens in (False, True):
            door = proxy.open(("a.example",))
            with socket.socket(fileno=door.descriptor) as way, socket.socket() as given:
                if listens:  # but not where it should
                    given.bind(("127.0.0.1", 0))
                    given.listen()
                socket.send_fds(way, [b"."], [given.fileno()])
                assert way.recv(1) == b""  # hung up on
            door.close()
    finally:
        proxy.close()


def test_doors_close_whatever_became_of_the_command() -> None:
    proxy = Proxy()
    for _ in range(50):  # some are cut before anybody listens
        never = proxy.open(("a.example",))
        os.close(never.descriptor)
        never.close()
        assert never.closed
    left = proxy.open(("a.example",))
    proxy.close()
    os.close(left.descriptor)
    assert left.closed
    left.close()
    assert left.refused() == ()
    for each in threading.enumerate():
        if each.name == "stormclaw-proxy":
            each.join(30)
            assert not each.is_alive()


def test_a_gone_workspace_leaves_no_door(walls: Box) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(ToolFailure):
        walls.walls.launch("true", Path("/nowhere"), walls.ground.environ, hosts("a.example"))
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1


def test_the_whole_network_needs_no_proxy(walls: Box) -> None:
    reach = Reach(network=True, hosts=("a.example",))
    launch = walls.walls.launch("true", walls.workspace, walls.ground.environ, reach)
    with started(launch):
        assert not any("proxy" in name.lower() for name in launch.environ)
