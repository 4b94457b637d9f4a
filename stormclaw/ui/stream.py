"""The answer while it is written: a thought, closed parts, and the part that still grows."""

from __future__ import annotations

from collections.abc import Callable

from stormclaw.protocol.messages import AssistantTurn
from stormclaw.ui.blocks import Answer, Block, Live, Source, Thought
from stormclaw.ui.markdown import Growing, Markdown, Part
from stormclaw.ui.render.lines import Line, with_cursor
from stormclaw.ui.render.look import Look
from stormclaw.ui.stretches import Stretches


class Stream:
    """Collects deltas, and once a frame puts them in their place.

    Args:
        stretches: Where the blocks stand.
        markdown: Splits and draws.
        clock: Monotonic seconds.
    """

    def __init__(
        self, stretches: Stretches, markdown: Markdown, clock: Callable[[], float]
    ) -> None:
        self._stretches = stretches
        self._column = stretches.column
        self._markdown = markdown
        self._clock = clock
        self._growing: Growing | None = None
        self._thought: Block | None = None
        self._drawn: list[Line] = []
        self._drawn_for: Look | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []

    @property
    def writing(self) -> bool:
        """True while an answer is being written."""
        return self._growing is not None

    @property
    def thought(self) -> Block | None:
        """The thought that is still being thought."""
        thinking = self._thought is not None and self._growing is None
        return self._thought if thinking else None

    def add_text(self, text: str) -> None:
        """A delta of the answer; cheap."""
        self._text.append(text)

    def add_thinking(self, text: str) -> None:
        """A delta of the reasoning; cheap."""
        self._thinking.append(text)

    def flush(self) -> None:
        """Put what came since the last flush in its place."""
        if self._thinking:
            self._think("".join(self._thinking))
            self._thinking.clear()
        if self._text:
            self._write("".join(self._text))
            self._text.clear()

    def redraw(self) -> None:
        """Draw the part that grows, keeping the lines that did not change."""
        look = self._column.look
        if self._growing is None or look is None:
            return
        lines = self._growing.draw(look)
        if lines:
            lines[-1] = with_cursor(lines[-1], look, spaced=self._growing.ends_in_space)
        before = self._drawn if self._drawn_for is look else []
        same = 0
        for old, new in zip(before, lines, strict=False):
            if old != new:
                break
            same += 1
        if same < len(lines) or same < len(before):
            block = self._stretches.stream[-1]
            self._column.put_lines(self._column.index_of(block), lines, same)
        self._drawn, self._drawn_for = lines, look

    def commit(self, turn: AssistantTurn, sources: list[Source]) -> None:
        """The answer is on disk: what streamed stays if it is what was committed."""
        self.flush()
        thought = sources[0] if sources else None
        if isinstance(thought, Thought) and self._thought is not None:
            streamed = self._thought.source
            thought.hand = streamed.hand if isinstance(streamed, Thought) else None
        blocks = [Block(source) for source in sources]
        if self._growing is not None and self._growing.source == turn.text:
            blocks = [block for block in blocks if not isinstance(block.source, Answer)]
            blocks += self._written(self._growing)
        self.end(blocks)

    def end(self, blocks: list[Block]) -> None:
        """Nothing is being written any more; `blocks` take its place."""
        self._text.clear()
        self._thinking.clear()
        self._growing = self._thought = None
        self._stretches.end_stream(blocks)

    def _written(self, growing: Growing) -> list[Block]:
        """The streamed answer as blocks, drawn ones kept as they are."""
        parts = [block for block in self._stretches.stream if isinstance(block.source, Part)]
        last = [Block(part) for part in growing.finish()]
        if growing.has_references:
            for block in parts:
                block.lines = None
        return parts + last

    def _think(self, text: str) -> None:
        if self._thought is None:
            self._thought = Block(Thought("", None, self._clock()))
            self._stretches.insert_stream(0, [self._thought])
        if isinstance(self._thought.source, Thought):
            self._thought.source.text += text
        self._stretches.touch(self._thought)

    def _write(self, text: str) -> None:
        stream = self._stretches.stream
        if self._growing is None:
            self._growing, self._drawn = self._markdown.grow(), []
            self._end_thought()
            self._stretches.insert_stream(len(stream), [Block(Live())])
        parts = self._growing.feed(text)
        if parts:
            self._column.put_lines(self._column.index_of(stream[-1]), [])
            self._drawn = []
            self._stretches.insert_stream(len(stream) - 1, [Block(part) for part in parts])

    def _end_thought(self) -> None:
        """The answer begins, so the thought took as long as it took."""
        if self._thought is not None and isinstance(self._thought.source, Thought):
            self._thought.source.seconds = self._clock() - self._thought.source.started
            self._stretches.touch(self._thought)
