"""The models kept on this machine: where they lie, where they came from, which one is meant."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stormclaw.config.settings import ModelSettings
from stormclaw.errors import ConfigError, Problem

DEFAULT_REPO: Final = "unsloth/Qwen3-Coder-30B-A3B-Instruct-GGUF"
DEFAULT_FILE: Final = "Qwen3-Coder-30B-A3B-Instruct-UD-Q6_K_XL.gguf"
"""What is pulled when nothing is named: a coder that calls tools, for a machine with 32 GB."""
SMALL_REPO: Final = "unsloth/Phi-4-mini-instruct-GGUF"
SMALL_FILE: Final = "Phi-4-mini-instruct-Q4_K_M.gguf"
"""What is named where that one does not fit."""
PULL_SMALL: Final = f"`stormclaw local pull {SMALL_REPO} {SMALL_FILE}`"

MOST_PARTS: Final = 1_000
"""Of one model; a name that speaks of more is just a name."""

_REPO: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_FILE: Final = re.compile(r"(?:[\w+][\w.+ -]*/){0,4}[\w+][\w.+ -]*\.gguf", re.ASCII)
_PART: Final = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model in the models folder.

    Attributes:
        name: What `model:` in the configuration and `/model` call it.
        path: Its file; the first one, where it comes in parts.
        size: Bytes of all its parts.
        repo: Where it came from, `owner/name`; "" where it was put there by hand.
    """

    name: str
    path: Path
    size: int
    repo: str


def models_dir(home: Path) -> Path:
    """Where `stormclaw local pull` puts models."""
    return home / "models"


def place_of(home: Path, repo: str, file: str) -> Path:
    """Where a file of a repository is kept.

    Raises:
        ValueError: That is no `owner/name`, or no path of a GGUF file; the message says which.
    """
    if not _REPO.fullmatch(repo):
        raise ValueError(f"{repo!r} is no repository; it looks like owner/name")
    if not _FILE.fullmatch(file) or ".." in file.split("/"):
        raise ValueError(f"{file!r} is no GGUF file of a repository; it ends in .gguf")
    return models_dir(home) / repo / file


def parts_of(file: str) -> tuple[str, ...]:
    """The names of all parts of a model, from the name of any: `m-00001-of-00002.gguf`."""
    found = _PART.fullmatch(file)
    if not found or not 0 < int(found["number"]) <= int(found["count"]) <= MOST_PARTS:
        return (file,)
    count = int(found["count"])
    return tuple(f"{found['stem']}-{at:05d}-of-{count:05d}.gguf" for at in range(1, count + 1))


def installed(home: Path) -> tuple[LocalModel, ...]:
    """Every whole model in the models folder, by name; what cannot be read is left out."""
    folder = models_dir(home)
    try:
        files = sorted(path for path in folder.rglob("*.gguf") if path.is_file())
    except OSError:
        return ()
    models = [model for path in files if (model := _model(folder, path)) is not None]
    return tuple(sorted(models, key=lambda model: (model.name, model.repo)))


def _model(folder: Path, path: Path) -> LocalModel | None:
    parts = [path.with_name(name) for name in parts_of(path.name)]
    if parts[0].name != path.name or path.name.startswith(("mmproj", ".")):
        return None
    try:
        size = sum(part.stat().st_size for part in parts)
    except OSError:
        return None
    inside = path.relative_to(folder).parts
    repo = "/".join(inside[:2]) if len(inside) > 2 else ""
    return LocalModel(label_of(path), path, size, repo)


def label_of(path: Path) -> str:
    """What a model's file is called for people: without ending and number of part."""
    found = _PART.fullmatch(path.name)
    return found["stem"] if found else path.stem


def remove(model: LocalModel, home: Path) -> None:
    """Delete a model's files, and the folders that are empty then.

    Raises:
        OSError: It cannot be deleted.
    """
    for name in parts_of(model.path.name):
        model.path.with_name(name).unlink(missing_ok=True)
    folder = model.path.parent
    while folder != models_dir(home) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def chosen(name: str, settings: ModelSettings, home: Path) -> Path:
    """The file of the model that is meant.

    `path` counts first, then `repo` with `file`, then `model` as the name of an installed one,
    then the only or first one installed.

    Raises:
        ConfigError: There is no such file; says how to get it.
    """
    place = f"providers.models.{name}"
    if settings.path:
        path = Path(settings.path).expanduser().absolute()
        return path if path.is_file() else _missing(f"{place}.path", settings.path, "no such file")
    if settings.repo or settings.file:
        return _pulled(place, settings, home)
    models = installed(home)
    wanted = settings.model.strip()
    if wanted:
        named = next((one for one in models if wanted in (one.name, one.path.name)), None)
        if named is not None:
            return named.path
        known = ", ".join(model.name for model in models) or "none"
        return _missing(f"{place}.model", wanted, f"no such model here; there are: {known}")
    if models:
        return next((model for model in models if model.repo == DEFAULT_REPO), models[0]).path
    return _missing(place, "", f"no model is here yet; `stormclaw local pull` or {PULL_SMALL}")


def _pulled(place: str, settings: ModelSettings, home: Path) -> Path:
    repo, file = settings.repo or DEFAULT_REPO, settings.file
    if not file and repo == DEFAULT_REPO:
        file = DEFAULT_FILE
    if not file:
        found = [model for model in installed(home) if model.repo == repo]
        if found:
            return found[0].path
        return _missing(f"{place}.repo", repo, f"not here yet; `stormclaw local pull {repo}`")
    try:
        path = place_of(home, repo, file)
    except ValueError as error:
        raise ConfigError([Problem("configuration", place, f"{repo} {file}", str(error))]) from None
    if path.is_file():
        return path
    hint = f"not here yet; `stormclaw local pull {repo} {file}`"
    return _missing(f"{place}.file", file, hint)


def _missing(key: str, value: str, message: str) -> Path:
    raise ConfigError([Problem("configuration", key, value, message)])


def free_disk(folder: Path) -> int:
    """Bytes that can still be written where `folder` is or will be."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def size(count: int) -> str:
    """Bytes for people: `1.1 GB`."""
    unit = "GB" if count >= 1e9 else "MB"
    return f"{count / (1e9 if unit == 'GB' else 1e6):,.{1 if unit == 'GB' else 0}f} {unit}"
