"""Inner products far below l(y, y) still decide: nothing is rounded away against it."""

import numpy as np
import pytest

from mercer.decoders import Candidates, FixedPoint, Lexicon
from mercer.embedding import Embedding, OrthonormalFrame, SpanFrame
from mercer.features import IncompleteCholesky
from mercer.kernels import RBF, Function

Y = np.linspace(0.0, 3.0, 7)[:, None]


DECODERS = [Candidates(), Candidates(lambda x: Y), Lexicon(), FixedPoint()]


def points(size):
    """Points of tiny length that each lean towards one output."""
    return Embedding(size * np.eye(7), SpanFrame(RBF(0.2), Y))


@pytest.mark.parametrize("size", [1.0, 1e-12, 1e-20, 1e-200])
@pytest.mark.parametrize(
    "decoder", [Candidates(), Candidates(lambda x: Y), Lexicon(), FixedPoint()]
)
def test_the_best_output_is_found_however_small_the_point(decoder, size):
    given = points(size)
    given = Embedding(given.coordinates, given.frame, inputs=Y)
    found = decoder.fit(RBF(0.2), Y).decode(given)
    assert np.abs(found - Y).max() < 0.01


def test_an_index_finds_the_same():
    pytest.importorskip("faiss")
    map = IncompleteCholesky()
    C = 1e-20 * map.fit_transform(RBF(0.2), Y)
    frame = OrthonormalFrame(map)
    found = Candidates(index="faiss").fit(RBF(0.2), Y).decode(Embedding(C, frame))
    assert np.array_equal(found, Y)


def test_scores_are_still_those_of_the_objective():
    ranked = Candidates().fit(RBF(0.2), Y).decode_top(points(0.5), 2)
    assert ranked[0][0][1] == pytest.approx(2 * 0.5 - 1.0)
    assert Lexicon(restrict=lambda x, w: True).fit(RBF(0.2), Y).decode_top(
        Embedding(0.5 * np.eye(7), SpanFrame(RBF(0.2), Y), inputs=Y), 1
    )[0][0][1] == pytest.approx(0.0)


def test_unequal_norms_still_count():
    kernel = Function(lambda A, B: A @ B.T)
    found = Candidates().fit(kernel, Y).decode(Embedding(np.eye(7), SpanFrame(kernel, Y)))
    assert np.array_equal(found, Y)
