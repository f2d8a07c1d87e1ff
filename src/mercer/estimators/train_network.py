"""Networks in front of a kernel, trained through the closed-form solution."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.arrays import Array, Items, count, host, like, namespace, take
from .._base.errors import require
from .._base.linalg import PositiveDefinite, add_ridge, eigh
from .._base.symmetric import trace
from ..kernels import Mapped
from ..kernels.base import as_output_kernel
from ..kernels.gradients import with_parameters
from ..kernels.networks import is_module
from ..operators import Separable, as_operator_kernel
from ..solvers.parameter_slopes import left_out_error
from .kernel_dependency import KernelDependency
from .kernel_dependency_cv import KernelDependencyCV

NETWORK_SAMPLE = 1000
"""The number of items on which the kernel after the network is fitted."""


def train_network(
    model: KernelDependency,
    X: Items,
    y: Items,
    groups: Items | None = None,
    *,
    epochs: int = 30,
    batch_size: int = 512,
    learning_rate: float = 1e-3,
    weight_decay: float = 1e-4,
    augment: Callable[[Items, Items, np.random.Generator], tuple[Items, Items]] | None = None,
    device: str = "cpu",
    random_state: int = 0,
    verbose: bool = False,
) -> KernelDependency:
    """Train the network of a model with the kernel ``Mapped(network, kernel)``; fit the model.

    On every minibatch the ridge equation is solved, and the gradient of its leave-one-out error in
    the output feature space goes through the kernel into the network: the last layer is solved,
    not learnt. In the end the ridge is chosen by leave-one-out over all examples.

    Parameters
    ----------
    model : KernelDependency
        The model to start from, which is not changed; its network is any `torch.nn.Module` that
        maps a batch to rows of features. The network is trained with the identity operator.
    X, y, groups : array-like
        As in `KernelDependency.fit`; groups stay together when the ridge is chosen.
    epochs : int, default=30
        The number of passes over the pairs.
    batch_size : int, default=512
        The number of pairs of a minibatch.
    learning_rate, weight_decay : float, default=0.001, 0.0001
        Parameters of AdamW, with a one-cycle learning rate.
    augment : callable, default=None
        A function of inputs and outputs of a minibatch and a generator that returns new ones.
    device : str, default="cpu"
        Where the network is trained: "cpu", "cuda".
    random_state : int, default=0
        The seed of minibatches and dropout: the same seed gives the same network.
    verbose : bool, default=False
        Whether the error of every epoch is printed.

    Returns
    -------
    KernelDependency
        The model with the trained network, fitted; `training_errors_` holds the mean leave-one-out
        error of the minibatches of every epoch. A file holds the arrays of the
        network: load it with ``mercer.load(file, network=module)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDependency, train_network          # doctest: +SKIP
    >>> from mercer.kernels import RBF, Mapped
    >>> from torch import nn                                        # doctest: +SKIP
    >>> network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 4))  # doctest: +SKIP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = KernelDependency(Mapped(network, RBF()))            # doctest: +SKIP
    >>> model = train_network(model, X, np.sin(3 * X), epochs=5)    # doctest: +SKIP
    """
    require("torch", "torch")
    import torch

    kernel = as_operator_kernel(model.kernel)
    scalar = kernel.separated().scalar if kernel.separable else None
    if not isinstance(scalar, Mapped) or not is_module(scalar.function):
        raise TypeError(f"train_network wants kernel=Mapped(network, kernel), got {kernel}.")
    with torch.random.fork_rng(devices=[device] if device.startswith("cuda") else []):
        torch.manual_seed(random_state)
        trainer = _Trainer(model, scalar, X, y, batch_size, device, augment)
        errors = trainer.run(epochs, learning_rate, weight_decay, random_state, verbose)
    trained = Mapped(trainer.module.eval().cpu(), trainer.inner, scalar.space)
    found = clone(model).set_params(kernel=Separable(trained, kernel.separated().operator))
    parameters = found.get_params(deep=False)
    shared = {name: parameters[name] for name in parameters if name not in ("kernel", "alpha")}
    chosen = KernelDependencyCV(found.kernel, **shared).fit(X, y, groups=groups)
    found.set_params(alpha=chosen.alpha_).fit(X, y, groups=groups)
    found.training_errors_ = errors
    return found


class _Trainer:
    """Training loop for a copy of a network, through the kernel on its features.

    Parameters are those of `train_network`; `scalar` is the model's ``Mapped(network, kernel)``.
    """

    def __init__(
        self,
        model: KernelDependency,
        scalar: Mapped,
        X: Items,
        y: Items,
        batch_size: int,
        device: str,
        augment: Any,
    ):
        import torch

        module: Any = scalar.function
        self.module = deepcopy(module).to(device).train()
        self.X = np.asarray(host(scalar.check(X)), dtype=np.float64)
        output = as_output_kernel(model.output_kernel)
        self.y = output.as_outputs(y)
        self.output = clone(output).fit(self.y)
        self.size, self.device, self.augment = min(batch_size, count(self.y)), device, augment
        sample = np.linspace(0, len(self.X) - 1, min(len(self.X), NETWORK_SAMPLE)).astype(int)
        dtype = next(self.module.parameters()).dtype
        some = torch.as_tensor(self.X[sample], dtype=dtype, device=device)
        with torch.no_grad():  # as in training: layers that normalise have seen nothing yet
            features = self.module(some).flatten(1).to(torch.float64)
        inner = clone(scalar.inner).fit(host(features.cpu()))
        self.inner = with_parameters(inner, inner.parameter_gradient.values).fit(self.X[:1])
        if self.inner.item_gradient is None:
            raise ValueError(f"{inner} has no derivatives in its items: use a smooth kernel.")
        self.intercept = model.fit_intercept
        self.log_ridge = torch.zeros((), dtype=torch.float64, requires_grad=True)

    def run(self, epochs: int, rate: float, decay: float, seed: int, verbose: bool) -> list[float]:
        """Train for all epochs, and return the mean left-out error of each epoch."""
        import torch

        random, n = np.random.default_rng(seed), len(self.X)
        steps = max(1, n // self.size)
        optimizer = torch.optim.AdamW(
            [
                {"params": list(self.module.parameters()), "weight_decay": decay},
                {"params": [self.log_ridge], "weight_decay": 0.0, "lr": 10.0 * rate},
            ],
            lr=rate,
        )
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, max_lr=[rate, 10.0 * rate], total_steps=epochs * steps
        )
        errors = []
        for epoch in range(epochs):
            order, total = random.permutation(n), 0.0
            for step in range(steps):
                rows = order[step * self.size : (step + 1) * self.size]
                optimizer.zero_grad()
                total += self._backward(rows, random)
                optimizer.step()
                schedule.step()
            errors.append(total / steps)
            if verbose:
                print(f"epoch {epoch + 1}: {errors[-1]:.4f}", flush=True)
        return errors

    def _backward(self, rows: np.ndarray, random: np.random.Generator) -> float:
        """Compute the left-out error of a minibatch and its gradients; return the error."""
        import torch

        X, y = self.X[rows], take(self.y, rows)
        if self.augment is not None:
            X, y = self.augment(X, y, random)
        dtype = next(self.module.parameters()).dtype
        Z = self.module(torch.as_tensor(X, dtype=dtype, device=self.device)).flatten(1)
        F = Z.detach().to(torch.float64)
        T = _gram_root(like(host(self.output(self.output.as_outputs(y))), F), self.intercept)
        K = self.inner._gram(F, F)
        value, ridge, A = _left_out_error(
            K, T, float(torch.exp(self.log_ridge.detach())), self.intercept
        )
        Z.backward(self.inner.item_gradient.vjp(F, F, A + A.T).to(Z.dtype))
        self.log_ridge.grad = torch.as_tensor(ridge, dtype=torch.float64)
        return value


def _gram_root(L: Array, intercept: bool) -> Array:
    """Return a matrix root of the output Gram matrix L, which is centred first if `intercept`."""
    xp = namespace(L)
    if intercept:
        L = L - xp.mean(L, axis=0)[None, :]
        L = L - xp.mean(L, axis=1)[:, None]
    s, Q = eigh(L, "output Gram matrix")
    return Q * xp.sqrt(s)


def _left_out_error(
    K: Array, T: Array, relative: float, intercept: bool
) -> tuple[float, float, Array]:
    """Return the mean squared left-out error for a Gram matrix K, and its derivatives.

    T is a root of the output Gram matrix. The derivatives are with respect to the log ridge and to
    K. The ridge is `relative` / 100 times the mean diagonal of K, which counts as a constant.
    """
    xp, n = namespace(K), int(K.shape[0])
    unit = 0.01 * float(xp.mean(xp.linalg.diagonal(K)))
    alpha = max(relative * unit, 1e-10 * unit) + 1e-300
    level = 1e3 * float(xp.mean(xp.abs(K))) if intercept else 0.0  # fits constants nearly freely
    P = PositiveDefinite.of(add_ridge(K + level, alpha)).inverse()
    value, A = left_out_error(P, T, n)
    return value, alpha * trace(A), A
