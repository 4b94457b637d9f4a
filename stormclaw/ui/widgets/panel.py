"""The agents at work, and what they changed: the column at the right of a wide screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.events import Click
from textual.message import Message

from stormclaw.protocol.display import Progress
from stormclaw.protocol.messages import Usage
from stormclaw.ui.agents import Agent
from stormclaw.ui.board import Board
from stormclaw.ui.heart import STILL
from stormclaw.ui.keymap import bindings
from stormclaw.ui.rows import BLANK, Row, Run, spread
from stormclaw.ui.signs import Signs
from stormclaw.ui.text import duration, money, one_line, share, shorten_path, tokens
from stormclaw.ui.widgets.lines import Lines

SHORT = 30
NUMBERS = 15
"""Columns after a bar: its share and the money."""

STATE_SIGNS: Mapping[str, tuple[str, str]] = {
    "waiting": ("waiting", "muted"),
    "asks": ("asks", "attention"),
    "done": ("done", "muted"),
    "failed": ("failed", "error"),
    "stopped": ("blocked", "muted"),
}
"""State -> (name of the sign, role); a running agent has its own colour."""


STEP_ROLES: Mapping[Progress, tuple[str, str]] = {
    "open": ("muted", "muted"),
    "doing": ("accent", "text"),
    "done": ("muted", "muted"),
    "dropped": ("muted", "muted"),
}
"""State of a step -> (role of its sign, role of its words)."""


def agent_role(number: int) -> str:
    """The colour of the agent with this number; 1 is root, from the 7th on muted."""
    return f"agent-{number}" if number <= 6 else "muted"


def agent_sign(agent: Agent, signs: Signs, phase: int) -> tuple[str, str]:
    """(sign, role) of an agent's state; the dot stands still where motion is reduced."""
    if agent.state == "running":
        return signs.phase(phase), agent_role(agent.number)
    name, role = STATE_SIGNS[agent.state]
    return str(getattr(signs, name)), role


class Panel(Lines, can_focus=True):
    """Draws a board; the cursor in it says which agent a key means."""

    DEFAULT_CSS = """
    Panel { width: 40; height: 100%; padding: 0 2 0 3; display: none; background: $sc-bg; }
    Panel.-wide { width: 48; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("panel")]

    class Picked(Message):
        """A key was pressed on an agent: `zoom`, `stop`, `message`."""

        def __init__(self, key: str, agent: str) -> None:
            super().__init__()
            self.key = key
            self.agent = agent

    class Left(Message):
        """Back to the composer."""

    def __init__(self, board: Board, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.board = board
        self.phase = STILL
        self.cursor = 0
        self._rows_of: list[str] = []

    @property
    def current(self) -> Agent:
        """The agent under the cursor."""
        tree = self.board.tree()
        return tree[min(self.cursor, len(tree) - 1)]

    def tick(self, phase: int) -> None:
        """The dots move and clocks go on."""
        self.phase = phase
        self.redraw()

    def lines(self, width: int) -> list[Row]:
        """Agents, then what changed."""
        tree = self.board.tree()
        self._rows_of = []
        rows = [self._head(tree, width), BLANK]
        self._rows_of += ["", ""]
        for index, agent in enumerate(tree):
            block = self._agent(agent, tree, index, width)
            rows += block
            self._rows_of += [agent.path] * len(block)
        if self.app.size.height >= SHORT:
            rows += self._plan(width)
            rows += self._changed(width) if self.board.changed else []
        return rows

    def _head(self, tree: Sequence[Agent], width: int) -> Row:
        root = self.board.root
        right = [Run(str(len(tree)), "muted")]
        if root.usage.cost_usd is not None:
            amount = spent(root.usage)
            right += [Run(f" {self.signs.between} ", "muted"), Run(amount)]
            if root.budget_usd:
                right.append(Run(f" of ${root.budget_usd:.2f}", "muted"))
        return spread((Run("Agents", "text", "b"),), right, width)

    def _agent(self, agent: Agent, tree: Sequence[Agent], index: int, width: int) -> list[Row]:
        signs, picked = self.signs, self.has_focus and index == min(self.cursor, len(tree) - 1)
        joint, stem = self._tree_lines(agent, tree, index)
        sign, role = agent_sign(agent, signs, self.phase)
        clock = agent.elapsed_s(self.board.clock())
        time = (Run(duration(clock), "muted"),) if clock >= 1 else ()
        name = (
            Run(joint, "rule"),
            Run(f"{sign} ", role),
            Run(agent.name, agent_role(agent.number), "b"),
        )
        action = (Run(stem, "rule"), Run(one_line(agent.action or "rests"), "muted"))
        rows = [
            spread(name, time, width, ground="row" if picked else "", mark=signs.elided),
            spread(action, (), width, mark=signs.elided),
        ]
        if numbers := self._numbers(agent, stem, width):
            rows.append(numbers)
        last = index == len(tree) - 1
        after = tree[index + 1].depth if not last else 0
        rows.append(BLANK if last else Row((Run(signs.tree if after else "", "rule"),)))
        return rows

    def _tree_lines(self, agent: Agent, tree: Sequence[Agent], index: int) -> tuple[str, str]:
        """What stands before an agent's name, and before the lines under it."""
        signs = self.signs
        rest = tree[index + 1 :]
        if agent.depth == 0:
            return "", f"{signs.tree if rest else ' '} "
        stems = []
        for depth in range(1, agent.depth + 1):
            parent = "/".join(agent.path.split("/")[:depth])
            brothers = (other for other in rest if other.depth == depth)
            more = any(other.path.startswith(f"{parent}/") for other in brothers)
            stems.append((signs.tree if more else " ", signs.branch if more else signs.last))
        before = "".join(f"{line} " for line, _ in stems[:-1])
        below = "".join(f"{line} " for line, _ in stems)
        children = any(other.path.startswith(f"{agent.path}/") for other in rest)
        return f"{before}{stems[-1][1]} ", f"{below}{signs.tree if children else ' '} "

    def _numbers(self, agent: Agent, stem: str, width: int) -> Row | None:
        cost = spent(agent.usage)
        if agent.share is None:
            if not agent.tokens:
                return None
            figures = (Run(tokens(agent.tokens)), Run(" tokens", "muted"))
            return spread((Run(stem, "rule"), *figures), (Run(cost, "muted"),), width)
        room = max(6, width - NUMBERS - len(stem))
        high = agent.share >= 0.8
        role = "attention" if high else agent_role(agent.number)
        percent = Run(f"{share(agent.share):>7}", "attention" if high else "text")
        cost_run = Run(f"{cost:>8}", "muted")
        return Row(
            (Run(stem, "rule"), *bar(agent.share, room, role, self.signs), percent, cost_run)
        )

    def _plan(self, width: int) -> list[Row]:
        """What root means to do; what is done is quiet, what it does now stands out."""
        plan = self.board.plan
        if plan is None:
            return []
        wanted = [step for step in plan.steps if step.state != "dropped"]
        done = sum(step.state == "done" for step in wanted)
        counts = (Run(str(done)), Run(f" of {len(wanted)}", "muted"))
        rows = [spread((Run("Plan", "text", "b"),), counts, width), BLANK]
        for step in plan.steps:
            sign, role = STEP_ROLES[step.state]
            runs = (Run(f"{self.signs.step(step.state)} ", sign), Run(one_line(step.text), role))
            rows.append(spread(runs, (), width, mark=self.signs.elided))
        return [*rows, BLANK]

    def _changed(self, width: int) -> list[Row]:
        minus = self.signs.removed
        added, removed = self.board.lines_changed
        rows = [spread((Run("Changed", "text", "b"),), (Run(f"+{added} {minus}{removed}"),), width)]
        rows.append(BLANK)
        for path, (more, less) in self.board.changed.items():
            counts = f"+{more} {minus}{less}"
            short = shorten_path(path, width - len(counts) - 2, elided=self.signs.elided)
            folder, slash, name = short.rpartition("/")
            runs = (Run(folder + slash, "muted"), Run(name))
            rows.append(spread(runs, (Run(counts, "muted"),), width))
        return rows

    def action_agent(self, by: int) -> None:
        """Move the cursor."""
        self.cursor = max(0, min(self.cursor + by, len(self.board.agents) - 1))
        self.redraw()
        self.reveal(self._rows_of.index(self.current.path))

    def action_zoom(self) -> None:
        """Look into the agent."""
        self.post_message(self.Picked("zoom", self.current.path))

    def action_stop(self) -> None:
        """Stop its branch."""
        self.post_message(self.Picked("stop", self.current.path))

    def action_message(self) -> None:
        """Message it."""
        self.post_message(self.Picked("message", self.current.path))

    def action_leave(self) -> None:
        """Back."""
        self.post_message(self.Left())

    def on_focus(self) -> None:
        """Show the cursor."""
        self.redraw()

    def on_blur(self) -> None:
        """Hide the cursor."""
        self.redraw()

    def on_click(self, event: Click) -> None:
        """A click on an agent looks into it."""
        row = event.y + self.top
        if 0 <= row < len(self._rows_of) and self._rows_of[row]:
            self.post_message(self.Picked("zoom", self._rows_of[row]))


def spent(usage: Usage) -> str:
    """Money, `~` before an estimate of more than nothing."""
    return money(usage.cost_usd, estimated=usage.cost_estimated)


def bar(fraction: float, width: int, role: str, signs: Signs) -> tuple[Run, Run]:
    """`━━━━━────────`."""
    full = round(max(0.0, min(1.0, fraction)) * width)
    return Run(signs.bar * full, role), Run(signs.track * (width - full), "track")
