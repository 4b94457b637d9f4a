"""An agent's own chat: its task, what it may do, its transcript, its purse. Opens for reading."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical

from stormclaw.protocol.messages import ROOT, UserText
from stormclaw.ui.agents import Agent
from stormclaw.ui.keymap import Situation, bindings
from stormclaw.ui.measures import TALL, Column, column
from stormclaw.ui.rows import BLANK, Row, Run, spread, wrap_runs
from stormclaw.ui.screens.chat import Chat
from stormclaw.ui.text import duration, one_line, share, tokens
from stormclaw.ui.visits import ask_to_stop
from stormclaw.ui.widgets.composer import Composer
from stormclaw.ui.widgets.footer import Costs, Footer
from stormclaw.ui.widgets.header import Header, Where
from stormclaw.ui.widgets.lines import Lines
from stormclaw.ui.widgets.panel import agent_role, bar, spent

TASK_ROWS = 4
"""Rows a task may take; the transcript has the rest of it."""


class Brief(Lines):
    """`task from root`, the task, what the agent may do."""

    DEFAULT_CSS = "Brief { height: auto; background: $sc-bg; }"

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent

    def lines(self, width: int) -> list[Row]:
        """The head of the screen."""
        agent = self.agent
        parent = agent.path.rpartition("/")[0].rpartition("/")[2] or ROOT
        clock = agent.elapsed_s(self.frame.clock())
        time = (Run(duration(clock), "muted"),) if clock >= 1 else ()
        rows = [spread((Run(f"  task from {parent}", "muted"),), time, width)]
        task = wrap_runs(one_line(agent.task), max(10, width - 2))[:TASK_ROWS]
        rows += [Row((Run("  "), *row.runs)) for row in task]
        if agent.tools:
            may = (Run("  may ", "muted"), Run(", ".join(agent.tools)))
            rows += [BLANK, spread(may, (), width, mark=self.signs.elided)]
        return [*rows, BLANK]


class Purse(Lines):
    """`budget ━━━━━─── 84%     tokens 12.4k/15k  $0.09/0.10`."""

    DEFAULT_CSS = "Purse { height: 1; margin: 0 0 1 0; background: $sc-bg; }"

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent

    def lines(self, width: int) -> list[Row]:
        """The one line."""
        agent = self.agent
        right = [Run("tokens ", "muted"), Run(tokens(agent.tokens))]
        if agent.budget_tokens:
            right.append(Run(f"/{tokens(agent.budget_tokens)}", "muted"))
        if agent.usage.cost_usd is not None:
            right += [Run("  "), Run(spent(agent.usage))]
            if agent.budget_usd:
                right.append(Run(f"/{agent.budget_usd:.2f}", "muted"))
        left = [Run("  budget  ", "muted")]
        if agent.share is None:
            return [spread((*left, Run("no limit", "muted")), right, width)]
        role = "attention" if agent.share >= 0.8 else agent_role(agent.number)
        room = max(6, min(33, width - 50))
        left += [*bar(agent.share, room, role, self.signs)]
        left.append(Run(f" {share(agent.share)}", "attention" if agent.share >= 0.8 else "text"))
        return [spread(left, right, width)]


class ZoomScreen(Chat):
    """The chat of a sub-agent; letters are keys until `m` goes to the composer."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("zoom")]
    AUTO_FOCUS = "Transcript"
    DEFAULT_CSS = "".join(
        f"ZoomScreen Composer.-agent-{n}:focus {{ border-left: outer $sc-agent-{n}; }}\n"
        for n in range(2, 7)
    )

    def __init__(self, agent: Agent, *, writing: bool = False) -> None:
        words = f"m to message {agent.name}; it reads it after the running tool"
        composer = Composer(placeholder=words)
        super().__init__(agent.path, composer, Header(Where()), Footer(Costs()))
        composer.add_class(f"-{agent_role(agent.number)}")
        self.subject = agent
        self._writing = writing
        self.brief, self.purse = Brief(agent), Purse(agent)

    def compose(self) -> ComposeResult:
        """Header, the agent's chat, footer."""
        yield self.header
        with Vertical(id="stage", classes="-alone"):
            yield self.brief
            yield self.purse
            yield self.composer
        yield self.footer

    async def on_mount(self) -> None:
        """Show what it did so far; the transcript has the focus."""
        await self.furnish()
        session, transcript = self.storm.session, self.transcript
        if session is None or transcript is None:
            return
        nodes = session.nodes(self.agent)
        told = bool(nodes) and nodes[0].body == UserText(self.subject.task)
        transcript.show(nodes[1:] if told else nodes)
        (self.composer if self._writing else transcript).focus()
        self.stage.move_child(transcript, after=self.brief)
        self.show_asks()
        self.refresh_facts()

    def column(self) -> Column:
        """No panel beside it."""
        return column(self.size.width, panel=False)

    def settle(self) -> None:
        """Put everything where it belongs."""
        super().settle()
        place = self.column()
        for widget in (self.brief, self.purse):
            below = 1 if widget is self.purse and self.size.height >= TALL else 0
            widget.styles.margin = (0, place.right, below, place.left)
        self.brief.styles.height = len(self.brief.lines(place.measure))

    def refresh_facts(self) -> None:
        """Header, brief, purse, footer say what is true now."""
        super().refresh_facts()
        agent, storm = self.subject, self.storm
        between = Run(f" {storm.signs.selected} ", "muted")
        *above, name = agent.path.split("/")
        trail: list[Run] = []
        for part in above:
            trail += [Run(part, "muted"), between]
        trail.append(Run(name, agent_role(agent.number), "b"))
        model = one_line(agent.model).rpartition("/")[2]
        self.header.show(Where(trail=tuple(trail), model=model, stopped=storm.stopped))
        self.brief.redraw()
        self.purse.redraw()

    def tick(self, phase: int) -> None:
        """The dots move, the clock goes on."""
        super().tick(phase)
        self.brief.redraw()

    def situation(self) -> Situation:
        """See `Chat.situation`."""
        usual = super().situation()
        if usual in ("armed", "edit_sheet", "shell_sheet", "question", "find", "found"):
            return usual
        return "busy" if self.composer.has_focus else "zoom"

    def costs(self) -> Costs:
        """Keys, and where tab and esc lead."""
        costs = super().costs()
        if costs.situation == "busy":
            tell = (("enter", f"tell {self.subject.name}"), ("ctrl+j", "new line"))
            return replace(costs, autonomy=None, hints=tell, right_hints=(("esc", "back"),))
        if costs.situation != "zoom":
            return costs
        up = self.agent.rpartition("/")[0].rpartition("/")[2] or ROOT
        other = self._sibling()
        tab = (("tab", other.name),) if other is not None else ()
        hints = (("m", "message"), ("x", f"stop {self.subject.name}"), ("enter", "fold"))
        return replace(costs, autonomy=None, hints=hints, right_hints=(*tab, ("esc", up)))

    def _sibling(self) -> Agent | None:
        children = [agent for agent in self.storm.board.tree() if agent.depth]
        if len(children) < 2:
            return None
        at = next((n for n, agent in enumerate(children) if agent.path == self.agent), 0)
        return children[(at + 1) % len(children)]

    def on_transcript_leave_wanted(self) -> None:
        """Down past the last card: here the focus stays, so that no letter steers by accident."""

    def action_message(self) -> None:
        """To the composer."""
        self.composer.focus()

    def action_stop(self) -> None:
        """Stop this branch, after asking."""
        ask_to_stop(self.storm, self.agent)

    def action_sibling(self) -> None:
        """The next agent."""
        other = self._sibling()
        if other is not None:
            self.storm.switch_screen(ZoomScreen(other))

    def action_leave(self) -> None:
        """From the composer back to reading, from there one level up. The agent goes on."""
        if self.composer.has_focus and self.transcript is not None:
            self.transcript.focus()
        elif self.is_current:  # A key that is held leaves one screen.
            self.dismiss()

    def action_panel(self) -> None:
        """Back to root's chat, into the agents there."""
        if self.is_current:
            self.dismiss()
        self.storm.call_later(self.storm.main.action_panel)

    def action_escape(self) -> None:
        """See `action_leave`: in an agent's chat Esc never stops it."""
        self.action_leave()

    def on_composer_sent(self, message: Composer.Sent) -> None:
        """Words for this agent."""
        message.stop()
        text, session = message.text.strip(), self.storm.session
        if not text or session is None:
            return
        if session.steer(text, self.agent):
            self.say(f"{self.subject.name} reads it after the running tool")
        else:
            self.composer.put(text)
            self.say(f"{self.subject.name} does not work any more; nothing sent", "attention")
