"""Methods of fitted models in the output feature space: coordinates, points, explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Array, Items, blocks, count, host, is_foreign, one, sliced, take
from .._base.parameters import integer
from ..embedding import Embedding, Frame
from ..solvers.weights import LeastWeights

WEIGHT_ROWS = 1024
"""The number of inputs whose weights are in memory at once."""


class OutputSpaceMethods:
    """Mixin with the methods of a fitted model that work in the output feature space."""

    points_: Any
    outputs_: Any
    input_kernel_: Any
    output_kernel_: Any
    embed: Any
    _one_restored: Any

    @property
    def coef_(self) -> Array:
        """The coefficients in output coordinates: ``g(x) = k(x, X) @ coef_``, up to an intercept.

        One row per training input (or landmark, or explicit feature of the input). For linear
        outputs under the identity operator these are `KernelRidge`'s dual coefficients.
        """
        check_is_fitted(self)
        return self.points_.map.coefficients

    def targets(self, y: Items) -> Array:
        """Return the coordinates of outputs y in feature space, targets for another regressor.

        Parameters
        ----------
        y
            Outputs of the kind that the model was fitted on.
        """
        return self._coordinate_frame().evaluate(self.output_kernel_.as_outputs(y))

    def points_from(self, predicted: Array, inputs: Items | None = None) -> Embedding:
        """Return coordinates predicted by another model as points, which can be decoded.

        Parameters
        ----------
        predicted
            One row of coordinates per point, from any model.
        inputs
            The inputs of these points, for decoders that use them.
        """
        frame = self._coordinate_frame()
        width = self._number_of_coordinates()
        P = predicted if is_foreign(predicted) else np.asarray(predicted, dtype=float)
        P = P[:, None] if P.ndim == 1 else P
        if P.ndim != 2 or P.shape[1] != width:
            raise ValueError(
                f"predictions must have the {width} coordinates of targets(y), got shape "
                f"{tuple(P.shape)}."
            )

        def weigh() -> Array:
            """Return the weights of the points on the training outputs, which files leave out."""
            return LeastWeights(frame, self.outputs_).weights(None, P)

        return Embedding(P, frame, inputs=inputs, weigh=weigh)

    def _number_of_coordinates(self) -> int:
        """Return the number of coordinates of a point; files store it instead of an output."""
        stored = vars(self).get("n_coordinates_")
        if stored is not None:
            return stored
        return int(self._coordinate_frame().evaluate(take(self.outputs_, [0])).shape[1])

    def _coordinate_frame(self) -> Frame:
        """Return the frame of points; raise an error if coordinates are weights on outputs."""
        check_is_fitted(self)
        frame = self._point_frame()
        if not frame.compact:
            raise ValueError(
                f"points under {self.output_kernel_} are weights on the training outputs: give "
                "output_features=KernelPCA(rank) for finite coordinates."
            )
        return frame

    def _point_frame(self) -> Frame:
        """Return the coordinate system of the predicted points."""
        return self.points_.frame

    def link_scores(self, X: Items, X2: Items | None = None) -> Array:
        r"""Return the inner products :math:`\langle g(x), g(x') \rangle` for all pairs of inputs.

        They are large if two inputs likely have similar outputs. With an output kernel on the
        nodes of a graph, they predict whether two nodes are linked, without decoding.

        Parameters
        ----------
        X, X2
            Inputs of the kind that the model was fitted on. X2=None means X. Scores have one row
            for each input of X and one column for each input of X2.

        References
        ----------
        Brouard, d'Alché-Buc, Szafranski (ICML 2011).
        """
        points = self.embed(X)
        return points.inner_points(points if X2 is None else self.embed(X2))

    def explain(self, X: Items, k: int = 5) -> list[list[tuple[int, float, Any]]]:
        """Return for each input the training examples with the largest weights in its prediction.

        Parameters
        ----------
        X
            Inputs of the kind that the model was fitted on.
        k
            How many examples to name.

        Returns
        -------
        For each input a list of (index, weight, output), by the size of the weight. Weights are
        `embed(X).weights`: positive ones draw the prediction towards an output, negative ones push
        it away.

        Examples
        --------
        >>> from mercer import KernelDependency
        >>> from mercer.kernels import RBF, Labels
        >>> model = KernelDependency(RBF(1.0), Labels(), alpha=0.1)
        >>> model = model.fit([[0.0], [1.0], [5.0]], [["sea"], ["sea", "sun"], ["rain"]])
        >>> [(index, output) for index, _, output in model.explain([[4.0]], k=1)[0]]
        [(2, ['rain'])]
        """
        check_is_fitted(self)
        k = integer(k, "k")
        outputs = self.outputs_  # a saved model may raise an error here
        checked = self._check_inputs(self.input_kernel_, X, reset=False)  # type: ignore[attr-defined]
        named = []
        for rows in blocks(count(checked), WEIGHT_ROWS):
            W = host(self.points_(sliced(checked, rows)).weights)
            best = _largest(np.abs(W), k)
            named += [
                [(int(i), float(w[i]), self._one_restored(one(outputs, int(i)))) for i in row]
                for w, row in zip(W, best, strict=True)
            ]
        return named


def _largest(sizes: np.ndarray, k: int) -> np.ndarray:
    """Return the positions of the k largest entries of each row, equal ones by position.

    Entries that differ by rounding count as equal: it depends on the other rows of a batch.
    """
    largest = sizes.max(axis=1, keepdims=True)
    relative = np.round(sizes / np.where(largest > 0, largest, 1.0), 12)
    return np.argsort(-relative, axis=1, kind="stable")[:, :k]
