"""A source that is not the same when it is read again is refused with a sentence."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer.features import Nystroem
from mercer.kernels import RBF, Linear, Spectrum
from mercer.sources import RowBlocks, Stream

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1]])
BLOCKS = [(X[i : i + 20], Y[i : i + 20]) for i in (0, 20, 40)]
MODEL = KernelDependency(RBF(2.0), features=Nystroem(landmarks=X[:9]))


class Changing:
    """Blocks that are as given at each reading; the last kind stays."""

    def __init__(self, *readings):
        self.readings = list(readings)

    def __call__(self):
        return iter(self.readings.pop(0) if len(self.readings) > 1 else self.readings[0])


READINGS = {
    "empty": [BLOCKS, BLOCKS, []],
    "shorter": [BLOCKS, BLOCKS, BLOCKS[:2]],
    "a shorter block": [BLOCKS, BLOCKS, [*BLOCKS[:2], (X[:9], Y[:9])]],
    "longer": [BLOCKS, BLOCKS, [*BLOCKS, BLOCKS[0]]],
}


@pytest.mark.parametrize("name", READINGS)
def test_another_second_pass(name):
    """The first block is looked at, then all are read for the sample and for the moments."""
    with pytest.raises(ValueError, match="had 60 pairs when it was first read and"):
        MODEL.fit(Changing(*READINGS[name]))


OTHER = [(x + 1e-9, y) for x, y in BLOCKS]
VALUES = {
    "inputs": OTHER,
    "outputs": [(x, 2.0 * y) for x, y in BLOCKS],
    "signs": [(-x, y) for x, y in BLOCKS],
    "pairs apart": [(x, y[::-1]) for x, y in BLOCKS],
    "order of columns": [(x[:, ::-1], y) for x, y in BLOCKS],
}


@pytest.mark.parametrize("name", VALUES)
def test_other_values_of_the_same_number(name):
    with pytest.raises(ValueError, match="held other values when it was read again"):
        MODEL.fit(Changing(BLOCKS, BLOCKS, VALUES[name]))
    texts = [(["ab", "ba", "b"], [1.0, 2.0, 3.0]), (["aab", "bb"], [4.0, 5.0])]
    reversed_texts = [(words[::-1], y) for words, y in texts]
    with pytest.raises(ValueError, match="held other values"):
        KernelDependency(Spectrum(2)).fit(Changing(texts, texts, reversed_texts))


def test_the_same_values_may_be_cut_otherwise():
    cut = [(X[:35], Y[:35]), (X[35:], Y[35:])]
    expected = MODEL.fit(BLOCKS).predict(X)
    np.testing.assert_allclose(MODEL.fit(Changing(BLOCKS, BLOCKS, cut)).predict(X), expected)


def test_another_third_pass():
    choice = KernelDependencyCV(RBF(2.0), alphas=[0.1, 1.0], features=MODEL.features)
    with pytest.raises(ValueError, match="had 60 pairs .* and 40 when read again"):
        choice.fit(Changing(BLOCKS, BLOCKS, BLOCKS, BLOCKS[:2]))


def test_an_exhausted_iterator_behind_a_function():
    rest = iter(BLOCKS)
    with pytest.raises(ValueError, match="when read again: .* a function that returns fresh ones"):
        MODEL.fit(lambda: rest)
    rest = iter(BLOCKS[:1])
    with pytest.raises(ValueError, match="cannot be read again"):
        MODEL.fit(lambda: rest)


def test_a_block_of_dask_that_changes(monkeypatch):
    dask = pytest.importorskip("dask")
    readings = []

    def load(i):
        readings.append(i)
        x, y = BLOCKS[i]
        return (x, y) if readings.count(1) < 3 or i != 1 else (x[:5], y[:5])

    with dask.config.set(scheduler="synchronous"):
        loaded = [dask.delayed(load, pure=False)(i) for i in range(3)]
        with pytest.raises(ValueError, match="block 1 of the stream had 20 pairs .* and 5"):
            MODEL.fit(loaded)


@pytest.mark.parametrize("name", VALUES)
def test_a_block_of_dask_whose_values_change(name):
    dask = pytest.importorskip("dask")
    readings = []

    def load(i):
        readings.append(i)
        return BLOCKS[i] if readings.count(1) < 3 or i != 1 else VALUES[name][i]

    with dask.config.set(scheduler="synchronous"):
        loaded = [dask.delayed(load, pure=False)(i) for i in range(3)]
        with pytest.raises(ValueError, match="block 1 of the stream held other values"):
            MODEL.fit(loaded)
        assert readings.count(1) == 3
        MODEL.fit(loaded)  # another fit may read what is there then


def test_a_stream_may_grow_between_fits():
    blocks = list(BLOCKS)
    stream = Stream(blocks)
    MODEL.fit(stream)
    blocks.append(BLOCKS[0])
    assert MODEL.fit(stream).stream_.pairs == len(stream) == 80


def test_the_number_of_pairs():
    stream = Stream(RowBlocks(X, Y))
    with pytest.raises(TypeError, match="known once it was read"):
        len(stream)
    KernelDependency(Linear()).fit(stream)
    assert len(stream) == 60
