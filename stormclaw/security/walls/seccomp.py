"""Hands a frozen system call filter to whoever starts a program."""

from __future__ import annotations

import base64
import os
import platform
from typing import Literal

from stormclaw.security.walls.seccomp_filters import FILTERS

Kind = Literal["usual", "offline"]
ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}


def filter_bytes(kind: Kind, machine: str = "") -> bytes | None:
    """The filter for a machine (this one by default); None where none was written for it."""
    name = (machine or platform.machine()).lower()
    text = FILTERS.get((ALIASES.get(name, name), kind))
    return None if text is None else base64.b64decode(text)


def sealed_file(content: bytes, name: str) -> int:
    """A descriptor of a nameless file with `content`, at its beginning; the caller closes it.

    Raises:
        OSError: The system has no memory files or no descriptors left.
    """
    descriptor = os.memfd_create(name)
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(descriptor, 0, os.SEEK_SET)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
