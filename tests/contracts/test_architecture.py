"""Imports go one way, and the public names are those that were meant."""

import ast
import importlib
from pathlib import Path

import pytest

import mercer

ORDER = [
    {"_base"},
    {"spaces"},
    {"kernels", "datasets"},
    {"features", "_capability_checks"},
    {"operators", "losses", "embedding"},
    {"problem"},
    {"solvers", "sources"},
    {"decoders", "metrics"},
    {"defaults"},
    {"estimators"},
    {"sets"},
    {"sequences"},
    {"persistence"},
    {"testing", "plots"},
    {"auto"},
    {"tables"},
    {"app"},
    {"__main__"},
]
"""A module imports from its own folder and from those before it."""
RANK = {folder: rank for rank, folders in enumerate(ORDER) for folder in folders}
SOURCE = Path(mercer.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def folder_of(path):
    return path.parts[0].removesuffix(".py")


def imported_names(path):
    """The dotted names that a module imports, split at the dots, wherever the import stands."""
    package = ["mercer", *path.parts[:-1]]
    for node in ast.walk(ast.parse((SOURCE / path).read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            stem = node.module.split(".") if node.module else []
            names = [[*base, *stem, alias.name] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [[*node.module.split("."), alias.name] for alias in node.names]
        else:
            continue
        yield from names


def imported_folders(path):
    """The folders that a module imports from."""
    names = imported_names(path)
    return (name[1] for name in names if name[0] == "mercer" and len(name) > 1)


def backward_imports(path):
    """Sentences about imports of a module that go the wrong way."""
    folder = folder_of(path)
    if folder not in RANK:
        yield f"{folder} is new: add it to ORDER"
        return
    for other in imported_folders(path):
        if other in mercer.__all__:  # `from .. import KernelDependency`
            other = "sequences" if other in mercer.sequences.__all__ else "estimators"
        if other not in RANK:
            yield f"{path} imports {other}, which is not in ORDER"
        elif not (RANK[other] < RANK[folder] or other == folder or RANK[other] == 0):
            yield f"{path} imports {other}, which comes after {folder} in ORDER"


def test_imports_go_one_way():
    modules = [path for path in MODULES if path != Path("__init__.py")]
    assert not [problem for path in modules for problem in backward_imports(path)]


def test_the_package_does_not_import_the_experiments():
    """They are in the repository, not in the wheel."""
    importing = [p for p in MODULES if "experiments" in {name[0] for name in imported_names(p)}]
    assert not importing


def test_this_test_sees_imports():
    assert "operators" in set(imported_folders(Path("solvers/spectral.py")))
    assert "kernels" in set(imported_folders(Path("decoders/direct.py")))


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
    ".solvers": {"BlockConjugateGradient", "Cholesky", "LeaveOneOut", "Moments", "Spectral"},
    ".decoders": {"Candidates", "Decoder", "Direct", "FixedPoint", "Gradient", "natural"},
    ".testing": {
        "check_decoder", "check_feature_map", "check_kernel", "check_loss", "check_operator",
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
