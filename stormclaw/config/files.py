"""YAML: the only home of PyYAML, and every way a file can be wrong told with its line.

The YAML read here is the 1.2 core: `true` and `false` alone are booleans (so `sandbox: off` and
`country: no` are text), dates are text, `1e3` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stormclaw.config.disk import expand, file_error, home_dir, read_text, write_text
from stormclaw.config.shapes import Key, dotted
from stormclaw.errors import ConfigError, Problem

if TYPE_CHECKING:
    import yaml

__all__ = [
    "Document",
    "dump_yaml",
    "expand",
    "home_dir",
    "inline_yaml",
    "parse_any",
    "parse_yaml",
    "read_text",
    "read_yaml",
    "write_text",
    "write_yaml",
]

MAX_VALUES = 20_000
MAX_DEPTH = 50

_IMPLICIT = (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:[0-9][0-9_]*\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
        "-+.0123456789",
    ),
    ("tag:yaml.org,2002:merge", r"^<<$", "<"),
)
_SCALARS = ("str", "int", "float", "bool", "null")


class Document(NamedTuple):
    """A YAML file as read.

    Attributes:
        values: The mapping at its root; empty for an empty file.
        lines: Line (from 1) of each key by dotted key, of list items as `key[0]`.
    """

    values: dict[str, Any]
    lines: Mapping[str, int]


def read_yaml(path: Path) -> Document:
    """Read a YAML file whose root is a mapping.

    Raises:
        ConfigError: The file cannot be read, or is not such YAML; with file and line.
    """
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, source: str) -> Document:
    """Read YAML text whose root is a mapping.

    Args:
        text: The YAML.
        source: What to call it in problems: a path.

    Raises:
        ConfigError: Every duplicate key, or the first error of syntax.
    """
    values, lines = parse_any(text, source)
    if values is None:
        return Document({}, {})
    if not isinstance(values, dict):
        kind = "a list" if isinstance(values, list) else "a single value"
        raise file_error(f"{source}:1", f"the file must be `key: value` lines; this is {kind}")
    return Document(values, lines)


def parse_any(text: str, source: str) -> tuple[Any, Mapping[str, int]]:
    """Read YAML text with any root -> (value, lines as in `Document`).

    Raises:
        ConfigError: As `parse_yaml`.
    """
    import yaml

    try:
        _refuse_depth(text, source)
        loader = _loader()(text)
        try:
            node = loader.get_single_node()
            tree = _Tree(loader, source)
            value = None if node is None else tree.build(node, ())
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _syntax(error, source, text) from None
    if tree.problems:
        raise ConfigError(tree.problems)
    return value, tree.lines


def _refuse_depth(text: str, source: str) -> None:
    """End what is nested too deeply: libyaml's composer would overflow the C stack on it.

    Raises:
        ConfigError: More than MAX_DEPTH levels.
    """
    import yaml

    depth = 0
    for step in yaml.parse(text, Loader=_loader()):
        depth += isinstance(step, yaml.CollectionStartEvent)
        depth -= isinstance(step, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            place = f"{source}:{step.start_mark.line + 1}" if step.start_mark else source
            raise file_error(place, f"is nested more than {MAX_DEPTH} levels deep")


class _Tree:
    """Turns YAML nodes into plain values while noting lines and duplicate keys."""

    def __init__(self, loader: yaml.SafeLoader, source: str) -> None:
        self._loader = loader
        self._source = source
        self._count = 0
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def build(self, node: yaml.Node, at: Key, depth: int = 0) -> Any:
        """The value of a node; `at` is its place."""
        self._count += 1
        # Both also end what aliases inside aliases would blow up, or a node that holds itself.
        place = f"{self._source}:{node.start_mark.line + 1}"
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise file_error(place, f"more than {MAX_VALUES:,} values or {MAX_DEPTH} levels")
        kind = node.tag.removeprefix("tag:yaml.org,2002:")
        if kind == "map" and isinstance(node.value, list):
            return dict(self._pairs(node, at, depth))
        if kind == "seq" and isinstance(node.value, list):
            return [self._item(child, at, i, depth) for i, child in enumerate(node.value)]
        if kind not in _SCALARS or not isinstance(node.value, str):
            raise file_error(place, f"the tag {node.tag} is not supported")
        try:
            return self._loader.construct_object(node)
        except (ValueError, LookupError):
            raise file_error(place, f"{node.value!r} is not a valid {kind}") from None

    def _item(self, node: yaml.Node, at: Key, index: int, depth: int) -> Any:
        place = (*at[:-1], f"{at[-1] if at else ''}[{index}]")
        self.lines[dotted(place)] = node.start_mark.line + 1
        return self.build(node, place, depth + 1)

    def _pairs(self, node: Any, at: Key, depth: int) -> Iterator[tuple[str, Any]]:
        seen: set[str] = set()
        for name, _ in node.value:
            if not isinstance(name.value, str):
                self._problem(name, at, "a key must be a word, not a list or a mapping")
            elif name.value in seen and name.tag != "tag:yaml.org,2002:merge":
                self._problem(name, at, "this key stands here twice; keep one")
            else:
                seen.add(name.value)
        if not all(isinstance(name.value, str) for name, _ in node.value):
            return
        self._loader.flatten_mapping(node)
        for name, child in node.value:
            place = (*at, name.value)
            self.lines[dotted(place)] = name.start_mark.line + 1
            yield name.value, self.build(child, place, depth + 1)

    def _problem(self, name: yaml.Node, at: Key, message: str) -> None:
        shown = (*at, name.value) if isinstance(name.value, str) else at
        place = f"{self._source}:{name.start_mark.line + 1}"
        self.problems.append(Problem(place, dotted(shown), "", message))


@cache
def _loader() -> type[yaml.SafeLoader]:
    """A safe loader (libyaml's where PyYAML has it) with the scalars of YAML 1.2."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: type[yaml.SafeLoader] = type("Loader", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in _IMPLICIT:
        loader.add_implicit_resolver(tag, re.compile(pattern), list(first))
    return loader


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """A dumper that quotes whatever YAML 1.1 or 1.2 would take for something else than text."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    dumper: type[yaml.SafeDumper] = type("Dumper", (base,), {})
    for tag, pattern, first in _IMPLICIT:
        dumper.add_implicit_resolver(tag, re.compile(pattern), list(first))
    return dumper


def dump_yaml(value: object) -> str:
    """The value as YAML text that `parse_any` reads back equal; order kept."""
    import yaml

    text: str = yaml.dump(
        value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, default_flow_style=False
    )
    return text.removesuffix("...\n")


def inline_yaml(value: object) -> str:
    """The value as YAML on one line, `[a, b]` and `{a: b}`."""
    import yaml

    text: str = yaml.dump(
        value,
        Dumper=_dumper(),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=True,
        width=1_000_000,
    )
    return text.removesuffix("...\n").strip()


def write_yaml(path: Path, values: Mapping[str, Any]) -> None:
    """Write a mapping as YAML, whole or not at all; comments of an older file are lost.

    Raises:
        OSError: The disk refuses.
    """
    write_text(path, dump_yaml(dict(values)))


def _syntax(error: yaml.YAMLError, source: str, text: str) -> ConfigError:
    """A YAML error as a problem with line and column."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    rest = text.splitlines()[mark.line][mark.column :] if mark and mark.index < len(text) else ""
    if rest.startswith("\t"):
        reason = "a tab stands here; YAML is indented with spaces"
    context = getattr(error, "context", None)
    return file_error(place, f"invalid YAML: {reason}" + (f" ({context})" if context else ""))
