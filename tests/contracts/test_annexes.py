"""Annexes import from the package only what stands in an `__all__`, and from `_base`."""

import ast
import importlib
from functools import cache
from pathlib import Path

import pytest

from tools import import_graph

ROOT = Path(__file__).parents[2]
ANNEXES = ("fields", "sequences", "auto", "app", "experiments")
NOT_YET = {"auto": 30, "app": 8, "experiments": 22}
"""How many inner names other annexes still import. The numbers may only become smaller."""


def modules_of(annex):
    """The paths of the modules of an annex."""
    folder = ROOT / annex if annex == "experiments" else import_graph.SOURCE / annex
    return sorted(folder.rglob("*.py"))


def imports_of(path):
    """Yield the module and the name of each import from the package."""
    parts = path.relative_to(ROOT / "src" if path.is_relative_to(import_graph.SOURCE) else ROOT)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        base = list(parts.parts[: len(parts.parts) - node.level]) if node.level else []
        module = ".".join([*base, *(node.module or "").split(".")]).rstrip(".")
        yield from ((module, alias.name) for alias in node.names)


@cache
def is_public(module, name):
    """Whether a name stands in the `__all__` of a module, or is itself a public module."""
    if module == "mercer":
        found = importlib.import_module("mercer")
        return name in found.__all__ or name in found._SUBPACKAGES
    return name in getattr(importlib.import_module(module), "__all__", ())


def inner_names(annex):
    """The names that an annex imports from the core without being public."""
    found = set()
    for path in modules_of(annex):
        for module, name in imports_of(path):
            folder = module.split(".")[1] if module.count(".") else ""
            own = module.split(".")[0] != "mercer" or folder in ("_base", annex)
            if not own and not is_public(module, name):
                found.add(f"{module}.{name}")
    return found


@pytest.mark.parametrize("annex", ANNEXES)
def test_annexes_import_public_names_only(annex):
    found = inner_names(annex)
    assert len(found) <= NOT_YET.get(annex, 0), sorted(found)
