"""What importing mercer brings with it, in a process of its own."""

import pickle
import subprocess
import sys

import pytest

import mercer

LATER = ["numba", "matplotlib", "rich", "click", "networkx", "ot", "rdkit", "rapidfuzz", "torch",
         "sklearn.metrics", "sklearn.callback", "mercer.tables", "mercer.app.cli"]  # fmt: skip
AT_NO_START = ["numpy", "scipy", "sklearn", "pandas", "numba", "rich", "joblib", "matplotlib",
               "mercer.kernels", "mercer.estimators", "mercer.auto", "mercer.tables"]  # fmt: skip
STARTS = {
    "import": "import mercer",
    "help": "from click.testing import CliRunner; from mercer.app.cli import main\n"
    "assert CliRunner().invoke(main, ['--help']).exit_code == 0",
    "help of fit": "from click.testing import CliRunner; from mercer.app.cli import main\n"
    "assert CliRunner().invoke(main, ['fit', '--help']).exit_code == 0",
}
PACKAGES = ["kernels", "operators", "features", "fields", "decoders", "estimators", "solvers",
            "sources", "sequences", "auto", "spaces", "metrics", "testing", "datasets"]  # fmt: skip


def run(code):
    """Run code in a process of its own; what it prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(code):
    """The modules that code imports."""
    return set(run(f"{code}\nimport sys; print('\\n'.join(sys.modules))").split())


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The modules that an estimator brings, and those after a saved model has predicted."""
    X = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]
    path = tmp_path_factory.mktemp("saved") / "model"
    mercer.save(mercer.KernelDependency().fit(X, [0.0, 1.0, 2.0]), path)
    code = (
        "import sys\nfrom mercer import KernelDependency, load\nprint(*sys.modules)\n"
        f"load({str(path)!r}).predict([[0.0, 1.0]])\nprint(*sys.modules)"
    )
    return [set(line.split()) for line in run(code).splitlines()]


@pytest.fixture(scope="module")
def of_an_estimator(told):
    return told[0]


@pytest.mark.parametrize("name", LATER)
def test_what_is_slow_is_imported_when_first_used(name, of_an_estimator):
    assert name not in of_an_estimator


def test_what_is_imported(of_an_estimator):
    assert {"mercer", "mercer.kernels", "sklearn.base"} <= of_an_estimator


@pytest.mark.parametrize("code", STARTS.values(), ids=STARTS)
def test_the_start_loads_no_library(code):
    assert not loaded(code).intersection(AT_NO_START)


def test_public_names_come_on_first_use():
    assert set(mercer.__all__) <= set(dir(mercer))
    assert all(getattr(mercer, name).__name__ == name for name in mercer.__all__
               if not name.startswith("_"))  # fmt: skip
    assert {*vars(mercer)} >= {*mercer.__all__}


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'Dependency'"):
        mercer.Dependency  # noqa: B018


def test_classes_are_pickled_by_where_they_live_and_subpackages_are_attributes():
    model = mercer.KernelDependency().fit([[0.0], [1.0]], [0.0, 1.0])
    code = f"import pickle\nprint(pickle.loads(bytes.fromhex('{pickle.dumps(model).hex()}')))\n"
    code += "import mercer\n" + "".join(f"assert mercer.{name}.__name__\n" for name in PACKAGES)
    assert run(code).strip() == "KernelDependency()"


def test_a_loaded_model_of_vectors_predicts_without_compiled_loops(told):
    assert "numba" not in told[1]
