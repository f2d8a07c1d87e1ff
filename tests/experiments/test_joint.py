"""Joint kernels of operator-valued ones, the paper's two recoveries, and the way back."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from experiments.peers import FromJoint, joint
from mercer.kernels import RBF, Function, Linear, Polynomial
from mercer.operators import (
    Blocks,
    ConditionalCovariance,
    Covariance,
    Identity,
    Matrix,
    Patchwise,
    Pointwise,
)
from mercer.testing import check_kernel, check_operator_kernel
from tolerances import IDENTITY, ROOT


@pytest.fixture
def pairs(rng):
    return list(zip(rng.normal(size=(7, 4)), rng.normal(size=(7, 4)), strict=True))


def stacked(pairs):
    return np.array([x for x, _ in pairs]), np.array([y for _, y in pairs])


def ones(A, B):
    return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))[:, :, None, None] * np.ones((4, 4))


def shown(kernel):
    return type(kernel).__name__  # not str: a function's address differs between processes


KERNELS = [
    RBF(1.0), RBF(1.0) * Covariance(), RBF(2.0) * ConditionalCovariance(0.1), Linear(), Pointwise(),
    RBF(1.0) * Matrix(np.diag([1.0, 2.0, 3.0, 0.0])), Blocks(ones),
    Patchwise(RBF(1.0), size=1, overlap=0), RBF(1.0) * Covariance() + RBF(2.0) + Pointwise(),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=shown)
def test_a_joint_kernel_is_a_kernel_with_the_values_of_the_blocks(kernel, pairs):
    J = joint(kernel)
    check_kernel(J, pairs)
    J.fit(pairs)
    X, Y = stacked(pairs)
    blocks = J.kernel_.gram(X).blocks()
    assert_allclose(J(pairs), np.einsum("ijab,ia,jb->ij", blocks, Y, Y), atol=ROOT)


@pytest.mark.parametrize("kernel", KERNELS, ids=shown)
def test_all_inputs_with_all_outputs_at_once(kernel, pairs):
    X, Y = stacked(pairs)
    fitted = joint(kernel).fit(pairs).kernel_
    gram = fitted.by_component(X) if fitted.componentwise else fitted.gram(X)
    expected = np.einsum("ijab,ca,db->icjd", gram.blocks(), Y[:3], Y[:3])
    assert_allclose(gram.joint(Y[:3]), expected, atol=IDENTITY)
    column = np.einsum("iab,b->ia", gram.blocks()[:, 2], Y[1])
    assert_allclose(gram.column(2, Y[1]), column, atol=IDENTITY)


@pytest.mark.parametrize("output_kernel", [Linear(), RBF(1.5), Polynomial(2)], ids=shown)
def test_the_identity_gives_the_tensor_product(output_kernel, pairs):
    J = joint(RBF(1.0) * Identity(), output_kernel).fit(pairs[:4])
    X, Y = stacked(pairs)
    assert_allclose(J(pairs), RBF(1.0)(X) * output_kernel(Y), atol=IDENTITY)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_diagonal_regularisation_is_recovered(share, pairs):
    kernel = (1 - share) * RBF(1.0) * Identity() + share * Pointwise()
    J = joint(kernel, Linear()).fit(pairs)
    for i, (x, y) in enumerate(pairs):
        for j, (z, u) in enumerate(pairs):
            k = np.exp(-((x - z) ** 2).sum() / 2)
            expected = (1 - share) * k * (y @ u) + share * sum(x * z * y * u)
            assert J(pairs)[i, j] == pytest.approx(expected, abs=IDENTITY)


def test_patches_are_those_of_joint_kernel_maps(pairs):
    J = joint(Patchwise(RBF(1.0), shape=(2, 2), size=(1, 2), overlap=0)).fit(pairs)
    X, Y = stacked(pairs)
    parts = [RBF(1.0)(X[:, p]) * (Y[:, p] @ Y[:, p].T) for p in ([0, 1], [2, 3])]
    assert_allclose(J(pairs), sum(parts), atol=IDENTITY)


def test_an_output_beyond_the_span_keeps_what_the_identity_sees(pairs):
    J = joint(RBF(1.0) * Identity() + RBF(2.0) * Covariance(), RBF(1.0)).fit(pairs[:3])
    X, Y = stacked(pairs)
    alone = joint(RBF(2.0) * Covariance(), RBF(1.0)).fit(pairs[:3])(pairs)
    assert_allclose(J(pairs), RBF(1.0)(X) * RBF(1.0)(Y) + alone, atol=IDENTITY)


@pytest.mark.parametrize("kernel", [RBF(1.0), Pointwise(), RBF(1.0) * Covariance()], ids=shown)
def test_the_way_back_gives_the_kernel_again(kernel, pairs):
    X, Y = stacked(pairs)
    back = FromJoint(joint(kernel))
    check_operator_kernel(back, X, Y)
    there = joint(kernel).fit(pairs).kernel_.gram(X).blocks()
    assert_allclose(back.fit(X, Y).gram(X).blocks(), there, atol=IDENTITY)


def test_a_joint_kernel_that_is_not_bilinear_has_no_way_back(pairs):
    X, Y = stacked(pairs)
    curved = Function(lambda a, b: (a[1] @ b[1]) ** 2, of_items=True)
    with pytest.raises(ValueError, match="is not linear in the output vectors"):
        FromJoint(curved).fit(X, Y)


def test_items_must_be_pairs():
    with pytest.raises(ValueError, match=r"must hold pairs \(input, output\)"):
        joint(RBF(1.0)).fit([[1.0, 2.0, 3.0]])
