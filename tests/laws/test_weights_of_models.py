"""Integer weights equal repeated rows in one group, for every model and what it calibrates."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from laws.cases import vectors
from mercer import Blend, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.decoders import ByLoss, Lexicon, NGramPath, PerField, PerPosition, Threshold, Viterbi
from mercer.estimators import BoostedDependency, MissingTargets, RegressorDependency
from mercer.features import KernelPCA
from mercer.kernels import RBF, Delta, Labels, Linear, On, Positions, Spectrum, UnitVariance
from mercer.operators import Covariance, CurlFree, Local
from mercer.sets import Bands, LeftOutSets

N = 24
COUNTS = np.random.default_rng(3).integers(0, 4, size=N)
X, Y = vectors(N)
X_NEW = vectors(6, seed=1)[0]
GROUPS = np.arange(N) * 5 % 13


def repeated(A: Any) -> Any:
    """The rows as often as their counts say."""
    if isinstance(A, np.ndarray):
        return np.repeat(A, COUNTS, axis=0)
    return [item for item, count in zip(A, COUNTS, strict=True) for _ in range(count)]


def label_sets(indicators: bool = False) -> Any:
    """Sets of labels that a third of the rows get wrong."""
    T = (Y + np.random.default_rng(0).normal(size=Y.shape) > 1.0) & True
    return T.astype(int) if indicators else [[f"tag {j}" for j in np.flatnonzero(t)] for t in T]


def classes() -> list:
    return [f"class {t[0] + t[1]}" for t in label_sets(True)]


def words() -> list:
    letters = np.random.default_rng(1).choice(list("abc"), size=(N, 4))
    return ["".join(row[: 2 + int(x > 0)]) for row, x in zip(letters, X[:, 0], strict=True)]


def records() -> list:
    return [{"size": float(y[0]), "kind": c} for y, c in zip(Y, classes(), strict=True)]


def with_missing(y: Any) -> Any:
    """Some targets are missing."""
    if isinstance(y, np.ndarray):
        return np.where(np.add.outer(np.arange(len(y)), [0, 1, 2]) % 5 == 0, np.nan, y)
    return [dict(item, size=None) if i % 4 == 1 else item for i, item in enumerate(y)]


LEFT_OUT = (
    "left-out predictions", "left-out points", "distances", "risk", "sets", "intervals",
)  # fmt: skip
FIELDS = On("size", UnitVariance(Linear())) + On("kind", Delta())
FOREST = {"n_trees": 9, "random_state": 0}


@dataclass(frozen=True)
class Case:
    """A model, its outputs, and whether it takes groups."""

    model: Any
    y: Any = field(default_factory=lambda: Y)
    error: float = 1e-7
    groups: bool = True


def ridge(**parameters: Any) -> KernelDependency:
    return KernelDependency(**{"kernel": RBF(1.0), "alpha": 0.1} | parameters)


CASES = {
    "ridge": Case(ridge()),
    "ridge, covariance": Case(ridge(kernel=RBF(1.0) * Covariance())),
    "ridge, local median": Case(ridge(kernel=Local(RBF("median"), width=1.0))),
    "ridge, sum of medians": Case(ridge(kernel=RBF("median") * Covariance() + RBF(2.0))),
    "ridge, field": Case(ridge(kernel=CurlFree())),
    "search": Case(KernelDependencyCV(RBF("median"))),
    "search, gcv": Case(KernelDependencyCV(RBF(1.0), criterion="gcv"), groups=False),
    "search, evidence": Case(KernelDependencyCV(RBF(1.0), criterion="evidence"), groups=False),
    "labels": Case(KernelDependencyCV(RBF(1.0), Labels()), label_sets()),
    "threshold": Case(ridge(output_kernel=Labels(), decoder=Threshold()), label_sets()),
    "threshold, given": Case(
        ridge(output_kernel=Labels(), decoder=Threshold(threshold=0.4)), label_sets()
    ),
    "threshold, macro": Case(
        ridge(output_kernel=Labels(), decoder=Threshold(metric="macro")), label_sets(True)
    ),
    "threshold, subset": Case(
        ridge(output_kernel=Labels(), decoder=Threshold(metric="subset")), label_sets()
    ),
    "loss": Case(ridge(output_kernel=Labels(), decoder=ByLoss("f1")), label_sets()),
    "loss, covariance": Case(
        ridge(kernel=RBF(1.0) * Covariance(), output_kernel=Labels(), decoder=ByLoss("hamming")),
        label_sets(),
    ),
    "loss, forest": Case(
        ForestDependency(output_kernel=Labels(), decoder=ByLoss("f1"), **FOREST), label_sets()
    ),
    "positions": Case(
        ridge(output_kernel=Positions(), decoder=PerPosition(bonus="auto")), words()
    ),
    "viterbi": Case(ridge(output_kernel=Positions(), decoder=Viterbi()), words()),
    "lexicon": Case(
        ridge(output_kernel=Positions(), decoder=Lexicon(background="auto", rarity="auto")), words()
    ),
    "n-grams": Case(ridge(output_kernel=Spectrum(2), decoder=NGramPath(bonus="auto")), words()),
    "records": Case(
        ridge(output_kernel=On("tags", Labels()) + On("word", Positions()), decoder=PerField(
            {"word": Viterbi()}
        )),
        [{"tags": t, "word": w} for t, w in zip(label_sets(), words(), strict=True)],
    ),
    "classes": Case(ridge(output_kernel=Delta()), classes()),
    "forest": Case(ForestDependency(**FOREST)),
    "forest, leaves of three": Case(ForestDependency(min_samples_leaf=3, **FOREST)),
    "forest, bootstrap": Case(ForestDependency(bootstrap=True, random_splits=False, **FOREST)),
    "forest, classes": Case(ForestDependency(output_kernel=Delta(), **FOREST), classes()),
    "forest, words": Case(ForestDependency(output_kernel=Spectrum(2), **FOREST), words()),
    "boosting": Case(BoostedDependency(n_trees=9, min_samples_leaf=3, cv=3)),
    "boosting, labels": Case(
        BoostedDependency(output_kernel=Labels(), n_trees=9, min_samples_leaf=3, cv=3),
        label_sets(),
    ),
    "regressor": Case(RegressorDependency(LinearRegression())),
    "regressor without weights": Case(RegressorDependency(KNeighborsRegressor(3))),
    "regressor, components": Case(
        RegressorDependency(LinearRegression(), RBF(1.0), KernelPCA(3), kernel=Linear())
    ),
    "regressor, labels": Case(RegressorDependency(LinearRegression(), Labels()), label_sets()),
    "missing": Case(MissingTargets(ridge()), with_missing(Y)),
    "missing, records": Case(MissingTargets(ridge(output_kernel=FIELDS)), with_missing(records())),
    "missing, forest": Case(
        MissingTargets(ForestDependency(output_kernel=FIELDS, **FOREST)), with_missing(records())
    ),
    "blend": Case(Blend([ridge(), ForestDependency(**FOREST)])),
    "blend of searches": Case(
        Blend([KernelDependencyCV(RBF(1.0), Labels()), ridge(output_kernel=Labels())]),
        label_sets(),
    ),
    "blend by loss": Case(
        Blend(
            [ridge(output_kernel=Labels()), ForestDependency(output_kernel=Labels(), **FOREST)],
            decoder=ByLoss("f1"),
        ),
        label_sets(),
    ),
}  # fmt: skip


def described(model: Any, case: Case, kept: np.ndarray) -> dict[str, Any]:
    """What a fitted model says, of its left-out predictions those of the rows `kept`.

    Without groups, repeats are left out one by one, and left-out predictions are not comparable.
    """
    points, left_out = model.embed(X_NEW), model.loo_embed()
    known = [item for item, count in zip(case.y, COUNTS, strict=True) if count]
    if isinstance(case.y, np.ndarray):
        known = np.array(known)
    found = {
        "predictions": model.predict(X_NEW),
        "left-out predictions": model.loo_predict()[kept],
    }
    if not isinstance(model, MissingTargets):
        found |= {
            "points": points.inner(known),
            "left-out points": left_out.inner(known)[kept],
            "distances": left_out.sqdistances_to(model.outputs_)[kept],
        }
    else:
        found |= {"coordinates": points.coordinates, "risk": model.loo_risk_}
    if hasattr(model, "predict_proba"):
        found["probabilities"] = model.predict_proba(X_NEW)
    if hasattr(model, "weights_"):
        found["model weights"] = model.weights_
    if isinstance(model, KernelDependencyCV):
        found |= {"risk": model.loo_risk_, "score": model.loo_score_, "ridge": model.alpha_}
    if case.groups and isinstance(model, KernelDependency | KernelDependencyCV):
        found["confidence"] = model.confidence(X_NEW)
    if not isinstance(model, MissingTargets) and not isinstance(case.y[0], dict | str):
        found |= sets_of(model)
    if case.groups:
        return found
    return {name: value for name, value in found.items() if name not in LEFT_OUT}


def sets_of(model: Any) -> dict[str, Any]:
    """Prediction sets from left-out predictions, joint and for single values."""
    labels = np.arange(N)[COUNTS > 0]
    n = len(model.loo_embed())
    made = LeftOutSets.of(model, labels if n == len(labels) else repeated(np.arange(N)))
    found = {}
    for name, joint in (("sets", True), ("intervals", False)):
        sets = made.predict(X_NEW, coverage=0.7, joint=joint)
        bands = isinstance(sets, Bands)
        found[name] = [sets.lower, sets.upper] if bands else [sorted(map(str, s)) for s in sets]
    return found


def labels_of(case: Case, grouped: bool) -> Any:
    """The groups to leave out: those of the repeats, or larger ones."""
    if not case.groups:
        return None
    return GROUPS if grouped else np.arange(N)


@pytest.mark.filterwarnings("ignore:the choice is at the edge")
@pytest.mark.parametrize("name", CASES)
def test_integer_weights_are_repeated_rows(name):
    case, labels = CASES[name], labels_of(CASES[name], grouped=len(name) % 2 == 0)
    once, often = clone(case.model), clone(case.model)
    once.fit(X, case.y, groups=labels, sample_weight=COUNTS)
    groups = None if labels is None else repeated(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of repeats
        often.fit(repeated(X), repeated(case.y), groups=groups)
    first = np.cumsum(COUNTS)[COUNTS > 0] - 1  # one of the repeats of each row
    assert_same(
        described(once, case, np.arange(len(first))), described(often, case, first), case.error
    )


def assert_same(found: dict[str, Any], wanted: dict[str, Any], error: float) -> None:
    """Numbers agree up to rounding, and other outputs exactly."""
    assert found.keys() == wanted.keys()
    for name, value in found.items():
        for one, other in zip(plain(value), plain(wanted[name]), strict=True):
            if isinstance(one, float):
                near = pytest.approx(other, rel=0, abs=error * size(wanted[name]), nan_ok=True)
                assert one == near, name
            else:
                assert one == other, name


def plain(value: Any) -> list:
    """The numbers and the other values of a nested output."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [leaf for item in value for leaf in plain(item)]
    return [float(value) if isinstance(value, int | float) else value]


def size(value: Any) -> float:
    """The largest absolute number."""
    return max([1e-300, *(abs(x) for x in plain(value) if isinstance(x, float) and x == x)])
