from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, concatenated, count, host, namespace, part, sqnorms, take
from .._parameters import parameters, whole
from ..decoders import Decoder
from ..embedding import Embedding, OrthonormalFrame, PointMap
from ..features import Explicit, FeatureMap
from ..kernels import Kernel
from ..kernels.base import as_output_kernel
from ..operators import OperatorKernel, as_operator_kernel
from ..solvers.weights import CoupledMap, LeastWeights
from .base import StructuredEstimator, afresh
from .pairs import refuse_unequal

DROPS = ("smallest", "oldest")


@parameters
class OnlineKernelDependency(StructuredEstimator):
    """One pass of gradient steps with any operator-valued kernel, on a budget of examples.

    At example t the prediction g(x_t) is compared with Φ(y_t), and then

        g ← (1 - η_t decay) g + η_t K(·, x_t) (Φ(y_t) - g(x_t)),    η_t = η t^(-power):

    a step of rate η_t down the gradient of ½‖g(x_t) - Φ(y_t)‖² + ½ decay ‖g‖². At most `budget`
    examples keep a coefficient, so that a step costs the same on any day of the stream.

    Parameters
    ----------
    kernel, output_kernel, decoder
        As in `KernelDependency`. Outputs need finite features (`Linear`, `Labels`, …), or
        `output_features` that the first block is enough for.
    decay
        The ridge of one step: alpha / n of the ridge that n examples would be fitted with.
    rate
        η as a share of 1 / ‖K(x, x)‖, the largest of the first block; above 1 steps overshoot.
    power
        How the rate falls: 0.5 for a stationary stream, whose regret then grows with √t; 0 for
        one that drifts.
    budget
        Examples that are kept; a decoder that calibrates does so on their predictions, each made
        before the example was learnt from.
    drop
        Which example goes when one too many has come: "smallest", that of the shortest
        coefficient, which changes g least; or "oldest", a window, as ONORMA does.
    output_features
        Coordinates of the outputs, settled on the first block; None for finite features.

    Attributes
    ----------
    n_seen_
        Examples so far.
    losses_
        ‖g(x_t) - Φ(y_t)‖² for the examples of the latest call, each before it was learnt from.
    kernel_, output_kernel_
        Settled on the first block: length scales given as "median", operators of the data.

    Notes
    -----
    An example that goes takes K(·, x)c with it. Once the stream is learnt, new examples come in
    with short coefficients and are the first to go; a window instead loses its oldest and longest
    ones together, and has to learn them again. A coefficient of age T has shrunk by
    Π(1 - η_t decay), which is what makes a window exact: choose decay so that it is small.

    References
    ----------
    Kivinen, Smola, Williamson (2004): NORMA. Audiffren and Kadri (2015): ONORMA, the same with
    operator-valued kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators import OnlineKernelDependency
    >>> from mercer.operators import CurlFree
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(600, 2))
    >>> model = OnlineKernelDependency(CurlFree(1.0), budget=300)
    >>> for rows in np.split(np.arange(600), 6):
    ...     model = model.partial_fit(X[rows], 2 * X[rows])
    >>> bool(model.losses_.mean() < 0.05), model.n_seen_, model.coef_.shape
    (True, 600, (300, 2))
    """

    kernel: Any = None
    output_kernel: Any = None
    decay: float = 1e-3
    rate: float = 0.5
    power: float = 0.0
    budget: int = 500
    drop: str = "smallest"
    decoder: Decoder | None = None
    output_features: FeatureMap | None = None

    dropped: ClassVar[dict[str, str]] = {}  # it goes on learning from what it keeps

    @afresh
    def fit(self, X: Items, y: Items) -> OnlineKernelDependency:
        """Forget everything, and take one pass over the pairs in their order."""
        kernel = as_operator_kernel(self.kernel)
        output_kernel = clone(as_output_kernel(self.output_kernel))
        X, y = self._check_pairs(clone(kernel.inputs), output_kernel, X, y)
        self.output_kernel_ = output_kernel.fit(y)
        map = self._output_map().fit(output_kernel, y)
        self.frame_ = OrthonormalFrame(map)
        V = map.transform(y)
        self.kernel_: OperatorKernel = clone(kernel).fit(X, V)
        self.input_kernel_ = self.kernel_.inputs
        self.largest_ = self._largest(X)
        self.n_seen_ = 0
        self.inputs_, self.outputs_ = part(X, slice(0, 0)), part(y, slice(0, 0))
        self.coefficients_ = self.ahead_ = V[:0, :]
        self._learn(X, y)
        return self

    def partial_fit(self, X: Items, y: Items) -> OnlineKernelDependency:
        """Go on with a further block of pairs; a block that is refused changes nothing."""
        if not hasattr(self, "n_seen_"):
            return self.fit(X, y)
        fresh = copy.copy(self)
        X, y = fresh._check_block(X, y)
        fresh._learn(X, y)
        self.__dict__ = fresh.__dict__
        return self

    def _output_map(self) -> FeatureMap:
        if self.output_features is not None:
            return clone(self.output_features)
        if self.output_kernel_.features is None:
            raise ValueError(
                f"{self.output_kernel_} has no finite features, and a stream has no last output "
                "to span them: give output_features=, such as IncompleteCholesky(rank=100), "
                "which the first block settles."
            )
        return Explicit()

    def _largest(self, X: Items) -> float:
        """The largest of the ‖K(x, x)‖."""
        grams = (self.kernel_.gram(take(X, [i])).matrix() for i in range(min(count(X), 100)))
        return max(float(np.linalg.norm(host(G), 2)) for G in grams) or 1.0

    def _check_block(self, X: Items, y: Items) -> tuple[Items, Items]:
        X = self._check_inputs(self.input_kernel_, X, reset=False)
        y = self.output_kernel_.as_outputs(y)
        refuse_unequal(X, y)
        return X, y

    def _rates(self, n: int) -> np.ndarray:
        """η_t of the next examples."""
        if self.drop not in DROPS:
            raise ValueError(f"drop must be one of {DROPS}, got {self.drop!r}.")
        for name, least, most in (("decay", 0.0, np.inf), ("rate", 0.0, np.inf), ("power", 0, 1)):
            value = getattr(self, name)
            if not isinstance(value, Real) or not least <= float(value) <= most:
                raise ValueError(f"{name} must be a number from {least} to {most}, got {value!r}.")
        steps = np.arange(self.n_seen_ + 1, self.n_seen_ + n + 1)
        rates = self.rate / self.largest_ * steps ** (-float(self.power))
        if self.decay * rates.max() >= 1:
            raise ValueError(
                f"decay={self.decay!r} times the rate {rates.max():.3g} is 1 or more, which "
                "forgets everything at once: lower one of them."
            )
        return rates

    def _least(self, C: Array) -> int:
        """Which example goes when there are too many."""
        return 0 if self.drop == "oldest" else int(np.argmin(host(sqnorms(C))))

    def _learn(self, X: Items, y: Items) -> None:
        budget, n, kept = whole(self.budget, "budget"), count(X), count(self.inputs_)
        rates, V = self._rates(n), self.frame_.map.transform(y)
        items, outputs = _joined(self.inputs_, X), _joined(self.outputs_, y)
        ahead, losses = _joined(self.ahead_, namespace(V).zeros_like(V)), np.zeros(n)
        C, alive = self.coefficients_, np.arange(kept)
        for t in range(n):
            if len(alive):
                gram = self.kernel_.gram(part(X, slice(t, t + 1)), take(items, alive))
                ahead[kept + t, :] = (gram @ C)[0, :]
            miss = V[t, :] - ahead[kept + t, :]
            losses[t] = float(namespace(miss).sum(miss * miss))
            rate = float(rates[t])
            C = _joined((1.0 - rate * self.decay) * C, rate * miss[None, :])
            alive = np.append(alive, kept + t)
            if len(alive) > budget:
                stay = np.delete(np.arange(len(alive)), self._least(C))
                C, alive = take(C, stay), alive[stay]
        self.inputs_, self.outputs_ = take(items, alive), take(outputs, alive)
        self.coefficients_, self.ahead_ = C, take(ahead, alive)
        self.n_seen_, self.losses_ = self.n_seen_ + n, losses
        self._point()

    def _point(self) -> None:
        """The map and the decoder of what is kept."""
        decoder = self._fitted_decoder(self.output_kernel_, self.outputs_, self.decoder)
        self.decoder_ = decoder
        if decoder.calibrates:  # on what was predicted of each example before it was learnt from
            own = np.arange(count(self.outputs_))
            points = Embedding(self.ahead_, self.frame_, left_out=own, inputs=self.inputs_)
            self.decoder_ = decoder.calibrate(points, self.outputs_)
        map = CoupledMap(self.kernel_, self.inputs_, self.coefficients_)
        self.points_ = PointMap(map, None, self.frame_, LeastWeights(self.frame_, self.outputs_))

    def _scalar_kernels(self) -> list[Kernel]:
        return [as_operator_kernel(self.kernel).inputs]


def _joined(first: Items, second: Items) -> Array:
    return concatenated([first, second])
