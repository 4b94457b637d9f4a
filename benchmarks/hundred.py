"""A coding conversation of a hundred turns, as they go: reads, greps, edits, tests, sub-agents.

Everything is made in code, the same every time. The conversation knows two things of turn 3 that
are asked for in the last turn: one the model noted, one that only stood in an output.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

TURNS = 100
MODULES = 26
NOTED = "stage-7.tidepool.example"
"""What the model noted in turn 3."""
UNNOTED = "kestrel baseline p95 = 4173 ms"
"""What only stood in an output of turn 3."""
_Call: TypeAlias = Mapping[str, Any]
_NOUNS = [
    "tide",
    "buoy",
    "gauge",
    "harbour",
    "channel",
    "current",
    "storm",
    "sensor",
    "retry",
    "window",
    "batch",
    "ledger",
    "anchor",
    "pilot",
    "signal",
    "packet",
    "queue",
    "cursor",
    "shard",
    "lease",
    "token",
    "budget",
    "mooring",
    "chart",
    "depth",
    "swell",
    "drift",
    "beacon",
]
_VERBS = [
    "load",
    "read",
    "merge",
    "fold",
    "check",
    "parse",
    "write",
    "flush",
    "open",
    "close",
    "find",
    "rank",
    "pack",
    "send",
    "wait",
]
_ASKS = (
    "The {noun} in {path} is off by one when the {other} is empty. Find out why and fix it.",
    "Please make {path} keep the last {noun}, and run the tests of the {other}.",
    "Where is the {noun} of the {other} set? Raise its limit in {path}.",
    "The {other} test fails since yesterday. It should be {path}. Mend it.",
    "Rename nothing, but let {path} wait for the {noun} before it touches the {other}.",
)


@dataclass
class Script:
    """What the project holds, what the person says, what the model does.

    Attributes:
        files: Path -> text, before the conversation.
        prompts: What the person says, turn by turn.
        turns: The model's answers, as the mock provider reads them.
        scouts: The answers of the sub-agents, one after the other.
    """

    files: dict[str, str] = field(default_factory=dict)
    prompts: list[str] = field(default_factory=list)
    turns: list[dict[str, Any]] = field(default_factory=list)
    scouts: dict[str, dict[str, Any]] = field(default_factory=dict)


def script(turns: int = TURNS) -> Script:
    """The conversation."""
    return _Writer(turns).script


class _Writer:
    def __init__(self, turns: int) -> None:
        self.script = Script()
        self._rng = random.Random(11)
        self._limits: dict[str, list[int]] = {}
        for number in range(MODULES):
            path = f"src/tide/{_NOUNS[number]}_{_VERBS[number % len(_VERBS)]}.py"
            self.script.files[path] = self._module(path)
        self._paths = list(self.script.files)
        self.script.files["logs/baseline.txt"] = "\n".join(
            [*self._log(60), f"1203 passed; {UNNOTED}", *self._log(20)]
        )
        for turn in range(1, turns):
            self._turn(turn)
        self._last()

    def _module(self, path: str) -> str:
        """Code of 2,000 to 7,000 tokens."""
        lines = [f'"""{path}: {self._words(9)}."""', "", "from __future__ import annotations", ""]
        self._limits[path] = [self._rng.randrange(10, 99) for _ in range(12)]
        lines += [f"LIMIT_{at} = {value}" for at, value in enumerate(self._limits[path])]
        for at in range(self._rng.randrange(24, 74)):
            noun, verb = self._rng.choice(_NOUNS), self._rng.choice(_VERBS)
            lines += [
                "",
                "",
                f"def {verb}_{noun}_{at}({noun}: {noun.title()}, *, most: int = {at}) -> int:",
                f'    """{self._words(10)}."""',
                f"    if not {noun}.{verb}ed or {noun}.depth > LIMIT_{at % 12}:",
                f'        raise {noun.title()}Error(f"{self._words(4)}: {{{noun}!r}}")',
                f"    found = [each for each in {noun}.parts if each.{verb}(most)]",
                f"    return sum(part.weight * {at + 1} for part in found)",
            ]
        return "\n".join(lines) + "\n"

    def _turn(self, turn: int) -> None:
        path = self._paths[(turn * 7) % MODULES]
        other = self._paths[(turn * 5 + 3) % MODULES]
        ask = _ASKS[turn % len(_ASKS)]
        said = ask.format(path=path, noun=self._noun(), other=self._noun())
        self.script.prompts.append(f"{turn}. {said} {self._words(self._rng.randrange(4, 40))}")
        self._acts(*self._look(turn, path, other))
        if turn == 3:
            note = {"key": "staging host", "value": NOTED}
            self._acts(
                _call("shell_exec", command="cat logs/baseline.txt"), _call("remember", **note)
            )
        if turn % 10 == 0:
            name = f"scout{turn}"
            self.script.scouts[name] = {"turns": [{"text": self._report()}]}
            self._acts(_call("spawn_agent", task=f"{self._words(60)} in {other}", name=name))
        if turn % 3:
            self._acts(self._edit(path))
            if turn % 4 == 1:
                self._acts(self._tests(turn, good=False))
                self._acts(self._edit(path))
            self._acts(self._tests(turn, good=True))
        self._says(self._words(self._rng.randrange(30, 120)))

    def _look(self, turn: int, path: str, other: str) -> Iterator[_Call]:
        yield _call("grep", pattern=f"LIMIT_{turn % 12} =|{self._noun()}_{turn % 60}\\(")
        yield _call("read_file", path=path)
        if turn % 4 == 0:
            yield _call("read_file", path=other, offset=1, limit=120)
        if turn % 7 == 0:
            yield _call("read_file", path="src/tide/nowhere.py")

    def _edit(self, path: str) -> _Call:
        at = self._rng.randrange(12)
        old, new = self._limits[path][at], self._rng.randrange(100, 999)
        self._limits[path][at] = new
        return _call(
            "edit_file",
            path=path,
            old_string=f"LIMIT_{at} = {old}\n",
            new_string=f"LIMIT_{at} = {new}\n",
        )

    def _tests(self, turn: int, *, good: bool) -> _Call:
        """A run of the tests; what it puts out was written beforehand."""
        name = f"logs/{turn:03}-{'good' if good else 'bad'}.txt"
        lines = self._log(self._rng.randrange(20, 90 if good else 160))
        failed = f"E   AssertionError: assert {turn} == {turn + 1}"
        ending = ["1203 passed in 8.11s"] if good else [failed, "3 failed, 1200 passed in 8.40s"]
        self.script.files[name] = "\n".join([*lines, *ending]) + "\n"
        return _call("shell_exec", command=f"cat {name}" + ("" if good else "; exit 1"))

    def _last(self) -> None:
        self.script.prompts.append("Back to turn 3: on which host, and what was the baseline?")
        self._acts(_call("recall", what="staging host"), _call("recall", what="kestrel baseline"))
        self._says("It was this: {{last_output}}")

    def _acts(self, *calls: _Call) -> None:
        self.script.turns.append({"text": self._words(12), "calls": list(calls)})

    def _says(self, text: str) -> None:
        self.script.turns.append({"text": text})

    def _report(self) -> str:
        return "\n".join(f"- {self._words(22)}" for _ in range(60))

    def _log(self, lines: int) -> list[str]:
        return [
            f"tests/test_{self._noun()}.py::{self._words(4).replace(' ', '_')} PASSED [{at:3}%]"
            for at in range(lines)
        ]

    def _noun(self) -> str:
        return self._rng.choice(_NOUNS)

    def _words(self, count: int) -> str:
        return " ".join(self._rng.choice(_NOUNS + _VERBS) for _ in range(count))


def _call(name: str, /, **arguments: Any) -> _Call:
    return {"name": name, "arguments": arguments}
