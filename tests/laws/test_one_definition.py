"""Every quantity that is derived from a factorisation has one definition."""

import ast
from pathlib import Path

import pytest

import mercer
from mercer.solvers import Factorization, Parts

SOLVERS = Path(mercer.__file__).parent / "solvers"
FINAL = {"Iterative", "Parts", "Spanned", "SparseRidge"}
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
    """`Factorization` declares it; `Spanned` and `SparseRidge` leave out in their own way."""
    assert set(definitions(name)) - {"spanned.py", "sparse.py"} <= {"factorization.py", "parts.py"}


def test_final_classes():
    assert {kind.__name__ for kind in Factorization.__subclasses__()} == FINAL
    assert all(not kind.__subclasses__() for kind in Factorization.__subclasses__())
    methods = "residuals", "moves", "variance", "evidence", "density", "solve", "without"
    assert all(name in vars(Parts) for name in methods)
