from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.arrays import Items, object_array, take
from .._base.checks import Limits, bounded, finite, must
from .._base.parameters import integer, parameters
from ..embedding import Embedding
from ..kernels import Kernel, Spectrum
from ..kernels._sequences import restore_container
from ._path_graph import PathGraph
from ._sequence_decoding import best_value, feature_blocks, is_automatic
from .base import Decoder, Found, Ranked, unsuited_kernel

POINTS_BY_POSITION = 32
"""The number of points whose scores by n-gram and position are in memory at once."""
CALIBRATED = 500
"""The largest number of left-out points on which a bonus is chosen."""
SEARCHED_LENGTH = 64
"""A loaded model may search for strings of this length, however many edges its graph has."""
LENGTH_BONUSES = tuple(np.round(np.linspace(-0.2, 1.0, 13), 2).tolist())
"""The values of `bonus` that calibration tries."""


@parameters
class NGramPath(Decoder):
    r"""A decoder that finds the string of the highest n-gram score by branch and bound.

    Maximises :math:`2 \langle g, \Phi(s) \rangle - \lVert \Phi(s) \rVert^2 + \text{bonus} \cdot
    \lvert s \rvert` over strings :math:`s`, for the features of any `Spectrum` kernel.

    Parameters
    ----------
    ngrams : {"seen", "all"}, default="seen"
        "seen" for strings made of n-grams of training outputs only; "all" for all strings over
        their symbols.
    max_length : int or None, default=None
        The largest length; None for that of the longest training output.
    min_length : int, default=1
        The smallest length.
    bonus : float or "auto", default="auto"
        Added for every symbol, in units of the weight of its n-grams;
        "auto" chooses it on left-out points (a ridge shrinks g, which favours short strings).
    max_nodes : int, default=100000
        The largest number of prefixes that are tried for one point.

    Attributes
    ----------
    bonus_
        The bonus in use.

    Notes
    -----
    Except for the penalty of repeated n-grams, the objective is a sum over symbols in their
    context. A backward pass over the contexts therefore gives an upper bound of what any prefix can
    still gain. The search is depth first, subtracts the penalty of repeats on the way, and drops
    prefixes that cannot beat the best string so far. If it ends within `max_nodes`, its string is
    the optimum; `certify` says so for each point, and `decode` warns where it does not.

    Examples
    --------
    >>> from mercer import KernelDependency
    >>> from mercer.decoders import NGramPath
    >>> from mercer.kernels import Spectrum
    >>> kernel = Spectrum(2, blended=True, width=2)
    >>> model = KernelDependency(kernel, kernel, alpha=0.1, decoder=NGramPath(bonus=0.1))
    >>> X, y = ["01", "10", "110", "0010", "0111"], ["ab", "ba", "bba", "aaba", "abbb"]
    >>> model.fit(X, y).predict(["0110"]).tolist()
    ['abba']
    """

    has_ranked_lists = True

    ngrams: str = "seen"
    max_length: int | None = None
    min_length: int = 1
    bonus: float | str = "auto"
    max_nodes: int = 100_000

    def check_loaded(self, limits: Limits) -> None:
        """Raise `DamagedModel` unless the graph, the kernel, the bonus and all sizes are valid."""
        bounded(self.max_nodes, "max_nodes", 1, 100 * limits.steps)
        bounded(self.min_length, "min_length", 0, limits.steps)
        if "graph_" not in vars(self):
            return
        graph = self.graph_
        must(isinstance(graph, PathGraph), "graph_ is not a graph of n-grams")
        must(isinstance(self.kernel_, Kernel), "kernel_ is not a kernel")
        kernel = self._spectrum
        must(isinstance(kernel, Spectrum), "kernel_ is not a multiple of a Spectrum")
        bounded(kernel.longest_, "longest_", 1, limits.steps)
        finite(self.bonus_, "bonus_")
        # A search stores scores of edges by position, and of states by the square of the length.
        longest = max(SEARCHED_LENGTH, limits.size // 16 // len(graph.target))
        squares = int((limits.size / len(graph.starts)) ** 0.5)
        bounded(self.longest_, "longest_", 1, max(1, min(longest, squares)))

    @property
    def calibrates(self) -> bool:  # type: ignore[override]
        """Whether `calibrate` chooses the bonus."""
        return is_automatic(self.bonus, "bonus")

    def fit(self, kernel: Kernel, y: Items) -> NGramPath:
        """Build the graph of all strings that the search may return."""
        spectrum = kernel.multiple.kernel
        if not isinstance(spectrum, Spectrum):
            raise unsuited_kernel(self, kernel, "Spectrum(n, ...)")
        if self.ngrams not in ("seen", "all"):
            raise ValueError(f'ngrams must be "seen" or "all", got {self.ngrams!r}.')
        self.kernel_: Any = kernel
        self.graph_ = PathGraph.of(spectrum.ngrams_, self.ngrams == "seen")
        self.longest_ = spectrum.longest_ if self.max_length is None else self.max_length
        integer(self.longest_, "max_length")
        integer(self.max_nodes, "max_nodes")
        self.like_ = y[0]
        self.bonus_ = 0.0 if self.calibrates else float(self.bonus)
        return self

    def calibrate(self, points: Embedding, y: Items) -> NGramPath:
        """Choose the bonus that recovers most outputs y, on at most a few hundred points."""
        some = np.linspace(0, len(points) - 1, min(len(points), CALIBRATED)).astype(int)
        part = Embedding(points.coordinates[some], points.frame)
        strings = dict(zip(LENGTH_BONUSES, self._best_strings(part, LENGTH_BONUSES), strict=True))
        self.bonus_ = best_value(
            LENGTH_BONUSES, lambda bonus: strings[bonus].outputs, take(y, some), points.counts[some]
        )
        return self

    def decode(self, points: Embedding) -> np.ndarray:
        """Return the string with the highest score at each predicted point."""
        found = self.certify(points)
        if not found.proved.all():
            warnings.warn(
                f"{(~found.proved).sum()} of {len(points)} strings are the best found, not proved "
                f"to be the best, within max_nodes={self.max_nodes}; certify(points) says which.",
                stacklevel=5,
            )
        return found.outputs

    def decode_top(self, points: Embedding, k: int) -> list[Ranked]:
        """Return the best string of each predicted point with its score: only one for any `k`."""
        found = self.certify(points)
        scores = self.kernel_.multiple.scale * found.scores
        return [[(y, float(v))] for y, v in zip(found.outputs, scores, strict=True)]

    def certify(self, points: Embedding) -> Found:
        """Return the best string of each predicted point, its score, and the optimality gap.

        The gap is 0 if the string is proved to be the best, and infinite otherwise.

        Parameters
        ----------
        points : Embedding
            The predicted points of the output feature space.
        """
        return self._best_strings(points, [self.bonus_])[0]

    @property
    def _spectrum(self) -> Any:
        """The fitted string kernel, without its scale."""
        return self.kernel_.multiple.kernel

    def _best_strings(self, points: Embedding, bonuses: Sequence[float]) -> list[Found]:
        """Return for each bonus the best strings of all points, with scores and gaps."""
        from ._path_loops import Paths, best_paths

        lengths = self._spectrum.weights_by_length()
        weights = np.zeros(self._spectrum.n)
        weights[np.array(list(lengths)) - 1] = list(lengths.values())
        n, graph, kappa = len(points), self.graph_, self._position_similarities()
        results = [
            (np.zeros((n, self.longest_), dtype=np.int64), np.zeros(n, dtype=np.int64),
             np.zeros(n), np.zeros(n, dtype=bool))
            for _ in bonuses
        ]  # fmt: skip
        for rows, T in feature_blocks(points, self.kernel_, POINTS_BY_POSITION):
            scores = self._edge_scores(T, weights)
            for result, bonus in zip(results, bonuses, strict=True):
                parameters = weights, kappa, float(bonus * weights.sum())
                paths = Paths(graph.starts, graph.target, graph.chain, graph.roots, *parameters)
                limits = int(self.min_length), int(self.max_nodes)
                best_paths(*scores, paths, *limits, *(part[rows] for part in result))
        return [
            Found(self._as_strings(paths, ends), values, np.where(proved, 0.0, np.inf))
            for paths, ends, values, proved in results
        ]

    def _as_strings(self, paths: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the paths (rows up to ends[t]) as strings like the training outputs."""
        symbols, codes = self._spectrum.ngrams_.alphabet.symbols, self.graph_.symbols
        return object_array(
            [
                restore_container([symbols[c] for c in codes[path[:end]]], self.like_)
                for path, end in zip(paths, ends, strict=True)
            ]
        )

    def _position_similarities(self) -> np.ndarray:
        """Return the similarity of two positions as an array over their distance 0, 1, …."""
        apart = np.arange(self.longest_ + 1)
        width = self._spectrum.width
        return np.ones(len(apart)) if width is None else np.maximum(0.0, 1.0 - apart / width)

    def _edge_scores(self, T: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each edge of the graph by position from the start and from the end.

        An edge appends a symbol, and its score is that of the n-grams that end there. Row t of T
        has the features of point t, and weights[m - 1] is the weight of m-grams. Both
        results have the shape (points, edges, positions).
        """
        from ._path_loops import edge_scores

        kernel, graph = self._spectrum, self.graph_
        offsets = np.zeros(kernel.n, dtype=np.int64)
        sizes = [kernel.ngrams_.size(m) for m in kernel.weights_by_length()]
        offsets[np.array(list(kernel.weights_by_length())) - 1] = np.cumsum([0, *sizes[:-1]])
        width = int(kernel.width or 0)
        cells = kernel.n_positions(kernel.longest_) if width else 0
        shape = (len(T), len(graph.known), self.longest_)
        fronts, backs = np.empty(shape), np.empty(shape)
        expected = sum(sizes) * (2 * cells if width else 1)
        if T.shape[1] != expected:
            raise ValueError(f"points must have {expected} features, got {T.shape[1]}.")
        edges = graph.known, graph.level, graph.suffix
        edge_scores(T, *edges, weights, offsets, width, cells, fronts, backs)
        return fronts, backs
