"""The part of /etc that programs need: no passwords, no private keys, no services' settings."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

ETC = (
    "ImageMagick-6", "ImageMagick-7", "alternatives", "bash.bashrc", "bashrc", "ca-certificates",
    "ca-certificates.conf", "crypto-policies", "debian_version", "default/locale",
    "environment",
    "fedora-release", "fonts", "gai.conf", "gitattributes", "gitconfig", "group", "gss",
    "host.conf",
    "hostname", "hosts", "inputrc", "krb5.conf", "ld-musl-x86_64.path", "ld-musl-aarch64.path",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
    "login.defs", "lsb-release", "magic", "magic.mime", "mailcap", "manpath.config", "maven",
    "mime.types", "mtab", "netconfig", "networks", "nix", "npmrc", "nsswitch.conf", "nvimrc",
    "openldap", "os-release", "passwd", "paths", "perl", "php", "pip.conf", "pki", "profile",
    "profile.d", "protocols", "python3", "redhat-release", "resolv.conf", "rpc", "ruby", "R",
    "services", "shells", "skel", "ssh/ssh_config", "ssh/ssh_known_hosts", "ssl", "static",
    "system-release", "terminfo", "timezone", "vim", "wgetrc", "xml", "sgml", "zsh", "zshenv",
)  # fmt: skip
"""What programs ask of /etc; patterns below are added. No passwords, no keys, no services."""
PATTERNS = ("java*", "python3.*", "openssl*", "*-release")

LIVE = ("resolv.conf", "hosts")
"""Shown as they are: they change with the network."""
PRIVATE = ("private", "keys", "auth.json", "credentials", "secrets")
"""Names, and the ending `.key`, that are left out wherever they stand."""
MAX_FILE = 4_194_304
MOST = 6_000
"""Bytes of a file, files at most: it is copied once a run."""


def etc() -> Iterator[Path]:
    """The files and folders of /etc that programs may read."""
    folder = Path("/etc")
    for name in ETC:
        if os.path.lexists(folder / name):
            yield folder / name
    known = set(ETC)
    for pattern in PATTERNS:
        yield from (path for path in sorted(folder.glob(pattern)) if path.name not in known)


def etc_without_private() -> Iterator[Path]:
    """The same, for those who can show a folder only with all that is in it."""
    for place in etc():
        try:
            names = sorted(os.listdir(place)) if place.is_dir() else []  # noqa: PTH208
        except OSError:
            continue
        if any(name in PRIVATE for name in names):
            yield from (place / name for name in names if name not in PRIVATE)
        else:
            yield place


def copy_etc(target: Path) -> None:
    """Copy them to a folder: showing one folder is a tenth of the work of showing each file.

    What cannot be read is left out.
    """
    left = MOST
    for source in etc():
        copy = target / source.relative_to("/etc")
        copy.parent.mkdir(0o755, parents=True, exist_ok=True)
        left = _copy(str(source), str(copy), left)
    for name in LIVE:
        (target / name).touch()


def _copy(source: str, target: str, left: int) -> int:
    # Plain strings: there may be thousands of certificates.
    name = os.path.basename(source)  # noqa: PTH119
    if left <= 0 or name in PRIVATE or name.endswith(".key"):
        return left
    with contextlib.suppress(OSError):
        mode = os.lstat(source).st_mode
        if stat.S_ISLNK(mode):
            pointed = os.readlink(source)  # noqa: PTH115
            if not pointed.lstrip("./").startswith(("run/", "var/")):
                os.symlink(pointed, target)  # noqa: PTH211
                return left - 1
        if os.path.isdir(source):  # noqa: PTH112
            os.mkdir(target, 0o755)  # noqa: PTH102
            for each in os.listdir(source):  # noqa: PTH208
                left = _copy(f"{source}/{each}", f"{target}/{each}", left)
        else:
            _copy_file(source, target)
    return left - 1


def _copy_file(source: str, target: str) -> None:
    reading = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(reading)
        if stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE:
            mode = 0o755 if found.st_mode & 0o111 else 0o644
            writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            try:
                while os.sendfile(writing, reading, None, MAX_FILE):
                    continue
            finally:
                os.close(writing)
    finally:
        os.close(reading)
