"""Exported models, run by onnxruntime in one process without mercer, predict what mercer does."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import mercer
from mercer import Blend, BoostedDependency, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.decoders import Assignment, Borda, Candidates
from mercer.features import IncompleteCholesky, KernelPCA, Nystroem, RandomFourier
from mercer.kernels import (
    L2,
    RBF,
    Delta,
    Gaussian,
    Hamming,
    Hellinger,
    Kendall,
    Labels,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Spearman,
    Spectrum,
    Standardized,
)
from mercer.operators import ConditionalCovariance, Covariance

SERVE = """
import sys
import numpy as np
import onnxruntime
X = np.load(sys.argv[1])
found = {}
for path in sys.argv[2:]:
    session = onnxruntime.InferenceSession(path)
    kind = np.float32 if "single" in path else np.float64
    for output, value in zip(session.get_outputs(), session.run(None, {"X": X.astype(kind)})):
        found[path + " " + output.name] = value.astype(str) if value.dtype == object else value
assert "mercer" not in sys.modules
np.savez(sys.argv[1] + ".npz", **found)
"""
DOUBLE, SINGLE = 1e-12, 1e-5
RNG = np.random.default_rng(0)
X, X_NEW = RNG.normal(size=(60, 4)), RNG.normal(size=(20, 4)).astype(np.float32).astype(float)
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2], X.sum(axis=1)])
SETS = [[label for label, x in zip("abcd", row, strict=True) if x > 0] for row in X]
OUTPUTS = {
    "vectors": (Linear(), Y),
    "sets": (Labels(), SETS),
    "classes": (Delta(), np.array(["low", "high"])[(X[:, 0] > 0).astype(int)]),
    "rankings": (Spearman(), np.argsort(np.argsort(X, axis=1), axis=1)),
}
KERNELS = {
    "rbf": RBF(), "matern 0.5": Matern(nu=0.5), "matern 1.5": Matern(), "laplacian": Laplacian(),
    "matern 2.5": Matern([1.0, 2.0, 3.0, 4.0], nu=2.5), "rational": RationalQuadratic(2.0, 0.7),
    "polynomial": Polynomial(2, 0.5), "linear": Linear(), "sum": RBF() + 0.1 * Linear() ** 2,
    "product": 0.5 * RBF() * Laplacian(5.0),
}  # fmt: skip
GRID = {
    f"{name}, {kind}": KernelDependency(kernel, output, alpha=0.1).fit(X, y)
    for name, kernel in KERNELS.items()
    for kind, (output, y) in OUTPUTS.items()
}
RANKS, TEXTS = OUTPUTS["rankings"][1], np.array(["north", "south", "east"])[np.arange(60) % 3]
FAR = 1e5 + 3.0 * X
OTHERS = {
    "numbers": KernelDependency(RBF(), alpha=0.1).fit(X, Y[:, 0]),
    "matrices": KernelDependency(RBF(), alpha=0.1).fit(X, np.stack([Y, Y], axis=1)),
    "no intercept": KernelDependency(RBF(), alpha=0.1, fit_intercept=False).fit(X, Y),
    "weights": KernelDependency(RBF(), alpha=0.1).fit(X, Y, sample_weight=np.arange(1.0, 61.0)),
    "operator": KernelDependency(RBF() * ConditionalCovariance(), alpha=0.1).fit(X, Y),
    "curves": KernelDependency(RBF() * Covariance(), L2([0.0, 1.0, 3.0]), alpha=0.1).fit(X, Y),
    "standardised": KernelDependency(Standardized(RBF(2.0), slopes=True), alpha=0.1).fit(X, Y),
    "standardised outputs": KernelDependency(RBF(), Standardized(Linear())).fit(X, 1e4 + Y),
    "far inputs": KernelDependency(Linear()).fit(FAR, Y),
    "landmarks": KernelDependency(RBF(), features=Nystroem(9, random_state=0)).fit(X, Y),
    "pivots": KernelDependency(RBF(), features=IncompleteCholesky(9)).fit(X, Y),
    "waves": KernelDependency(RBF(), features=RandomFourier(20, random_state=0)).fit(X, Y),
    "components": KernelDependency(
        RBF(), RBF(), output_features=KernelPCA(5, center=True), decoder=Candidates()
    ).fit(X, Y),
    "features": KernelDependency(Standardized(Linear()) + 2 * Linear(), alpha=0.1).fit(X, Y),
    "candidates": KernelDependency(RBF(), RBF(), decoder=Candidates(), alpha=0.1).fit(X, Y),
    "texts": KernelDependency(RBF(), Spectrum(2), decoder=Candidates(), alpha=0.1).fit(X, TEXTS),
    "kemeny": KernelDependency(RBF(), Kendall(), alpha=0.1).fit(X, RANKS),
    "borda": KernelDependency(RBF(), Kendall(), decoder=Borda(), alpha=0.1).fit(X, RANKS * 1.0),
    "forest": ForestDependency(n_trees=5, random_state=0).fit(X, Y),
    "forest, sets": ForestDependency(None, Labels(), n_trees=5, random_state=0).fit(X, SETS),
    "forest, candidates": ForestDependency(
        output_kernel=RBF(), n_trees=5, decoder=Candidates(), random_state=0
    ).fit(X, Y),
    "blend": Blend([KernelDependencyCV(RBF()), ForestDependency(n_trees=5, random_state=0)]).fit(
        X, Y
    ),
}
MODELS = GRID | OTHERS


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """What onnxruntime returns, by (model, precision, output), from one process for all files."""
    folder = tmp_path_factory.mktemp("onnx")
    paths = {}
    for number, (name, model) in enumerate(MODELS.items()):
        for precision in ("double", "single"):
            path = folder / f"{number} {precision}.onnx"
            mercer.to_onnx(model, path, precision)
            paths[str(path)] = name, precision
    np.save(folder / "inputs.npy", X_NEW)
    command = [sys.executable, "-c", SERVE, str(folder / "inputs.npy"), *paths]
    subprocess.run(command, check=True, cwd=folder, timeout=100)
    found = np.load(f"{folder / 'inputs.npy'}.npz")
    return {(*paths[key.rpartition(" ")[0]], key.rpartition(" ")[2]): found[key] for key in found}


def as_indicators(sets):
    return np.array([[label in chosen for label in "abcd"] for chosen in sets])


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", MODELS)
def test_predictions(name, precision, served):
    wanted, found = MODELS[name].predict(X_NEW), served[name, precision, "prediction"]
    if "sets" in name:
        wanted = as_indicators(wanted)
        scores = served[name, precision, "scores"]
        exact = MODELS[name].decoder_._scores(MODELS[name].embed(X_NEW))
        assert np.abs(scores - exact).max() <= {"double": DOUBLE, "single": SINGLE}[precision]
    assert found.shape == np.shape(wanted)
    if np.asarray(wanted).dtype.kind != "f" or name == "borda":
        np.testing.assert_array_equal(found, wanted)
        return
    assert found.dtype == (np.float64 if precision == "double" else np.float32)
    allowed = DOUBLE if precision == "double" else SINGLE
    assert np.abs(found - wanted).max() <= allowed * np.abs(wanted).max()


def test_forty_models_are_in_the_grid():
    assert len(GRID) == 40


def metadata(model, precision):
    made = mercer.to_onnx(model, precision=precision)
    return {entry.key: entry.value for entry in made.metadata_props}


def test_the_arithmetic_is_double_where_single_precision_would_lose_digits():
    assert metadata(MODELS["rbf, vectors"], "single")["arithmetic"] == "float32"
    assert (
        metadata(KernelDependency(RBF(), alpha=1e-9).fit(X, Y), "single")["arithmetic"] == "float64"
    )
    assert metadata(MODELS["far inputs"], "single")["arithmetic"] == "float64"


def test_names_are_in_the_metadata():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("pqrs"))
    model = KernelDependency(RBF(), Labels()).fit(frame, SETS)
    found = metadata(model, "double")
    spent = metadata(KernelDependency().fit(frame, frame[["p", "q"]]), "double")
    assert spent["outputs"] == '["p", "q"]' and "outputs" not in found
    assert found["columns"] == '["p", "q", "r", "s"]' and found["labels"] == '["a", "b", "c", "d"]'


def test_a_model_from_a_file(tmp_path):
    import onnxruntime

    mercer.save(OTHERS["operator"], tmp_path / "model.mercer")
    made = mercer.to_onnx(mercer.load(tmp_path / "model.mercer"))
    session = onnxruntime.InferenceSession(made.SerializeToString())
    (found,) = session.run(None, {"X": X_NEW})
    wanted = OTHERS["operator"].predict(X_NEW)
    assert np.abs(found - wanted).max() <= DOUBLE * np.abs(wanted).max()


SHARES = np.abs(Y) / np.abs(Y).sum(axis=1, keepdims=True)
REFUSED = {
    "Gaussian": KernelDependency(Gaussian(Linear())).fit(X, Y),
    "FixedPoint": KernelDependency(RBF(), RBF()).fit(X, Y),
    "Hellinger": KernelDependency(RBF(), Hellinger()).fit(X, SHARES),
    "Spectrum": KernelDependency(Spectrum(2)).fit(TEXTS, Y),
    "BoostedDependency": BoostedDependency(n_trees=2, cv=2).fit(X, Y),
    "Assignment": KernelDependency(RBF(), Hamming(), decoder=Assignment()).fit(X, RANKS),
    "Kemeny": KernelDependency(RBF(), Kendall()).fit(
        X, np.argsort(RNG.normal(size=(60, 8)), axis=1)
    ),
    "Candidates": KernelDependency(
        RBF(), Spectrum(2), decoder=Candidates(lambda x: ["a", "b"])
    ).fit(X, TEXTS),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_written_is_named_before_anything_is_written(name, tmp_path):
    with pytest.raises(ValueError, match=f"to_onnx cannot write .*{name}"):
        mercer.to_onnx(REFUSED[name], tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_a_subclass_is_not_written_as_its_base():
    class Doubled(RBF):
        def _gram(self, A, B):
            return 2.0 * super()._gram(A, B)

    with pytest.raises(ValueError, match="cannot write Doubled"):
        mercer.to_onnx(KernelDependency(Doubled(1.0)).fit(X, Y))


def test_bad_arguments():
    with pytest.raises(ValueError, match="precision must be one of"):
        mercer.to_onnx(OTHERS["numbers"], precision="half")
    with pytest.raises(ValueError, match="to_onnx cannot write SimpleNamespace"):
        mercer.to_onnx(SimpleNamespace())
    with pytest.raises(ValueError, match="not fitted"):
        mercer.to_onnx(KernelDependency())


@pytest.mark.parametrize("name", ["matern 0.5, vectors", "forest", "rbf, vectors"])
def test_a_row_alone_is_predicted_as_in_a_batch(name, served):
    import onnxruntime

    session = onnxruntime.InferenceSession(mercer.to_onnx(MODELS[name]).SerializeToString())
    (found,) = session.run(["prediction"], {"X": X_NEW[3:4]})
    np.testing.assert_allclose(found, served[name, "double", "prediction"][3:4], rtol=DOUBLE)
