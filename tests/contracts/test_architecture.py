"""Imports go one way, and the public names are those that were meant."""

import ast
import importlib
from collections import Counter
from pathlib import Path

import pytest

from tools import import_graph

MODULES = import_graph.modules()


def test_imports_go_one_way():
    """Also those of modules that a string names."""
    assert not [problem for path in MODULES for problem in import_graph.backward_imports(path)]


def test_the_package_does_not_import_the_experiments():
    """They are in the repository, not in the wheel."""
    names = {path: {name[0] for name in import_graph.imported_names(path)} for path in MODULES}
    assert not [path for path, found in names.items() if "experiments" in found]


def test_class_names_are_used_once():
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(import_graph.syntax_tree(path))
        if isinstance(node, ast.ClassDef)
    )
    assert not {name for name, number in names.items() if number > 1}


def test_tests_import_private_names_of_their_own_folder_only():
    """A test in tests/kernels may import a private name of mercer.kernels, and of no other."""
    tests = Path(__file__).parents[1]
    for path in tests.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "mercer" in text else ():
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("mercer"):
                continue
            private = [a.name for a in node.names if a.name[0] == "_" and a.name != "_base"]
            own = f"mercer.{path.relative_to(tests).parts[0]}"
            assert not private or f"{node.module}.".startswith(f"{own}."), (path.name, private)


def test_this_test_sees_imports():
    assert "operators" in import_graph.imported_folders(Path("solvers/exact.py"))
    assert "kernels" in import_graph.imported_folders(Path("decoders/direct.py"))
    assert "auto" in import_graph.imported_folders(Path("persistence/parts.py"))


FOLDERS = ["kernels", "features", "operators", "sources", "solvers", "decoders"]
FOLDERS += ["estimators", "sequences", "sets"]


@pytest.mark.parametrize("name", ["mercer", *(f"mercer.{folder}" for folder in FOLDERS)])
def test_public_names_exist_once(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        assert getattr(module, public) is not None
    assert module.__doc__, f"{module.__name__} needs a docstring that introduces it"


PUBLIC = {
    "": {"KernelDependency", "KernelDependencyCV", "__version__"},
    ".kernels": {
        "RBF", "Function", "Gaussian", "Kernel", "Laplacian", "Linear", "Matern",
        "Normalized", "Polynomial", "Power", "Precomputed", "Product", "Scaled", "Sum",
        "VectorKernel", "as_kernel",
    },
    ".features": {
        "Explicit", "FeatureMap", "IncompleteCholesky", "KernelPCA", "Nystroem",
        "RandomFourier", "RandomPivotedCholesky",
    },
    ".operators": {
        "ConditionalCovariance", "Covariance", "CurlFree", "DivergenceFree", "Identity", "Matrix",
        "Moments", "Operator", "OperatorKernel", "Separable", "as_operator_kernel",
    },
    ".solvers": {"BlockConjugateGradient", "Factorization", "LeaveOneOut", "Moments", "Part"},
    ".decoders": {"Candidates", "Decoder", "Direct", "FixedPoint", "Gradient", "natural"},
    ".testing": {
        "check_decoder", "check_feature_map", "check_kernel", "check_operator",
        "check_structured_estimator",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_the_core_keeps_its_names(name):
    """A public name stays; others may be added."""
    module = importlib.import_module("mercer" + name)
    public = set(getattr(module, "__all__", None) or dir(module))
    assert public >= PUBLIC[name]


@pytest.mark.parametrize("folder", ["kernels", "features", "operators", "decoders"])
def test_every_public_class_says_what_it_is(folder):
    module = importlib.import_module(f"mercer.{folder}")
    for name in module.__all__:
        thing = getattr(module, name)
        assert thing.__doc__, f"{folder}.{name} has no docstring"
