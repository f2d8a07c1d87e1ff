"""The choice of a solver, and the memory that each one needs."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer._base import memory as _memory
from mercer._base.plan import GIB, PLANNED_FRACTION
from mercer.features import IncompleteCholesky, Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF
from mercer.operators import (
    ConditionalCovariance,
    Covariance,
    CurlFree,
    Identity,
    Local,
    Separable,
)
from mercer.solvers import factor
from mercer.solvers.route import route


@pytest.fixture
def room(monkeypatch):
    return lambda gib: monkeypatch.setattr(
        _memory, "available", lambda: gib * GIB / PLANNED_FRACTION
    )


def test_small_fits_are_exact(room):
    room(8)
    assert KernelDependency().plan(1000).best.name == "cholesky"
    assert KernelDependency(RBF(1.0) * Covariance(), RBF(1.0)).plan(1000).best.name == "spectral"
    assert KernelDependencyCV(RBF(1.0)).plan(500).best.name == "spectral"


def test_large_fits_are_of_low_rank_and_huge_ones_streams(room):
    room(8)
    model = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0))
    assert model.plan(100_000, rank=500).best.name == "low rank"
    assert model.plan(10_000_000, rank=500).best.name == "streamed"


def test_a_cholesky_fits_where_spectra_do_not(room):
    room(8 * 5 * 10_000**2 / GIB)
    plan = KernelDependency(RBF(1.0), RBF(1.0)).plan(10_000)
    assert plan["cholesky"].feasible and not plan["spectral"].feasible
    assert plan.best is plan["cholesky"]


@pytest.mark.parametrize("model", [KernelDependency(), KernelDependencyCV(RBF(1.0))])
def test_memory_grows_as_it_should(model):
    for name, power in [("spectral", 2), ("low rank", 1), ("streamed", 0)]:
        small, large = (model.plan(n, rank=100)[name] for n in (10**6, 10**7))
        assert large.memory == pytest.approx(10**power * small.memory)


def test_operators_need_output_coordinates():
    plain, conditional = (
        KernelDependency(RBF(1.0) * operator, RBF(1.0)).plan(2000, rank=50)["low rank"]
        for operator in (Identity(), ConditionalCovariance())
    )
    assert plain.memory < conditional.memory


def test_the_largest_rank_fits_and_the_next_does_not(room):
    room(1)
    plan = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0)).plan(10**6)
    assert 0 < plan.largest_rank < 1000
    assert plan["low rank"].rank == plan.largest_rank
    for rank, fits in ((plan.largest_rank - 1, True), (plan.largest_rank + 1, False)):
        model = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0))
        assert model.plan(10**6, rank=rank)["low rank"].feasible is fits


def test_the_refusal_names_the_same_rank(room):
    room(1e-3)
    A = np.random.default_rng(0).normal(size=(1000, 2))
    model = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0))
    rank = model.plan(1000).largest_rank
    with pytest.raises(MemoryError, match=rf"ranks up to about {rank} would fit.*plan\(1000\)"):
        model.fit(A, A)


@pytest.mark.parametrize("Map", [RandomPivotedCholesky, IncompleteCholesky, Nystroem])
def test_a_rank_that_has_no_room_is_refused(Map, room):
    room(1e-3)
    A = np.random.default_rng(0).normal(size=(1000, 2))
    rank = KernelDependency().plan(1000).largest_rank
    with pytest.raises(MemoryError, match=f"rank 500 of 1000 items.*up to about {rank} would fit"):
        KernelDependency(features=Map(500)).fit(A, A)
    KernelDependency(features=Map(rank)).fit(A, A)


def test_the_table_reads(room):
    room(8)
    text = repr(KernelDependency(RBF(1.0), RBF(1.0)).plan(50_000, rank=500))
    assert text.splitlines()[0] == "a fit of 50000 pairs"
    assert "low rank, rank 500" in text and "8 GiB free: ranks up to" in text
    with pytest.raises(KeyError, match="no route 'magic'"):
        KernelDependency().plan(10)["magic"]


ROUTES = {
    "cholesky": KernelDependency(RBF(1.0)),
    "spectral": KernelDependency(RBF(1.0) * Covariance()),
    "low rank": KernelDependency(RBF(1.0), features=Nystroem(10)),
    "by direction": KernelDependency(Local(RBF(1.0), width=1.0)),
    "dense": KernelDependency(CurlFree(1.0), solver="dense"),
}


@pytest.mark.parametrize("name", ROUTES)
def test_the_first_solver_that_accepts_a_problem_solves_it(name):
    X = np.random.default_rng(0).normal(size=(300, 3))
    assert route(*ROUTES[name]._first_problem(X, X)).name == name


class BringsItsSolver(Separable):
    """A kernel with a solver that refuses all problems but those at the ridge 0.5."""

    def factor(self, problem, want, cache):
        return "its own factorisation" if want.alphas == [0.5] else None


def test_a_kernel_may_bring_its_solver():
    X = np.random.default_rng(0).normal(size=(20, 3))
    problem, want = KernelDependency(RBF(1.0))._first_problem(X, X)
    problem = replace(problem, kernel=BringsItsSolver(problem.inputs.kernel, Identity()))
    assert factor(problem, replace(want, alphas=[0.5])) == "its own factorisation"
    assert factor(problem, replace(want, alphas=[0.1])).solve(0.1).points(X) is not None


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 2.5}, {"n": 9, "q": 0}, {"n": 9, "rank": -1}])
def test_bad_sizes(bad):
    with pytest.raises(ValueError, match="must be a positive integer"):
        KernelDependency().plan(**bad)
