"""The training examples behind a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._arrays import Items, blocks, count, host, one, take

BLOCK = 1024
"""Inputs whose weights are held at once."""


class Explained:
    """A model whose points are weighted sums of training outputs, g(x) = Σ_i c_i(x) Φ(y_i)."""

    outputs_: Items
    input_kernel_: Any
    points_: Any

    def explain(self, X: Items, k: int = 5) -> list[list[tuple[int, float, Any]]]:
        """For each input the training examples that weigh most in its prediction.

        Parameters
        ----------
        X
            Inputs such as the model was fitted on.
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
        if not isinstance(k, int | np.integer) or k < 1:
            raise ValueError(f"k must be a positive whole number, got {k!r}.")
        outputs = self.outputs_  # says so where a saved model does without
        checked = self._check_inputs(self.input_kernel_, X, reset=False)  # type: ignore[attr-defined]
        named = []
        for rows in blocks(count(checked), BLOCK):
            W = host(self.points_(take(checked, np.arange(rows.start, rows.stop))).weights)
            best = np.argsort(-np.abs(W), axis=1, kind="stable")[:, :k]
            named += [
                [(int(i), float(w[i]), one(outputs, int(i))) for i in row]
                for w, row in zip(W, best, strict=True)
            ]
        return named
