"""Drawing without a screen, and a screen with nothing but a transcript: for tests of the app."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from textual.app import App, ComposeResult
from textual.strip import Strip

from stormclaw.protocol.display import Diff, DiffLine, Headline, Hunk
from stormclaw.protocol.events import (
    Committed,
    Event,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from stormclaw.protocol.messages import (
    NO_USAGE,
    ROOT,
    AssistantTurn,
    Body,
    Node,
    ToolCall,
    ToolOutcome,
    open_calls,
    outcome_of,
)
from stormclaw.ui.column import Column
from stormclaw.ui.markdown import Markdown
from stormclaw.ui.render.cards import Moment
from stormclaw.ui.render.code import Lexers
from stormclaw.ui.render.lines import Line
from stormclaw.ui.render.look import Look, centred
from stormclaw.ui.signs import UNICODE, Signs
from stormclaw.ui.theme import STORMCLAW_DARK, derived_variables, palette, register
from stormclaw.ui.timeline import Timeline
from stormclaw.ui.widgets.transcript import Transcript

NOON = 1_790_000_000.0


def a_look(measure: int = 75, signs: Signs = UNICODE, *, short: bool = False) -> Look:
    return Look(palette(STORMCLAW_DARK), signs, measure, short)


def texts(lines: Iterable[Line]) -> list[str]:
    return [line.strip.text.rstrip() for line in lines]


def assert_exact(lines: Iterable[Line], width: int) -> None:
    for line in lines:
        real = sum(segment.cell_length for segment in line.strip)
        assert real == width == line.strip.cell_length, line.strip.text
        assert line.indent <= width
        assert "\n" not in line.strip.text
        assert "\x1b" not in line.strip.text


def a_call(call_id: str, name: str = "read_file", arguments: str = "{}") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def a_node(number: int, body: Body, agent: str = ROOT) -> Node:
    return Node(f"n{number}", None, agent, NOON + number, body)


def read_outcome(call_id: str, path: str = "src/tide/retry.py", **more: Any) -> ToolOutcome:
    fields: dict[str, Any] = {"summary": "84 lines", "receipt": 211, **more}
    status = fields.pop("status", "done")
    output = fields.pop("output", "1 x\n2 y")
    return ToolOutcome(
        call_id, "read_file", status, output, Headline("read", path, "path"), **fields
    )


def shell_outcome(call_id: str, command: str = "pytest -q", **more: Any) -> ToolOutcome:
    fields: dict[str, Any] = {"summary": "exit 0, 2 lines", "receipt": 7, **more}
    status = fields.pop("status", "done")
    output = fields.pop("output", "one\ntwo\n")
    return ToolOutcome(
        call_id, "shell_exec", status, output, Headline("shell", command, "command"), **fields
    )


def a_diff(added: int = 1, removed: int = 1, path: str = "src/tide/retry.py") -> Diff:
    """A hunk with context around `removed` lines that became `added` ones."""
    before = [DiffLine(" ", f"before {n}", n, n) for n in (1, 2, 3)]
    gone = [DiffLine("-", f"    old word {n}", 4 + n, None) for n in range(removed)]
    come = [DiffLine("+", f"    new word {n}", None, 4 + n) for n in range(added)]
    after = [DiffLine(" ", "after", 4 + removed, 4 + added)]
    return Diff(path, (Hunk((*before, *gone, *come, *after)),), added, removed)


class Stage:
    """A timeline without a widget, drawn to text; `now` is its clock."""

    def __init__(self, width: int = 79, *, agent: str = ROOT) -> None:
        self.now = 100.0
        markdown = Markdown(Lexers(eager=True))
        self.column = Column(markdown, lambda: Moment(self.now))
        self.timeline = Timeline(agent, self.column, markdown, lambda: self.now, lambda: NOON)
        self.column.lay_out(centred(palette(STORMCLAW_DARK), UNICODE, width, short=False))

    def handle(self, *events: Event) -> Stage:
        for event in events:
            self.timeline.handle(event)
        return self

    def flush(self) -> Stage:
        self.timeline.stream.flush()
        self.timeline.stream.redraw()
        return self

    def drawn(self) -> list[Line]:
        self.flush()
        self.column.draw_all()
        lines: list[Line] = []
        for block in self.column.blocks:
            lines += [Line(Strip.blank(79))] * block.gap + (block.lines or [])
        return lines

    def lines(self) -> list[str]:
        """As on a screen, margins left out."""
        return [text[2:] for text in texts(self.drawn())]


def live_events(nodes: Sequence[Node], chunk: int = 7) -> list[Event]:
    """What a front end would have heard while these nodes came about."""
    events: list[Event] = [TurnStarted(ROOT)]
    bodies: list[Body] = []
    for node in nodes:
        outcome = outcome_of(node.body)
        if isinstance(node.body, AssistantTurn):
            events += _deltas(node.body, chunk)
        if outcome is not None:
            call = next(
                (call for call in open_calls(bodies) if call.id == outcome.call_id),
                a_call(outcome.call_id),
            )
            events.append(
                ToolStarted(ROOT, call, outcome.tool, outcome.headline, outcome.risk, None)
            )
            events.append(ToolProgress(ROOT, outcome.call_id, outcome.output[:40]))
            events.append(ToolEnded(ROOT, outcome))
        events.append(Committed(ROOT, node))
        bodies.append(node.body)
    return [*events, TurnEnded(ROOT, "done", NO_USAGE)]


def _deltas(turn: AssistantTurn, chunk: int) -> list[Event]:
    thinking: list[Event] = [
        ThinkingDelta(ROOT, turn.thinking[at : at + chunk])
        for at in range(0, len(turn.thinking), chunk)
    ]
    return thinking + [
        TextDelta(ROOT, turn.text[at : at + chunk]) for at in range(0, len(turn.text), chunk)
    ]


class Tiny(App[None]):
    """A screen with nothing but a transcript."""

    AUTO_FOCUS = None
    CSS = "Screen { background: $sc-bg; } Transcript { height: 1fr; }"

    def __init__(self, theme: str = "stormclaw-dark", *, clock: Any = None) -> None:
        super().__init__()
        register(self)
        self.theme = theme
        self.now = 100.0
        self.transcript = Transcript(
            clock=clock or (lambda: self.now), wall=lambda: NOON, lexers=Lexers(eager=True)
        )
        self.heard: list[Any] = []

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), **derived_variables(self.current_theme)}

    def compose(self) -> ComposeResult:
        yield self.transcript

    def on_transcript_copy_wanted(self, message: Transcript.CopyWanted) -> None:
        self.heard.append(message)

    def on_transcript_open_wanted(self, message: Transcript.OpenWanted) -> None:
        self.heard.append(message)

    def on_transcript_receipt_wanted(self, message: Transcript.ReceiptWanted) -> None:
        self.heard.append(message)

    def on_transcript_leave_wanted(self, message: Transcript.LeaveWanted) -> None:
        self.heard.append(message)

    def screen_lines(self) -> list[str]:
        """What the window of the transcript shows."""
        height = self.transcript.size.height
        return [self.transcript.render_line(y).text.rstrip() for y in range(height)]
