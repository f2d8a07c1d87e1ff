from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.arrays import Items, blocks, host, object_array
from mercer._base.checks import Limits, array, must
from mercer._base.parameters import integer, non_negative, parameters, positive
from mercer._base.progress import Observed, Steps, run_observed
from mercer._base.reducible import Reducible
from mercer.features import FeatureMap
from mercer.kernels import RBF, Kernel, as_kernel, restore_container
from mercer.metrics import symbol_accuracy

from .markov.chains import LABEL_TYPE, Chains, encode_labels
from .markov.dual import DualProblem
from .markov.solve import gram_or_coordinates, node_potentials, solve_dual

POSITIONS_AT_ONCE = 512
"""The number of positions that are scored at once; their kernel values fit into the cache."""


@parameters
class MaxMarginMarkovNetwork(Observed, Reducible, BaseEstimator):
    r"""Max-margin Markov network: a model from sequences of vectors to sequences of labels.

    A labelling y of a sequence x of as many vectors is scored by

    .. math:: s(x, y) = \sum_t f(x_t, y_t) + \sum_t T[y_{t-1}, y_t],

    where f is in the function space of the kernel, and the best labelling is predicted (Viterbi).
    The fit minimises

    .. math::

        \tfrac12 \lVert w \rVert^2 + C \sum_i \max_y [\Delta(y_i, y) - s(x_i, y_i) + s(x_i, y)],

    where :math:`\Delta` counts wrong labels and :math:`w` are the parameters of :math:`s`: the
    score of a true labelling should exceed that of any other one by the number of its wrong labels.

    Parameters
    ----------
    kernel : Kernel, default=None
        The kernel on vectors, such as ``Normalized(Polynomial(3))``; None is ``RBF("median")``.
    C : float, default=1.0
        The cost of a unit of missing margin. Good values are near 1 for a normalised kernel, near
        1 / k(x, x) for another; with much larger ones the fit is slow.
    transitions : float, default=1.0
        The weight of label bigrams relative to the kernel; 0 leaves them out.
    features : FeatureMap, default=None
        Coordinates of the vectors, such as ``IncompleteCholesky(rank=500)``, for a fit at low
        rank; None is exact, with the Gram matrix of all vectors.
    gap : float, default=0.01
        The fit stops when the duality gap is at most this fraction of the dual objective.
    max_passes : int, default=1000
        The largest number of passes over the training sequences; there is a warning if the gap is
        not reached.
    average : bool, default=False
        Whether to use the average of the solutions after all passes, later ones with more weight,
        rather than the last one.
    random_state : int, RandomState or None, default=0
        Seeds the order of every pass.
    verbose : bool, default=False
        Whether to show the passes and their gaps on standard error.

    Attributes
    ----------
    kernel_
        The fitted kernel, with its length scale.
    labels_
        The labels, in the order of the potentials.
    transitions_
        T[b, c], the score of label c after label b.
    potentials_
        The node potentials as a map: ``potentials_.transform(vectors)`` has one column for each
        label.
    objective_, dual_objective_, duality_gap_, relative_gap_
        The objective, a lower bound of its minimum, their difference, and that as a fraction of
        the bound.
    history_
        For each pass the `primal` and `dual` objective, their `gap` and the `relative` gap.
    n_passes_
        The number of passes.
    n_features_in_
        The length of the vectors.

    Notes
    -----
    With :math:`\psi(x, y)` the joint features, the dual maximises :math:`C \sum_i
    \sum_y \alpha_i(y) \Delta(y_i, y) - \tfrac12 \lVert w \rVert^2` with :math:`w = C \sum_i \sum_y
    \alpha_i(y) (\psi(x_i, y_i) - \psi(x_i, y))`, each :math:`\alpha_i` a distribution over
    labellings. It is maximised one sequence at a time: Viterbi on scores plus losses finds the
    labelling of a Frank–Wolfe step; weight then moves to it, and between earlier labellings, in
    pairwise steps with exact line search. A step changes only a few columns of the node scores
    f(x_t, c) = Σ_s A[s, c] k(x_t, x_s), which are stored for all positions t, so that Viterbi needs
    no kernel evaluations. The gap is that of the whole problem, computed by one Viterbi for each
    sequence after each pass, and without accumulated rounding errors at the end.

    References
    ----------
    Taskar, Guestrin, Koller: Max-margin Markov networks, NIPS 2004. Lacoste-Julien, Jaggi,
    Schmidt, Pletscher: Block-coordinate Frank–Wolfe optimization for structural SVMs, ICML 2013.
    Osokin et al.: Minding the gaps for block Frank–Wolfe optimization of structured SVMs, ICML
    2016 (pairwise steps).

    Examples
    --------
    >>> from experiments.peers import MaxMarginMarkovNetwork
    >>> from mercer.kernels import RBF
    >>> X = [[[0.0], [1.0]], [[1.0], [0.5], [0.1]], [[0.1], [0.9], [0.0]]]
    >>> y = ["no", "oon", "non"]
    >>> model = MaxMarginMarkovNetwork(RBF(0.5), C=10.0).fit(X, y)
    >>> model.predict([[[0.9], [0.6], [0.2]], [[0.0]]])
    array(['oon', 'n'], dtype=object)
    >>> model.relative_gap_ <= 0.01
    True
    """

    kernel: Kernel | str | None = None
    C: float = 1.0
    transitions: float = 1.0
    features: FeatureMap | None = None
    gap: float = 0.01
    max_passes: int = 1000
    average: bool = False
    random_state: int | np.random.RandomState | None = 0
    verbose: bool = False

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless there is an edge score for every pair of labels."""
        if hasattr(self, "labels_"):
            must(isinstance(self.labels_, list), "labels_ is not a list")
            array(self.transitions_, "transitions_", np.float64, *[len(self.labels_)] * 2)

    # -- fit ----------------------------------------------------------------------------------

    def fit(self, X: Items, y: Items) -> MaxMarginMarkovNetwork:
        """Fit the model to sequences of vectors X and sequences of labels y.

        Parameters
        ----------
        X
            Sequences of vectors of one length (or of images): matrices with one row per vector.
        y
            A sequence of labels for each input, of the same length: strings, or lists, tuples or
            arrays of labels.
        """
        limit, gap = integer(self.max_passes, "max_passes"), positive(self.gap, "gap")
        fitted = run_observed(self, limit, lambda steps: self._fit_attributes(X, y, steps), X, y)
        last = fitted["history_"][-1].relative
        if last > gap:
            warnings.warn(
                f"after {fitted['n_passes_']} passes the relative duality gap is {last:.3g}, not "
                f"{gap:g}: raise max_passes or gap, lower C, or normalise the kernel.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.__dict__.update(fitted)
        return self

    def _fit_attributes(self, X: Items, y: Items, steps: Steps) -> dict[str, Any]:
        """Fit the model and return its fitted attributes as a dictionary."""
        C, transitions = positive(self.C, "C"), non_negative(self.transitions, "transitions")
        rng = check_random_state(self.random_state)
        kernel = self._unfitted_kernel()
        chains = Chains.of(X, kernel)
        outputs, labels, gold = encode_labels(chains, y)
        rows, fitted = gram_or_coordinates(
            kernel.fit(chains.vectors), self.features, chains.vectors
        )
        gram = fitted is None
        problem = DualProblem(rows, gram, chains.starts, gold, len(labels), C, transitions)
        stop = self.gap, self.max_passes
        point, history = solve_dual(problem, *stop, bool(self.average), steps, rng)
        duality_gap = point.duality_gap(problem)
        return {
            "kernel_": kernel,
            "labels_": labels.symbols,
            "transitions_": point.edges,
            "potentials_": node_potentials(kernel, fitted, chains.vectors, point),
            "objective_": duality_gap.primal,
            "dual_objective_": duality_gap.dual,
            "duality_gap_": duality_gap.gap,
            "relative_gap_": duality_gap.relative,
            "history_": history,
            "n_passes_": len(history),
            "n_features_in_": chains.vectors.shape[1],
            "sample_": outputs[0],
        }

    def _unfitted_kernel(self) -> Kernel:
        """Return an unfitted copy of the `kernel` parameter, or of the default kernel."""
        kernel = clone(RBF("median") if self.kernel is None else as_kernel(self.kernel))
        if kernel.pairwise:
            raise ValueError(
                'kernel="precomputed" is not supported. Use '
                "Precomputed(gram), with the index of each vector in its place."
            )
        return kernel

    # -- predict ------------------------------------------------------------------------------

    def predict(self, X: Items) -> np.ndarray:
        """Return the best labelling of every sequence, in the container of the training outputs.

        Parameters
        ----------
        X
            Sequences of vectors, as in `fit`.
        """
        from .markov._chain_loops import best_paths

        chains = self._chains(X)
        paths = np.empty(len(chains.vectors), dtype=LABEL_TYPE)
        best_paths(self._node_scores(chains), self.transitions_, chains.starts, paths)
        return object_array(
            [
                restore_container([self.labels_[c] for c in path], self.sample_)
                for path in chains.split(paths)
            ]
        )

    def potentials(self, X: Items) -> np.ndarray:
        """Return the node potentials f(x_t, c) of every sequence: matrices (positions, labels).

        Parameters
        ----------
        X
            Sequences of vectors, as in `fit`.
        """
        chains = self._chains(X)
        return object_array(chains.split(self._node_scores(chains)))

    def score(self, X: Items, y: Items) -> float:
        """Return the fraction of labels that are predicted correctly.

        Parameters
        ----------
        X
            Sequences of vectors, as in `fit`.
        y
            The true labels of each sequence.
        """
        return symbol_accuracy(y, self.predict(X))

    def _chains(self, X: Items) -> Chains:
        """Return the input sequences of a prediction, checked and concatenated."""
        check_is_fitted(self)
        return Chains.of(X, self.kernel_, self.n_features_in_)

    def _node_scores(self, chains: Chains) -> np.ndarray:
        """Return the score of each label at each position, (positions, labels)."""
        vectors = chains.vectors
        parts = [
            host(self.potentials_.transform(vectors[b]))
            for b in blocks(len(vectors), POSITIONS_AT_ONCE)
        ]
        nodes = np.concatenate([np.zeros((0, len(self.labels_))), *parts])
        return np.ascontiguousarray(nodes, dtype=float)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = True
        return tags
