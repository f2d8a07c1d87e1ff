"""The base class of decoders, which map points of the output feature space back to outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._base.arrays import Array, Items, namespace
from ..embedding import Embedding
from ..kernels import Kernel

Ranked = list[tuple[Any, float]]
"""Outputs with their scores, best first."""


@dataclass(frozen=True)
class Found:
    """Decoded outputs with their scores, and how much higher the best possible scores may be.

    Attributes
    ----------
    outputs, scores
        The outputs, and 2⟨g, Φ(y)⟩ - l(y, y) of each.
    gaps
        An upper bound of the best possible score minus that of the output: 0 where the output is
        proved to be the best, infinite or NaN where nothing is known.
    """

    outputs: np.ndarray
    scores: np.ndarray
    gaps: np.ndarray

    @property
    def proved(self) -> np.ndarray:
        """Whether each output is proved to have the highest score of all."""
        return self.gaps == 0


class Decoder(BaseEstimator):
    r"""Base class of decoders, which map a point of the output feature space back to an output.

    Most decoders return the pre-image of the predicted point,
    :math:`f(x) = \arg\max_y 2 \langle g(x), \Phi(y) \rangle - l(y, y)`, or an approximation.

    A custom decoder implements `decode` (and `fit` where it keeps something);
    `mercer.testing.check_decoder` tests whether it recovers every training output from its point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Decoder
    >>> from mercer.kernels import RBF
    >>> class Rounded(Decoder):
    ...     def decode(self, points):
    ...         return np.rint(points.coordinates)
    >>> model = KernelDependency(RBF(1.0), decoder=Rounded(), alpha=1e-6)
    >>> model.fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]]).predict([[1.0]]).shape
    (1, 1)
    """

    def fit(self, kernel: Kernel, y: Items) -> Decoder:
        """Prepare the decoder for a fitted output kernel and the training outputs.

        Parameters
        ----------
        kernel : Kernel
            The output kernel, fitted to the training outputs.
        y : outputs
            The training outputs.
        """
        return self

    per_input: Any = False
    """Whether the candidates depend on the input."""
    ranks = False
    """Whether prediction sets are lists of the decoder, not of candidates."""
    calibrates = False
    """Whether `calibrate` needs the left-out points of the training examples after `fit`."""
    has_ranked_lists = False
    """Whether `decode_top` returns several outputs of each point, best first."""
    uses_sample_weight = False
    """Whether `fit` takes a `sample_weight`, because it counts training outputs."""

    @property
    def constants(self) -> tuple[str, ...]:
        """Descriptions of what the decoder learns from all training outputs.

        Left-out predictions keep these constants. Candidates do not count: an output is left out
        of them with its example.
        """
        return ("what `calibrate` chooses",) if self.calibrates else ()

    def encoded(self, y: Items) -> Items:
        """Return outputs as `calibrate` reads them fastest, to be encoded once for several calls.

        Parameters
        ----------
        y : outputs
            The training outputs.
        """
        return y

    def calibrate(self, points: Embedding, y: Items) -> Decoder:
        """Choose open parameters (a threshold, a bonus) on left-out points and their outputs y.

        Each point is predicted for a training example by the model fitted without that example
        (or without its group), so that the choice is not biased towards the training data.

        Parameters
        ----------
        points : Embedding
            The left-out predictions in the output feature space, one for each training example.
            Example i counts `points.counts[i]` times: these are the sample weights.
        y : outputs
            The training outputs.
        """
        return self

    def decode(self, points: Embedding) -> Items:
        """Return one output for each predicted point.

        Parameters
        ----------
        points : Embedding
            The predicted points of the output feature space.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement decode(points)")

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best outputs of each predicted point with their scores, at most `k`.

        By default there is no ranked list, and a ValueError says so.

        Parameters
        ----------
        points : Embedding
            The predicted points of the output feature space.
        k : int
            The largest number of outputs for each point.
        """
        raise ValueError(
            f"{type(self).__name__} has only one answer for each input, not a ranked list. "
            "Use decoder=Candidates() for a ranked list."
        )

    def ranked_outputs(self, points: Embedding, k: int) -> list[Ranked]:
        """Return what `predict_top` returns: the best `k` outputs of each point with scores.

        Decoders that know probabilities return them in place of scores.
        """
        return self.decode_top(points, k)


def features(points: Embedding, kernel: Kernel) -> Array:
    """Return the features of points under the output kernel without its scale, one row each."""
    return kernel.multiple.read(points.frame.kernel_features(points.coordinates))


def restore(vectors: Array, like: Items) -> Array:
    """Return the rows of a matrix in the shape of the outputs `like`."""
    return namespace(vectors).reshape(vectors, (vectors.shape[0], *like.shape[1:]))


def unsuited_kernel(decoder: Decoder, kernel: Kernel, what: str) -> ValueError:
    """Return the error to raise for an output kernel that a decoder does not support.

    `what` describes the kernels that it supports, such as "on trees".
    """
    return ValueError(
        f"{type(decoder).__name__} needs an output kernel {what}, got {kernel}. "
        "Use decoder=Candidates(), which works with every kernel."
    )
