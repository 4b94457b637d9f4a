"""Exports say what was said, whole and in its place, however hostile it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from any_nodes import NASTY, SCATTERED, trees
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from thorough import tries

from stormclaw.protocol.display import (
    Checklist,
    Diff,
    DiffLine,
    Headline,
    Hunk,
    Patch,
    Plain,
    Sign,
    Step,
    Table,
)
from stormclaw.protocol.messages import (
    AssistantTurn,
    Body,
    Change,
    ContextEdit,
    Delegation,
    Label,
    Moved,
    Node,
    Note,
    Summary,
    ToolCall,
    ToolOutcome,
    Usage,
    UserText,
)
from stormclaw.store.export.html_page import to_html
from stormclaw.store.export.json_file import to_json
from stormclaw.store.export.markdown import to_markdown
from stormclaw.store.imports.native import from_json
from stormclaw.store.sessions import SessionInfo

QUICK = settings(max_examples=tries(30, 80), deadline=None, suppress_health_check=list(HealthCheck))


def info(title: str = "Retries", origin: str = "") -> SessionInfo:
    at = 1_795_000_000.0
    return SessionInfo(
        "20261122-014359-k3f9", Path("/w/ork"), title, at, at, "m-1", "p", origin=origin
    )


def nodes(*bodies: Body, agent: str = "root") -> tuple[Node, ...]:
    return tuple(
        Node(f"{agent}{number}", None, agent, 1_795_000_000.0 + 60 * number, body)
        for number, body in enumerate(bodies)
    )


def edited(*lines: DiffLine, **more: object) -> Diff:
    return Diff("src/retry.py", (Hunk(lines),), 1, 1, **more)  # type: ignore[arg-type]


def outcome(**changes: object) -> ToolOutcome:
    usual: dict[str, object] = {
        "call_id": "c1",
        "tool": "edit_file",
        "status": "done",
        "output": "edited",
        "headline": Headline("edit", "src/retry.py", "path"),
        "summary": "+1 −1",
        "receipt": 7,
    }
    return ToolOutcome(**{**usual, **changes})  # type: ignore[arg-type]


def story() -> tuple[Node, ...]:
    call = ToolCall("c1", "edit_file", "{}")
    lost = ToolCall("c9", "grep", '{"pattern": "x"}')
    child = outcome(call_id="c2", tool="spawn_agent", headline=Headline("agent", "look"))
    diff = edited(DiffLine("-", "a = 1", 1, None), DiffLine("+", "a = 2", None, 1))
    usage = Usage(1200, 30, 0, 0.0215)
    return (
        *nodes(
            UserText("go on"),
            AssistantTurn("Let me see.", "hm", (call, lost), "m-1", "p", usage),
            outcome(display=diff),
            Delegation(child, "root/scout", "look around", "done", Usage(10, 2)),
            UserText("and hurry", steered=True),
            Note("failed", "the model was busy", "try again", "rate_limit"),
            Summary("all of it", ("root0", "root1"), "the diff", 9000, 100),
            ContextEdit("you", (Change("root2", include=False),)),
            Moved("rewind", "root7", 2, ("a.py",), ("b.py",)),
            Label("root0", "the start"),
            AssistantTurn("Done."),
        ),
        *nodes(UserText("look around"), AssistantTurn("seen it all"), agent="root/scout"),
        *nodes(UserText("left alone"), agent="root/orphan"),
    )


@pytest.mark.parametrize("form", [to_markdown, to_html])
def test_everything_that_happened_is_told(
    form: Callable[[SessionInfo, tuple[Node, ...]], str],
) -> None:
    text = form(info(origin="20261121-000000-aaaa"), story())
    parts = (
        "Retries", "20261122-014359-k3f9", "/w/ork", "p/m-1", "$0.0215",
        "20261121-000000-aaaa", "1. You", "go on", "Let me see.", "hm", "src/retry.py",
        "done, +1 −1, receipt 7", "a = 1", "a = 2", "root/scout, done, 10 in, 2 out",
        "look around", "seen it all", "You, meanwhile", "and hurry", "the model was busy",
        "try again", "2 entries summed up, with an eye on the diff (9,000 to 100 tokens)",
        "all of it", "you held 1 entry back from the model",
        "went back, 2 turns left behind; files put back: a.py; left as they are: b.py",
        "the start", "no result was recorded", "Done.", "root/orphan", "left alone",
    )  # fmt: skip
    plain = text.replace("\\", "").replace("&#x27;", "'")
    missing = [part for part in parts if part not in plain]
    assert not missing, text
    assert plain.index("look around") < plain.index("seen it all") < plain.index("and hurry")


def test_an_empty_session_is_a_document_too() -> None:
    assert to_markdown(info(""), ()).startswith("# Untitled session\n")
    assert "<h1>Untitled session</h1>" in to_html(info(""), ())
    assert json.loads(to_json(info(), ()))["nodes"] == []


def test_long_results_are_cut_and_say_so() -> None:
    long = nodes(UserText("x"), outcome(display=None, output="\n".join(map(str, range(1000)))))
    text = to_markdown(info(), long)
    assert "59\n```" in text
    assert "940 more lines" in text
    assert "600 more lines" in to_html(info(), long)


def test_a_refused_edit_shows_why_and_what() -> None:
    display = edited(DiffLine("+", "x = 1", None, 1))
    told = to_markdown(
        info(), nodes(outcome(status="denied", output="not today", display=display, receipt=0))
    )
    assert "not today" in told
    assert "+x = 1" in told


@pytest.mark.parametrize(
    ("display", "said"),
    [
        (Plain("plain\x1b[2J"), "plain␛[2J"),
        (Table(("a", "b"), (("1", "2\n3"),)), "1  2 3"),
        (Checklist((Step("one", "done"), Step("two"))), "[x] one\n[ ] two"),
        (Patch((edited(created=True, cut=3),)), "+++ src/retry.py"),
        (edited(cut=3), "… 3 changed lines not kept"),
    ],
)
def test_every_display_is_drawn(display: object, said: str) -> None:
    assert said in to_markdown(info(), nodes(outcome(display=display)))
    assert said in to_html(info(), nodes(outcome(display=display))).replace("</span>", "")


# Nothing breaks out ------------------------------------------------------------------------


def _stuffed(text: str) -> tuple[Node, ...]:
    """The same text wherever text can be."""
    head = Headline("shell", text, "command")
    signs: tuple[Sign, ...] = (" ", "+", "-")
    diff = Diff(text, (Hunk(tuple(DiffLine(sign, text, 1, 1) for sign in signs)),), 1, 1)
    call = ToolCall("c0", text, text)
    child = Delegation(outcome(headline=head, output=text), "root/kid", text, "done", Usage())
    return (
        *nodes(
            UserText(text),
            AssistantTurn(text, text, (call,), text, text),
            outcome(headline=head, output=text, summary=text, display=diff),
            outcome(headline=head, output=text, summary=text, status="failed"),
            child,
            Note("failed", text, text, text),
            Summary(text, ("x",), text),
            Moved("files", text, 0, (text,), (text,)),
            Label("x", text),
            ContextEdit(text, (), policies=(text,)),
        ),
        *nodes(UserText(text), AssistantTurn(text), agent="root/kid"),
        *nodes(UserText(text), agent=f"root/{text}!"),
        *nodes(UserText("the end of it")),
    )


READER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@QUICK
@given(NASTY, NASTY)
def test_nothing_breaks_out_of_markdown(text: str, title: str) -> None:
    document = to_markdown(info(title), _stuffed(text))
    document.encode("utf-8")
    tokens = READER.parse(document)
    kinds = [token.type for token in tokens]
    inline = [one.type for token in tokens for one in token.children or ()]
    assert "html_block" not in kinds, document
    assert "html_inline" not in inline, document
    assert "image" not in inline, document
    tops = [token for token in tokens if token.level == 0]
    headings = [token.tag for token in tops if token.type == "heading_open"]
    assert headings == ["h1", "h2", "h2", "h2"], document
    assert {token.type for token in tops} <= {
        "heading_open", "heading_close", "inline", "bullet_list_open", "bullet_list_close",
        "paragraph_open", "paragraph_close", "blockquote_open", "blockquote_close", "fence",
    }, document  # fmt: skip
    assert re.search(r"^## 2\. You · .*\n\n> the end of it$", document, re.M), document


@QUICK
@given(NASTY)
def test_a_fence_holds_exactly_what_was_put_in(text: str) -> None:
    from stormclaw.protocol.inert import inert
    from stormclaw.store.export.markdown import fenced

    (token,) = READER.parse(fenced("diff", text))
    assert (token.type, token.info) == ("fence", "diff")
    assert token.content.strip("\n") == inert(text).strip("\n")


def test_code_somebody_wrote_stays_readable() -> None:
    said = "see `<b>` and\n\n```html\n<b>x</b>\n```\n\nbut <b> and ``"
    text = to_markdown(info(), nodes(AssistantTurn(said)))
    assert "> see `<b>` and" in text
    assert "> <b>x</b>" in text
    assert "> but &lt;b> and ``" in text


class Checked(HTMLParser):
    """What a page consists of."""

    TAGS = frozenset({
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "dl", "dt", "dd",
        "main", "section", "div", "p", "pre", "code", "small", "span",
    })  # fmt: skip
    ATTRIBUTES = frozenset({"lang", "charset", "http-equiv", "content", "name", "class"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS, tag
        assert {name for name, _ in attrs} <= self.ATTRIBUTES
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_pi(self, data: str) -> None:
        raise AssertionError(data)

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(data)


def _page(document: str) -> Checked:
    document.encode("utf-8")
    page = Checked()
    page.feed(document)
    page.close()
    assert page.open == []
    return page


@QUICK
@given(NASTY, NASTY)
def test_nothing_breaks_out_of_html(text: str, title: str) -> None:
    page = _page(to_html(info(title), _stuffed(text)))
    assert page.counts["h2"] == 2
    assert page.counts["section"] == 2
    assert page.counts["style"] == 1


def test_a_page_brings_everything_and_lets_nothing_in() -> None:
    document = to_html(info(), story())
    assert "default-src 'none'" in document
    assert not re.search(r"https?:|url\(|@import|<script|<link|<img", document)
    assert "prefers-color-scheme:dark" in document
    assert "@media print" in document


@QUICK
@given(trees())
def test_any_tree_can_be_read(tree: tuple[Node, ...]) -> None:
    _page(to_html(info(), tree))
    READER.parse(to_markdown(info(), tree))


def test_agents_that_sent_each_other_are_shown_once() -> None:
    def sends(child: str) -> Delegation:
        return Delegation(outcome(), child, "t", "done", Usage())

    circle = (
        *nodes(UserText("x"), sends("root/a"), sends("root"), sends("root/a")),
        *nodes(AssistantTurn("in a"), sends("root/b"), agent="root/a"),
        *nodes(AssistantTurn("in b"), sends("root/a"), agent="root/b"),
    )
    assert to_markdown(info(), circle).count("in a") == 1
    assert to_html(info(), circle).count("in b") == 1


def test_a_long_line_of_agents_does_not_end_in_a_fault() -> None:
    line: list[Node] = []
    for n in range(400):
        sends = Delegation(outcome(), f"root{'/x' * (n + 1)}", "t", "done", Usage())
        line += nodes(AssistantTurn(f"agent {n}."), sends, agent=f"root{'/x' * n}")
    for form in (to_markdown, to_html):
        text = form(info(), line)
        assert all(f"agent {n}." in text for n in range(400))


# JSON comes back ---------------------------------------------------------------------------


@settings(QUICK, max_examples=tries(40, 120))
@given(st.one_of(SCATTERED, trees()))
def test_json_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, some: tuple[Node, ...]
) -> None:
    path = tmp_path_factory.mktemp("json") / "session.json"
    text = to_json(info(), some)
    assert text.isascii()
    assert set(json.loads(text)) == {"format", "version", "session", "nodes"}
    path.write_text(text)
    assert tuple(from_json(path)) == some
    path.write_text(json.dumps(json.loads(text), indent=2))
    assert tuple(from_json(path)) == some
