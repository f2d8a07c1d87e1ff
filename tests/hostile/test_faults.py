"""Kill -9 at random moments: the old file or the new one is there, never half of one.

Jobs run in forks; the seed fixes how long each lives. What a later job gives equals what an
undisturbed one gives.
"""

import os
import random
import signal
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import mercer
from mercer import KernelDependencyCV
from mercer.kernels import RBF

KILLS = 20
LIFE = 0.1
"""The longest that a job lives, in seconds: some rounds of its work."""
X = np.random.default_rng(0).normal(size=(120, 3))
Y = np.sin(X @ np.random.default_rng(1).normal(size=(3, 4)))


def fitted(length_scale):
    return KernelDependencyCV(RBF(length_scale), alphas=[0.1, 1.0]).fit(X, Y)


def save(path, models):
    """Save one model over another."""
    for model in models:
        mercer.save(model, path)


def fit(path, models):
    """Fit and save."""
    for length_scale in (1.0, 2.0):
        mercer.save(fitted(length_scale), path)


def predict(path, models):
    """Load and predict."""
    mercer.load(path).predict(X)


JOBS = {job.__name__: job for job in (save, fit, predict)}


def kill(job, path):
    """Kill a process that does a job again and again; look at the file, and start the next."""
    models, draw = [fitted(1.0), fitted(2.0)], random.Random(0)
    wanted = [model.predict(X) for model in models]
    for _ in range(KILLS):
        number = os.fork()
        if not number:
            try:
                while True:
                    JOBS[job](path, models)
            finally:
                os._exit(1)  # a job that ends by itself is a failure
        time.sleep(draw.uniform(0.0, LIFE))
        os.kill(number, signal.SIGKILL)
        assert os.waitpid(number, 0)[1] == signal.SIGKILL
        found = mercer.load(path).predict(X)
        assert any(np.array_equal(found, one) for one in wanted)


@pytest.mark.parametrize("job", JOBS)
def test_killed_jobs_leave_whole_files(job, tmp_path, forks):
    path, model = tmp_path / "model.mercer", fitted(1.0)
    whole = mercer.save(model, path).read_bytes()
    killed = forks(f"from hostile.test_faults import kill\nkill({job!r}, {str(path)!r})")
    assert killed.returncode == 0, killed.stderr
    if job == "predict":
        assert path.read_bytes() == whole
    found = mercer.load(mercer.save(fitted(1.0), path)).predict(X)
    assert_array_equal(found, model.predict(X))
    assert path.read_bytes() == whole
    assert all(rest.name.startswith(".") for rest in tmp_path.iterdir() if rest != path)
