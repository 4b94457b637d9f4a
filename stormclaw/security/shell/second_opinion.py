"""A second parser reads every shell line; where the two disagree, nobody knows what would run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from stormclaw.security.shell.shell_tree import Call, Chain, Function, Group, Pipe, Script, Word

if TYPE_CHECKING:
    from tree_sitter import Language, Node

PREFIXES = frozenset({"time", "coproc", "!", "-p", "--"})
"""Words that one parser takes for the command and the other for what comes before it."""

UNCOUNTED = frozenset({"[", "let"})
"""Commands that one of the parsers knows as syntax; they run no other program."""

_TIMED = re.compile(r"(^\s*|[;&|\n]\s*)time(?= +(?:-p +)?[({])")
"""`time (a; b)`: a keyword that the second parser takes for a program."""

MAX_NODES = 5000
"""Most pieces of a line that are judged; a second of work would be too long."""

_COMMANDS = {"declaration_command", "unset_command"}


def disagreement(line: str, script: Script) -> str:
    """Why the reading in `script` cannot be relied on, "" if both parsers see the same commands."""
    seen = _commands_seen(_TIMED.sub(lambda found: f"{found[1]}    ", line).encode())
    if seen is None:
        return "a second shell parser cannot read it"
    first = {(word.at, word.raw) for word in _heads(script) if word.raw not in UNCOUNTED}
    if first == seen:
        return ""
    extra = sorted(name for _, name in seen ^ first)
    return f"two shell parsers disagree about {', '.join(map(repr, extra[:3]))}"


def too_large(line: str) -> bool:
    """Whether a line has too many pieces to be judged in time; takes a few milliseconds."""
    from tree_sitter import Parser

    tree = Parser(_language()).parse(line.encode(errors="replace"))
    return tree.root_node.descendant_count > MAX_NODES


def pieces(line: str) -> tuple[str, ...]:
    """The commands that can be made out in a line that is not valid as a whole.

    bash runs the lines before a syntax error, so what stands there still counts; and `((` that is
    no arithmetic opens two subshells.
    """
    from tree_sitter import Parser

    source = line.encode(errors="replace")
    found: list[tuple[int, int]] = []
    pending = [Parser(_language()).parse(source).root_node]
    while pending:
        node = pending.pop()
        if node.type in ("command", "redirected_statement"):
            found.append((node.start_byte, node.end_byte))
        else:
            pending += node.children
    texts = (source[start:end].decode(errors="replace") for start, end in sorted(found))
    found_texts = tuple(text for text in texts if text.strip() and text != line)
    return (line.replace("((", "( ("), *found_texts) if "((" in line else found_texts


@cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _commands_seen(source: bytes) -> set[tuple[int, str]] | None:
    from tree_sitter import Parser

    root = Parser(_language()).parse(source).root_node
    if root.has_error:
        return None
    found: set[tuple[int, str]] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        pending += node.children
        head = _head(node)
        if head is not None:
            name = source[head.start_byte : head.end_byte].decode(errors="replace")
            if name not in UNCOUNTED:
                found.add((head.start_byte, name))
    return found


def _head(node: Node) -> Node | None:
    """The command word of a command node; None for everything else."""
    if node.type in _COMMANDS:
        return node.children[0]
    if node.type != "command":
        return None
    words = [
        child
        for child in node.named_children
        if not child.type.endswith(("_redirect", "_assignment"))
    ]
    for word in words:
        text = (word.text or b"").decode(errors="replace")
        if text not in PREFIXES:
            return word
    return None


def _heads(script: Script) -> Iterator[Word]:
    """The command word of every call, substitutions and functions included."""
    for statement in script:
        match statement:
            case Call():
                if statement.words:
                    yield statement.words[0]
                yield from _within(statement.words)
                for assign in statement.assigns:
                    yield from _within([assign.value] if assign.value else [])
                    for inner in assign.inner:
                        yield from _heads(inner)
                for redirect in statement.redirects:
                    yield from _within(
                        [redirect.target, *([redirect.body] if redirect.body else [])]
                    )
            case Pipe(stages):
                yield from _heads(stages)
            case Chain(_, left, right):
                yield from _heads((left, right))
            case Group():
                yield from _within(statement.words)
                yield from _heads(statement.body)
                for redirect in statement.redirects:
                    yield from _within(
                        [redirect.target, *([redirect.body] if redirect.body else [])]
                    )
            case Function(_, body):
                yield from _heads(body)


def _within(words: Iterable[Word]) -> Iterator[Word]:
    for word in words:
        for inner in word.inner:
            yield from _heads(inner)
