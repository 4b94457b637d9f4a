"""What the frozen system call filters are made from; run it to write them anew.

    python tests/helpers/seccomp_source.py stormclaw/security/walls/seccomp_filters.py

Two filters an architecture: `usual` for programs inside namespaces, `offline` where no namespace
keeps them from the network.
"""

from __future__ import annotations

import base64
import errno
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from seccompy import bpf
from seccompy.syscalls import (
    AARCH64_SYSCALLS,
    AUDIT_ARCH_AARCH64,
    AUDIT_ARCH_X86_64,
    X86_64_SYSCALLS,
)

ALLOW, ERRNO, KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
NUMBER, ARCHITECTURE, ARGUMENT = 0, 4, 16
"""Offsets into `struct seccomp_data`; arguments are 8 bytes each, low half first."""
X32 = 0x40000000

REFUSED = (
    # Looking into and steering other processes.
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    # Keys, code and counters inside the kernel.
    "add_key", "request_key", "keyctl", "bpf", "perf_event_open", "init_module", "finit_module",
    "delete_module", "create_module", "get_kernel_syms", "query_module", "kexec_load",
    "kexec_file_load", "lookup_dcookie",
    # Other mounts, other namespaces.
    "mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
    "fsmount", "fspick", "mount_setattr", "setns", "open_by_handle_at",
    # The machine.
    "reboot", "swapon", "swapoff", "acct", "syslog", "settimeofday", "clock_settime", "stime",
    "sethostname", "setdomainname", "quotactl", "quotactl_fd", "nfsservctl", "vhangup", "iopl",
    "ioperm", "uselib", "ustat", "sysfs", "_sysctl", "fanotify_init",
)  # fmt: skip
"""EPERM."""

MISSING = ("clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd")
"""ENOSYS: programs know older ways. The flags of clone3 lie in memory, where no filter sees them,
and io_uring would do system calls behind the filter's back."""

LATER = {"open_tree_attr": 467}
"""Numbers, the same everywhere, that the table of the library does not have."""

NEW_NAMESPACES = 0x7E020000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""
NEWTIME = 0x80

TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX: typing into somebody's terminal."""

UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
FAMILIES = {"usual": (UNIX, INET, INET6, NETLINK), "offline": (UNIX,)}
"""Socket families that may be opened. Not among them: VSOCK, which no namespace contains."""

ARCHITECTURES = {
    "x86_64": (AUDIT_ARCH_X86_64, X86_64_SYSCALLS),
    "aarch64": (AUDIT_ARCH_AARCH64, AARCH64_SYSCALLS),
}


def program(architecture: str, kind: str) -> bytes:
    """The filter as the kernel takes it: packed `struct sock_filter`."""
    audit, numbers = ARCHITECTURES[architecture]
    known = {**numbers, **LATER}
    instructions: list[bpf.Insn] = [
        bpf.Load(ARCHITECTURE),
        # 32-bit programs number their calls otherwise; none of this would hold for them.
        bpf.Jump(bpf.BPF_JEQ, audit, None, "kill"),
        bpf.Load(NUMBER),
    ]
    if architecture == "x86_64":
        instructions.append(bpf.Jump(bpf.BPF_JGEQ, X32, "missing", None))
    for names, label in ((REFUSED, "refused"), (MISSING, "missing")):
        wanted = sorted(known[name] for name in names if name in known)
        instructions += [bpf.Jump(bpf.BPF_JEQ, number, label, None) for number in wanted]
    if "open_tree_attr" in known:
        instructions.append(bpf.Jump(bpf.BPF_JEQ, known["open_tree_attr"], "refused", None))
    labels: dict[str, int] = {}
    blocks = {
        "clone": list(_flags(NEW_NAMESPACES)),
        "unshare": list(_flags(NEW_NAMESPACES | NEWTIME)),
        "ioctl": list(_any_of(TERMINAL_INPUT, 1, "refused")),
        "socket": list(_families(FAMILIES[kind])),
    }
    instructions += [bpf.Jump(bpf.BPF_JEQ, known[name], name, None) for name in blocks]
    labels["allow"] = len(instructions)
    instructions.append(bpf.Ret(ALLOW))
    for name, block in blocks.items():
        labels[name] = len(instructions)
        instructions += block
    ends = {
        "refused": ERRNO | errno.EPERM,
        "missing": ERRNO | errno.ENOSYS,
        "pass": ALLOW,
        "kill": KILL_PROCESS,
    }
    for label, result in ends.items():
        labels[label] = len(instructions)
        instructions.append(bpf.Ret(result))
    return bpf.assemble(instructions, labels)


def _flags(forbidden: int) -> Iterator[bpf.Insn]:
    yield bpf.Load(ARGUMENT)
    yield bpf.Jump(bpf.BPF_JSET, forbidden, "refused", "pass")


def _any_of(values: tuple[int, ...], argument: int, label: str) -> Iterator[bpf.Insn]:
    # Only the low half: the kernel cuts these arguments to 32 bits.
    yield bpf.Load(ARGUMENT + 8 * argument)
    for value in values:
        yield bpf.Jump(bpf.BPF_JEQ, value, label, None)
    yield bpf.Ret(ALLOW)


def _families(allowed: tuple[int, ...]) -> Iterator[bpf.Insn]:
    yield bpf.Load(ARGUMENT)
    for family in allowed:
        yield bpf.Jump(bpf.BPF_JEQ, family, "pass", None)
    yield bpf.Ret(ERRNO | (errno.EAFNOSUPPORT if len(allowed) > 1 else errno.EACCES))


def module() -> str:
    """The text of `stormclaw/security/walls/seccomp_filters.py`."""
    entries = []
    for architecture in ARCHITECTURES:
        for kind in FAMILIES:
            text = base64.b64encode(program(architecture, kind)).decode()
            lines = "".join(f'        "{line}"\n' for line in textwrap.wrap(text, 88))
            entries.append(f'    ("{architecture}", "{kind}"): (\n{lines}    ),\n')
    return (
        '"""Frozen system call filters, written by `tests/helpers/seccomp_source.py`."""\n\n'
        "from __future__ import annotations\n\n"
        "from collections.abc import Mapping\n"
        "from types import MappingProxyType\n\n"
        "FILTERS: Mapping[tuple[str, str], str] = MappingProxyType({\n"
        + "".join(entries)
        + "})  # fmt: skip\n"
        '"""(architecture, kind) -> packed `struct sock_filter`, base64."""\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(module())
