"""Imports flow one way, and the public names are those that were meant."""

import ast
import importlib
from pathlib import Path

import pytest

import mercer

ORDER = [
    {
        "_overlap",
        "_threads",
        "_parameters",
        "_arrays",
        "_checks",
        "_linalg",
        "_loops",
        "_memory",
        "_plan",
        "_extras",
        "_files",
        "_from_file",
        "_progress",
        "symmetric",
    },
    {"curves"},
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
    {"demo"},
    {"cli"},
    {"__main__"},
]
"""The rooms of the house: a module imports from its own room and from those before it."""
RANK = {room: rank for rank, rooms in enumerate(ORDER) for room in rooms}
SOURCE = Path(mercer.__file__).parent
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


def room_of(path):
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


def imported_rooms(path):
    """The rooms that a module imports from."""
    names = imported_names(path)
    return (name[1] for name in names if name[0] == "mercer" and len(name) > 1)


@pytest.mark.parametrize("path", [p for p in MODULES if p != Path("__init__.py")], ids=str)
def test_imports_flow_one_way(path):
    room = room_of(path)
    assert room in RANK, f"{room} is new: say in ORDER where in the house it stands"
    for other in imported_rooms(path):
        if other in mercer.__all__:  # `from .. import KernelDependency`
            other = "sequences" if other in mercer.sequences.__all__ else "estimators"
        assert other in RANK, f"{path} imports {other}, which has no place in ORDER"
        allowed = RANK[other] < RANK[room] or other == room or RANK[other] == 0
        assert allowed, f"{path} imports from {other}: imports flow {[sorted(r) for r in ORDER]}"


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_the_package_does_not_import_the_experiments(path):
    """They are in the repository, not in the wheel."""
    assert "experiments" not in {name[0] for name in imported_names(path)}


def test_this_test_sees_imports():
    assert "operators" in set(imported_rooms(Path("solvers/spectral.py")))
    assert "kernels" in set(imported_rooms(Path("decoders/direct.py")))


ROOMS = ["kernels", "features", "operators", "sources", "solvers", "decoders"]
ROOMS += ["estimators", "sequences", "sets"]


@pytest.mark.parametrize("name", ["mercer", *(f"mercer.{room}" for room in ROOMS)])
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
    """A name once public stays; other rooms may add to them."""
    module = importlib.import_module("mercer" + name)
    public = set(getattr(module, "__all__", None) or dir(module))
    assert public >= PUBLIC[name]


@pytest.mark.parametrize("room", ["kernels", "features", "operators", "decoders"])
def test_every_public_class_says_what_it_is(room):
    module = importlib.import_module(f"mercer.{room}")
    for name in module.__all__:
        thing = getattr(module, name)
        assert thing.__doc__, f"{room}.{name} has no docstring"
