from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._base.arrays import Items
from .._base.parameters import parameters
from .._base.progress import Observed, Steps, run_observed
from .._base.reducible import Reducible
from ..estimators import group_labels
from ..kernels import Kernel, LocalWindow, restore_container
from ..operators import OperatorKernel
from ..sets import SupportsSets
from ..spaces import as_sequences
from .prediction import TransducerPrediction
from .transduction.aligned import Aligned
from .transduction.calibration import Calibration, calibrate
from .transduction.checks import check_parameters, checked_pairs
from .transduction.decoding import Decoding
from .transduction.reordering import PieceOrder, has_crossings
from .transduction.side_information import check_context
from .transduction.task import Task, groups_of_equal_inputs

LOW_ACCURACY = 0.5
"""The left-out accuracy below which a fit warns if symbols change their order."""


@parameters
class SequenceTransducer(SupportsSets, TransducerPrediction, Observed, Reducible, BaseEstimator):
    r"""Model that maps sequences of symbols to sequences of other symbols and lengths.

    Training pairs need not be aligned: EM finds the chunk of 0 to `max_chunk` output symbols that
    each input symbol emits. Kernel dependency estimation then learns which chunk a symbol emits
    from the symbols around it and from the last output symbols; all positions of all inputs share
    one map. The output is the sequence of chunks with the largest value of

    .. math:: \sum_i \log p(c_i \mid x, i, c_1 \ldots c_{i-1}) + w \log p(\text{output}),

    where :math:`p(c \mid \cdot)` is the softmax of the ridge scores over a temperature, and
    :math:`p(\text{output})` is an n-gram model of the training outputs. The best outputs are then
    scored with v log p(input, output) added, from two joint n-gram models of input symbols and
    chunks. One of them distinguishes all symbols, the other one only vowels.

    Parameters
    ----------
    kernel : LocalWindow or OperatorKernel, default=None
        A `LocalWindow`, or one times an operator on chunks (``LocalWindow() * Covariance(0.5)``);
        None is ``LocalWindow()``.
    alpha : float, default=1.5
        The ridge parameter.
    max_chunk : int, default=3
        The largest number of output symbols that an input symbol emits.
    beam : int or None, default=8
        The number of hypotheses that the search keeps at a position. None makes the search exact,
        but slower.
    folds : int, "auto" or None, default="auto"
        The number of folds in which pairs are left out to choose the temperature of the softmax and
        the weights of the n-gram models, and to calibrate probabilities. "auto" is 20 up to 300
        pairs, 10 up to 1,000 and 5 beyond; None uses default weights, which is faster.
    unalignable : {"raise", "skip"}, default="raise"
        What to do with a pair whose output is longer than `max_chunk` times its input: "raise" an
        error that names its index, or "skip" the pair (its index is then in `skipped_`). If many
        pairs are skipped, use a larger `max_chunk`.
    random_state : int or None, default=0
        The seed by which pairs are assigned to folds.
    verbose : bool, default=False
        Whether to show a progress bar during the fit.
    tiers : list of str, "learnt" or None, default="learnt"
        Classes of symbols whose nearest members matter at any distance. "learnt" finds the vowels
        of inputs and outputs; a list such as ``["aeiou"]`` gives the classes; None uses no tiers.
    context_kernel : Kernel or None, default=None
        The kernel that compares contexts. With None, contexts are labels or label sets, and the
        kernel counts common labels.
    direction : {"both", "forward", "backward"}, default="both"
        "forward" reads inputs from the begin, "backward" from the end. "both" fits both models and
        predicts the output with the best mean score.

    Attributes
    ----------
    temperature_, lm_weight_, joint_weight_
        The temperature of the softmax, the weight of the n-gram model of outputs, and that of the
        joint n-gram models.
    left_out_accuracy_
        The fraction of exact matches on left-out pairs with these values, by the forward model
        alone if there are two; None if nothing was left out.
    order_
        The ranking model by which the pieces of inputs (runs of letters and of digits) are
        reordered first; None if that does not raise the accuracy on left-out pairs.
    alignment_
        The alignment, with its chunk probabilities and log-likelihoods.
    skipped_
        The indices of the pairs left out as unalignable.

    Notes
    -----
    With a context, the kernel of positions is LocalWindow × (1 + k_context). The second factor
    applies to windows that reach one symbol at most, to the nearest members of tiers and to the
    last symbols of the input.

    A ridge equation is solved for each input symbol, because `LocalWindow` is zero between
    different symbols. Features are sparse and the solver is conjugate gradients, so that time and
    memory grow linearly with the number of symbols. Unknown symbols are copied if most symbols are
    copied; otherwise they emit the most common chunks.

    Examples
    --------
    >>> from mercer import SequenceTransducer
    >>> X = ["nab", "ban", "banana", "an", "cab", "bac", "nac", "can"]
    >>> y = [x.replace("c", "ks").upper() for x in X]
    >>> model = SequenceTransducer(max_chunk=2).fit(X, y)
    >>> model.predict(["cana", ""])
    array(['KSANA', ''], dtype=object)
    >>> model.aligned(4)
    [('c', 'KS'), ('a', 'A'), ('b', 'B')]
    """

    kernel: LocalWindow | OperatorKernel | None = None
    alpha: float = 1.5
    max_chunk: int = 3
    beam: int | None = 8
    folds: int | str | None = "auto"
    unalignable: str = "raise"
    random_state: int | None = 0
    verbose: bool = False
    tiers: Sequence[str] | str | None = "learnt"
    context_kernel: Kernel | None = None
    direction: str = "both"

    dropped: ClassVar[dict[str, str]] = {"alignment_": "the training pairs and their alignment"}

    # -- fit ----------------------------------------------------------------------------------

    def fit(
        self,
        X: Items,
        y: Items,
        groups: Items | None = None,
        *,
        context: Items | None = None,
        outputs: Items | None = None,
    ) -> SequenceTransducer:
        """Fit the model to input sequences X and output sequences y.

        Parameters
        ----------
        X
            Inputs: strings, or lists or tuples of tokens; they may be empty.
        y
            The output of each input, of the same types.
        groups
            A label for each pair: pairs with the same label are left out together in calibration.
            None: pairs with equal inputs and contexts are.
        context
            What else is known of each input: a label, a list or set of labels, or any item that
            `context_kernel` compares. It is a feature of every position. Labels are also appended
            to the input as tokens, so that each can emit a chunk.
        outputs
            Outputs without inputs, to which the n-gram model is fitted too.
        """
        n_steps = 2 + 2 * (self.folds if isinstance(self.folds, int) else 20)
        given = (X, y, groups, context, outputs)
        fitted = run_observed(
            self, n_steps, lambda steps: self._fit_attributes(*given, steps), X, y
        )
        self.__dict__.update(fitted)
        return self

    def _fit_attributes(
        self, X: Items, y: Items, groups: Items, context: Items, outputs: Items, steps: Steps
    ) -> dict[str, Any]:
        """Fit the model and return its fitted attributes as a dictionary."""
        window, operator = check_parameters(self)
        X, y = checked_pairs(X, y)
        if context is not None:
            context = check_context(context, len(X))
        labels = (
            group_labels(groups, len(X))
            if groups is not None
            else groups_of_equal_inputs(X, context)
        )
        outputs = None if outputs is None else as_sequences(outputs, "outputs")
        task = Task(self, X, y, labels, context, outputs, window, operator)
        order, task, pairs, chosen = self._align_and_calibrate(task, steps)
        (model,) = (each.fit() for each in steps([pairs], "fitting"))
        return {
            "order_": order,
            "backward_": self._fit_backward(task, chosen),
            "alignment_": pairs.alignment,
            "model_": model,
            "temperature_": chosen.temperature,
            "lm_weight_": chosen.weight,
            "joint_weight_": chosen.joint_weight,
            "left_out_accuracy_": chosen.accuracy,
            "confidence_": chosen.confidence,
            "coder_": pairs.coder,
            "sources_": pairs.coder.symbols,
            "targets_": pairs.coder.targets,
            "skipped_": np.setdiff1d(np.arange(len(X)), pairs.keep),
            "sample_": y[0],
            "beam_": self.beam,
        }

    def _align_and_calibrate(
        self, task: Task, steps: Steps
    ) -> tuple[PieceOrder | None, Task, Aligned, Calibration]:
        """Return the reordering of inputs, the task, its aligned pairs and their calibration.

        The pieces of inputs (runs of letters and of digits) are reordered if that is more accurate
        on left-out pairs; otherwise the first result is None.
        """
        backward = self.direction == "backward"
        (pairs,) = (task.aligned(each) for each in steps([backward], "aligning"))
        chosen = calibrate(self, pairs, steps)
        order = None if chosen.accuracy is None else PieceOrder.of(task.X, task.y)
        if order is not None:
            ordered = replace(task, X=order.apply(task.X))
            (others,) = (ordered.aligned(each) for each in steps([backward], "aligning"))
            calibration = calibrate(self, others, steps)
            if (calibration.accuracy or 0.0) > (chosen.accuracy or 0.0):
                return order, ordered, others, calibration
        if (
            chosen.accuracy is not None
            and chosen.accuracy < LOW_ACCURACY
            and has_crossings(task.X, task.y)
        ):
            warnings.warn(
                "outputs have the symbols of inputs in another order, which SequenceTransducer "
                f"cannot learn: its left-out accuracy is {chosen.accuracy:.2f}. Bring the inputs "
                "into that order before the fit.",
                stacklevel=6,
            )
        return None, task, pairs, chosen

    def _fit_backward(self, task: Task, chosen: Calibration) -> Decoding | None:
        """Fit the model that reads inputs from the end; None unless direction="both"."""
        if self.direction != "both":
            return None
        pairs = task.aligned(backward=True)
        return Decoding(
            pairs.fit(), pairs.coder, chosen.temperature, chosen.weight, self.beam, task.y[0],
            chosen.joint_weight,
        )  # fmt: skip

    @property
    def parameters_for_sets(self) -> dict[str, Any]:
        """The parameters that `ConformalSets` changes, because it calibrates by itself."""
        return {"folds": None} if isinstance(self.folds, str) else {}

    def aligned(self, i: int) -> list[tuple[Any, Any]]:
        """Return the input symbols of training pair `i`, each with the output symbols it emits.

        Parameters
        ----------
        i : int
            The index of a training pair.
        """
        check_is_fitted(self)
        if i in self.skipped_:
            raise ValueError(f"pair {i} was skipped, because its output is too long to be aligned.")
        p = int(i) - int((self.skipped_ < i).sum())
        source = self.alignment_.source
        symbols = source.flat[source.starts[p] : source.starts[p + 1]]
        step = -1 if self.coder_.backward else 1
        chunks = [
            restore_container([self.targets_.symbols[c] for c in chunk[::step]], self.sample_)
            for chunk in self.alignment_.chunks(p)
        ]
        pairs = [(self.coder_.display_token(s), c) for s, c in zip(symbols, chunks, strict=True)]
        return pairs[::step]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags
