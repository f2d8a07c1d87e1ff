"""Left-out points carry what new points carry: coordinates, weights and inputs of decoders."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from laws.cases import off, vectors
from mercer import Blend, ForestDependency, KernelDependency, KernelDependencyCV
from mercer.decoders import ByLoss, PerField, Threshold
from mercer.estimators import BoostedDependency, MissingTargets, RegressorDependency
from mercer.features import Nystroem
from mercer.kernels import RBF, Delta, Labels, On
from mercer.operators import Covariance, Local
from mercer.sets import LeftOutSets

N = 20
X, Y = vectors(N)
X_NEW = vectors(5, seed=1)[0]
WEIGHTS = 1.0 + np.arange(N) % 3
LABELS = np.arange(N) // 2
FOREST = ForestDependency(n_trees=5, random_state=0)
MODELS = {
    "ridge": KernelDependency(RBF(1.0), alpha=0.1),
    "ridge, outputs in a span": KernelDependency(RBF(1.0), RBF(1.0), alpha=0.1),
    "ridge, covariance": KernelDependency(RBF(1.0) * Covariance(), alpha=0.1),
    "ridge, local": KernelDependency(Local(RBF(1.0), width=1.0), alpha=0.1),
    "ridge, low rank": KernelDependency(RBF(1.0), alpha=0.1, features=Nystroem(8, random_state=0)),
    "search": KernelDependencyCV(RBF(1.0)),
    "forest": FOREST,
    "forest, outputs in a span": clone(FOREST).set_params(output_kernel=RBF(1.0)),
    "forest, bootstrap": clone(FOREST).set_params(bootstrap=True, n_trees=20),
    "boosting": BoostedDependency(n_trees=5, min_samples_leaf=3, cv=3),
    "regressor": RegressorDependency(LinearRegression()),
    "blend": Blend([KernelDependency(RBF(1.0), alpha=0.1), FOREST]),
    "blend, other order": Blend([FOREST, KernelDependency(RBF(1.0), alpha=0.1)]),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights"])
@pytest.mark.parametrize("name", MODELS)
def test_left_out_points_carry_what_new_points_carry(name, weighted):
    model = clone(MODELS[name]).fit(X, Y, LABELS, sample_weight=WEIGHTS if weighted else None)
    kernel = model.output_kernel_
    for points, n in ((model.embed(X_NEW), len(X_NEW)), (model.loo_embed(), N)):
        assert len(points.inputs) == n
        assert points.weights.shape == (n, N)
        if name.startswith("ridge, c") or name.startswith("ridge, l") or "boost" in name:
            continue  # points need not be in the span of the outputs with an intercept
        expected = points.weights @ kernel(Y)
        assert off(points.inner(Y), expected) <= 1e-7
    left_out = model.loo_embed()
    assert (left_out.left_out == LABELS).all()
    assert (left_out.counts == (WEIGHTS if weighted else 1.0)).all()


def test_forests_and_blends_leave_the_example_out_of_its_weights():
    for name in ("forest", "forest, outputs in a span"):
        model = clone(MODELS[name]).fit(X, Y, LABELS)
        own = model.loo_embed().weights[LABELS[:, None] == LABELS]
        assert (own == 0.0).all(), name


def test_missing_targets_refuse_weights_of_both_kinds_of_points():
    given = np.where(np.add.outer(np.arange(N), np.arange(3)) % 5 == 0, np.nan, Y)
    model = MissingTargets(KernelDependency(RBF(1.0), alpha=0.1)).fit(X, given)
    for points in (model.embed(X_NEW), model.loo_embed()):
        with pytest.raises(ValueError, match="no common weights"):
            points.weights  # noqa: B018


TAGS = [[f"tag {j}" for j in np.flatnonzero(y > 1.0)] for y in Y]


@pytest.mark.parametrize("decoder", [ByLoss("f1"), Threshold()], ids=str)
def test_the_order_of_blended_models_changes_nothing(decoder):
    models = [KernelDependency(RBF(1.0), Labels(), alpha=0.1), clone(FOREST)]
    models[1].set_params(output_kernel=Labels())
    found = [Blend(order, decoder).fit(X, TAGS) for order in (models, models[::-1])]
    one, other = (model.loo_embed() for model in found)
    assert off(one.weights, other.weights) <= 1e-9
    assert list(found[0].predict(X_NEW)) == list(found[1].predict(X_NEW))
    sets = [LeftOutSets.of(model).predict(X_NEW, coverage=0.7) for model in found]
    assert sets[0] == sets[1]


def test_a_field_of_records_has_the_weights_of_its_records():
    y = [
        {"tags": tags, "side": "left" if x[0] < 0 else "right"}
        for x, tags in zip(X, TAGS, strict=True)
    ]
    kernel = On("tags", Labels()) + On("side", Delta())
    decoder = PerField({"tags": ByLoss("f1")})
    model = KernelDependency(RBF(1.0), kernel, alpha=0.1, decoder=decoder).fit(X, y)
    alone = KernelDependency(RBF(1.0), Labels(), alpha=0.1, decoder=ByLoss("f1")).fit(X, TAGS)
    assert [row["tags"] for row in model.predict(X_NEW)] == list(alone.predict(X_NEW))
