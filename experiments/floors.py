"""What needs no model: the nearest neighbour, one answer for all, the best in hindsight."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.kernels import RBF
from mercer.metrics import rbf_loss

from .halves import Split


def losses(Y: np.ndarray, split: Split, output_scale: float) -> np.ndarray:
    """Return the loss of each training output (column) for each test example (row)."""
    train, test = split
    return 2.0 - 2.0 * RBF(output_scale)(Y[test], Y[train])


def nearest_training_input(X: np.ndarray, split: Split) -> np.ndarray:
    """Return the index of the training input nearest to each test input."""
    train, test = split
    return RBF("median").fit(X[train])(X[test], X[train]).argmax(axis=1)


def losses_of_nearest(
    X: np.ndarray, Y: np.ndarray, splits: Sequence[Split], output_scale: float
) -> list[float]:
    """Return the mean loss on each split of the output of the nearest training input."""
    pairs = [(losses(Y, split, output_scale), nearest_training_input(X, split)) for split in splits]
    return [float(L[np.arange(len(L)), near].mean()) for L, near in pairs]


def losses_of_mean(Y: np.ndarray, splits: Sequence[Split], output_scale: float) -> list[float]:
    """Return the mean loss on each split of the mean of the training outputs."""
    means = [np.broadcast_to(Y[train].mean(axis=0), Y[test].shape) for train, test in splits]
    pairs = zip(splits, means, strict=True)
    return [rbf_loss(Y[test], mean, output_scale) for (_, test), mean in pairs]


def losses_of_chance(Y: np.ndarray, splits: Sequence[Split], output_scale: float) -> list[float]:
    """Return the mean loss on each split of a training output drawn at random."""
    return [float(losses(Y, split, output_scale).mean()) for split in splits]


def losses_of_hindsight(Y: np.ndarray, splits: Sequence[Split], output_scale: float) -> list[float]:
    """Return the mean loss on each split of the best training output in hindsight."""
    return [float(losses(Y, split, output_scale).min(axis=1).mean()) for split in splits]


def range_of_constant_losses(Y: np.ndarray, splits: Sequence[Split], output_scale: float) -> tuple:
    """Return the smallest and the largest loss of one training output for all test inputs."""
    means = [losses(Y, split, output_scale).mean(axis=0) for split in splits]
    return np.mean([m.min() for m in means]), np.mean([m.max() for m in means])
