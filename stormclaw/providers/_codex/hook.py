"""The program codex runs before each of its calls: it asks us over a socket, and tells.

Run by path with nothing but the standard library, `python -I -S hook.py SOCKET`; what it
cannot ask is refused, since codex takes any other failure of a hook for a yes.
"""

from __future__ import annotations

import socket
import sys

REFUSED = 2
"""The exit code codex takes for a no; stderr is the reason."""


def ask(address: str, question: bytes) -> bytes:
    """The answer of whoever listens at `address`, however long it takes.

    Raises:
        OSError: Nobody listens there.
    """
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(question)
        line.shutdown(socket.SHUT_WR)
        pieces = []
        while piece := line.recv(65_536):
            pieces.append(piece)
    return b"".join(pieces)


def main() -> int:
    """Standard input to the socket, its answer to standard output."""
    try:
        answer = ask(sys.argv[1], sys.stdin.buffer.read())
    except OSError as problem:
        answer = b""
        sys.stderr.write(f"the permission for this call could not be asked for: {problem}\n")
    else:
        if not answer:
            sys.stderr.write("the permission for this call was not given: the turn is over\n")
    sys.stdout.buffer.write(answer)
    return 0 if answer else REFUSED


if __name__ == "__main__":
    raise SystemExit(main())
