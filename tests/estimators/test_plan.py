"""The planner: costs that grow as they should, one place for advice and refusal."""

import numpy as np
import pytest

from mercer import KernelDependency, KernelDependencyCV
from mercer._base import memory as _memory
from mercer._base.plan import GIB, PLANNED_FRACTION, Sizes
from mercer.features import IncompleteCholesky, Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF, Linear
from mercer.losses import Huber
from mercer.operators import ConditionalCovariance, Covariance, CurlFree, Local
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
    assert plan.exact is plan["cholesky"]


@pytest.mark.parametrize("model", [KernelDependency(), KernelDependencyCV(RBF(1.0))])
def test_costs_grow_as_they_should(model):
    for name, power in [("spectral", 3), ("low rank", 1), ("streamed", 1)]:
        small, large = (model.plan(n, rank=100)[name] for n in (10**6, 10**7))
        growth = np.log10(large.multiplications / small.multiplications)
        assert growth == pytest.approx(power, abs=0.1)
    small, large = (model.plan(n, rank=100)["streamed"] for n in (10**6, 10**7))
    assert small.memory == large.memory


def test_operators_and_outputs_cost():
    def work(operator, l=None, **sizes):
        return KernelDependency(RBF(1.0) * operator, l).plan(2000, rank=50, **sizes)

    plain, conditional = work(Covariance(), RBF(1.0)), work(ConditionalCovariance(), RBF(1.0))
    finite = work(Covariance(), Linear(), q=10)
    for name in ("spectral", "low rank"):
        assert finite[name].multiplications < plain[name].multiplications
        assert plain[name].multiplications < conditional[name].multiplications
    assert work(Covariance(), p=500)["low rank"].multiplications > (
        work(Covariance(), p=5)["low rank"].multiplications
    )


def test_the_largest_rank_fits_and_the_next_does_not(room):
    room(1)
    plan = KernelDependency(RBF(1.0) * Covariance(), RBF(1.0)).plan(10**6)
    assert 0 < plan.largest_rank < 1000
    assert plan["low rank"].rank == plan.largest_rank
    for rank, fits in ((plan.largest_rank - 1, True), (plan.largest_rank + 1, False)):
        assert Sizes(10**6, identity=False, rank=rank).low_rank().feasible is fits


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
    text = repr(KernelDependency(RBF(1.0), RBF(1.0)).plan(50_000, p=20, rank=500))
    assert text.splitlines()[0] == "a fit of 50000 pairs"
    assert "low rank, rank 500" in text and "8 GiB free: ranks up to" in text
    with pytest.raises(KeyError, match="no route 'magic'"):
        KernelDependency().plan(10)["magic"]


def test_pairs_are_planned_like_their_sizes(room):
    room(8)
    X, Y = np.random.default_rng(0).normal(size=(300, 40)), np.ones((300, 2))
    Y[0] = 2.0
    for model in (KernelDependency(RBF(1.0)), KernelDependencyCV(RBF(1.0))):
        assert model.plan(X=X, y=Y) == model.plan(300, p=40, q=2)


PLANNED = {
    "identity": KernelDependency(RBF(1.0)),
    "choice": KernelDependencyCV(RBF(1.0)),
    "covariance": KernelDependency(RBF(1.0) * Covariance()),
    "choice of covariances": KernelDependencyCV(RBF(1.0) * ConditionalCovariance()),
    "low rank": KernelDependency(RBF(1.0), features=Nystroem(10)),
    "local": KernelDependency(Local(RBF(1.0), width=1.0)),
    "field": KernelDependency(CurlFree(1.0)),
    "robust": KernelDependency(RBF(1.0), loss=Huber()),
}


@pytest.mark.parametrize("name", PLANNED)
def test_the_plan_of_pairs_is_what_fit_does(name, room):
    room(8)
    X = np.random.default_rng(0).normal(size=(300, 3))
    problem, want = PLANNED[name]._first_problem(X, X)
    assert PLANNED[name].plan(X=X, y=X).best.name == route(problem, want).name


@pytest.mark.parametrize("bad", [{"n": 0}, {"n": 2.5}, {"n": 9, "p": 0}, {"n": 9, "rank": -1}])
def test_bad_sizes(bad):
    with pytest.raises(ValueError, match="must be a positive integer"):
        KernelDependency().plan(**bad)
