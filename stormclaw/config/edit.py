"""Changes the person's config.yaml for them: comments and order stay, the old file is kept."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from stormclaw.config.check import check
from stormclaw.config.disk import present, read_text, write_text
from stormclaw.config.files import dump_yaml, inline_yaml, parse_yaml
from stormclaw.config.layers import FILE_NAME
from stormclaw.config.settings import ModelSettings
from stormclaw.config.shapes import Key, dotted
from stormclaw.config.starter import starter
from stormclaw.errors import ConfigError, Problem

MODELS: Key = ("providers", "models")


def add_model(
    home: Path,
    name: str,
    model: ModelSettings | Mapping[str, object],
    *,
    make_default: bool,
) -> Path:
    """Put a way to a model into `config.yaml`, replacing one of the same name -> the file.

    The text around it stays as it is; where that cannot be done the file is written anew without
    its comments. Either way the old one is kept as `config.yaml.bak`.

    Args:
        home: The user folder.
        name: The entry under `providers.models`.
        model: Its settings; of a `ModelSettings` only what differs from the defaults.
        make_default: Also set `default_provider` (and `default_model`, where that is set).

    Raises:
        ConfigError: The entry is not sound (a key in it, for one), or the file as it stands is
            not; nothing is written then.
        OSError: The disk refuses.
    """
    entry = _given(model) if isinstance(model, ModelSettings) else dict(model)
    problems: list[Problem] = []
    check({"providers": {"models": {name: entry}}}, lambda _: "the new entry", problems)
    if problems:
        raise ConfigError(problems)
    path = home / FILE_NAME
    exists = present(path)
    old = read_text(path) if exists else starter()
    before = parse_yaml(old, str(path)).values
    wanted = _wanted(before, name, entry, make_default)
    if exists:
        write_text(path.with_name(f"{FILE_NAME}.bak"), old)
    mode = path.stat().st_mode & 0o777 if exists else 0o600
    write_text(path, _edited(old, wanted, name, str(path)), mode)
    return path


def set_autonomy(home: Path, level: str) -> Path:
    """Put `security.autonomy` into `config.yaml`, keeping the text around it -> the file.

    Raises:
        ConfigError: There is no such level, or the file as it stands is not sound.
        OSError: The disk refuses.
    """
    problems: list[Problem] = []
    check({"security": {"autonomy": level}}, lambda _: "the new entry", problems)
    if problems:
        raise ConfigError(problems)
    path = home / FILE_NAME
    exists = present(path)
    old = read_text(path) if exists else starter()
    before = parse_yaml(old, str(path)).values
    wanted = copy.deepcopy(before)
    section = wanted.get("security")
    wanted["security"] = {**(section if isinstance(section, dict) else {}), "autonomy": level}
    if exists and wanted == before:
        return path
    if exists:
        write_text(path.with_name(f"{FILE_NAME}.bak"), old)
    mode = path.stat().st_mode & 0o777 if exists else 0o600
    text = _with_autonomy(old, level, str(path))
    sound = _says(text, wanted, str(path))
    write_text(path, text if sound else dump_yaml(wanted), mode)
    return path


def _with_autonomy(text: str, level: str, source: str) -> str:
    lines = parse_yaml(text, source).lines
    rows = text.splitlines(keepends=True)
    if (at := lines.get("security.autonomy")) is not None:
        rows[at - 1] = re.sub(r"(autonomy:\s*)[^\s,}#]+", rf"\g<1>{level}", rows[at - 1], count=1)
        return "".join(rows)
    if (at := lines.get("security")) is not None:
        rows.insert(at, f"  autonomy: {level}\n")
        return "".join(rows)
    gap = "" if not rows or rows[-1].endswith("\n") else "\n"
    return f"{text}{gap}security:\n  autonomy: {level}\n"


def _says(text: str, wanted: dict[str, Any], source: str) -> bool:
    try:
        return parse_yaml(text, source).values == wanted
    except ConfigError:
        return False


def _given(model: ModelSettings) -> dict[str, object]:
    entry: dict[str, object] = {}
    for one in fields(model):
        value = getattr(model, one.name)
        factory = one.default_factory
        default = factory() if factory is not MISSING else one.default
        if value != default:
            entry[one.name] = dict(value) if isinstance(value, Mapping) else value
    return entry


def _wanted(
    before: dict[str, Any], name: str, entry: dict[str, object], make_default: bool
) -> dict[str, Any]:
    """What the file must say afterwards."""
    wanted = copy.deepcopy(before)
    at = wanted
    for part in MODELS:
        if not isinstance(at.get(part), dict):
            at[part] = {}
        at = at[part]
    at[name] = entry
    if make_default:
        wanted["default_provider"] = name
        if wanted.get("default_model", "auto") != "auto":
            wanted["default_model"] = entry.get("model") or "auto"
    return wanted


def _edited(old: str, wanted: dict[str, Any], name: str, source: str) -> str:
    """The text changed in place if that gives exactly what is wanted, else written anew."""
    try:
        text = _with_entry(old, name, wanted["providers"]["models"][name], source)
        for key in ("default_provider", "default_model"):
            if key in wanted and wanted[key] != parse_yaml(text, source).values.get(key):
                text = _with_top(text, key, wanted[key], source)
        if parse_yaml(text, source).values == wanted:
            return text
    except ConfigError:
        pass
    return dump_yaml(wanted)


def _with_entry(text: str, name: str, entry: object, source: str) -> str:
    """The entry as the first under `providers.models`; an older one of its name is taken out."""
    document = parse_yaml(text, source)
    rows = text.splitlines(keepends=True)
    if rows and not rows[-1].endswith("\n"):
        rows[-1] += "\n"
    providers, models = (document.lines.get(dotted(MODELS[:size])) for size in (1, 2))
    first = next(
        (document.lines[k] for k in document.lines if k.startswith("providers.models.")), 0
    )
    step = _indent(rows[first - 1]) if first else 0
    if old := document.lines.get(dotted((*MODELS, name))):
        rows = _without_block(rows, old - 1)
    missing: tuple[str, ...] = ()
    if models:
        at, depth = models, step or _indent(rows[models - 1]) + 2
    elif providers:
        at, missing, depth = providers, ("  models:\n",), 4
    else:
        at, missing, depth = len(rows), ("\n", "providers:\n", "  models:\n"), 4
    block = dump_yaml({name: entry}).splitlines(keepends=True)
    return "".join([*rows[:at], *missing, *(" " * depth + row for row in block), *rows[at:]])


def _with_top(text: str, key: str, value: str, source: str) -> str:
    """A key of the root set to a word, in its place if it has one."""
    row = f"{key}: {inline_yaml(value)}"
    live = re.compile(rf"^{key}:[^#\n]*?(?=[ \t]*(?:#.*)?$)", re.MULTILINE)
    if live.search(text):
        return live.sub(lambda _: row, text, count=1)
    hint = re.compile(rf"^#[ \t]*{key}:.*$", re.MULTILINE)
    if hint.search(text):
        return hint.sub(lambda _: row, text, count=1)
    rows = text.splitlines(keepends=True)
    lines = parse_yaml(text, source).lines
    at = min(lines.values(), default=len(rows) + 1) - 1
    return "".join([*rows[:at], f"{row}\n", *rows[at:]])


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" "))


def _without_block(rows: list[str], start: int) -> list[str]:
    """The lines without the block that starts there; comments after it stay."""
    depth = _indent(rows[start])
    end = start + 1
    for index in range(start + 1, len(rows)):
        bare = rows[index].strip()
        if bare and not bare.startswith("#"):
            if _indent(rows[index]) <= depth:
                break
            end = index + 1
    return rows[:start] + rows[end:]
