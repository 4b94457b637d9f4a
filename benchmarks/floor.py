"""The bare Textual app: one `TextArea`, one `Markdown` fed through its stream, nothing else."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.events import Key
from textual.widgets import Markdown, TextArea
from textual.widgets.markdown import MarkdownStream

from benchmarks.client import tokens

BATCH_S = 0.05


class Prompt(TextArea):
    """Enter sends."""

    async def _on_key(self, event: Key) -> None:
        if event.key == "enter":
            event.prevent_default().stop()
            text, self.text = self.text, ""
            self.app.run_worker(self.app.answer(text))  # type: ignore[attr-defined]
            return
        await super()._on_key(event)


class Floor(App[None]):
    """What every Textual app pays."""

    CSS = "Prompt { height: 5; } VerticalScroll { height: 1fr; }"
    AUTO_FOCUS = "Prompt"

    def __init__(self, port: int) -> None:
        super().__init__()
        self._port = port
        self._pieces: list[str] = []
        self._batch: asyncio.Task[None] | None = None

    def compose(self) -> ComposeResult:
        """The answer above, the prompt below."""
        with VerticalScroll():
            yield Markdown()
        yield Prompt()

    async def answer(self, prompt: str) -> None:
        """Show an answer while it comes, batched."""
        scroll, markdown = self.query_one(VerticalScroll), self.query_one(Markdown)
        scroll.anchor()
        stream = Markdown.get_stream(markdown)
        async for token in tokens(self._port, prompt):
            self._pieces.append(token)
            if self._batch is None or self._batch.done():
                self._batch = asyncio.create_task(self._write(stream))
        if self._batch is not None:
            await self._batch
        await stream.stop()

    async def _write(self, stream: MarkdownStream) -> None:
        await asyncio.sleep(BATCH_S)
        text = "".join(self._pieces)
        self._pieces.clear()
        await stream.write(text)


def main(port: int) -> None:
    """Run it until it is killed."""
    Floor(port).run()
