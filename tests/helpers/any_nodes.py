"""Nodes by the handful for property-based tests: of any kind, with the nastiest of texts."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from stormclaw.protocol.messages import Node

PIECES = (
    "```", "````", "~~~", "`", "``", "\n", "\n\n", "> ", "# x", "## 2. You", "<script>alert(1)",
    "</script>", "<!--", "-->", "<b onclick=x>", "<img src=http://x/y>", "</pre>", "</section>",
    "![a](http://x/y)", "[a]: http://x", "\\", "|", "- ", "    ", "\t", "\r", "1. ", "***", "---",
    "===", "&lt;", "&#33;", '"', "'", "\x1b[31m", "\u202e", "\ud800", "word", "ä", "𝒳", "{", "}",
    "<?php", "<![CDATA[", "</blockquote>", "| a | b |\n|---|---|\n", "$x$", "@@", "+", "\u2028",
)  # fmt: skip
"""What breaks out of Markdown, of HTML, of a terminal, of a line."""

NASTY = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)

_FINITE = st.floats(allow_nan=False, allow_infinity=False)
_COUNT = st.integers(min_value=0, max_value=2**53)


def _joined(text: str) -> str:
    """Two surrogates side by side are one character: JSON cannot tell them apart."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_TEXT = st.one_of(st.text(st.characters(codec=None), max_size=12), NASTY).map(_joined)
_SIMPLE: dict[object, st.SearchStrategy[Any]] = {
    str: _TEXT,
    float: _FINITE,
    int: _COUNT,
    bool: st.booleans(),
    type(None): st.none(),
}


def anything(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a type hint, every field of every dataclass filled at random."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if isinstance(hint, type) and is_dataclass(hint):
        hints = get_type_hints(hint)
        return st.builds(hint, **{part.name: anything(hints[part.name]) for part in fields(hint)})
    if get_origin(hint) is Literal:
        return st.sampled_from(get_args(hint))
    if get_origin(hint) is tuple:
        return st.lists(anything(get_args(hint)[0]), max_size=3).map(tuple)
    return st.one_of(*map(anything, get_args(hint)))


def _numbered(nodes: list[Node]) -> tuple[Node, ...]:
    return tuple(replace(node, id=f"{number}-{node.id}") for number, node in enumerate(nodes))


def _linked(nodes: tuple[Node, ...], parents: list[int], agents: list[str]) -> tuple[Node, ...]:
    """The same as a tree: each node's parent is one before it."""
    return tuple(
        replace(
            node,
            parent=None if not number else nodes[parents[number] % number].id,
            agent=agents[number],
        )
        for number, node in enumerate(nodes)
    )


SCATTERED = st.lists(anything(Node), max_size=5).map(_numbered)
"""Any nodes at all, but no two with the same id."""

_AGENTS = st.sampled_from(("root", "root", "root", "root/scout", "root/scout/deep"))


@st.composite
def trees(draw: st.DrawFn) -> tuple[Node, ...]:
    """Nodes of any kind in a tree of a few branches."""
    nodes = draw(st.lists(anything(Node), max_size=8).map(_numbered))
    parents = draw(st.lists(st.integers(0, 50), min_size=len(nodes), max_size=len(nodes)))
    agents = draw(st.lists(_AGENTS, min_size=len(nodes), max_size=len(nodes)))
    return _linked(nodes, parents, agents)
