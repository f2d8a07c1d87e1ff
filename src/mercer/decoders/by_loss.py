from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._base.arrays import Items, count, host, sliced, take
from .._base.parameters import parameters
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import LabelSets, Rankings, Sequences, Space
from ._expected_loss import ENTRIES, EditLoss, ExpectedLoss, LabelLoss, RankingLoss
from ._scan import best_of_blocks, score_blocks
from .base import Decoder
from .candidates import Candidates

EXPECTED_LOSSES: dict[str, tuple[type[Space], Callable[[str, Kernel, Items], ExpectedLoss]]] = {
    **dict.fromkeys(("f1", "hamming", "subset"), (LabelSets, LabelLoss)),
    **dict.fromkeys(("kendall", "spearman"), (Rankings, RankingLoss)),
    "edit": (Sequences, EditLoss),
}
"""The named losses, each with the space of its outputs and its `ExpectedLoss`.

The first loss of a space is its default.
"""


@parameters
class ByLoss(Decoder):
    r"""A decoder that returns the output with the least expected loss.

    :math:`f(x) = \arg\min_y \sum_i c_i(x) \Delta(y, y_i)`. The weights :math:`c(x)` on the training
    outputs are those of the prediction, `points.weights`, so that the loss need not match the
    output kernel.

    Parameters
    ----------
    loss : str, callable or None, default=None
        "f1", "hamming" or "subset" (one minus these) of label sets; "kendall" or "spearman" of
        rankings; "edit", the edit distance of sequences; a function of two outputs; or None for
        the default of the output space: "f1", "kendall" or "edit".
    candidates : outputs, "training" or None, default=None
        The outputs to choose from; "training" for the training outputs; None for all outputs by
        the search of the loss (exact for label sets and rankings, local for sequences), or for a
        function the training outputs.
    price : float or None, default=None
        For label sets without `candidates`: what each label of a set adds to the expected loss
        (divided by the number of labels for "hamming"). None chooses the price of the least loss
        on left-out points.

    Attributes
    ----------
    values_, bounds_
        For the latest batch the expected loss of each output, and a lower bound of the least
        possible: equal where the search is exact, -inf where it is not known. Over given outputs
        both are exact.

    Notes
    -----
    Where :math:`\Delta(y, y') = \langle \psi(y), \chi(y') \rangle` in some space, as
    for every loss on finitely many outputs, the sum estimates :math:`E[\Delta(y, Y) \mid x]`
    consistently (the SELF framework). Left-out weights are those of the models that did not see the
    example, under the identity; under other operators the smallest weights that give the point.

    References
    ----------
    Ciliberto, Rosasco, Rudi: A consistent regularization approach for structured prediction, 2016.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import ByLoss
    >>> from mercer.kernels import Labels, RBF
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [["sea"], ["sea"], ["sea", "sun"], ["sea", "sun"]]
    >>> model = KernelDependency(RBF(0.5), Labels(), alpha=0.1, decoder=ByLoss("subset"))
    >>> model.fit(X, y).predict([[0.05], [1.2]])
    array([list(['sea']), list(['sea', 'sun'])], dtype=object)
    """

    loss: str | Callable[[Any, Any], float] | None = None
    candidates: Items | str | None = None
    price: float | None = None

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses `price`, what each predicted label adds to the expected loss.

        It does in a fitted decoder with a named loss of label sets, if `candidates` and `price` are
        None.
        """
        priced = isinstance(vars(self).get("expected_"), LabelLoss) and self.candidates is None
        return priced and self.price is None

    def calibrate(self, points: Embedding, y: Items) -> ByLoss:
        """Choose the price per label on left-out points and their outputs y."""
        C, counts = host(points.weights), points.counts
        self.expected_.calibrate(C, y, counts)  # type: ignore[attr-defined]
        return self

    def fit(self, kernel: Kernel, y: Items) -> ByLoss:
        """Set up the expected loss with respect to the training outputs."""
        self.expected_ = _loss_for(self.loss, kernel, y)
        if isinstance(self.expected_, LabelLoss) and self.price is not None:
            self.expected_.price = float(self.price)
        training = isinstance(self.candidates, str)
        if training and self.candidates != "training":
            raise ValueError(
                f'candidates must be outputs, "training" or None, got {self.candidates!r}.'
            )
        self.pool_ = None
        if self.candidates is not None or not self.expected_.searches:
            self.pool_ = Candidates(None if training else self.candidates).fit(kernel, y)
        return self

    def decode(self, points: Embedding) -> Items:
        """Return the output with the least expected loss at each predicted point."""
        C = host(points.weights)
        if self.pool_ is None:
            best, bounds = self.expected_.search(C)
            self.values_ = self.expected_.values(C, best)
            self.bounds_ = np.minimum(bounds, self.values_)
            return best
        outputs, size = self.pool_.outputs_, max(1, ENTRIES // C.shape[1])

        def losses(columns: slice) -> np.ndarray:
            """Return the losses of some candidates with respect to the training outputs."""
            return self.expected_.pairwise(sliced(outputs, columns))

        changes = self.pool_._left_out_changes(points)
        parts = score_blocks(-C, losses, count(outputs), changes, size)
        best, gains = best_of_blocks(parts, 1)
        self.values_ = self.bounds_ = -gains[:, 0]
        return take(outputs, best[:, 0])


def _loss_for(loss: Any, kernel: Kernel, y: Items) -> ExpectedLoss:
    """Return the `ExpectedLoss` of a loss function or name; of the space's default for None."""
    if callable(loss):
        return ExpectedLoss(loss, y)
    if loss is not None and loss not in EXPECTED_LOSSES:
        raise ValueError(
            f"loss must be one of {sorted(EXPECTED_LOSSES)} or a function, got {loss!r}."
        )
    defaults = [
        name for name, (space, _) in EXPECTED_LOSSES.items() if isinstance(kernel.space, space)
    ]
    if loss is None and not defaults:
        raise ValueError(
            f"{kernel.space.name} have no default loss. Pass loss=, one of "
            f"{sorted(EXPECTED_LOSSES)} or a function of two outputs."
        )
    name = defaults[0] if loss is None else loss
    return EXPECTED_LOSSES[name][1](name, kernel, y)
