"""Left-out predictions, decoded, equal those of refits; or the decoder names what it keeps."""

import numpy as np
import pytest
from sklearn.base import clone

import registry
from mercer import KernelDependency, KernelDependencyCV
from mercer import decoders as d
from mercer._base.arrays import count, host, take
from mercer.kernels import RBF, Labels, Positions, Spectrum
from mercer.testing.estimators import same_outputs

GIVEN = [
    (d.Threshold(0.5, at_least_one=True), Labels(), registry.SETS),
    (d.PerPosition(bonus=0.1), Positions(), registry.WORDS),
    (d.Viterbi(transitions=np.eye(2), weight=0.1), Positions(), registry.WORDS),
    (d.NGramPath(bonus=0.1), Spectrum(2, blended=True), registry.WORDS),
    (d.ByLoss(price=0.0), Labels(), registry.SETS),
]
CASES = [
    case
    for case in [*registry.DECODERS, *registry.MORE_DECODERS, *GIVEN]
    if count(case[2]) > 2  # a refit needs two examples
]


def with_given_scales(kernel):
    """The kernel without length scales that are fitted on the outputs."""
    rules = [name for name, value in kernel.get_params().items() if value == "median"]
    return clone(kernel).set_params(**dict.fromkeys(rules, 1.0))


def same(space, A, B):
    if space.on_vectors:
        return np.allclose(host(A), host(B), atol=1e-6)
    return space.keys(A) == space.keys(B) or same_outputs(A, B)


@pytest.mark.parametrize(("decoder", "kernel", "items"), CASES, ids=lambda part: str(part)[:30])
def test_decoded_left_out_predictions_are_those_of_refits(decoder, kernel, items):
    kernel = with_given_scales(kernel)
    X = np.random.default_rng(0).normal(size=(count(items), 2))
    model = KernelDependency(RBF(1.0), kernel, 0.1, clone(decoder)).fit(X, items)
    if model.decoder_.constants:
        assert f"`{type(decoder).__name__}`" in KernelDependency.loo_predict.__doc__
        return
    found, space = model.loo_predict(), model.output_kernel_.space
    for i in range(count(items)):
        rest = np.arange(count(items)) != i
        again = clone(model).fit(X[rest], take(model.outputs_, np.flatnonzero(rest)))
        assert same(space, take(found, [i]), again.predict(X[[i]]))


def test_decoders_name_what_they_keep():
    assert d.Viterbi().constants == ("the transitions", "what `calibrate` chooses")
    assert d.NGramPath(bonus="auto").constants
    assert not [decoder for decoder, *_ in GIVEN if decoder.constants]
    assert KernelDependencyCV.loo_predict.__doc__ == KernelDependency.loo_predict.__doc__
