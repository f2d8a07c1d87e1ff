"""Models of every estimator, route, kernel, operator, feature map and decoder on a few pairs.

The fuzzer mutates their files. The lists of `registry` have a line for each public part (a
test fails where one is missing); `MORE` adds the routes that those lists do not take, and
`wrapped` puts every kernel into every wrapper.
"""

import pickle
import warnings
from contextlib import suppress
from importlib import import_module
from itertools import chain

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    MaxAbsScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    StandardScaler,
)

import mercer
from mercer import (
    AutoDependency,
    KernelDependency,
    KernelDependencyCV,
    SequenceTransducer,
)
from mercer import decoders as d
from mercer import features as f
from mercer import kernels as k
from mercer import operators as o
from mercer import spaces as s
from mercer.persistence.scikit_learn import COMPOSITES, SCIKIT_LEARN_CLASSES
from mercer.tables import Table
from registry import (
    DECODERS,
    FEATURES,
    IMAGES,
    KERNELS,
    MODELS,
    NUMBERS,
    OPERATOR_KERNELS,
    OPERATORS,
    RANKS,
    SETS,
    SHARES,
    VECTORS,
    WORDS,
)

SPARSE = sparse.csr_array(np.round(np.abs(VECTORS)))
LONGER = ["casa", "cane", "gatto", "cassa", "gattone", "canto"]
SPELT = [word.replace("c", "k") for word in LONGER]
BLOCKS = [(NUMBERS[:3], VECTORS[:3]), (NUMBERS[3:], VECTORS[3:])]
MORE = [
    (KernelDependency(k.Tanimoto(), features=f.Nystroem(3, random_state=0)), SPARSE, VECTORS),
    (KernelDependency(k.Tanimoto(), k.Labels()), SPARSE, SETS),
    (KernelDependency(k.RBF(1.0) * o.Covariance(), features=f.IncompleteCholesky(3),
                      fit_intercept=True), NUMBERS, VECTORS),
    (KernelDependency(k.RBF(1.0) * o.Covariance(), solver="auto"), NUMBERS, IMAGES),
    (KernelDependencyCV([k.RBF(1.0), k.RBF(2.0)], k.RBF(), alphas=[0.1, 1.0],
                        features=f.RandomFourier(4, random_state=0)), NUMBERS, VECTORS),
    (KernelDependencyCV(k.Spectrum(2, width=2), k.Spectrum(2, blended=True, width=2),
                        decoder=d.NGramPath(max_nodes=500)), WORDS, WORDS),
    (KernelDependency(k.Positions(), k.Positions(), 0.1, d.Viterbi(2, weight=0.1)), WORDS, WORDS),
    (KernelDependency(k.Positions(), k.Positions(), 0.1, d.Lexicon(background=0.5)), WORDS, WORDS),
    (KernelDependency(k.RBF(), k.Kendall(), decoder=d.Kemeny()), NUMBERS,
     np.argsort(np.random.default_rng(0).normal(size=(6, 9)), axis=1)),
    (KernelDependency(k.RBF(), k.Hamming(), decoder=d.Candidates(RANKS)), NUMBERS, RANKS),
    (KernelDependency(k.RBF(), k.RBF(), decoder=d.Candidates(index="faiss")), NUMBERS, VECTORS),
    (KernelDependency(k.RBF(1.0), k.Linear(), decoder=d.Simplex()), NUMBERS, SHARES),
    (SequenceTransducer(folds=None), LONGER, SPELT),
    (SequenceTransducer(beam=None, direction="forward"), LONGER, SPELT),
]  # fmt: skip


def pairs():
    """Name, unfitted estimator, inputs and outputs of each model."""
    for model, X, y in MODELS + MORE:
        yield type(model).__name__, model, X, y
    for decoder, kernel, y in DECODERS:
        model = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=decoder)
        yield type(decoder).__name__, model, NUMBERS, y
    for kernel, items in KERNELS:
        yield type(kernel).__name__, KernelDependency(kernel, alpha=0.1), items, NUMBERS
        as_output = KernelDependency(k.RBF(), kernel, alpha=0.1, decoder=d.Candidates())
        yield f"{type(kernel).__name__} of outputs", as_output, NUMBERS, items
    for kernel in [k.RBF() * operator for operator in OPERATORS] + OPERATOR_KERNELS:
        yield "operator", KernelDependency(kernel, alpha=0.1), VECTORS, VECTORS
    for features in FEATURES:
        kernel = k.Linear() if isinstance(features, f.Explicit) else k.RBF()
        model = KernelDependency(kernel, kernel, decoder=d.Candidates(), features=features)
        yield type(features).__name__, model, NUMBERS, VECTORS


def transformed():
    """Yield name, unfitted estimator, inputs and outputs for every transformer in a file."""
    sizes = {"NMF": {"n_components": 1}, "QuantileTransformer": {"n_quantiles": 3}}
    for module, names in SCIKIT_LEARN_CLASSES.items():
        for name in sorted({*names} - COMPOSITES):
            transformer = getattr(import_module(module), name)(**sizes.get(name, {}))
            kernel = k.Mapped(transformer, k.Linear(), s.Vectors())
            yield f"Mapped {name}", KernelDependency(kernel, alpha=0.1), np.abs(VECTORS), NUMBERS


def pipelines():
    """Yield name, fitted model and inputs of scikit-learn's composites around models."""
    model = KernelDependency(k.RBF(), alpha=0.1)
    frame = pd.DataFrame({"x": NUMBERS[:, 0], "z": list("uvuvwu"), "w": np.arange(6.0)})
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), PowerTransformer()), ["x"]),
        (OneHotEncoder(drop="first"), ["z"]),
        (OrdinalEncoder(), ["z"]),
        remainder="passthrough",
    )
    union = make_union(StandardScaler(), PolynomialFeatures(2))
    target = TransformedTargetRegressor(model, transformer=StandardScaler())
    yield "Pipeline", make_pipeline(columns, model).fit(frame, VECTORS), frame
    yield "FeatureUnion", make_pipeline(union, model).fit(NUMBERS, VECTORS), NUMBERS
    yield "TransformedTargetRegressor", target.fit(NUMBERS, VECTORS), NUMBERS
    sets = mercer.ConformalSets(make_pipeline(columns, model), 0.6, calibration="split")
    yield "sets around a pipeline", sets.fit(frame, VECTORS), frame


def wrapped():
    """Yield name, unfitted estimator, inputs and outputs for every kernel in every wrapper."""
    for kernel, items in KERNELS:
        inside = {
            "Scaled": 2.0 * kernel,
            "Sum": kernel + 2.0 * kernel,
            "Product": kernel * kernel,
            "Normalized": k.Normalized(kernel),
            "LaplacianRegularized": k.LaplacianRegularized(kernel, neighbors=2),
            "Mapped": k.Mapped(MaxAbsScaler(), kernel, s.Vectors()) if kernel.on_vectors else None,
        }
        name = type(kernel).__name__
        for wrapper, outer in inside.items():
            if outer is not None:
                yield f"{wrapper} {name}", KernelDependency(outer, alpha=0.1), items, NUMBERS
        rows = [{"c": item} for item in items]
        yield f"On {name}", KernelDependency(k.On("c", kernel), alpha=0.1), rows, NUMBERS
        scaled = KernelDependency(k.RBF(), 2.0 * kernel, alpha=0.1, decoder=d.Candidates())
        yield f"Scaled {name} of outputs", scaled, NUMBERS, items


def fitted():
    """Yield name, fitted model and inputs of each model, those of streams and tables too."""
    for name, model, X, y in pairs():
        yield name, model.fit(X, y), X
    streamed = KernelDependency(k.RBF(1.0), features=f.Nystroem(3, random_state=0))
    for X, y in BLOCKS:
        streamed.partial_fit(X, y)
    yield "streamed", streamed, NUMBERS
    for outputs in ("size", "word"):
        columns = {"x": list("012345"), "size": list("012301"), "word": SPELT, "text": LONGER}
        table = Table("a table", columns, range(1, 7))
        inputs = ["text"] if outputs == "word" else ["x"]
        model = AutoDependency(inputs, [outputs], random_state=0)
        yield "table", model.fit(table), table
    days = pd.DataFrame({"day": pd.date_range("2022-03-01", periods=8, freq="50D"), "y": range(8)})
    kinds = pd.DataFrame({"x": np.arange(8.0), "y": np.arange(8) ** 2 / 7, "z": ["u", "v"] * 4})
    yield "record", AutoDependency(["x"], ["y", "z"], random_state=0).fit(kinds), kinds
    yield "dates", AutoDependency(output="y", random_state=0).fit(days), days


def write(folder, every=1):
    """Save models in a folder, each next to a pickle of inputs that it knows.

    Of the wrapped kernels, every `every`-th is taken. Tables and shards are added too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of searches that stop early, and the like
        for number, (name, model, X) in enumerate(chain(fitted(), pipelines())):
            _write(folder / f"{number:03} {name}.mercer", model, X)
        for number, (name, model, X, y) in enumerate(chain(wrapped(), transformed())):
            if number % every == 0:
                with suppress(ValueError, TypeError):  # wrappers that refuse a kernel
                    _write(folder / f"w{number:03} {name}.mercer", model.fit(X, y), X)
    frame = pd.DataFrame({"x": range(12), "name": ["ann", "bob"] * 6, "y": np.linspace(0, 1, 12)})
    np.savez(folder / "pairs.npz", X=VECTORS, y=VECTORS, s=np.array(WORDS))
    frame.to_parquet(folder / "table.parquet")
    frame.to_excel(folder / "table.xlsx", index=False)


def _write(file, model, X):
    try:
        mercer.save(model, file, variance=True)
    except (ValueError, TypeError, AttributeError):  # no variance of such a model
        mercer.save(model, file)
    file.with_suffix(".inputs").write_bytes(pickle.dumps(X))
