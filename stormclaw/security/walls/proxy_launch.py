"""Opens the proxy's port inside the walls, hands it to StormClaw, and becomes the command.

    python -I -S -c SOURCE DESCRIPTOR PORT PROGRAM [WORD...]

Only built-in modules: this runs before every command that may talk to listed hosts, and nothing but
the interpreter need be there.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys


def main() -> None:
    """Listen, hand over, become the program; it inherits neither socket."""
    handed, port, *words = sys.argv[1:]
    try:
        listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", int(port)))
        listener.listen(128)
        number = listener.fileno().to_bytes(4, sys.byteorder)
        way = _socket.socket(fileno=int(handed))
        way.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, number)])
        way.close()
        listener.close()
        # Python ignores these two and may have set LC_CTYPE: the command finds all as it was.
        for number_of in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number_of, _signal.SIG_DFL)
        with open("/proc/self/environ", "rb") as file:  # noqa: PTH123 - nothing more is imported
            given = [each.partition(b"=") for each in file.read().split(b"\0") if each]
        os.execve(words[0], words, {name: value for name, _, value in given})  # noqa: S606
    except OSError as problem:
        sys.stderr.write(f"the sandbox cannot be set up: {problem}\n")
        sys.exit(126)


if __name__ == "__main__":
    main()
