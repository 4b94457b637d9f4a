"""Every key and what it does: one table, from which bindings, hints and the help are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from textual.binding import Binding

Place: TypeAlias = Literal[
    "everywhere",
    "chat",
    "composer",
    "popup",
    "transcript",
    "find",
    "sheet",
    "panel",
    "zoom",
    "list",
    "context",
    "policies",
    "reading",
    "tree",
    "models",
]


class Key(NamedTuple):
    """One row of the table.

    Attributes:
        place: Where it works; also the heading it stands under in the help.
        keys: Textual's names of the keys, joined by commas; the first is the one shown.
        action: Action of the widget or screen of that place.
        label: What it does, in a few words; "" keeps it out of the help.
        shown: How the key is written when its Textual name is no help.
        priority: Taken before the focused widget sees it.
    """

    place: Place
    keys: str
    action: str
    label: str = ""
    shown: str = ""
    priority: bool = False


KEYS: tuple[Key, ...] = (
    Key("everywhere", "f1", "help", "help"),
    Key("everywhere", "ctrl+p", "command_palette", "command palette", priority=True),
    Key("everywhere", "ctrl+c,super+c", "interrupt", "copy, clear, stop, quit", priority=True),
    Key("everywhere", "ctrl+l", "repaint", "repaint", priority=True),
    Key("everywhere", "ctrl+z", "suspend_process", "suspend, fg comes back", priority=True),
    Key("chat", "escape", "escape", "close, or stop the turn"),
    Key("chat", "escape", "escape", "clear the draft; without one, sessions and turns", "esc esc"),
    Key("chat", "shift+tab", "cycle_autonomy", "readonly, supervised, full", priority=True),
    Key("chat", "ctrl+s", "steer", "say it to the running turn"),
    Key("chat", "ctrl+t", "panel", "agents"),
    Key("chat", "ctrl+o", "fold_all", "fold or open all"),
    Key("chat", "ctrl+x", "context", "what the model sees; with a selection, cut"),
    Key("chat", "pageup", "scroll(-1, True)", "scroll", "pgup pgdn"),
    Key("chat", "pagedown", "scroll(1, True)"),
    Key("chat", "shift+up", "scroll(-1, False)", "scroll by a line", "shift+↑ ↓"),
    Key("chat", "shift+down", "scroll(1, False)"),
    Key("composer", "ctrl+x", "screen.context"),
    Key("composer", "pageup", "screen.scroll(-1, True)"),
    Key("composer", "pagedown", "screen.scroll(1, True)"),
    Key("composer", "shift+up", "screen.scroll(-1, False)"),
    Key("composer", "shift+down", "screen.scroll(1, False)"),
    Key("composer", "enter", "send", "send; queue while a turn runs"),
    Key("composer", "ctrl+j,shift+enter,alt+enter", "newline", "new line (or \\ then enter)"),
    Key("composer", "up", "up", "take back the queued, then history", "↑ ↓"),
    Key("composer", "down", "down"),
    Key("composer", "ctrl+r", "search_history", "search the history"),
    Key("composer", "tab", "complete", "take the completion"),
    Key("composer", "ctrl+g", "edit_outside", "write in $EDITOR"),
    Key("composer", "end", "end", "end of line, then end of the chat"),
    Key("composer", "ctrl+a,home", "cursor_line_start", "start of line"),
    Key("composer", "ctrl+e", "cursor_line_end", "end of line"),
    Key("composer", "ctrl+b", "cursor_left", "back; by a word with alt"),
    Key("composer", "ctrl+f", "cursor_right", "forward; by a word with alt"),
    Key("composer", "alt+b", "cursor_word_left"),
    Key("composer", "alt+f", "cursor_word_right"),
    Key("composer", "ctrl+k", "kill_to_end", "cut to the end of the line"),
    Key("composer", "ctrl+u", "kill_to_start", "cut to the start of the line"),
    Key("composer", "ctrl+w,alt+backspace", "kill_word_left", "cut the word before"),
    Key("composer", "alt+d,alt+delete", "kill_word_right", "cut the word after"),
    Key("composer", "ctrl+y", "yank", "put back what was cut"),
    Key("composer", "ctrl+underscore,ctrl+minus", "undo", "undo", "ctrl+_"),
    Key("composer", "ctrl+d", "delete_or_quit", "delete, or quit when empty"),
    Key("transcript", "up,k", "card(-1)", "card above, below", "↑ ↓ k j"),
    Key("transcript", "down,j", "card(1)"),
    Key("transcript", "enter", "fold", "fold or open"),
    Key("transcript", "y", "copy_card", "copy"),
    Key("transcript", "o", "open_card", "open in $EDITOR"),
    Key("transcript", "r", "receipt", "receipt"),
    Key("transcript", "end,G", "end", "newest"),
    Key("transcript", "home,g", "home", "oldest"),
    Key("transcript", "slash", "find", "find", "/"),
    Key("transcript", "n", "find_step(1)", "next found, one before", "n N"),
    Key("transcript", "N", "find_step(-1)"),
    Key("transcript", "escape", "end_find"),
    Key("find", "enter,down", "find_step(1)", "next", "enter ↓"),
    Key("find", "up,shift+enter", "find_step(-1)", "one before", "↑"),
    Key("find", "tab", "read", "into the transcript, where n and N go on"),
    Key("find", "escape", "close", "close; the view stays"),
    Key("sheet", "y", "choose('once')", "allow once"),
    Key("sheet", "s", "choose('session')", "allow for this session"),
    Key("sheet", "a", "choose('always')", "allow always, in the scope named"),
    Key("sheet", "n", "deny", "deny, with a reason"),
    Key("sheet", "e", "edit", "edit before it runs"),
    Key("sheet", "question_mark", "why", "why it is asked", "?"),
    Key("sheet", "f", "full", "full screen"),
    Key("sheet", "left_square_bracket", "hunk(-1)", "hunk above, below", "[ ]"),
    Key("sheet", "right_square_bracket", "hunk(1)"),
    Key("sheet", "pageup", "page(-1)", "scroll", "pgup pgdn"),
    Key("sheet", "pagedown", "page(1)"),
    Key("sheet", "home", "edge(-1)", "its beginning, end", "home end"),
    Key("sheet", "end", "edge(1)"),
    Key("sheet", "tab", "next_ask", "next question"),
    Key("sheet", "enter", "enter", "deny; in a question, take the option"),
    Key("sheet", "escape", "escape", "deny"),
    Key("sheet", "up,k", "option(-1)", "option above, below", "↑ ↓ k j"),
    Key("sheet", "down,j", "option(1)"),
    Key("panel", "up,k", "agent(-1)", "agent above, below", "↑ ↓ k j"),
    Key("panel", "down,j", "agent(1)"),
    Key("panel", "enter", "zoom", "look into it"),
    Key("panel", "m", "message", "message it"),
    Key("panel", "x", "stop", "stop that branch"),
    Key("panel", "escape,ctrl+t", "leave", "back"),
    Key("zoom", "m", "message", "message this agent"),
    Key("zoom", "x", "stop", "stop this branch"),
    Key("zoom", "tab", "sibling", "next agent"),
    Key("zoom", "escape", "leave", "one level up; it goes on"),
    Key("list", "up,k", "cursor(-1)", "line above, below", "↑ ↓ k j"),
    Key("list", "down,j", "cursor(1)"),
    Key("list", "pageup", "page(-1)", "page", "pgup pgdn"),
    Key("list", "pagedown", "page(1)"),
    Key("list", "home,g", "first"),
    Key("list", "end,G", "last"),
    Key("list", "enter", "pick", "take it"),
    Key("list", "escape,q", "leave", "back"),
    Key("context", "space", "keep_or_drop", "keep or drop"),
    Key("context", "s", "summarise", "put a summary in its place"),
    Key("context", "t", "pin", "pin: no policy touches it"),
    Key("context", "w", "wire", "what the model gets, word for word"),
    Key("context", "u", "undo", "take back the last decision"),
    Key("context", "c", "compact", "sum up what is old"),
    Key("context", "C", "compact_on", "sum up, with a focus"),
    Key("context", "o", "only_held", "only what is held back, or would change"),
    Key("context", "slash", "filter", "filter", "/"),
    Key("context", "tab,shift+tab", "other", "to the policies, and back"),
    Key("policies", "up,k", "cursor(-1)", "policy above, below", "↑ ↓ k j"),
    Key("policies", "down,j", "cursor(1)"),
    Key("policies", "K", "move(-1)", "earlier, later", "K J"),
    Key("policies", "J", "move(1)"),
    Key("policies", "space", "switch", "off or on, as a dry run"),
    Key("policies", "enter", "apply", "apply the dry run"),
    Key("policies", "escape,q", "leave", "drop the dry run"),
    Key("reading", "slash", "seek", "search", "/"),
    Key("reading", "n", "again(1)", "next, previous place", "n N"),
    Key("reading", "N", "again(-1)"),
    Key("reading", "left_square_bracket", "section(-1)", "part above, below", "[ ]"),
    Key("reading", "right_square_bracket", "section(1)"),
    Key("reading", "y", "copy", "copy all of it"),
    Key("reading", "Y", "copy_part", "copy this part"),
    Key("tree", "b", "back('both')", "go back: conversation and files"),
    Key("tree", "c", "back('conversation')", "go back in the conversation"),
    Key("tree", "f", "back('files')", "put files back"),
    Key("tree", "F", "back('force')", "put back also what somebody else changed"),
    Key("tree", "n", "go_on", "go on from the end of this turn"),
    Key("tree", "u", "undo", "take back the last turn"),
    Key("tree", "U,ctrl+r", "redo", "bring back what was taken back", "U"),
    Key("tree", "l", "label", "give this place a name"),
    Key("tree", "right", "unfold(True)", "open, fold a session", "→ ←"),
    Key("tree", "left", "unfold(False)"),
    Key("tree", "slash", "search", "search titles, words, labels, files", "/"),
    Key("tree", "o", "only('files')", "only turns that changed files"),
    Key("tree", "L", "only('labelled')", "only turns with a name"),
    Key("tree", "a", "everywhere", "sessions of all folders"),
    Key("tree", "p,space", "peek", "how a session ended"),
    Key("tree", "r", "rename", "rename a session"),
    Key("tree", "d", "delete", "delete a session"),
    Key("tree", "x", "export", "export a session"),
    Key("tree", "left_square_bracket", "pane(-1)", "scroll the right side", "[ ]"),
    Key("tree", "right_square_bracket", "pane(1)"),
    Key("models", "up", "cursor(-1)", "model above, below", "↑ ↓", priority=True),
    Key("models", "down", "cursor(1)", priority=True),
    Key("models", "pageup", "page(-1)", "page", "pgup pgdn", priority=True),
    Key("models", "pagedown", "page(1)", priority=True),
    Key("models", "left", "effort(-1)", "think less hard, harder", "← →", priority=True),
    Key("models", "right", "effort(1)", priority=True),
    Key("models", "ctrl+home", "edge(0)", "first, last", "ctrl+home end", priority=True),
    Key("models", "ctrl+end", "edge(-1)", priority=True),
    Key("models", "enter", "take", "go on with it", priority=True),
    Key("models", "escape", "leave", "drop the search, then back", priority=True),
)

HEADINGS: Mapping[Place, str] = {
    "everywhere": "Everywhere",
    "chat": "Chat",
    "composer": "Composer",
    "transcript": "Transcript, after ↑",
    "find": "Find, after /find",
    "sheet": "Approval",
    "panel": "Agents, after ctrl+t",
    "zoom": "An agent's own chat",
    "list": "Lists",
    "context": "Context, ctrl+x",
    "policies": "Context policies, after tab",
    "reading": "The wire, or a node whole",
    "tree": "Sessions and turns, esc esc",
    "models": "Models, /model",
}

Situation: TypeAlias = Literal[
    "starting",
    "idle",
    "first",
    "failed",
    "busy",
    "popup",
    "find",
    "found",
    "transcript",
    "panel",
    "edit_sheet",
    "shell_sheet",
    "question",
    "armed",
    "stopped",
    "zoom",
]

HINTS: Mapping[Situation, tuple[tuple[str, str], ...]] = {
    "starting": (("enter", "queue"), ("f1", "help")),
    "idle": (("enter", "send"), ("/", "commands"), ("@", "files"), ("shift+tab", "autonomy")),
    "first": (("enter", "send"), ("f1", "help"), ("shift+tab", "autonomy")),
    "failed": (("enter", "go on"), ("ctrl+o", "details")),
    "busy": (("enter", "queue"), ("ctrl+s", "steer"), ("esc", "stop"), ("shift+tab", "autonomy")),
    "popup": (("tab", "take"), ("↑ ↓", "pick"), ("esc", "close")),
    "find": (("enter", "next"), ("↑", "before"), ("tab", "read on"), ("esc", "close")),
    "found": (("n", "next"), ("N", "before"), ("enter", "fold"), ("esc", "close")),
    "transcript": (("↑ ↓", "card"), ("enter", "fold"), ("y", "copy"), ("esc", "back")),
    "panel": (("enter", "zoom"), ("x", "stop"), ("m", "message"), ("esc", "back")),
    "edit_sheet": (("esc", "deny"), ("[ ]", "hunk"), ("f", "full screen")),
    "shell_sheet": (("esc", "deny"), ("pgdn", "scroll")),
    "question": (("enter", "answer"), ("esc", "no answer")),
    "armed": (("ctrl+c", "again to quit"),),
    "stopped": (("/estop clear", "go on"),),
    "zoom": (("m", "message"), ("x", "stop"), ("enter", "fold")),
}
"""The footer's hints; under 70 columns it shows two of them, under 150 three."""


def bindings(place: Place) -> list[Binding]:
    """The bindings of a place; each has the id `place.action`, for remapping."""
    return [
        Binding(key.keys, key.action, key.label, show=False, priority=key.priority)
        for key in KEYS
        if key.place == place
    ]


def help_rows(place: Place) -> list[tuple[str, str]]:
    """(key as written, label) of a place."""
    return [(shown(key), key.label) for key in KEYS if key.place == place and key.label]


def shown(key: Key) -> str:
    """A key as a person reads it: `esc`, `ctrl+s`."""
    first = key.keys.partition(",")[0]
    return key.shown or {"escape": "esc"}.get(first, first)
