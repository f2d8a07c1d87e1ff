"""Operators that speak of output components, and the law for those that do not."""

import numpy as np
import pytest

from mercer import KernelDependency
from mercer.features import KernelPCA
from mercer.kernels import RBF
from mercer.operators import Matrix, Operator
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 3))


class Variances(Operator):
    """The variances of the outputs as a diagonal matrix, which another basis changes."""

    def matrix(self, moments):
        return np.diag(np.diag(moments.covariance))


def test_a_matrix_over_components_refuses_other_output_coordinates():
    model = KernelDependency(
        RBF(1.0) * Matrix(np.diag([1.0, 0.1, 0.01])), output_features=KernelPCA()
    )
    with pytest.raises(ValueError, match="leave output_features at None"):
        model.fit(X, Y)


def test_an_operator_that_depends_on_the_basis_must_say_so():
    with pytest.raises(AssertionError, match="own_coordinates = True"):
        check_operator(Variances())
    Variances.own_coordinates = True
    check_operator(Variances())
