"""Lays defaults, files, environment and flags over each other; every value keeps its origin."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, assert_never

from stormclaw.config.check import check
from stormclaw.config.composites import Entry, complaints
from stormclaw.config.disk import present
from stormclaw.config.expansion import Folders, expanded
from stormclaw.config.files import read_yaml
from stormclaw.config.narrowing import ALWAYS_ADDED, narrowed
from stormclaw.config.overrides import Value, from_environment, from_flags
from stormclaw.config.settings import Settings
from stormclaw.config.shapes import (
    Key,
    Leaf,
    Named,
    Section,
    dotted,
    leaves,
    pattern_of,
    shapes,
)
from stormclaw.config.values import shown
from stormclaw.errors import ConfigError, Problem

DEFAULTS = "defaults"
FILE_NAME = "config.yaml"
PROJECT_FOLDER = ".stormclaw"

MODELS: Key = ("providers", "models")


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration in force.

    Attributes:
        settings: The value everybody uses; every path in it is absolute.
        origins: Dotted key (list items: `key[0]`) -> `defaults`, `path:line`,
            `environment NAME` or `flag --name`.
        warnings: What of an untrusted project's configuration was ignored.
        files: The files that were, or would be, read: the user's, then the project's.
        written: What stood in the file where a `$VAR` was filled in that may be a secret.
    """

    settings: Settings
    origins: Mapping[str, str]
    warnings: tuple[Problem, ...] = ()
    files: tuple[Path, ...] = ()
    written: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


def config_files(home: Path, workspace: Path | None) -> tuple[Path, ...]:
    """The user's file and the project's, whether they exist or not."""
    user = home / FILE_NAME
    project = workspace / PROJECT_FOLDER / FILE_NAME if workspace else user
    return (user,) if project == user else (user, project)


def load(
    *,
    home: Path,
    workspace: Path | None,
    env: Mapping[str, str],
    flags: Mapping[str, object],
    trusted: bool,
    presets: Collection[str] = (),
    kinds: Collection[str] = (),
) -> Loaded:
    """Load the configuration: defaults < user < project < environment < flags.

    Args:
        home: The user folder.
        workspace: The project's folder; None leaves the project's file out.
        env: The environment, for the settings in it and for `$VAR`.
        flags: Dotted key -> value from the command line; None counts as not given. Text for a
            setting that is not text is read as YAML.
        trusted: Whether the person trusts the project's configuration as it stands.
        presets: Provider names known without configuration; empty: names are not checked.
        kinds: What `kind` may be; empty: not checked.

    Returns:
        The settings with their origins, and what was ignored.

    Raises:
        ConfigError: With every problem of every layer.
    """
    layers = _Layers(env)
    files = config_files(home, workspace)
    layers.override(_file(files[0], home, layers.problems))
    for project in files[1:]:
        layers.project(_file(project, workspace, layers.problems), trusted=trusted)
    layers.override(from_environment(env, layers.problems))
    layers.override(from_flags(flags, layers.problems))
    layers.cross_check(presets, kinds)
    written = layers.expand(Folders(home, workspace))
    if layers.problems:
        raise ConfigError(layers.problems)
    settings = _build(Settings, layers.tree())
    return Loaded(
        settings=settings,
        origins={dotted(key): DEFAULTS for key, _ in leaves(settings)} | layers.origins(),
        warnings=tuple(layers.warnings),
        files=files,
        written=written,
    )


class _Layers:
    """The settings as they are laid over each other."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self._values = {key: Value(value, DEFAULTS) for key, value in leaves(Settings())}
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []

    def override(self, layer: Mapping[Key, Value]) -> None:
        """A layer of the person: what it says is what counts."""
        self._values.update(layer)

    def project(self, layer: Mapping[Key, Value], *, trusted: bool) -> None:
        """The project's file: it adds to lists, and untrusted it only narrows."""
        for key, wish in layer.items():
            current = self._values.get(key, Value(None, DEFAULTS))
            granted = narrowed(key, wish.value, current.value, trusted=trusted)
            if granted.complaint:
                text = shown(wish.value, key[-1])
                self.warnings.append(Problem(wish.origin, dotted(key), text, granted.complaint))
            if not granted.applies or granted.value == current.value:
                continue
            value = wish._replace(value=granted.value)
            if pattern_of(key) in ALWAYS_ADDED:
                added: tuple[str, ...] = value.value[len(current.value) :]
                items = dict(zip(wish.value, wish.items, strict=True))
                older = current.items or (current.origin,) * len(current.value)
                value = value._replace(items=(*older, *(items[item] for item in added)))
            self._values[key] = value

    def cross_check(self, presets: Collection[str], kinds: Collection[str]) -> None:
        """What one key alone cannot know: names that must exist, kinds that must be there."""
        names = list(dict.fromkeys(key[2] for key in self._values if key[:2] == MODELS))
        for name in names:
            kind = self._values.get((*MODELS, name, "kind"))
            first = next(value for key, value in self._values.items() if key[:3] == (*MODELS, name))
            allowed = f": {', '.join(sorted(kinds))}" if kinds else ""
            key = (*MODELS, name, "kind")
            if kind is None:
                self._problem(key, first._replace(value=""), f"is missing{allowed}")
            elif kinds and kind.value not in kinds:
                self._problem(key, kind, f"must be one of{allowed[1:]}")
        if presets:
            self._check_composites(names, presets)
        chosen = self._values[("default_provider",)]
        known = ("auto", *names, *sorted(presets))
        if presets and chosen.value not in known:
            near = difflib.get_close_matches(str(chosen.value), known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            allowed = ", ".join(dict.fromkeys(known))
            self._problem(("default_provider",), chosen, f"must be one of {allowed}{hint}")

    def _check_composites(self, names: Collection[str], presets: Collection[str]) -> None:
        """What providers made of others are made of."""

        def said(name: str, setting: str, otherwise: Any) -> Any:
            value = self._values.get((*MODELS, name, setting))
            return otherwise if value is None else value.value

        entries = {
            name: Entry(
                said(name, "kind", ""), said(name, "providers", ()), said(name, "routes", {})
            )
            for name in names
        }
        for found in complaints(entries, presets):
            key = (*MODELS, found.name)
            at = self._values.get((*key, found.setting)) or self._values[(*key, "kind")]
            place = f"{dotted((*key, found.setting))}{found.at}"
            value = shown(found.value)
            self.problems.append(Problem(at.origin, place, value, found.message))

    def expand(self, folders: Folders) -> dict[str, object]:
        """Fill in `~` and `$VAR` -> the mappings as written, as what was filled in is private."""
        written: dict[str, object] = {}
        for key, value in list(self._values.items()):
            try:
                filled = expanded(key, value.value, self._env, folders._replace(start=value.folder))
            except ValueError as error:
                self._problem(key, value, str(error))
                continue
            if isinstance(filled, Mapping) and filled != value.value:
                written[dotted(key)] = value.value
            self._values[key] = value._replace(value=filled)
        return written

    def _problem(self, key: Key, at: Value, message: str) -> None:
        self.problems.append(Problem(at.origin, dotted(key), shown(at.value, key[-1]), message))

    def origins(self) -> dict[str, str]:
        """Dotted key -> origin, for everything that was said and every item of its lists."""
        found: dict[str, str] = {}
        for key, value in self._values.items():
            name = dotted(key)
            found[name] = value.origin
            found |= {f"{name}[{index}]": place for index, place in enumerate(value.items)}
        return found

    def tree(self) -> dict[str, Any]:
        """The values as nested mappings."""
        tree: dict[str, Any] = {}
        for key, value in self._values.items():
            at = tree
            for part in key[:-1]:
                at = at.setdefault(part, {})
            at[key[-1]] = value.value
        return tree


def _file(path: Path, folder: Path | None, problems: list[Problem]) -> dict[Key, Value]:
    """A file's sound values; none where there is no such file."""
    if not present(path):
        return {}
    try:
        document = read_yaml(path)
    except ConfigError as error:
        problems.extend(error.problems)
        return {}

    def place(key: Key) -> str:
        line = next((document.lines[k] for k in _upwards(key) if k in document.lines), 0)
        return f"{path}:{line}" if line else str(path)

    def value(key: Key, sound: object) -> Value:
        name, origin = dotted(key), place(key)
        count = len(sound) if isinstance(sound, tuple) else 0
        lines = (document.lines.get(f"{name}[{index}]") for index in range(count))
        items = tuple(f"{path}:{line}" if line else origin for line in lines)
        return Value(sound, origin, folder, items)

    sound = check(document.values, place, problems)
    return {key: value(key, one) for key, one in sound.items()}


def _upwards(key: Key) -> Iterator[str]:
    return (dotted(key[:length]) for length in range(len(key), 0, -1))


def _build(model: type[Any], values: Mapping[str, Any]) -> Any:
    """A model from nested mappings; what is not there keeps its default."""
    given: dict[str, Any] = {}
    for name, shape in shapes(model).items():
        if name not in values:
            continue
        value = values[name]
        match shape:
            case Section(inner):
                given[name] = _build(inner, value)
            case Named(inner):
                entries = {chosen: _build(inner, entry) for chosen, entry in value.items()}
                given[name] = MappingProxyType(entries)
            case Leaf():
                given[name] = MappingProxyType(value) if isinstance(value, dict) else value
            case _:
                assert_never(shape)
    return model(**given)
