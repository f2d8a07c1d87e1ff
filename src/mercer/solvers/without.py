"""Models that leave training examples out, at new inputs of which each leaves out its own.

With H the smoother, w(x) the weights of g(x) on the training outputs T and I what is left out,

    g₋I(x) = g(x) - w_I(x) (I - H_II)⁻¹ (T - HT)_I,

one small system for every distinct I, no refit. Rows carry the roots of sample weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._base.arrays import Array, Items, like, namespace, take
from .left_out import LeaveOneOut, Part


def distinct_sets(sets: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Each set that is not empty, and the inputs that leave it out."""
    inputs: dict[bytes, list[int]] = {}
    for t, own in enumerate(sets):
        inputs.setdefault(np.asarray(own, dtype=np.intp).tobytes(), []).append(t)
    for key, rows in inputs.items():
        if key:
            yield np.frombuffer(key, dtype=np.intp), np.array(rows)


def moved(part: Part, R: Array, X: Items, alpha: float, sets: Sequence[np.ndarray]) -> Array:
    """w_I(x) (I - H_II)⁻¹ R_I of one part with residuals R = T - HT, (inputs, directions)."""
    Z, loo = part.inputs.project(X), LeaveOneOut(part)

    def move(own: np.ndarray, rows: np.ndarray) -> Array:
        e = loo.solved_groups([R], [alpha], own[None, :])[0, :, :]
        return _weighed(part, take(Z, rows), alpha, own, e)

    none = like(np.zeros((len(sets), int(R.shape[1]))), R)
    return _by_set(none, sets, move)


def _by_set(
    A: Array, sets: Sequence[np.ndarray], made: Callable[[np.ndarray, np.ndarray], Array]
) -> Array:
    """Rows as they are where nothing is left out, else `made` of the set and its inputs."""
    same = np.array([t for t, own in enumerate(sets) if not len(own)], dtype=np.intp)
    found, order = [take(A, same)], [same]
    for own, rows in distinct_sets(sets):
        found.append(made(own, rows))
        order.append(rows)
    return take(namespace(A).concat(found), np.argsort(np.concatenate(order)))


def _weighed(part: Part, Z: Array, alpha: float, own: np.ndarray, e: Array) -> Array:
    """Σ_{i∈I} w_i(x) e_i; one product where all directions shrink alike."""
    if part.alike:
        return part.weights(Z, alpha, 0, own) @ e
    xp = namespace(Z)
    columns = [
        part.weights(Z, alpha, j, own) @ e[:, j : j + 1] for j in range(int(part.b.shape[0]))
    ]
    return xp.concat(columns, axis=1)


def reweighted(C: Array, rest: Any, sets: Sequence[np.ndarray], roots: Array | None) -> Array:
    """Weights on the outputs of models that leave out each input's set: w - w_I A_II⁻¹ A_I.

    Parameters
    ----------
    C
        The weights w of the whole model, one row an input.
    rest
        A function of rows I that returns A_I, those rows of a multiple of I - H.
    sets
        What each input leaves out.
    roots
        The roots of the sample weights as a column; None for weights of one.
    """
    xp, turn = namespace(C), namespace(C).matrix_transpose
    C = C if roots is None else C / turn(roots)
    union = np.unique(np.concatenate([np.asarray(own, dtype=np.intp) for own in sets]))
    A = rest(union)

    def less(own: np.ndarray, rows: np.ndarray) -> Array:
        at, W = take(A, np.searchsorted(union, own)), take(C, rows)
        square = take(turn(at), own)  # A is symmetric
        return W - turn(xp.linalg.solve(square, take(turn(W), own))) @ at

    C = _by_set(C, sets, less)
    return C if roots is None else C * turn(roots)
