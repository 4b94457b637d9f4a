"""A module is found by being there."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stormclaw.discover import discover

SOURCES = {
    "__init__.py": "",
    "zebra.py": "TOOL = 'z'",
    "ant.py": "TOOL = 'a'",
    "_private.py": "TOOL = 'never'\nraise RuntimeError('imported')",
    "plain.py": "OTHER = 1",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    folder = tmp_path / "found_here"
    folder.mkdir()
    for name, text in SOURCES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "found_here"
    forget("found_here")


def forget(package: str) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]


def test_finds_the_constant_of_every_public_module_in_order(package: str) -> None:
    assert list(discover(package, "TOOL", required=False).items()) == [("ant", "a"), ("zebra", "z")]


def test_takes_a_module_object_too(package: str) -> None:
    import importlib

    assert "ant" in discover(importlib.import_module(package), "TOOL", required=False)


def test_a_missing_required_constant_names_module_and_constant(package: str) -> None:
    with pytest.raises(ImportError, match=r"found_here\.plain exports no TOOL"):
        discover(package, "TOOL", required=True)


def test_a_module_that_cannot_be_imported_is_an_error(package: str, tmp_path: Path) -> None:
    (tmp_path / "found_here" / "broken.py").write_text("import there_is_no_such_module")
    with pytest.raises(ImportError, match="there_is_no_such_module"):
        discover(package, "TOOL", required=False)


def test_a_plain_module_is_no_package() -> None:
    with pytest.raises(ImportError, match="not a package"):
        discover("stormclaw.discover", "TOOL", required=False)


def test_works_from_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "wheel.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for name, text in SOURCES.items():
            file.writestr(f"zipped_here/{name}", text)
    monkeypatch.syspath_prepend(str(archive))
    try:
        assert discover("zipped_here", "TOOL", required=False) == {"ant": "a", "zebra": "z"}
    finally:
        forget("zipped_here")
