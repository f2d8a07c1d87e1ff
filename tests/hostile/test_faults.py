"""Kill -9 at random moments: the old file or the new one is there, never half of one.

Jobs run in processes that a server forks once it has imported everything; the seed fixes how long
each job lives. What a later job gives equals what an undisturbed one gives.
"""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer import KernelDependencyCV
from mercer.kernels import RBF

KILLS = 20
LIFE = 0.15
"""The longest that a job lives, in seconds: some rounds of its work."""
MODELS = []
X = np.random.default_rng(0).normal(size=(120, 3))
Y = np.sin(X @ np.random.default_rng(1).normal(size=(3, 4)))


def fitted(length_scale):
    return KernelDependencyCV(RBF(length_scale), alphas=[0.1, 1.0]).fit(X, Y)


def save(path):
    """Save one model over another, again and again."""
    while True:
        for model in MODELS:
            mercer.save(model, path)


def fit(path):
    """Fit and save, again and again."""
    while True:
        for length_scale in (1.0, 2.0):
            mercer.save(fitted(length_scale), path)


def predict(path):
    """Load and predict, again and again."""
    while True:
        mercer.load(path).predict(X)


JOBS = {job.__name__: job for job in (save, fit, predict)}


def serve(job, path):
    """Fork a process for each line of the standard input; say its number, and when it is dead."""
    MODELS.extend([fitted(1.0), fitted(2.0)])
    while sys.stdin.readline():
        number = os.fork()
        if not number:
            try:
                JOBS[job](path)
            finally:
                os._exit(1)  # a job that ends by itself is a failure
        print(number, flush=True)
        print(os.waitpid(number, 0)[1], flush=True)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill")
@pytest.mark.parametrize("job", JOBS)
def test_killed_jobs_leave_whole_files(job, tmp_path):
    path, draw = tmp_path / "model.mercer", random.Random(0)
    wanted = [fitted(1.0).predict(X), fitted(2.0).predict(X)]
    whole = mercer.save(fitted(1.0), path).read_bytes()
    command = [sys.executable, "-m", "hostile.test_faults", job, str(path)]
    here = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=here, **pipes) as on:
        for _ in range(KILLS):
            print("go", file=on.stdin, flush=True)
            number = int(on.stdout.readline())
            time.sleep(draw.uniform(0.0, LIFE))
            os.kill(number, signal.SIGKILL)
            assert int(on.stdout.readline()) == signal.SIGKILL
            found = mercer.load(path).predict(X)
            assert any(np.array_equal(found, one) for one in wanted)
        on.stdin.close()
    if job == "predict":
        assert path.read_bytes() == whole
    assert_array_equal(mercer.load(mercer.save(fitted(1.0), path)).predict(X), wanted[0])
    assert path.read_bytes() == whole
    assert all(rest.name.startswith(".") for rest in tmp_path.iterdir() if rest != path)


if __name__ == "__main__":
    serve(*sys.argv[1:])
