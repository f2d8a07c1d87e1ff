"""Parameters chosen over a stream, by pairs held out or by the sample left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import make_scorer, mean_absolute_error

from mercer import KernelDependency, KernelDependencyCV
from mercer.decoders import Candidates, Direct
from mercer.features import Nystroem
from mercer.kernels import RBF, Linear
from mercer.operators import ConditionalCovariance, Covariance, Identity
from mercer.sources import Stream
from tolerances import LEFT_OUT

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 2))
Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.1 * RNG.normal(size=(80, 2)) + 2.0
XV = RNG.normal(size=(50, 2))
YV = np.column_stack([np.sin(2 * XV[:, 0]), XV[:, 1] ** 2]) + 2.0
KERNELS = [
    RBF(s) * op for s in (0.7, 2.0) for op in (Identity(), Covariance(), ConditionalCovariance(0.1))
]
ALPHAS = [1e-3, 0.1, 10.0]
PARTS = {"features": Nystroem(landmarks=X[:15])}
BLOCKS = [(X[:30], Y[:30]), (X[30:], Y[30:])]
HELD_OUT = [(XV[:20], YV[:20]), (XV[20:], YV[20:])]


def refits(intercept):
    """The model of every choice, in the order of the report."""
    return [
        KernelDependency(kernel, alpha=alpha, fit_intercept=intercept, **PARTS)
        for kernel in KERNELS
        for alpha in ALPHAS
    ]


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(
    "validation", [(XV, YV), HELD_OUT, Stream(HELD_OUT)], ids=["pair", "blocks", "stream"]
)
def test_the_held_out_risk_is_that_of_a_refit(intercept, validation):
    choice = KernelDependencyCV(KERNELS, alphas=ALPHAS, fit_intercept=intercept, **PARTS)
    choice.fit(BLOCKS, validation=validation)
    wanted = [
        ((model.fit(X, Y).predict(XV) - YV) ** 2).sum(axis=1).mean() for model in refits(intercept)
    ]
    assert_allclose(choice.cv_results_["risk"], wanted, rtol=1e-8)
    best = refits(intercept)[int(np.argmin(wanted))].fit(X, Y)
    assert choice.alpha_ == best.alpha and str(choice.kernel_.operator) == str(best.kernel.operator)
    assert_allclose(choice.predict(XV), best.predict(XV), atol=1e-8)


def test_held_out_pairs_beside_arrays_held_whole():
    choice = KernelDependencyCV(KERNELS, alphas=ALPHAS, **PARTS)
    risks = choice.fit(X, Y, validation=(XV, YV)).cv_results_["risk"]
    assert_allclose(risks, choice.fit(BLOCKS, validation=HELD_OUT).cv_results_["risk"], rtol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_sample_is_left_out_in_closed_form(intercept):
    """Against refits without one pair, under the same landmarks; B held fixed for the identity."""
    model = KernelDependency(RBF(0.7), alpha=0.1, fit_intercept=intercept, **PARTS)
    rest = [np.arange(80) != place for place in range(80)]
    again = np.vstack([model.fit(X[r], Y[r]).predict(X[~r]) for r in rest])
    choice = KernelDependencyCV(RBF(0.7), alphas=[0.1], fit_intercept=intercept, **PARTS)
    choice.fit(Stream(BLOCKS, sample=12))
    places = choice.stream_.sample.numbers
    assert_allclose(choice.loo_predict(), again[places], atol=LEFT_OUT)
    errors = ((again - Y) ** 2).sum(axis=1)
    assert choice.loo_risk_ == pytest.approx(errors.mean(), rel=1e-9)  # over all, in another pass
    choice.fit(Stream(iter(BLOCKS), sample=30))  # a generator cannot be read again
    assert choice.loo_risk_ == pytest.approx(errors[:30].mean(), rel=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_a_stream_that_is_its_own_sample_chooses_as_arrays_do(intercept):
    choice = KernelDependencyCV(KERNELS, alphas=ALPHAS, fit_intercept=intercept, **PARTS)
    whole = choice.fit(X, Y).cv_results_["risk"]
    assert_allclose(choice.fit(BLOCKS).cv_results_["risk"], whole, rtol=1e-8)


def test_scoring_of_decoded_left_out_outputs():
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    choice = KernelDependencyCV(
        KERNELS, RBF(1.0), alphas=ALPHAS, scoring=scoring, decoder=Candidates(),
        output_features=Nystroem(landmarks=Y[:12]), **PARTS,
    )  # fmt: skip
    whole = choice.fit(X, Y).cv_results_["score"]
    assert_allclose(choice.fit(BLOCKS).cv_results_["score"], whole, rtol=1e-8)
    assert choice.predict(XV).shape == YV.shape


def test_refusals():
    choice = KernelDependencyCV(Linear(), alphas=ALPHAS)
    with pytest.raises(TypeError, match=r"validation must be a pair \(X, y\) or a stream"):
        choice.fit(BLOCKS, validation=3)
    with pytest.raises(ValueError, match="block 1 of the stream"):
        choice.fit(BLOCKS, validation=[(XV, YV), (XV, YV[1:])])
    with pytest.raises(ValueError, match="validation is an empty stream"):
        choice.fit(BLOCKS, validation=iter([]))
    with pytest.raises(ValueError, match="validation= is compared by its moments"):
        KernelDependencyCV(Linear(), scoring="r2").fit(BLOCKS, validation=HELD_OUT)
    with pytest.raises(ValueError, match="on a stream give one output kernel"):
        KernelDependencyCV(Linear(), criterion="gcv").fit(BLOCKS)
    with pytest.raises(ValueError, match="features=None is exact"):
        KernelDependencyCV(RBF(1.0)).fit(BLOCKS)


def test_a_decoder_in_a_list_of_one():
    choice = KernelDependencyCV(Linear(), alphas=ALPHAS)
    alone = choice.set_params(decoder=Direct()).fit(BLOCKS).predict(XV)
    assert_allclose(choice.set_params(decoder=[Direct()]).fit(BLOCKS).predict(XV), alone)
