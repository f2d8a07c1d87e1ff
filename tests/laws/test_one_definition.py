"""Every quantity that is derived from a factorisation has one definition."""

import ast
from pathlib import Path

import pytest

import mercer
from mercer.solvers import Factorization

SOLVERS = Path(mercer.__file__).parent / "solvers"
QUANTITIES = ("left_out", "moves", "variance", "evidence", "density")


def definitions(name):
    """The files of the folder that define a function or method of this name."""
    return [
        path.name
        for path in SOLVERS.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]


@pytest.mark.parametrize("name", QUANTITIES)
def test_one_definition(name):
    assert definitions(name) == ["factorization.py"]


def test_one_class_has_all_of_them():
    """Other classes only solve: their methods have other names or other meanings."""
    assert all(name in vars(Factorization) for name in (*QUANTITIES, "solve", "without"))
    assert not Factorization.__subclasses__()
