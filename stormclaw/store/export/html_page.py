"""A session as one HTML file: no scripts, nothing from elsewhere, everything foreign escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from typing import assert_never

from stormclaw.protocol.inert import inert
from stormclaw.protocol.messages import (
    ROOT,
    AssistantTurn,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolOutcome,
    UserText,
)
from stormclaw.store.export import words
from stormclaw.store.sessions import SessionInfo

MOST_LINES = 400
"""Lines of one result; the JSON export has all of them."""
_FENCED = re.compile(r"^(`{3,}|~{3,})[^`\n]*\n(.*?)(?:^\1[`~]*[ ]*$|\Z)", re.M | re.S)
_SPAN = re.compile(r"`([^`\n]+)`")
_STYLE = """\
:root{color-scheme:light dark;--ink:#1c2430;--dim:#5b6675;--page:#fbfbf9;--card:#f0f1ee;
--line:#d5d8d3;--you:#0b5c8a;--plus:#176b2c;--minus:#a4262c;--bad:#a4262c}
@media(prefers-color-scheme:dark){:root{--ink:#dde3ea;--dim:#94a1b2;--page:#14181d;--card:#1d232b;
--line:#343d48;--you:#7cc4f0;--plus:#7fd18f;--minus:#f28b82;--bad:#f28b82}}
body{margin:0 auto;max-width:56rem;padding:2rem 1.25rem;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 1rem}
h2{font-size:1rem;margin:2.5rem 0 .5rem;padding-top:.75rem;border-top:1px solid var(--line);
color:var(--you)}
h3{font-size:.95rem;margin:1.25rem 0 .4rem}
h2 small,h3 small,summary small{font-weight:400;color:var(--dim)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0;color:var(--dim)}
dd{margin:0;color:var(--ink)}
.text{white-space:pre-wrap;margin:.4rem 0}
.quiet,.note{color:var(--dim)}
.note{margin:.8rem 0;padding-left:.75rem;border-left:3px solid var(--line)}
.failed{color:var(--bad)}
pre,code{font:13px/1.45 ui-monospace,monospace}
pre{white-space:pre-wrap;background:var(--card);border:1px solid var(--line);border-radius:6px;
padding:.6rem .8rem;margin:.4rem 0;max-height:32rem;overflow:auto}
code{background:var(--card);border-radius:3px;padding:.05em .25em}
.plus{color:var(--plus)}.minus{color:var(--minus)}
section.agent{margin:.8rem 0;padding-left:1rem;border-left:3px solid var(--you)}
@media print{:root{--page:#fff}body{max-width:none;padding:0;font-size:11pt}
pre{max-height:none;overflow:visible}h2,h3{break-after:avoid}}
"""
_HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
"""


def to_html(info: SessionInfo, nodes: Sequence[Node]) -> str:
    """The session as one page, for light and dark screens and for paper.

    Args:
        info: The session.
        nodes: What to show, all agents, in the order written.
    """
    threads = words.Threads(nodes)
    title = _line(info.title) or words.UNTITLED
    parts = [_HEAD.format(title=title, style=_STYLE), f"<h1>{title}</h1>\n<dl>"]
    parts += [f"<dt>{name}</dt><dd>{_line(value)}</dd>" for name, value in words.facts(info, nodes)]
    parts.append("</dl>\n<main>")
    root = threads.take(ROOT)
    if root is not None:
        parts += _thread(root, threads, 0)
    for thread in threads.rest():
        parts.append(f'<section class="agent"><h3>Sub-agent {_line(thread.agent)}</h3>')
        parts += _thread(thread, threads, 1)
        parts.append("</section>")
    parts.append("</main>\n</body>\n</html>\n")
    return "\n".join(parts)


def _thread(thread: words.Thread, threads: words.Threads, depth: int) -> Iterator[str]:
    turn = 0
    for node in thread.nodes:
        match node.body:
            case UserText() as said:
                turn += not said.steered
                yield _heading(said, turn, node.at, depth)
                yield _prose(said.text)
            case AssistantTurn() as answer:
                yield from _answer(answer, thread)
            case ToolOutcome() as outcome:
                yield from _outcome(outcome)
            case Delegation() as delegation:
                yield from _outcome(delegation.outcome)
                yield from _child(delegation, threads, depth)
            case Note() | Summary() | ContextEdit() | Moved() | Label() as decision:
                yield from _decision(decision)
            case _:
                assert_never(node.body)


def _heading(said: UserText, turn: int, at: float, depth: int) -> str:
    when = f"<small>{words.when(at)}</small>"
    if said.steered:
        return f"<h3>You, meanwhile {when}</h3>"
    return f"<h3>Task {when}</h3>" if depth else f"<h2>{turn}. You {when}</h2>"


def _answer(answer: AssistantTurn, thread: words.Thread) -> Iterator[str]:
    used = ", ".join(filter(None, (words.tokens(answer.usage), words.cost(answer.usage))))
    if answer.text.strip() or answer.thinking.strip():
        yield f"<h3>{_line(answer.model) or 'Answer'} <small>{used}</small></h3>"
    if answer.thinking.strip():
        yield f'<div class="text note">{_safe(answer.thinking.strip())}</div>'
    if answer.text.strip():
        yield _prose(answer.text)
    for call in answer.calls:
        if call in thread.unanswered:
            yield f"<h3>{_line(call.name) or 'a tool'} <small>no result was recorded</small></h3>"
            yield _block("", call.arguments)


def _outcome(outcome: ToolOutcome) -> Iterator[str]:
    head = outcome.headline
    first, newline, _ = head.object.strip().partition("\n")
    kind = "" if outcome.status == "done" else ' class="failed"'
    ended = f"<small{kind}>{_line(words.outcome_line(outcome))}</small>"
    yield f"<h3>{_line(head.verb) or 'tool'} <code>{_line(first) or '?'}</code> {ended}</h3>"
    if newline:
        yield _block("", head.object)
    for language, text in words.result_of(outcome):
        shown, rest = words.cut(text, MOST_LINES)
        yield _block(language, shown)
        if rest:
            yield f'<p class="quiet">{rest}</p>'


def _child(delegation: Delegation, threads: words.Threads, depth: int) -> Iterator[str]:
    thread = threads.take(delegation.child, depth + 1)
    if thread is None:
        return
    yield '<section class="agent">'
    yield f"<h3>Sub-agent <small>{_line(words.child_line(delegation))}</small></h3>"
    yield from _thread(thread, threads, depth + 1)
    yield "</section>"


def _decision(decision: Note | Summary | ContextEdit | Moved | Label) -> Iterator[str]:
    yield f'<p class="note">{_line(words.remark(decision))}</p>'
    text = decision.text if isinstance(decision, Summary) else ""
    text = decision.detail if isinstance(decision, Note) else text
    if text.strip():
        yield f'<div class="text note">{_safe(text.strip())}</div>'


def _prose(text: str) -> str:
    """What somebody said: blocks of code as such, everything else as it was typed."""
    text = inert(text.strip("\n"), prose=True)
    parts: list[str] = []
    end = 0
    for found in _FENCED.finditer(text):
        parts += [_said(text[end : found.start()]), _block("", found[2])]
        end = found.end()
    parts.append(_said(text[end:]))
    return "\n".join(filter(None, parts))


def _said(text: str) -> str:
    shown = _SPAN.sub(r"<code>\1</code>", escape(text.strip("\n")))
    return f'<div class="text">{shown}</div>' if shown.strip() else ""


def _block(language: str, text: str) -> str:
    shown = _safe(text.strip("\n"))
    if language == "diff":
        shown = "\n".join(map(_signed, shown.split("\n")))
    return f"<pre>{shown}</pre>" if shown.strip() else ""


def _signed(line: str) -> str:
    kind = {"+": "plus", "-": "minus"}.get(line[:1])
    return f'<span class="{kind}">{line}</span>' if kind else line


def _safe(text: str) -> str:
    """Foreign text: inert, and escaped."""
    return escape(inert(text))


def _line(text: str) -> str:
    return " ".join(_safe(text).split())
