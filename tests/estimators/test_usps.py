"""The paper's digits, at the loss that the core is accepted at."""

import numpy as np
import pytest

from mercer import KernelDependencyCV
from mercer.decoders import Candidates, FixedPoint
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance, Identity

OPERATORS = {
    "identity": [Identity()],
    "covariance": [Covariance()],
    "conditional covariance": [ConditionalCovariance(e) for e in (1e-2, 1e-1, 1.0)],
}
SCALE = 12.0


def losses(operators, X, Y, train, test):
    """RBF loss with training outputs as candidates, and with the fixed point."""
    kernels = [RBF(s) * operator for s in (3.0, 4.0, 6.0, 8.0) for operator in operators]
    model = KernelDependencyCV(kernels, RBF(SCALE), alphas=np.logspace(-6, 1, 15))
    model.fit(X[train], Y[train])
    for decoder in (Candidates(), FixedPoint()):
        model.decoder_ = decoder.fit(model.output_kernel_, Y[train])
        squares = ((model.predict(X[test]) - Y[test]) ** 2).sum(axis=(1, 2))
        yield np.mean(2 - 2 * np.exp(-squares / (2 * SCALE**2)))


@pytest.mark.parametrize("name", OPERATORS)
def test_paper_protocol(name, data_home):
    """Five consecutive folds of 200: train on one, test on the other 800, upper to lower half."""
    with np.load(data_home / "usps" / "usps.npz") as z:
        images = z["X_train"][:1000].reshape(-1, 16, 16)
    X, Y = images[:, :8], images[:, 8:]
    fold = np.arange(1000) // 200
    results = [list(losses(OPERATORS[name], X, Y, fold == f, fold != f)) for f in range(5)]
    chosen, refined = np.mean(results, axis=0)
    assert chosen <= 0.355
    assert refined <= 0.250
