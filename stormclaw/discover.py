"""Finds the one constant each module of a package exports: adding a tool is adding a file."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def discover(package: ModuleType | str, constant: str, *, required: bool) -> dict[str, object]:
    """Import every module of a package and collect one constant from each.

    Modules whose name starts with `_` are skipped. Works wherever the import system works:
    a source tree, a wheel, a zip.

    Args:
        package: The package, or its dotted name.
        constant: What the modules export: `TOOL`, `COMMAND`.
        required: Whether a module without the constant is an error.

    Returns:
        Module name (without the package) -> the constant, sorted by name. Its type is for the
        caller to check.

    Raises:
        ImportError: A module cannot be imported, lacks a required constant, or `package` is
            a plain module.
    """
    root = importlib.import_module(package) if isinstance(package, str) else package
    if not hasattr(root, "__path__"):
        raise ImportError(f"{root.__name__} is a module, not a package", name=root.__name__)
    names = sorted(
        found.name
        for found in pkgutil.iter_modules(root.__path__)
        if not found.name.startswith("_")
    )
    constants: dict[str, object] = {}
    for name in names:
        module = importlib.import_module(f"{root.__name__}.{name}")
        if hasattr(module, constant):
            constants[name] = getattr(module, constant)
        elif required:
            raise ImportError(f"{module.__name__} exports no {constant}", name=module.__name__)
    return constants
