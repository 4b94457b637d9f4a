"""What the scripted model says: which answer a prompt asks for, and Markdown cut into tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Final, Literal, TypeAlias, get_args

Manner: TypeAlias = Literal["burst", "stream", "rounds"]

_ORDER: Final = re.compile(rf"\b({'|'.join(get_args(Manner))}) (\d+)(?: at (\d+))? until (\w+)")

_WORDS: Final = """\
the request enters through one gate and every part of it is judged before anything runs because a
change that cannot be traced is a change nobody can defend so the record grows line by line while
readers look for the place where two honest accounts begin to differ"""

_CODE: Final = """\
```python
def weigh(calls: list[Call], limit: int = 3) -> Iterator[Verdict]:
    for number, call in enumerate(calls):
        if number >= limit:
            raise Refused(f"{call.name}: more than {limit} calls")
        yield judge(call, policy=POLICY["default"])
```
"""
_LIST: Final = """\
- first look at **what is there**, then at `what is asked`
- keep the *old* file until the new one is whole
- a third point, longer than the others, so that it has to be wrapped on most terminals
- [the last](https://example.org/last) one
"""
_TABLE: Final = """\
| part | lines | state |
|---|---:|---|
| gate | 214 | kept |
| record | 170 | grown |
| screen | 355 | redrawn |
"""


@dataclass(frozen=True, slots=True)
class Order:
    """What a prompt asks the server for.

    Attributes:
        manner: `burst` all tokens at once, `stream` so many a second, `rounds` of tool calls.
        count: Tokens, or rounds.
        rate: Tokens a second, for `stream`.
        marker: The last word of the answer, to wait for on the screen.
    """

    manner: Manner
    count: int
    rate: int
    marker: str

    def prompt(self) -> str:
        """The words that ask for it."""
        at = f" at {self.rate}" if self.rate else ""
        return f"{self.manner} {self.count}{at} until {self.marker}"


def order_in(prompt: str) -> Order | None:
    """The order a prompt holds; the last one counts."""
    found = _ORDER.findall(prompt)
    if not found:
        return None
    manner, count, rate, marker = found[-1]
    known: Manner = next(each for each in get_args(Manner) if each == manner)
    return Order(known, int(count), int(rate or 0), marker)


def answer_tokens(count: int, marker: str) -> list[str]:
    """Markdown of `count` tokens of about four characters, with `marker` as its last word."""
    last = ["\n\n", "The ", "end: ", marker]
    body = list(islice(_tokens(), max(0, count - len(last))))
    # An open fence would swallow the last paragraph.
    closing = ["\n```"] if "".join(body).count("```") % 2 else []
    return [*body, *closing, *last]


def _tokens() -> Iterator[str]:
    for block in _blocks():
        yield from re.findall(r"\s*\S{1,5}|\s+", block)


def _blocks() -> Iterator[str]:
    words = cycle(_WORDS.split())
    for number in cycle(range(1, 13)):
        if number == 1:
            yield "## " + " ".join(islice(words, 5)).capitalize() + "\n\n"
        elif number % 6 == 0:
            yield {6: _CODE, 12: _TABLE}[number] + "\n"
        elif number % 4 == 0:
            yield _LIST + "\n"
        else:
            yield " ".join(islice(words, 45)).capitalize() + ".\n\n"
