"""What a program tries to get out of its walls, and that it does not: 40 probes, twice.

Each probe is a line that succeeds (exit 0) if the bad thing happened. `HELD` tells for each kind of
walls which probes they must hold.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from boxed import Box, box

PY = f"{sys.executable} -c"
SYSCALL = "import ctypes as c, os; l = c.CDLL(None, use_errno=True)"

BOTH = {
    # Writing outside.
    "create outside": "echo x > $OUT/new",
    "append outside": "echo x >> $OUT/kept",
    "truncate outside": f"{PY} 'import os; os.truncate(\"$OUT/kept\", 0)'",
    "unlink outside": "rm -f $OUT/kept && test ! -e $OUT/kept && test -e $OUT",
    "rename outside": "mv $OUT/kept $OUT/moved",
    "make a folder outside": "mkdir $OUT/folder",
    "link to outside": "ln -s $OUT/kept link && echo x >> link",
    "hard link to outside": "ln $OUT/kept hard && echo x >> hard",
    "link to a folder outside": "ln -s $OUT far && echo x > far/new",
    "through /proc/self/root": "echo x > /proc/self/root/$OUT/new",
    "through /proc/self/cwd": "echo x > /proc/self/cwd/../outside/new",
    "into the system": "echo x > /usr/local/x || echo x > /etc/x",
    "into a device": "mknod b b 8 0 || mknod c c 1 1 || head -c 1 /dev/mem || head -c 1 /dev/kmsg",
    # Reading outside.
    "read a private key": "cat $PERSON/.ssh/id_ed25519",
    "read another file of the home": "cat $PERSON/diary",
    "read beside the workspace": "cat $OUT/kept",
    "list the home": "ls $PERSON | grep diary",
    "read through a link": "ln -s $PERSON/.ssh/id_ed25519 k; cat k",
    "read the shadow file": "cat /etc/shadow",
    "read StormClaw's own folder": "cat $CLAW/auth.json",
    "read what root mounted": "cat /proc/1/root$OUT/kept",
    # The network.
    "TCP to the host": f"{PY} 'import socket; socket.create_connection((\"127.0.0.1\", $PORT), 3)'",
    "UDP to the host": f"{PY} 'import socket; s = socket.socket(2, 2);"
    ' s.sendto(b"x", ("127.0.0.1", $PORT)); s.settimeout(9); s.recv(9)\'',
    "an abstract socket": f"{PY} 'import socket; s = socket.socket(1);"
    ' s.connect(chr(0) + "stormclaw-$PORT")\'',
    "a virtual machine's socket": f"{PY} 'import socket; socket.socket(40, 1)'",
    "raw packets": f"{PY} 'import socket; socket.socket(17, 3)'",
    # Other processes and the kernel.
    "environ of another process": "tr '\\0' '\\n' < /proc/$PID/environ | grep .",
    "memory of another process": "head -c 1 /proc/$PID/mem",
    "signal to another process": "kill -0 $PID",
    "ptrace": f"{PY} '{SYSCALL}; raise SystemExit(l.ptrace(0, 0, 0, 0) != 0)'",
    "a user namespace": "unshare -U true",
    "a user namespace by clone": f"{PY} '{SYSCALL};"
    " raise SystemExit(l.syscall($CLONE, 0x10000011, 0, 0, 0, 0) < 0)'",
    "a mount": "mkdir -p m; mount -t tmpfs none m || mount --bind $OUT m",
    "the kernel's keys": f"{PY} '{SYSCALL}; raise SystemExit(l.syscall($KEYCTL, 0, -3, 1) < 0)'",
    "io_uring": f"{PY} '{SYSCALL}; b = c.create_string_buffer(256);"
    " raise SystemExit(l.syscall(425, 2, b) < 0)'",
    "bpf": f"{PY} '{SYSCALL}; b = c.create_string_buffer(128);"
    " raise SystemExit(l.syscall($BPF, 0, b, 128) < 0)'",
    "typing into a terminal": f"{PY} 'import fcntl, os, pty, termios; a, b = pty.openpty();"
    ' fcntl.ioctl(b, termios.TIOCSTI, b"x")\'',
    "typing, with high bits": f"{PY} '{SYSCALL}; import pty; a, b = pty.openpty();"
    ' raise SystemExit(l.syscall($IOCTL, b, c.c_ulong(0x100005412), b"x") < 0)\'',
    "what a crash runs": "v=$(cat /proc/sys/kernel/core_pattern) &&"
    " echo $v > /proc/sys/kernel/core_pattern",
    "the kernel's settings": "find /proc/sys /proc/irq /proc/bus /proc/fs /proc/acpi /proc/scsi"
    " -writable -type f 2>/dev/null | xargs -r ls -d | while read f;"
    " do (: >> $f) 2>/dev/null && echo $f; done | grep .",
    "rights": "grep -v 0000000000000000 <(grep CapEff /proc/self/status)",
}
NAMESPACES_ONLY = {
    "chmod outside": "chmod 777 $OUT/kept",
    "utime outside": "touch -d 2001-01-01 $OUT/kept && test -e $OUT/kept",
    "write .git/config": "echo x >> .git/config",
    "git config": "git config core.fsmonitor ./evil",
    "write a hook": "echo x > .git/hooks/pre-commit",
    "replace .git": "mv .git old && mkdir .git",
    "another configuration for git": "mkdir -p evil; echo ../evil > .git/commondir",
    "take the hooks away": "rm -r .git/hooks",
    "write .envrc": "echo x >> .envrc",
    "make .mcp.json": "echo x > .mcp.json",
    "make .vscode": "mkdir -p .vscode && echo x > .vscode/tasks.json",
    "make .stormclaw": "mkdir -p .stormclaw && echo x > .stormclaw/config.yaml",
    "take .envrc away": "rm -f .envrc && test ! -e .envrc",
    "put another .idea there": "mkdir i; mv -T i .idea && touch .idea/x",
    "a unix socket by path": f"{PY} 'import socket; s = socket.socket(1); s.connect(\"$SOCKET\")'",
    "see other processes": "test -e /proc/$PID/status && grep -q python /proc/$PID/cmdline",
}
PROBES = {**BOTH, **NAMESPACES_ONLY}

NUMBERS = {
    "x86_64": {"CLONE": "56", "KEYCTL": "250", "BPF": "321", "IOCTL": "16"},
    "aarch64": {"CLONE": "220", "KEYCTL": "219", "BPF": "280", "IOCTL": "29"},
}


@contextmanager
def _host(box: Box) -> Iterator[dict[str, str]]:
    """A machine with something to reach: servers, a repository, secrets."""
    work = box.workspace
    for name in ("objects", "refs", "hooks"):
        (work / ".git" / name).mkdir(parents=True)
    (work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (work / ".git" / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
    (work / ".envrc").write_text("export A=1\n")
    box.ground.home.mkdir(exist_ok=True)
    (box.ground.home / "auth.json").write_text("{}")
    with (
        _pair_of_servers() as (tcp, udp),
        socket.socket(socket.AF_UNIX) as by_path,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        port = tcp.getsockname()[1]
        by_path.bind(str(box.outside / "s"))
        by_path.listen()
        abstract.bind(f"\0stormclaw-{port}")
        abstract.listen()
        threading.Thread(target=_answer, args=(udp,), daemon=True).start()
        yield {
            "OUT": str(box.outside), "PERSON": str(box.user_home), "CLAW": str(box.ground.home),
            "PORT": str(port), "SOCKET": str(box.outside / "s"), "PID": str(os.getpid()),
            **NUMBERS[os.uname().machine],
        }  # fmt: skip


@contextmanager
def _pair_of_servers() -> Iterator[tuple[socket.socket, socket.socket]]:
    """TCP and UDP on the same port."""
    while True:
        with (
            socket.create_server(("127.0.0.1", 0)) as tcp,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        ):
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue  # taken by somebody; another one
            yield tcp, udp
            return


def _answer(udp: socket.socket) -> None:
    try:
        while True:
            udp.sendto(b"y", udp.recvfrom(9)[1])
    except OSError:
        return


def _try(box: Box, probe: str) -> int:
    line = PROBES[probe]
    with _host(box) as names:
        for name, value in sorted(names.items(), key=lambda pair: -len(pair[0])):
            line = line.replace(f"${name}", value)
        ended = box.run(line)
        for path in (box.outside / "kept", box.user_home / "diary"):
            assert path.read_text().strip() in ("kept", "dear diary")
    return ended.code


@pytest.mark.parametrize("probe", PROBES)
def test_namespaces_hold(probe: str, tmp_path: Path) -> None:
    for walls in box(tmp_path):
        assert _try(walls, probe) != 0
        left = sorted(os.listdir(walls.workspace))
        assert {".mcp.json", ".vscode", ".stormclaw", ".idea"}.isdisjoint(left)
        assert not (walls.workspace / ".git" / "commondir").exists()
        assert (walls.workspace / ".envrc").read_text() == "export A=1\n"


@pytest.mark.parametrize("probe", BOTH)
def test_landlock_holds(probe: str, tmp_path: Path) -> None:
    for walls in box(tmp_path, "landlock"):
        assert _try(walls, probe) != 0


def test_the_probes_work_where_there_are_no_walls(tmp_path: Path) -> None:
    """A probe that fails anyway proves nothing: those any user can do must succeed outside."""
    from stormclaw.security.sandbox import Sandbox

    ordinary = (
        "create outside", "append outside", "link to outside", "hard link to outside",
        "through /proc/self/cwd", "read a private key", "read beside the workspace",
        "TCP to the host", "UDP to the host", "an abstract socket", "a unix socket by path",
        "environ of another process", "signal to another process", "chmod outside",
        "write .git/config", "replace .git", "another configuration for git", "make .mcp.json",
        "make .vscode", "take .envrc away", "read StormClaw's own folder", "see other processes",
    )  # fmt: skip
    for number, probe in enumerate(ordinary):
        for walls in box(tmp_path / str(number), "landlock"):
            open_air = Box(Sandbox(), walls.ground, walls.outside)
            line = PROBES[probe]
            with _host(open_air) as names:
                for name, value in sorted(names.items(), key=lambda pair: -len(pair[0])):
                    line = line.replace(f"${name}", value)
                assert open_air.run(line).code == 0, probe


def test_a_daemon_does_not_outlive_its_command(tmp_path: Path) -> None:
    for walls in box(tmp_path):
        pipe = walls.workspace / "pipe"
        os.mkfifo(pipe)
        reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        daemon = f"exec 3>pipe; setsid nohup {PY} 'import os, time; os.fork(); os.setsid;\
 time.sleep(1000)' >/dev/null 2>&1 & sleep 0.1; echo up >&3"
        assert walls.run(daemon).code == 0
        assert os.read(reading, 99) == b"up\n"
        assert os.read(reading, 99) == b""  # the end: nobody holds it open
        os.close(reading)


def test_nothing_is_made_while_the_walls_come_down(tmp_path: Path) -> None:
    """Somebody who tries without end wins nothing in the moment the placeholders go."""
    for walls in box(tmp_path):
        spin = "(while :; do echo x > .envrc; mkdir .vscode; done) >/dev/null 2>&1 &"
        for _ in range(5):
            walls.ok(f"{spin} sleep 0.05")
            assert os.listdir(walls.workspace) == []
