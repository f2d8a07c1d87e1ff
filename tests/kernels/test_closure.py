"""The algebra is closed: 2k, k + k, k * k and Normalized(k) keep what survives mathematically."""

import numpy as np
import pytest

from mercer._base.arrays import count, take
from mercer._base.parameters import same
from mercer.decoders import Assignment, Borda, Candidates, Kemeny, Threshold, natural
from mercer.embedding import Embedding, SpanFrame
from mercer.kernels import Kendall, Labels, Normalized
from mercer.kernels.rankings import Ranking
from mercer.testing import check_kernel
from registry import KERNELS

MADE = {
    "k + 3k + k": lambda k: k + 3.0 * k + k,
    "k * k": lambda k: k * k,
    "Normalized(k)": Normalized,
}
CAPABILITIES = ("features", "radial", "fourier", "item_gradient")
each = pytest.mark.parametrize("case", KERNELS, ids=lambda case: type(case[0]).__name__)
way = pytest.mark.parametrize("way", MADE)


@each
@way
def test_capabilities_survive_and_are_right(case, way):
    kernel, items = case
    made = MADE[way](kernel)
    assert same(made.space, kernel.space)
    for name in CAPABILITIES:
        survives = getattr(kernel, name) is not None and (name, way) != ("features", "k * k")
        assert (getattr(made, name) is not None) == survives, f"{name} of {way}"
    if kernel.features is not None and "Normalized" not in way and "*" not in way:
        assert (made.features.inverse is None) == (kernel.features.inverse is None)
    if kernel.radial is not None:
        assert (made.radial.curvature is None) == (kernel.radial.curvature is None)
    check_kernel(made, items)


@each
@way
def test_the_natural_decoder_still_finds_the_best_output(case, way):
    kernel, items = case
    made = MADE[way](kernel)
    outputs = kernel.as_outputs(items)
    outputs = take(outputs, kernel.space.unique(outputs)[0])
    made = made.fit(outputs)
    decoder = natural(made)
    kept = way == "k + 3k + k" or kernel.radial is not None
    if kept or (isinstance(kernel, Ranking) and way == "Normalized(k)"):
        assert type(decoder) is type(natural(kernel))
    C = np.random.default_rng(0).normal(size=(20, count(outputs)))
    points = Embedding(C, SpanFrame(made, outputs))
    found = made.as_outputs(decoder.fit(made, outputs).decode(points))
    best = points.scores(outputs).max(axis=1)
    reached = points.scores(found).diagonal()
    assert (reached >= best - 1e-8 * np.abs(best).max()).all()


def test_label_sets_and_rankings_come_back_under_a_scaled_kernel():
    assert isinstance(natural(2.0 * Labels()), Threshold)
    assert isinstance(natural(Normalized(Labels())), Candidates)  # sets of unequal length
    assert isinstance(natural(0.5 * Kendall()), Kemeny)
    assert not isinstance(natural(Kendall() * Kendall()), Kemeny | Borda | Assignment)
