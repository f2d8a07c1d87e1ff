"""The dense reference: everything that a ridge problem gives, from its definition.

Rows are (example, output component) pairs, example after example. Every quantity is one dense
solve of the bordered system, or one such solve for each set of examples that is left out.
"""

from dataclasses import dataclass, replace

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Dense:
    """Minimise Σ w_i‖g(x_i) + b - v_i‖² + alpha‖g‖², b = 0 without an intercept.

    Attributes
    ----------
    G
        The operator-valued kernel over the training inputs, (n q, n q).
    G_new
        Between the new inputs and the training inputs, (m q, n q).
    prior
        Between the new inputs, (m q, m q).
    V
        The outputs in coordinates, (n, q).
    w
        The weights, one for each example.
    alpha
        The ridge.
    intercept
        Whether a constant is fitted for each component.
    steady
        The output directions, as columns, that an intercept fits; None for each component.
    """

    G: Array
    G_new: Array
    prior: Array
    V: Array
    w: Array
    alpha: float
    intercept: bool
    steady: Array | None = None

    @property
    def q(self) -> int:
        return self.V.shape[1]

    @property
    def everything(self) -> Array:
        return np.arange(len(self.V))

    @property
    def repeats(self) -> float:
        """How many values more there were if each example were repeated by its weight."""
        return float((self.w - 1.0).sum() * self.q)

    def rows(self, examples: Array) -> Array:
        """The rows of some examples."""
        return (np.asarray(examples, int)[:, None] * self.q + np.arange(self.q)).reshape(-1)

    def constants(self, examples: int) -> Array:
        """The columns that an intercept fits."""
        columns = np.tile(np.eye(self.q) if self.steady is None else self.steady, (examples, 1))
        return columns if self.intercept else columns[:, :0]

    def system(self, examples: Array) -> Array:
        """[[G + alpha / W, N], [Nᵀ, 0]] of some examples."""
        rows, N = self.rows(examples), self.constants(len(examples))
        G = self.G[np.ix_(rows, rows)] + np.diag(self.alpha / np.repeat(self.w[examples], self.q))
        return np.block([[G, N], [N.T, np.zeros((N.shape[1], N.shape[1]))]])

    def borders(self, at: Array, examples: Array) -> Array:
        """Kernel values of other rows against some examples, followed by their constants."""
        return np.c_[at[:, self.rows(examples)], self.constants(len(at) // self.q)]

    def fitted(self, at: Array, examples: Array) -> Array:
        """Predictions at the inputs with kernel values `at` of the fit on some examples."""
        A = self.system(examples)
        targets = np.zeros(len(A))
        targets[: len(examples) * self.q] = self.V[examples].reshape(-1)
        return (self.borders(at, examples) @ np.linalg.solve(A, targets)).reshape(-1, self.q)

    # -- the solution and what is left out ------------------------------------------------------

    def solution(self) -> Array:
        return self.fitted(self.G_new, self.everything)

    def without(self, sets: list[Array]) -> Array:
        """The prediction at each new input by the fit without its own set of examples."""
        found = []
        for t, out in enumerate(sets):
            new = self.G_new[t * self.q : (t + 1) * self.q]
            found.append(self.fitted(new, np.setdiff1d(self.everything, out))[0])
        return np.array(found)

    def left_out(self, labels: Array) -> Array:
        """The prediction of each example by the fit without its group."""
        found = np.empty_like(self.V)
        for label in np.unique(labels):
            out = np.flatnonzero(labels == label)
            rest = np.flatnonzero(labels != label)
            found[out] = self.fitted(self.G[self.rows(out)], rest)
        return found

    def moves(self, labels: Array) -> Array:
        """How leaving out the group of each example moves the new points, (m, n, q)."""
        whole = self.solution()
        fits = {
            label: whole - self.fitted(self.G_new, np.flatnonzero(labels != label))
            for label in np.unique(labels)
        }
        return np.stack([fits[label] for label in labels], axis=1)

    # -- the smoother ---------------------------------------------------------------------------

    def inside(self) -> tuple[Array, Array, Array]:
        """M, C and c: weighted rows without constants, their ridged kernel, and the outputs."""
        roots = np.sqrt(np.repeat(self.w, self.q))
        N = roots[:, None] * self.constants(len(self.V))
        M = np.linalg.svd(np.c_[N, np.zeros((len(N), 1))])[0][:, N.shape[1] :]
        C = M.T @ (roots[:, None] * self.G * roots) @ M + self.alpha * np.eye(M.shape[1])
        return M, C, M.T @ (roots * self.V.reshape(-1))

    def gcv(self) -> Array:
        """Squared lengths of the residuals over the mean of 1 - H, squared."""
        M, C, c = self.inside()
        rest = self.alpha * M @ np.linalg.solve(C, M.T)
        R = (self.alpha * M @ np.linalg.solve(C, c)).reshape(self.V.shape)
        mean = (np.trace(rest) + self.repeats) / (len(rest) + self.repeats)
        return (R**2).sum(axis=1) / self.w / mean**2

    # -- the Gaussian process -------------------------------------------------------------------

    def covariance(self) -> Array:
        """The posterior covariance of the new points for unit noise, (m q, m q)."""
        k = self.borders(self.G_new, self.everything)
        return (self.prior - k @ np.linalg.solve(self.system(self.everything), k.T)) / self.alpha

    def variance(self) -> Array:
        return np.diag(self.covariance()).reshape(-1, self.q)

    def variance_along(self, points: Array) -> Array:
        """The same along other output directions, one column each."""
        m = len(self.G_new) // self.q
        whole = self.covariance().reshape(m, self.q, m, self.q)
        return np.stack([((points @ whole[t, :, t]) * points).sum(axis=1) for t in range(m)])

    def noise(self) -> float:
        """The noise that makes the outputs most likely."""
        _, C, c = self.inside()
        return float(self.alpha * c @ np.linalg.solve(C, c) / (len(c) + self.repeats))

    def evidence(self) -> float:
        _, C, c = self.inside()
        number = len(c) + self.repeats
        misfit = c @ np.linalg.solve(C, c) / number
        logs = number * np.log(misfit) + np.linalg.slogdet(C)[1]
        return -0.5 * (logs + self.repeats * np.log(self.alpha))

    def directions(self) -> Array:
        """Orthonormal output directions that the kernel does not couple, as columns."""
        n = len(self.V)
        blocks = self.G.reshape(n, self.q, n, self.q).transpose(0, 2, 1, 3)
        mixed = np.einsum("ij,ijkl->kl", np.random.default_rng(0).normal(size=(n, n)), blocks)
        return np.linalg.eigh(mixed + mixed.T)[1]

    def along(self, direction: Array) -> "Dense":
        """The problem of some output directions, as columns, that no others are coupled with."""
        direction = direction.reshape(self.q, -1)

        def side(A: Array, left: int, right: int) -> Array:
            blocks = A.reshape(left, self.q, right, self.q)
            blocks = np.einsum("iajb,ac,bd->icjd", blocks, direction, direction)
            return blocks.reshape(left * direction.shape[1], -1)

        n, m, steady = len(self.V), len(self.G_new) // self.q, self.steady
        if steady is not None:
            steady = direction.T @ steady
            steady = steady[:, np.abs(steady).max(axis=0) > 1e-9]
        return replace(
            self, G=side(self.G, n, n), G_new=side(self.G_new, m, n), prior=side(self.prior, m, m),
            V=self.V @ direction, steady=steady,
        )  # fmt: skip

    def left_out_noise(self, labels: Array) -> tuple[float, float]:
        """σ² of all components together as left-out residuals show it, and Σ log det C_g.

        C_g is the covariance of the left-out residuals of a group for unit noise, in which each
        example counts as often as its weight says: its mean over repeats is the residual.
        """
        total = logs = 0.0
        for label in np.unique(labels):
            own, rest = np.flatnonzero(labels == label), np.flatnonzero(labels != label)
            rows = self.rows(own)
            errors = (self.V[own] - self.fitted(self.G[rows], rest)).reshape(-1)
            k = self.borders(self.G[rows], rest)
            known = k @ np.linalg.solve(self.system(rest), k.T)
            unit = (self.G[np.ix_(rows, rows)] - known) / self.alpha
            unit = unit + np.diag(1 / np.repeat(self.w[own], self.q))
            total += errors @ np.linalg.solve(unit, errors)
            logs += np.linalg.slogdet(unit)[1] + np.log(np.repeat(self.w[own], self.q)).sum()
        return total / (self.V.size + self.repeats), logs

    def density(self, labels: Array, directions: list[Array]) -> float:
        """Σ log p of the outputs of every group given all others.

        Each set of directions that are not coupled with others has a noise of its own.
        """
        total = 0.0
        for direction in directions:
            one = self.along(direction)
            noise, logs = one.left_out_noise(labels)
            number = one.V.size + one.repeats
            total -= 0.5 * (number * (np.log(2 * np.pi * noise) + 1.0) + logs)
        return total


@dataclass(frozen=True)
class Repeated:
    """The same quantities as those of `dense`, of examples that are repeated by integer weights.

    Attributes
    ----------
    dense
        The problem with weights.
    alpha
        The ridge.
    """

    dense: Dense
    alpha: float

    @property
    def index(self) -> Array:
        """The example of each repeat."""
        return np.repeat(self.dense.everything, self.dense.w.astype(int))

    @property
    def first(self) -> Array:
        """The first repeat of each example."""
        return np.unique(self.index, return_index=True)[1]

    @property
    def often(self) -> Dense:
        """The problem of the repeats, without weights."""
        dense, rows = self.dense, self.dense.rows(self.index)
        return replace(
            dense, G=dense.G[np.ix_(rows, rows)], G_new=dense.G_new[:, rows],
            V=dense.V[self.index], w=np.ones(len(self.index)), alpha=self.alpha,
        )  # fmt: skip

    def solution(self) -> Array:
        return self.often.solution()

    def without(self, sets: list[Array]) -> Array:
        return self.often.without([np.flatnonzero(np.isin(self.index, out)) for out in sets])

    def left_out(self, labels: Array) -> Array:
        return self.often.left_out(labels[self.index])[self.first]

    def moves(self, labels: Array) -> Array:
        return self.often.moves(labels[self.index])[:, self.first]

    def gcv(self) -> Array:
        return self.often.gcv()[self.first]

    def variance(self) -> Array:
        return self.often.variance()

    def variance_along(self, points: Array) -> Array:
        return self.often.variance_along(points)

    def evidence(self) -> float:
        return self.often.evidence()

    def density(self, labels: Array, directions: list[Array]) -> float:
        return self.often.density(labels[self.index], directions)
