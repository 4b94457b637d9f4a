"""The configuration file a new person gets: every setting with its default, as comments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import wrap
from typing import Any, assert_never

from stormclaw.config import settings
from stormclaw.config.disk import present, write_text
from stormclaw.config.files import inline_yaml
from stormclaw.config.layers import FILE_NAME
from stormclaw.config.shapes import Leaf, Named, Section, shapes

HEADER = """\
# StormClaw's configuration. Every key is optional; what is commented out is the default.
# Later wins: defaults, this file, .stormclaw/config.yaml of a project, the environment
# (STORMCLAW__SECTION__KEY), flags. `stormclaw config show` says where each value comes from.
# Keys never stand here: run `stormclaw onboard`, or name a variable in api_key_env.
"""

EXAMPLE = "NAME"
"""Stands for the name a person would choose."""


def write_starter(home: Path) -> Path:
    """Write `config.yaml` unless there is one already -> its path.

    Raises:
        OSError: The disk refuses.
    """
    path = home / FILE_NAME
    if not present(path):
        write_text(path, starter())
    return path


EXAMPLES_INDENT = 8
"""Columns before what stands in an example."""
WIDEST = 120
"""Columns of the text, so that it can be read in any editor."""


def starter() -> str:
    """The text of a new `config.yaml`; it changes nothing until a line is uncommented."""
    return "\n".join([HEADER, *_lines(settings.Settings(), 0, _notes())]) + "\n"


def _lines(value: Any, depth: int, notes: Mapping[str, str], *, mark: str = "# ") -> Iterator[str]:
    """The fields of a model; sections are live, so that one uncommented line is enough.

    Args:
        value: The model with its defaults.
        depth: How deep it stands.
        notes: What there is to say of each setting.
        mark: Put before a setting; "" inside an example, which is a comment as a whole.
    """
    indent = "  " * depth
    for name, shape in shapes(type(value)).items():
        inner = getattr(value, name)
        match shape:
            case Section(model):
                if depth == 0 and mark:
                    yield ""
                yield f"{indent}# {_summary(model)}"
                yield f"{indent}{name}:"
                yield from _lines(inner, depth + 1, notes, mark=mark)
            case Named(model):
                yield f"{indent}{name}:"
                yield f"{indent}  # {_summary(model)}"
                yield f"{indent}  # {EXAMPLE}:"
                for line in _lines(model(kind="openai-compatible"), 0, notes, mark=""):
                    yield f"{indent}  #   {line}"
            case Leaf():
                note = notes.get(f"{type(value).__name__}.{name}")
                yield from _leaf(name, inner, shape, indent, mark, note)
            case _:
                assert_never(shape)


def _leaf(
    name: str, value: object, shape: Leaf, indent: str, mark: str, note: str | None
) -> tuple[str, ...]:
    """The line of a setting, what there is to say of it beside it, or above where it is long."""
    plain = list(value) if isinstance(value, tuple) else value
    text = inline_yaml(dict(plain) if isinstance(plain, Mapping) else plain)
    allowed = " | ".join(filter(None, shape.choices)) if len(shape.choices) > 1 else ""
    comment = "; ".join(filter(None, (allowed, note)))
    line = f"{indent}{mark}{name}: {text}"
    if len(line) + len(comment) > WIDEST - 4 - EXAMPLES_INDENT * (not mark):
        above = wrap(comment, WIDEST - len(indent) - 2 - EXAMPLES_INDENT)
        return *(f"{indent}# {part}" for part in above), line
    return (line + (f"  # {comment}" if comment else ""),)


def _summary(model: type[Any]) -> str:
    first = (inspect.getdoc(model) or model.__name__).splitlines()[0]
    return first.replace("None means", "null means")


def _notes() -> dict[str, str]:
    """`Class.field` -> the text under the field in `settings.py`; none without its source."""
    try:
        tree = ast.parse(inspect.getsource(settings))
    except (OSError, TypeError, SyntaxError):
        return {}
    notes: dict[str, str] = {}
    for model in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for field, note in zip(model.body, model.body[1:], strict=False):
            match field, note:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                    notes[f"{model.name}.{name}"] = " ".join(text.split())
                case _:
                    pass
    return notes
