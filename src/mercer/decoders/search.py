from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import logsumexp

from .._base.arrays import Items, blocks, count, host, take
from .._base.errors import warn
from .._base.parameters import integer, one_of, parameters, positive
from .._base.reducible import Reducible
from ..embedding import Embedding
from ..kernels import Kernel
from ..kernels.graph_counts import GraphCounts
from ._explorer import Explorer, Goal, Scored
from ._search_calibration import SearchCalibration, residual_variances
from .base import Decoder, Ranked, features, unsuited_kernel
from .own_candidates import outputs_as_array, sole_groups

WEIGHTS = ("left out", "equal")
STARTS = ("training", "smallest")
TRAINING = "training"
UNSEEN_QUANTILE = 0.9
"""The price of a feature without a column, as a quantile of the weights of those with one."""
POINTS_AT_ONCE = 256
"""The number of points for which all training outputs are scored at once."""
RULED_NEIGHBOURS = 8
"""How many times as many neighbours are kept where a function accepts or refuses them."""
FURTHER_STARTS = 100
"""The number of training outputs among which one is sought that `allowed` accepts."""


@parameters
class Search(Reducible, Decoder):
    r"""A decoder that makes an output: the best one that a beam search over edits finds.

    The score of an output with the features :math:`n` is :math:`-\sum_f w_f (g_f - n_f)^2` for the
    predicted features :math:`g`, minus a price for each feature that no training output has.
    With equal weights this is the pre-image. By default the weight of a feature is
    :math:`w_f = 1 / (v_f + c)` with the variance :math:`v_f` of its left-out residuals, so that
    features count that can be predicted.

    The search starts from the best training outputs. It repeatedly takes the best output that was
    not yet expanded, scores all outputs one edit away (`moves` of the space), and keeps the best.

    Parameters
    ----------
    beam : int, default=8
        The number of outputs that are kept.
    starts : int, default=5
        The number of training outputs that the search starts from.
    patience, rounds : int, default=6, 30
        The search ends after so many outputs were expanded without a better one, or in all.
    allowed : callable, "training" or None, default=None
        A function of an output that returns whether it may be the answer; "training" for graphs
        whose nodes have edges as nodes of the training graphs have, or fewer; None for any output.
    weights : {"left out", "equal"}, default="left out"
        Whether features are weighted by their left-out residuals.
    floor : float or "auto", default="auto"
        The constant c, in units of the mean of the variances; "auto" chooses it on left-out points.
    start : {"training", "smallest"}, default="training"
        Whether the search starts from training outputs, or from the smallest output.

    Attributes
    ----------
    weights_, price_
        The weight of each feature, and the price of a feature without a column.
    floor_
        The constant c in use.
    temperature_, first_, none_
        Differences of the scores of a list from its best one, divided by the temperature, are
        logarithms of its probabilities, up to a constant; `first_` is added to that of the best,
        and `none_` is that of no output of the list. They are fitted to left-out points.

    Notes
    -----
    Needs an output kernel with explicit features, such as `GraphCounts`, `Spectrum`, `Kendall` or
    `Labels`, and a space with moves: graphs (compiled), strings and other sequences of symbols,
    rankings, label sets, and custom spaces with a method `moves`. A left-out point never starts
    from outputs of its own group.

    Examples
    --------
    >>> import networkx as nx
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import Search
    >>> from mercer.kernels import GraphCounts
    >>> paths = [nx.path_graph(n) for n in (2, 3, 4, 6, 7)]
    >>> model = KernelDependency("linear", GraphCounts(), alpha=0.01, decoder=Search())
    >>> made = model.fit([[2.0], [3.0], [4.0], [6.0], [7.0]], paths).predict([[5.0]])[0]
    >>> made.number_of_nodes(), made.number_of_edges()
    (5, 4)
    """

    beam: int = 8
    starts: int = 5
    patience: int = 6
    rounds: int = 30
    allowed: Callable[[Any], bool] | str | None = None
    weights: str = "left out"
    floor: float | str = "auto"
    start: str = "training"

    dropped: ClassVar[dict[str, str]] = {"numbers_": "which examples have which output"}

    ranks = has_ranked_lists = True
    calibrates = True

    def fit(self, kernel: Kernel, y: Items) -> Search:
        """Learn the moves, and store the distinct training outputs with their features."""
        self._check_parameters()
        self.kernel_ = kernel.multiple.kernel
        if self.kernel_.features is None:
            raise unsuited_kernel(self, kernel, "with explicit features, such as GraphCounts()")
        positions, self.numbers_ = self.kernel_.space.unique(y)
        self.outputs_ = take(y, positions)
        for name in ("explorer", "counted"):
            self.__dict__.pop(name, None)
        assert self.explorer is not None  # refuses spaces without moves
        width = self.kernel_.features.rows(take(y, [0])).shape[1]
        self.weights_, self.price_ = np.ones(width), 1.0
        self.floor_, self.temperature_, self.first_, self.none_ = np.inf, 1.0, 0.0, -np.inf
        return self

    def _check_parameters(self) -> None:
        """Raise an error if a parameter is invalid."""
        for name in ("beam", "starts", "patience", "rounds"):
            integer(vars(self)[name], name)
        one_of(self.weights, "weights", WEIGHTS)
        one_of(self.start, "start", STARTS)
        if self.floor != "auto":
            positive(self.floor, "floor")
        if not (self.allowed in (None, TRAINING) or callable(self.allowed)):
            raise ValueError(
                'allowed must be None, "training" or a function of an output, '
                f"got {self.allowed!r}."
            )

    @cached_property
    def explorer(self) -> Explorer:
        """The scores and moves of the space of the outputs."""
        kernel, moves = self.kernel_, self.kernel_.moves(self.outputs_)
        if moves is None:
            raise ValueError(
                f"Search needs moves of outputs, and {kernel.space.name} lack them: implement "
                "the method moves(y) of the space, or use decoder=Candidates()."
            )
        if self.allowed == TRAINING:
            moves = moves.like_training()
        if isinstance(kernel, GraphCounts):
            from ._graph_search import GraphExplorer

            return GraphExplorer(kernel, moves)
        return Explorer(kernel, moves)

    @cached_property
    def counted(self) -> tuple[sparse.csr_array, np.ndarray]:
        """The features of the distinct training outputs, and how many have no column."""
        found, outputs = self.kernel_.features, self.outputs_
        F = sparse.csr_array(found.rows(self.kernel_.check(outputs, "y")))
        return F, np.zeros(F.shape[0]) if found.outside is None else found.outside(outputs)

    # -- calibration --------------------------------------------------------------------------

    @property
    def constants(self) -> tuple[str, ...]:
        """Descriptions of what the decoder learns from all training outputs."""
        return ("weights of the features", "the floor of the weights", "the moves")

    def calibrate(self, points: Embedding, y: Items) -> Search:
        """Choose weights and the temperature on left-out points and their outputs y."""
        G = self._predicted(points)
        if self.weights == "left out":
            variances = residual_variances(G, self.kernel_, y, points.counts)
            self._set_weights(variances, 1.0 if self.floor == "auto" else float(self.floor))
        chosen = SearchCalibration(self, points, G, y)
        if self.weights == "left out" and self.floor == "auto":
            self._set_weights(variances, chosen.best_floor(variances))
        self.temperature_, self.first_, self.none_ = chosen.softmax()
        return self

    def _set_weights(self, variances: np.ndarray, floor: float) -> None:
        """Set weights 1 / (variance + floor · mean variance), and the price of other features."""
        c = floor * max(float(variances.mean()), 1e-12)
        self.floor_, self.weights_ = floor, 1.0 / (variances + c)
        self.price_ = float(np.quantile(self.weights_, UNSEEN_QUANTILE))

    def _predicted(self, points: Embedding) -> np.ndarray:
        """Return the predicted features, one row for each point."""
        return np.ascontiguousarray(host(features(points, points.frame.kernel)), dtype=float)

    # -- search -------------------------------------------------------------------------------

    def decode(self, points: Embedding) -> Items:
        """Return the best output that the search finds for each predicted point."""
        return outputs_as_array([row[0][0] for row in self.decode_top(points, 1)], self.kernel_)

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best `k` outputs that the search finds for each point, with their scores."""
        G = self._predicted(points)
        found = self.search(points, G)
        answerless = sum(not self._answers(row) for row in found)
        if answerless:
            warn(
                f"no output that allowed= accepts was found for {answerless} of {len(found)} "
                "inputs, which get the best other output. Search longer (rounds, beam)."
            )
        decoded = self.explorer.decoded
        return [
            [(decoded(one.item), one.score) for one in (self._answers(row) or row)[:k]]
            for row in found
        ]

    def _answers(self, row: list[Scored]) -> list[Scored]:
        """Return the found outputs that `allowed` accepts."""
        if not callable(self.allowed):
            return row
        return [one for one in row if self.allowed(self.explorer.decoded(one.item))]

    def ranked_outputs(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best `k` outputs of each point with their probabilities."""
        found = []
        for row in self.decode_top(points, self.beam):
            chances = self.probabilities(row)
            pairs = [(y, float(p)) for (y, _), p in zip(row, chances, strict=True)]
            found.append(pairs[:k])
        return found

    def search(self, points: Embedding, G: np.ndarray) -> list[list[Scored]]:
        """Return what the search keeps for each point, best first, given the predicted features."""
        found = []
        for rows in blocks(len(G), POINTS_AT_ONCE):
            for g, starts in zip(G[rows], self._starting_outputs(points, G, rows), strict=True):
                found.append(self._search_from(Goal(g, self.weights_, self.price_), starts))
        return found

    def _starting_outputs(self, points: Embedding, G: np.ndarray, rows: slice) -> list[np.ndarray]:
        """Return the training outputs with the highest scores for each point of a block."""
        if self.start == "smallest":
            return [np.zeros(0, dtype=np.intp)] * len(G[rows])
        F, outside = self.counted
        norms = F.multiply(F) @ self.weights_ + self.price_ * outside
        S = 2.0 * np.asarray(F @ (self.weights_ * G[rows]).T).T - norms
        S[self._left_out(points, rows)] = -np.inf
        k = min(FURTHER_STARTS if callable(self.allowed) else self.starts, S.shape[1])
        best = np.argpartition(-S, k - 1, axis=1)[:, :k]
        order = np.take_along_axis(best, np.argsort(-np.take_along_axis(S, best, 1), 1), 1)
        return [row[scores[row] > -np.inf] for row, scores in zip(order, S, strict=True)]

    def _left_out(self, points: Embedding, rows: slice) -> Any:
        """Return a mask: whether a training output occurs in the group of a left-out point only."""
        groups = points.groups_of_training()
        if groups is None or "numbers_" not in vars(self) or len(groups) != len(self.numbers_):
            return np.zeros((len(points.coordinates[rows]), count(self.outputs_)), dtype=bool)
        owner = sole_groups(self.numbers_, groups, count(self.outputs_))
        assert points.left_out is not None
        return points.left_out[rows, None] == owner[None, :]

    def _search_from(self, goal: Goal, starts: np.ndarray) -> list[Scored]:
        """Return the best outputs that are found from given training outputs, best first."""
        explorer, ruled = self.explorer, callable(self.allowed)
        outputs = take(self.outputs_, starts) if len(starts) else []
        first = explorer.coded(self._allowed_first(outputs)) or [explorer.smallest()]
        accepted = self._accepted(explorer.score(first, goal))
        kept = self._best(accepted)
        seen, expanded = set(accepted), set()
        best, waited = kept[0], 0
        for _ in range(self.rounds):
            one = next((one for one in kept if one.key not in expanded), None)
            if one is None or waited == self.patience:
                break
            expanded.add(one.key)
            full = len(kept) == self.beam and (not ruled or accepted[kept[-1].key][0])
            least = kept[-1].score if full else -np.inf
            k = RULED_NEIGHBOURS * self.beam if ruled else self.beam
            new = self._accepted(explorer.expand(one.item, goal, least, k, seen))
            seen.update(new)
            accepted = {one.key: accepted[one.key] for one in kept} | new
            kept = self._best(accepted)
            waited = waited + 1 if kept[0].key == best.key else 0
            best = kept[0]
        return [one for one in kept if accepted[one.key][0]] or kept

    def _accepted(self, found: list[Scored]) -> dict[Hashable, tuple[bool, Scored]]:
        """Return items by their keys, each with whether `allowed` accepts it."""
        if not callable(self.allowed):
            return {one.key: (True, one) for one in found}
        decoded = self.explorer.decoded
        return {one.key: (bool(self.allowed(decoded(one.item))), one) for one in found}

    def _best(self, accepted: dict[Hashable, tuple[bool, Scored]]) -> list[Scored]:
        """Return the items of the beam: accepted ones by falling score, then others."""
        order = sorted(accepted.values(), key=lambda pair: (not pair[0], -pair[1].score))
        return [one for _, one in order[: self.beam]]

    def _allowed_first(self, outputs: Items) -> list[Any]:
        """Return the outputs to start from: those that `allowed` accepts, if there are any."""
        if callable(self.allowed):
            good = [y for y in outputs if self.allowed(y)]
            return good[: self.starts] or list(outputs[: self.starts])
        return list(outputs[: self.starts])

    # -- what users read ----------------------------------------------------------------------

    def probabilities(self, ranked: Ranked) -> np.ndarray:
        """Return the probability of each output of a ranked list, calibrated on left-out points.

        The sum is less than 1: the true output may be none of them.

        Parameters
        ----------
        ranked : list of (output, score)
            The whole list of a point, as `decode_top` returns it.
        """
        scores = np.array([score for _, score in ranked])
        logits = (scores - scores.max(initial=-np.inf)) / self.temperature_
        logits[:1] += self.first_
        return np.exp(logits - logsumexp(np.append(logits, self.none_)))

    def scores_of(self, points: Embedding, outputs: Items) -> np.ndarray:
        """Return the score of an output for each predicted point, as `decode_top` returns it.

        Parameters
        ----------
        points : Embedding
            The predicted points.
        outputs
            An output for each of them.
        """
        checked, found = self.kernel_.as_outputs(outputs), self.kernel_.features
        goals = (Goal(g, self.weights_, self.price_) for g in self._predicted(points))
        each = [goal.scores(found, take(checked, [i]))[0] for i, goal in enumerate(goals)]
        return np.array(each, dtype=float)

    def explain_features(
        self, points: Embedding, outputs: Items, rivals: Items, k: int = 5
    ) -> list[list[tuple[str, float]]]:
        """Return the features that decided between outputs and rivals, with parts of the score.

        Parameters
        ----------
        points : Embedding
            The predicted points.
        outputs, rivals
            For each point an output, and another one with which it is compared.
        k : int, default=5
            The number of features for each point.
        """
        found = self.kernel_.features
        if found.names is None:
            raise ValueError(f"the features of {self.kernel_} have no names.")
        names, G = found.names(), self._predicted(points)
        N, M = (found.rows(self.kernel_.as_outputs(items)).toarray() for items in (outputs, rivals))
        parts = self.weights_ * (2.0 * G * (N - M) - (N**2 - M**2))
        order = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :k]
        return [
            [(names[f], float(row[f])) for f in best if row[f]]
            for row, best in zip(parts, order, strict=True)
        ]
