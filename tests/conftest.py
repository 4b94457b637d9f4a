"""Where snapshots stand: one folder a test file, under `snapshots/` at the top."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
"""Read when Textual is imported, so before any test."""

ROOT = Path(__file__).parent.parent


def pytest_configure() -> None:
    """Point the snapshot extension at our folder."""
    from pytest_textual_snapshot import SVGImageExtension

    def dirname(cls: Any, *, test_location: Any) -> str:
        return str(ROOT / "snapshots" / Path(test_location.filepath).stem)

    SVGImageExtension.dirname = classmethod(dirname)
    SVGImageExtension.file_extension = "svg"
