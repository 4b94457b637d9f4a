"""Puts walls around itself and becomes the program it was asked for; run as a script of its own.

    python -I -S landlock_launch.py POLICY_FD PROGRAM [WORD...]

The policy: the folders that may be read, those that may be written, and a call filter, each part
behind the other with its length before it. Only the standard library, and little of that: this
runs before every command.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

CREATE, ADD, RESTRICT = 444, 445, 446
"""System calls, the same number on every architecture."""
NO_NEW_PRIVS, SECCOMP, FILTER, DROP_BOUND, DEATH_SIGNAL = 38, 22, 2, 24, 1
PATH_BENEATH = 1
SIGKILL = 9

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
TRUNCATE, DEVICE = 1 << 14, 1 << 15
READING = EXECUTE | READ_FILE | READ_DIR
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | DEVICE
ABSTRACT_SOCKETS, SIGNALS = 1 << 0, 1 << 1
LOWEST_ABI = 3
"""Before it, a file outside could be emptied."""

libc = ctypes.CDLL(None, use_errno=True)


class Ruleset(ctypes.Structure):
    """`struct landlock_ruleset_attr`."""

    _fields_ = [
        ("files", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    ]


class Beneath(ctypes.Structure):
    """`struct landlock_path_beneath_attr`."""

    _pack_ = 1
    _fields_ = [("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32)]


class Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]


def abi() -> int:
    """The Landlock version of this kernel; 0 without."""
    return max(0, int(libc.syscall(CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def wall_in(read: list[bytes], write: list[bytes], calls: bytes) -> None:
    """From here on, this thread and its children reach these folders and calls only.

    Raises:
        OSError: A wall could not be put up; some may stand.
    """
    version = abi()
    if version < LOWEST_ABI:
        raise OSError(f"Landlock ABI {version} is too old")
    all_rights = (1 << (16 if version >= 5 else 15)) - 1
    scoped = ABSTRACT_SOCKETS | SIGNALS if version >= 6 else 0
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = Ruleset(all_rights, 0, scoped)
    rules = _done(libc.syscall(CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), 0))
    for paths, rights in ((read, READING), (write, all_rights)):
        for path in paths:
            _allow(rules, path, rights & all_rights)
    for capability in range(64):
        libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    _done(libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0))
    _done(libc.syscall(RESTRICT, rules, 0))
    os.close(rules)
    code = Program(len(calls) // 8, calls)
    _done(libc.prctl(SECCOMP, FILTER, ctypes.byref(code), 0, 0))


def _allow(rules: int, path: bytes, rights: int) -> None:
    try:
        at = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):  # noqa: PTH112 - nothing more is imported than must be
            rights &= OF_FILES
        rule = Beneath(rights, at)
        _done(libc.syscall(ADD, rules, PATH_BENEATH, ctypes.byref(rule), 0))
    finally:
        os.close(at)


def _done(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def pack(read: list[bytes], write: list[bytes], calls: bytes) -> bytes:
    """A policy as `main` reads it."""
    parts = (b"\0".join(read), b"\0".join(write), calls)
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


def unpack(policy: bytes) -> tuple[list[bytes], list[bytes], bytes]:
    """The parts of a packed policy."""
    parts = []
    while policy:
        end = 4 + int.from_bytes(policy[:4], "little")
        parts.append(policy[4:end])
        policy = policy[end:]
    read, write, calls = parts
    return read.split(b"\0"), write.split(b"\0"), calls


def main() -> None:
    """Read the policy, put up the walls, become the program."""
    with open(int(sys.argv[1]), "rb") as file:  # noqa: PTH123 - a descriptor
        policy = file.read()
    libc.prctl(DEATH_SIGNAL, SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        wall_in(*unpack(policy))
        os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming it is the point
    except OSError as problem:
        sys.stderr.write(f"the sandbox cannot be set up: {problem}\n")
        sys.exit(126)


if __name__ == "__main__":
    main()
