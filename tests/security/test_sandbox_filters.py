"""The frozen call filters: what they are made from gives these very bytes, for every machine."""

from __future__ import annotations

import base64
import os
import struct
from pathlib import Path

import pytest

from stormclaw.security.walls import seccomp, seccomp_filters

seccomp_source = pytest.importorskip("seccomp_source", reason="seccompy is for Linux only")

ALLOW, KILL, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050001, 0x00050026
X86, ARM, I386 = 0xC000003E, 0xC00000B7, 0x40000003


def judged(program: bytes, number: int, audit: int, *arguments: int) -> int:
    """What the kernel would say: a classic BPF machine for the few instructions there are."""
    filled = [*arguments, *([0] * (6 - len(arguments)))]
    facts = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, audit, 0, *filled)
    at = accumulator = 0
    while True:
        code, yes, no, k = struct.unpack_from("<HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("<I", facts, k)
            case 0x54:
                accumulator &= k
            case 0x05:
                at += k
            case 0x15:
                at += yes if accumulator == k else no
            case 0x35:
                at += yes if accumulator >= k else no
            case 0x45:
                at += yes if accumulator & k else no
            case 0x06:
                return int(k)
            case _:
                pytest.fail(f"unknown instruction {code:#x}")


def test_the_frozen_filters_are_what_the_source_makes(tmp_path: Path) -> None:
    assert seccomp_source.module() == Path(seccomp_filters.__file__).read_text()
    for (machine, kind), text in seccomp_filters.FILTERS.items():
        assert base64.b64decode(text) == seccomp_source.program(machine, kind)


@pytest.mark.parametrize("kind", ["usual", "offline"])
@pytest.mark.parametrize(
    ("machine", "audit", "numbers"),
    [
        ("x86_64", X86, {"read": 0, "ptrace": 101, "mount": 165, "clone": 56, "clone3": 435,
                         "unshare": 272, "setns": 308, "ioctl": 16, "socket": 41, "bpf": 321,
                         "keyctl": 250, "io_uring_setup": 425, "userfaultfd": 323}),
        ("aarch64", ARM, {"read": 63, "ptrace": 117, "mount": 40, "clone": 220, "clone3": 435,
                          "unshare": 97, "setns": 268, "ioctl": 29, "socket": 198, "bpf": 280,
                          "keyctl": 219, "io_uring_setup": 425, "userfaultfd": 282}),
    ],
)  # fmt: skip
def test_what_is_allowed(
    machine: str, audit: int, numbers: dict[str, int], kind: seccomp.Kind
) -> None:
    program = seccomp.filter_bytes(kind, machine)
    assert program is not None

    def says(name: str, *arguments: int) -> int:
        return judged(program, numbers[name], audit, *arguments)

    assert says("read") == ALLOW
    for name in ("ptrace", "mount", "setns", "bpf", "keyctl"):
        assert says(name) == EPERM, name
    for name in ("clone3", "io_uring_setup", "userfaultfd"):
        assert says(name) == ENOSYS, name
    assert judged(program, 467, audit) == EPERM
    assert says("clone", 0x01200011) == ALLOW  # a fork
    assert says("clone", 0x003D0F00) == ALLOW  # a thread
    for flag in (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 1 << 30):
        assert says("clone", flag | 17) == EPERM
        assert says("unshare", flag) == EPERM
        assert says("unshare", 0xF << 40 | flag) == EPERM
    assert says("unshare", 0x80) == EPERM
    assert says("unshare", 0x400) == ALLOW  # CLONE_FILES
    assert says("ioctl", 0, 0x5401) == ALLOW
    for request in (0x5412, 0x541C, 0x1_0000_5412, 0xFFFF_FFFF_0000_541C):
        assert says("ioctl", 0, request) == EPERM
    assert says("socket", 1) == ALLOW
    inet = ALLOW if kind == "usual" else 0x0005000D
    assert [says("socket", family) for family in (2, 10, 16)] == [inet] * 3
    for family in (17, 31, 38, 40, 44):
        assert says("socket", family) != ALLOW


def test_other_ways_to_call_the_kernel() -> None:
    program = seccomp.filter_bytes("usual", "x86_64")
    assert program is not None
    assert judged(program, 1, I386) == KILL
    assert judged(program, 0x40000000 | 56, X86) == ENOSYS  # x32
    assert judged(program, 0xFFFFFFFF, X86) == ENOSYS
    arm = seccomp.filter_bytes("usual", "arm64")
    assert arm is not None
    assert judged(arm, 1, I386) == KILL


def test_an_unknown_machine_has_no_filter() -> None:
    assert seccomp.filter_bytes("usual", "pdp11") is None
    assert seccomp.filter_bytes("usual", "AMD64") == seccomp.filter_bytes("usual", "x86_64")


def test_a_sealed_file_is_read_from_its_beginning() -> None:
    descriptor = seccomp.sealed_file(b"content", "x")
    try:
        assert os.read(descriptor, 99) == b"content"
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)
