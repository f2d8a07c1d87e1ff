from __future__ import annotations

import copy
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array, Items, count, host, namespace, part, take
from ..decoders import Decoder, natural
from ..embedding import Embedding, OrthonormalFrame
from ..features import Explicit, FeatureMap
from ..kernels import Kernel
from ..kernels.base import whole
from ..operators import OperatorKernel, as_operator_kernel
from .base import StructuredEstimator, input_default, output_default
from .coupled import CoupledMap
from .regression import LeastWeights, PointMap


class OnlineKernelDependency(StructuredEstimator):
    """One pass of gradient steps with any operator-valued kernel, over a window of examples.

    At example t the prediction g(x_t) is compared with Φ(y_t), and then

        g ← (1 - η_t decay) g + η_t K(·, x_t) (Φ(y_t) - g(x_t)),    η_t = η t^(-power):

    a step of rate η_t down the gradient of ½‖g(x_t) - Φ(y_t)‖² + ½ decay ‖g‖². Only the latest
    `budget` examples keep a coefficient, so that a step costs the same on any day of the stream.

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
    What falls out of the window had shrunk by Π(1 - η_t decay) since it came in; the window is
    exact to that. Every coefficient is a vector of output coordinates, and K need not separate:
    g(x_t) is one product with the Gram map of x_t against the window.

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

    def __init__(
        self,
        kernel: Any = None,
        output_kernel: Any = None,
        decay: float = 1e-3,
        rate: float = 0.5,
        power: float = 0.0,
        budget: int = 500,
        decoder: Decoder | None = None,
        output_features: FeatureMap | None = None,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.decay = decay
        self.rate = rate
        self.power = power
        self.budget = budget
        self.decoder = decoder
        self.output_features = output_features

    def fit(self, X: Items, y: Items) -> OnlineKernelDependency:
        """Forget everything, and take one pass over the pairs in their order."""
        return self._fit_afresh(X, y)

    def partial_fit(self, X: Items, y: Items) -> OnlineKernelDependency:
        """Go on with a further block of pairs; a block that is refused changes nothing."""
        if not hasattr(self, "n_seen_"):
            return self.fit(X, y)
        fresh = copy.copy(self)
        X, y = fresh._check_block(X, y)
        fresh._learn(X, y)
        self.__dict__ = fresh.__dict__
        return self

    def _fit(self, X: Items, y: Items) -> None:
        kernel = as_operator_kernel(input_default(self.kernel))
        output_kernel = clone(output_default(self.output_kernel))
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

    def _output_map(self) -> FeatureMap:
        if self.output_features is not None:
            return clone(self.output_features)
        if not self.output_kernel_.finite:
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
        if count(X) != count(y):
            raise ValueError(f"X and y must have the same length: got {count(X)} and {count(y)}.")
        return X, y

    def _rates(self, n: int) -> np.ndarray:
        """η_t of the next examples."""
        for name, least, most in (("decay", 0.0, np.inf), ("rate", 0.0, np.inf), ("power", 0, 1)):
            value = getattr(self, name)
            if not isinstance(value, Real) or not least <= float(value) <= most:
                raise ValueError(f"{name} must be a number from {least} to {most}, got {value!r}.")
        rates = (
            self.rate
            / self.largest_
            * np.arange(self.n_seen_ + 1, self.n_seen_ + n + 1) ** (-float(self.power))
        )
        if self.decay * rates.max() >= 1:
            raise ValueError(
                f"decay={self.decay!r} times the rate {rates.max():.3g} is 1 or more, which "
                "forgets everything at once: lower one of them."
            )
        return rates

    def _learn(self, X: Items, y: Items) -> None:
        budget, n, kept = whole(self.budget, "budget"), count(X), count(self.inputs_)
        rates, V = self._rates(n), self.frame_.map.transform(y)
        items, outputs = _joined(self.inputs_, X), _joined(self.outputs_, y)
        C = namespace(V).concat([self.coefficients_, namespace(V).zeros_like(V)])
        ahead, losses = namespace(V).zeros_like(V), np.zeros(n)
        for t in range(n):
            window = slice(max(0, kept + t - budget), kept + t)
            miss = V[t : t + 1, :]
            if window.stop > window.start:
                gram = self.kernel_.gram(part(X, slice(t, t + 1)), part(items, window))
                ahead[t : t + 1, :] = gram @ C[window, :]
                miss = miss - ahead[t : t + 1, :]
            losses[t] = float(namespace(miss).sum(miss * miss))
            C[window, :] *= 1.0 - float(rates[t]) * self.decay
            C[kept + t, :] = float(rates[t]) * miss[0, :]
        last = slice(max(0, kept + n - budget), kept + n)
        self.inputs_, self.outputs_ = part(items, last), part(outputs, last)
        self.coefficients_ = C[last, :]
        self.ahead_ = _joined(self.ahead_, ahead)[last, :]
        self.n_seen_, self.losses_ = self.n_seen_ + n, losses
        self._point()

    def _point(self) -> None:
        """The map and the decoder of what is kept."""
        decoder = natural(self.output_kernel_) if self.decoder is None else clone(self.decoder)
        self.decoder_ = decoder.fit(self.output_kernel_, self.outputs_)
        if decoder.calibrates:  # on what was predicted of each example before it was learnt from
            own = np.arange(count(self.outputs_))
            points = Embedding(self.ahead_, self.frame_, left_out=own, inputs=self.inputs_)
            self.decoder_ = decoder.calibrate(points, self.outputs_)
        map = CoupledMap(self.kernel_, self.inputs_, self.coefficients_)
        self.points_ = PointMap(map, None, self.frame_, LeastWeights(self.frame_, self.outputs_))

    def _scalar_kernels(self) -> list[Kernel]:
        return [as_operator_kernel(input_default(self.kernel)).inputs]


def _joined(first: Items, second: Items) -> Array:
    return namespace(first, second).concat([first, second])
