"""Hostile words from a model, a file and a command: the terminal gets the program's own sequences
and nothing else."""

from __future__ import annotations

import re
import sys
import unicodedata

from scripted import Desk, call, calls
from typist import Typist

PROGRAM = (sys.executable, "-m", "stormclaw")
EVIL = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x1bP+q544e\x1b\\\x1b_apc\x1b\\\x9b5n\x9d0;x\x9c"
    "\x1b]8;;http://evil\x07link\x1b[6n\x1b[?1000l\rover\x08\x08 \u202eright\u202c \u2066i\u2069 "
    "z\u200bw\u200d\ufeff \U000e0041\U000e007f e" + "\u0336" * 60 + "\u2028sep [red]x[/] "
    "[@click=app.quit]q[/] \u3164\u115f\x00\x85"
)

OWN = re.compile(
    r"\x1b\[[0-9;]*[mHJK]"  # colours, places, clearing
    r"|\x1b\[[0-9;]*[ABCDGf]"
    r"|\x1b\[\?(?:7|25|47|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048|2031)[hl]"
    r"|\x1b\[\?(?:2026|2048|2031)\$p|\x1b\[\?997n|\x1b\[\?996n|\x1b\[[0-9]*c"
    r"|\x1b\[[><=][0-9;]*[umc]|\x1b\[[0-9]* q|\x1b\[14t|\x1b\[16t|\x1b\[18t"
    r"|\x1b\]22;[a-z-]*(?:\x07|\x1b\\)"  # the shape of the pointer
    r"|\x1b\]8;[^\x07\x1b]*;[^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[78=>]|\x1b\(B|\x07"
)
"""Every sequence the program itself may write."""


class Recorder(Typist):
    """Keeps every byte the program wrote."""

    def __init__(self, *arguments: object, **options: object) -> None:
        self.raw = b""
        super().__init__(*arguments, **options)  # type: ignore[arg-type]

    def _read(self) -> bytes:
        piece = super()._read()
        self.raw += piece
        return piece


def strange(raw: bytes) -> list[str]:
    """What is left that acts or hides once the program's own sequences are taken away."""
    text = OWN.sub("", raw.decode("utf-8", "surrogateescape"))
    acting = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [
        text[max(0, at - 20) : at + 20]
        for at, character in enumerate(text)
        if unicodedata.category(character) in acting and character not in "\r\n"
    ]


def test_nothing_foreign_reaches_the_terminal_as_it_came(desk: Desk) -> None:
    desk.write("evil.txt", f"first\n{EVIL}\nlast\n")
    desk.configure({"default_provider": "mock"})
    desk.script(
        [
            calls(call("read_file", path="evil.txt"), text=f"Reading {EVIL} [link]({EVIL})"),
            calls(
                call("shell_exec", command=f"printf '%s' '{EVIL.replace(chr(0), '')}'; touch made")
            ),
            {
                "text": f"# Done {EVIL}\n\n```\n{EVIL}\n```\n\n"
                f"| a | {EVIL} |\n|---|---|\n| b | c |\n\nEND"
            },
        ]
    )
    recorder = Recorder((*PROGRAM, "look"), cwd=desk.project, env=desk.env)
    with recorder as person:
        if person.sees("wants to run", "END") != "END":
            person.rests()
            person.types("\x1b")
            person.sees("END")
        person.types("\x04")
        person.ends()
    assert strange(recorder.raw)[:5] == []
    assert b"owned\x07" not in recorder.raw
    assert b"http://evil\x07" not in recorder.raw
    assert not re.search("\u0336{5}", recorder.raw.decode("utf-8", "replace"))
