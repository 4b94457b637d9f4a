"""Colours of code arrive when they are ready, and never hold anything up."""

from __future__ import annotations

import asyncio

from drawn import Tiny, a_look, a_node
from pygments.lexer import Lexer

from stormclaw.protocol.messages import AssistantTurn
from stormclaw.ui.render.code import Lexers, highlight
from stormclaw.ui.widgets.transcript import Transcript

PYTHON = "def f():\n    return 1\n"


async def test_a_lexer_is_fetched_beside_and_announced() -> None:
    lexers = Lexers()
    ready = asyncio.Event()
    lexers.on_ready = ready.set
    assert lexers.get("python") is None
    await asyncio.wait_for(ready.wait(), 30)
    assert lexers.get("python") is not None


async def test_an_unknown_language_is_asked_for_once() -> None:
    lexers = Lexers(eager=True)
    assert lexers.get("nosuchlanguage") is None
    assert lexers.get("") is None


def test_highlighting_keeps_every_character() -> None:
    lexer = Lexers(eager=True).get("python")
    assert lexer is not None
    for code in (PYTHON, "\n\n  x\n\n", "a\u2028b", "'unclosed", ""):
        runs = highlight(code, lexer, a_look().palette)
        assert "".join(text for text, _ in runs) == code


def test_a_huge_fence_is_plain() -> None:
    lexer = Lexers(eager=True).get("python")
    assert lexer is not None
    assert len(highlight(PYTHON * 5000, lexer, a_look().palette)) == 1


class Late(Lexers):
    """Lexers that come when the test says so."""

    def __init__(self) -> None:
        super().__init__(eager=True)
        self.here = False

    def get(self, language: str) -> Lexer | None:
        return super().get(language) if self.here else None


async def test_what_is_on_screen_takes_its_colours_when_they_come() -> None:
    app = Tiny()
    app.transcript = Transcript(lexers=(lexers := Late()))
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show([a_node(1, AssistantTurn(f"```python\n{PYTHON}```"))])
        await pilot.pause()
        assert "#8fbaf0" not in str(app.transcript.render_line(0))
        lexers.here = True
        lexers.on_ready()
        await pilot.pause()
        assert "#8fbaf0" in str(app.transcript.render_line(0))
