"""Work on all cores gives what one core gives, and survives forks and threads."""

import os
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from mercer import KernelDependency, KernelDependencyCV
from mercer._base import loops as _loops
from mercer._base import threads as _threads
from mercer.features import Nystroem, RandomPivotedCholesky
from mercer.kernels import RBF, Spectrum, Subsequences, WeightedDegree

FORK = """
import multiprocessing
from mercer.kernels import Spectrum

def value(_):
    return float(Spectrum(2)(["abab"], ["ab"])[0, 0])

if __name__ == "__main__":
    print(value(0))
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map_async(value, range(4)).get(100))
"""
THREADS = """
from concurrent.futures import ThreadPoolExecutor
from mercer.kernels import Spectrum

words = ["".join(chr(97 + (i * j) % 7) for j in range(50)) for i in range(100)]
def value(_):
    return sum(float(Spectrum(3)(words).sum()) for _ in range(5))

expected = value(0)
with ThreadPoolExecutor(8) as pool:
    assert set(pool.map(value, range(16))) == {expected}
print("done")
"""


@pytest.fixture
def ran(forks):
    """Run code on two threads in a process of its own."""
    two = 'import os; os.environ["OMP_NUM_THREADS"] = "2"\n'
    return lambda code: forks(two + code, seconds=180)


def test_a_fork_pool_works_after_a_parallel_loop(tmp_path, ran):
    script = tmp_path / "pool.py"  # a file, because a pool imports what it runs
    script.write_text(FORK)
    result = ran(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert result.stdout.split("\n")[:2] == ["2.0", "[2.0, 2.0, 2.0, 2.0]"], result.stderr


def test_eight_threads_at_once(ran):
    result = ran(THREADS)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout == "done\n"


def test_loops_on_several_cores_give_what_one_gives(rng, monkeypatch):
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(50)]
    kernels = [Spectrum(2), Spectrum(2, width=2), Subsequences(2), WeightedDegree(2)]

    def found():
        return [k(A, B) for k in kernels for A, B in ((words, None), (words[:7], words))]

    monkeypatch.setattr(_loops, "cores", lambda: 1)
    alone = found()
    monkeypatch.setattr(_loops, "cores", lambda: 3)
    monkeypatch.setattr(_threads, "cores", lambda: 3)
    for here, there in zip(found(), alone, strict=True):
        assert_array_equal(here, there)


def threads_of_products():
    return [library["num_threads"] for library in threadpool_info()]


def test_blocks_of_all_threads_come_back_in_order(monkeypatch):
    monkeypatch.setattr(_threads, "cores", lambda: 3)
    before = threads_of_products()
    found = _threads.map_row_blocks(lambda parts: [part.start for part in parts], 100, 10)
    assert found == [[0, 36, 72], [12, 48, 84], [24, 60, 96]]
    assert threads_of_products() == before


def test_an_error_of_one_thread_is_raised_and_the_limit_undone(monkeypatch):
    monkeypatch.setattr(_threads, "cores", lambda: 2)
    before = threads_of_products()
    with pytest.raises(ZeroDivisionError):
        _threads.map_row_blocks(lambda parts: 1 / (parts[0].start - 10), 20, 10)
    assert threads_of_products() == before


def test_after_an_error_nothing_goes_on(monkeypatch):
    monkeypatch.setattr(_threads, "cores", lambda: 2)
    ran = []

    def work(i):
        if i == 0:
            raise ValueError("the first")
        time.sleep(0.01)
        ran.append(i)

    with pytest.raises(ValueError, match="the first"):
        _threads.map_in_threads(work, range(40))
    there = len(ran)
    time.sleep(0.1)
    assert len(ran) == there < 39


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_asks_for_nothing(monkeypatch):
    with _threads.one_thread_each():
        child = os.fork()
        if not child:
            with _threads.one_thread_each():
                users = _threads._Limit.users
            os._exit(users)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize("steady", [0.0, np.inf], ids=["turned", "bare"])
@pytest.mark.parametrize("map", [Nystroem, RandomPivotedCholesky])
@pytest.mark.parametrize("intercept", [True, False])
def test_sums_over_blocks_and_threads_are_those_of_all_rows(
    map, intercept, steady, rng, monkeypatch
):
    monkeypatch.setattr("mercer.features.landmarks.MAGNIFICATION", steady)
    X, weights = rng.normal(size=(5000, 3)), rng.uniform(0.5, 2.0, size=5000)
    Y = np.sin(X)
    given = {"features": map(30, random_state=0), "fit_intercept": intercept}
    one = KernelDependency(RBF(1.5), alpha=0.1, **given)
    rows = KernelDependencyCV(RBF(1.5), alphas=[0.1], **given).fit(X, Y, sample_weight=weights)
    wanted = rows.predict(X[:50])
    assert_allclose(one.fit(X, Y, sample_weight=weights).predict(X[:50]), wanted, rtol=1e-8)
    monkeypatch.setattr(_threads, "cores", lambda: 1 if _threads.in_worker_thread() else 3)
    assert_allclose(one.fit(X, Y, sample_weight=weights).predict(X[:50]), wanted, rtol=1e-8)


def test_blocks_of_threads_have_rows_enough_for_the_sums_of_their_products():
    # A sum of products of few rows takes longer to add to the others than to make: at rank 5,000
    # the moments of a hundred rows at a time took three times as long as those of a thousand.
    rows, least = _threads.rows_at_once, _threads.LEAST_ROWS
    assert rows(5000) == rows(100_000) == least
    assert least < rows(300) < rows(1) == _threads.MOST_BLOCK_ROWS


INDEX = """
import os, signal, faiss, numpy as np
from mercer import KernelDependency
from mercer.decoders import Candidates
from mercer.features import Nystroem
from mercer.kernels import RBF
faiss.omp_set_num_threads(2)
X = np.linspace(0, 1, 300)[:, None]
parts = {"output_features": Nystroem(40, random_state=0), "decoder": Candidates(index="faiss")}
model = KernelDependency(RBF(0.1), RBF(0.1), **parts)
expected = model.fit(X, X).predict(X)
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(int(not np.array_equal(model.predict(X), expected)))
print("status", os.waitpid(child, 0)[1])
"""


def test_an_index_is_searched_after_a_fork(ran):
    pytest.importorskip("faiss")
    result = ran(INDEX)
    assert result.stdout == "status 0\n", result.stderr[-2000:]
