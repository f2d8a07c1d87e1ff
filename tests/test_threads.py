"""Compiled loops that run on all cores survive forked processes and threads."""

import os
import subprocess
import sys

import pytest

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


def ran(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"NUMBA_NUM_THREADS": "2"} | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_fork_pool_works_after_a_parallel_loop(tmp_path):
    script = tmp_path / "pool.py"  # a file, because a pool imports what it runs
    script.write_text(FORK)
    result = ran(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
    assert result.stdout.split("\n")[:2] == ["2.0", "[2.0, 2.0, 2.0, 2.0]"], result.stderr


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_eight_threads_at_once(layer):
    result = ran(THREADS, NUMBA_THREADING_LAYER=layer)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout == "done\n"
