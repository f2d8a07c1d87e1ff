from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from mercer._base.arrays import Array, Items, count, host, like, take
from mercer._base.errors import warn
from mercer._base.parameters import integer, parameters, positive
from mercer.decoders import Candidates, Decoder, natural
from mercer.embedding import PointMap
from mercer.estimators import StructuredEstimator, on_fresh_state, warn_if_constant
from mercer.kernels import Kernel, as_kernel, as_output_kernel
from mercer.operators import Identity, OperatorKernel, Separable, as_operator_kernel
from mercer.problem import Problem, Side
from mercer.solvers import Cache, CoupledMap, LeastWeights

from .joint_kernels import JointKernel
from .joint_scores import CandidateFrame, ScoreMap, all_pairs
from .margins import JOINT_PAIRS, JointMargins, PointMargins, margin_ascent


@parameters
class JointKernelMap(StructuredEstimator):
    r"""Max-margin model: true outputs score higher than all other outputs by a margin.

    Minimises :math:`\tfrac12 \lVert h \rVert^2 + C \sum_i \xi_i` over functions :math:`h` of the
    operator-valued kernel, such that for every training output :math:`y`

    .. math::

        \lVert h(x_i) - \Phi(y) \rVert^2 - \lVert h(x_i) - \Phi(y_i) \rVert^2
        \ge \lVert \Phi(y_i) - \Phi(y) \rVert^2 - 2\xi_i:

    each candidate has to be further from the predicted point than the right output, by the
    squared distance of the two. :math:`\Phi` is centred on the training outputs; its mean is added
    back.

    Parameters
    ----------
    kernel : OperatorKernel, Kernel or JointKernel, default=None
        An operator-valued kernel, such as ``Patchwise(RBF(3.0))``; a joint kernel that
        `mercer.operators.joint` made (its output kernel then replaces `output_kernel`); a
        scalar kernel, for the tensor product with the output kernel; None is ``RBF("median")``.
    output_kernel : Kernel, default=None
        The kernel l on outputs; None is `Linear`.
    C : float, default=1.0
        The cost of a unit of slack.
    decoder : Decoder, default=None
        None predicts the point itself where the output kernel allows it (with `Linear` an image
        that need not be a training output), else the best training output.
    tol : float, default=0.001
        Stop when the duality gap is at most this fraction of the objective.
    max_iter : int, default=5000
        The largest number of passes over the training examples; a warning says if it was reached.
    random_state : int, RandomState or None, default=0
        The seed of the order of examples.
    joint : Kernel or callable, default=None
        In place of `kernel`, any kernel over pairs (x, y), or a function of two batches of pairs.
        It need not be bilinear in :math:`\Phi(y)`; then there are no points to centre or to decode,
        and the prediction is the best training output.

    Attributes
    ----------
    kernel_, output_kernel_, decoder_
        What was fitted.
    candidates_
        The distinct training outputs.
    dual_coef_
        The weight of each example (row) on each candidate, rows summing to C.
    objective_, dual_gap_, n_iter_
        The primal objective, its distance from the dual one, and the passes taken.

    Notes
    -----
    *The margin.* With :math:`\langle w, J(x, y) \rangle = \langle h(x), \Phi(y)
    \rangle` the prediction :math:`\arg\max_y 2 \langle w, J(x, y) \rangle - l(y, y)` is the output
    nearest to :math:`h(x)`. Without the last term the score is linear in :math:`\Phi(y)`, and has
    no maximum over a vector space. For a normalised output kernel it is constant, and the
    constraints are those of margin rescaling with :math:`\Delta = \lVert \Phi(y_i) - \Phi(y)
    \rVert^2` as usually written. The squares cancel, and a constraint says
    :math:`\langle \Phi(y_i) - h(x_i), \Phi(y_i) - \Phi(y) \rangle \le \xi_i`: the slack is
    the largest extent of the residual towards any other output. For a linear output kernel the
    maximiser over *all* vectors is :math:`h(x)` itself.

    *Centring.* Only differences of outputs enter the constraints, so that their mean cannot be
    learnt from them; the mean of :math:`\Phi` over the training outputs is subtracted and added
    back.

    *The dual.* With weights :math:`a_{ic} \ge 0`, :math:`\sum_c a_{ic} = C`, the solution is
    :math:`h = \sum_i K(\cdot, x_i) d_i` with :math:`d_i = \sum_c a_{ic} (\Phi(y_i) - \Phi(y_c))`;
    `mercer.solvers.margins` maximises over the weights.

    References
    ----------
    Weston, Schölkopf, Bousquet, Mann, Noble: Joint kernel maps. In: Predicting structured data,
    MIT Press 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.peers import JointKernelMap
    >>> from mercer.kernels import RBF
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> Y = np.hstack([np.sin(6 * X), np.cos(6 * X)])
    >>> model = JointKernelMap(RBF(0.3), C=10.0).fit(X, Y)
    >>> model.predict([[0.5]]).round(1)
    array([[ 0.1, -1. ]])
    """

    kernel: OperatorKernel | Kernel | str | None = None
    output_kernel: Kernel | str | None = None
    C: float = 1.0
    decoder: Decoder | None = None
    tol: float = 1e-3
    max_iter: int = 5000
    random_state: int | np.random.RandomState | None = 0
    joint: Kernel | Callable[..., Array] | None = None

    @on_fresh_state
    def fit(self, X: Items, y: Items) -> JointKernelMap:
        """Fit the model on pairs of inputs and outputs.

        Parameters
        ----------
        X, y
            Inputs and as many outputs; the distinct ones among them are the candidates of the
            constraints.
        """
        positive(self.C, "C")
        positive(self.tol, "tol")
        integer(self.max_iter, "max_iter")
        operator_kernel, output_kernel = self._kernels()
        output_kernel = clone(output_kernel)
        kernel = clone(operator_kernel.inputs)
        X, y = self._check_pairs(kernel, output_kernel, X, y)
        output_kernel.fit(y)
        warn_if_constant(output_kernel, y)
        self.decoder_ = self._decoder(output_kernel).fit(output_kernel, y)
        self.output_kernel_, self.outputs_ = output_kernel, y
        if self.joint is None:
            self._fit_points(operator_kernel, kernel, X, y)
        else:
            self._fit_scores(self.joint, X, y)
            self.input_kernel_ = kernel
        return self

    def _fit_points(self, kernel: OperatorKernel, scalar: Kernel, X: Items, y: Items) -> None:
        """Fit the map from inputs to points; `scalar` is the input kernel that checked X."""
        sides = Side(scalar, X), Side(self.output_kernel_, y)
        V = Cache().output_rows(Problem(*sides, kernel, intercept=True))
        self.kernel_ = clone(kernel).fit(X, V.rows)
        positions, own = self.output_kernel_.space.unique(y)
        rows, candidates = host(V.rows), host(V.rows)[positions]
        margins = _candidate_margins(self.kernel_, X, take(V.rows, positions))
        found = self._dual_weights(margins, rows @ candidates.T, own, take(y, positions))
        coef = self.C * rows - found @ candidates
        frame = V.frame
        map = CoupledMap(self.kernel_, X, like(coef, V.rows))
        self.points_ = PointMap(map, V.mean, frame, LeastWeights(frame, y))
        self.input_kernel_ = self.kernel_.inputs

    def _fit_scores(self, joint: Kernel | Callable[..., Array], X: Items, y: Items) -> None:
        """Fit the scores of all candidates, for any joint kernel J((x, y), (x', y'))."""
        positions, own = self.output_kernel_.space.unique(y)
        candidates = take(y, positions)
        n, m = count(X), count(candidates)
        if n * m > JOINT_PAIRS:
            raise ValueError(
                f"joint= takes the joint kernel of all {n} inputs with all {m} outputs, up to "
                f"{JOINT_PAIRS} pairs: give an operator-valued kernel, or fewer examples."
            )
        pairs = all_pairs(X, candidates)
        self.joint_ = clone(as_kernel(joint)).fit(pairs)
        margins = JointMargins(host(self.joint_.checked_gram(pairs)).reshape(n, m, n, m))
        inner = host(self.output_kernel_(y, candidates))
        weights = -self._dual_weights(margins, inner, own, candidates)
        weights[np.arange(n), own] += self.C
        kept = np.flatnonzero(weights)
        map = ScoreMap(self.joint_, candidates, pairs[kept], weights.reshape(-1)[kept])
        frame = CandidateFrame(self.output_kernel_, candidates)
        self.points_ = PointMap(map, None, frame, LeastWeights(frame, y))

    def _dual_weights(
        self, margins: JointMargins | PointMargins, inner: np.ndarray, own: np.ndarray, y: Items
    ) -> np.ndarray:
        """Compute and store the dual weights (n, m) of examples on candidates y; return them.

        `inner` has the inner products ⟨Φ(y_i), Φ(y)⟩ of outputs and candidates, and `own` the
        number of the candidate that is the output of each example.
        """
        losses = inner[np.arange(len(own)), own][:, None] - inner
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        weights, objective, gap, passes = margin_ascent(
            margins, losses, own, self.C, self.tol, self.max_iter, seed
        )
        if gap > self.tol * abs(objective):
            warn(
                f"JointKernelMap stopped after {passes} passes at a duality gap of {gap:.3g}, "
                f"{gap / abs(objective):.2%} of the objective: raise max_iter or tol, or lower C.",
                ConvergenceWarning,
            )
        self.candidates_, self.dual_coef_ = y, weights
        self.objective_, self.dual_gap_, self.n_iter_ = objective, gap, passes
        return weights

    def _kernels(self) -> tuple[OperatorKernel, Kernel]:
        """Return the operator-valued kernel and the output kernel; refuse ambiguous parameters."""
        if self.joint is not None and self.kernel is not None:
            raise ValueError("give kernel= or joint=, not both: each says how pairs compare.")
        if self.joint is not None:
            return Separable(Kernel(), Identity()), as_output_kernel(self.output_kernel)
        if not isinstance(self.kernel, JointKernel):
            kernel = as_operator_kernel(self.kernel)
            return kernel, as_output_kernel(self.output_kernel)
        if self.output_kernel is not None:
            raise ValueError(
                f"{self.kernel} has its output kernel already: leave output_kernel at None."
            )
        kernel = as_operator_kernel(self.kernel.kernel)
        return kernel, as_output_kernel(self.kernel.output_kernel)

    def _decoder(self, output_kernel: Kernel) -> Decoder:
        """Return an unfitted decoder; refuse one that is calibrated on left-out predictions."""
        if self.decoder is not None:
            if self.decoder.calibrates:
                raise ValueError(
                    f"{self.decoder} is calibrated on left-out predictions, which joint kernel "
                    "maps have not in closed form: use decoder=Candidates()."
                )
            return clone(self.decoder)
        features = output_kernel.features
        points = features is not None and features.inverse is not None and self.joint is None
        return natural(output_kernel) if points else Candidates()

    def _scalar_kernels(self) -> list[Kernel]:
        """Return the unfitted scalar input kernel, as a list of one."""
        return [self._kernels()[0].inputs]


def _candidate_margins(kernel: OperatorKernel, X: Items, V: Array) -> JointMargins | PointMargins:
    """Return the scores of candidates V at inputs X, as an object that the dual ascent updates."""
    gram = kernel.by_component(X) if kernel.componentwise else kernel.gram(X)
    small = count(X) * count(V) <= JOINT_PAIRS
    return JointMargins(host(gram.joint(V))) if small else PointMargins(gram, V)
