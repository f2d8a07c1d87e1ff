"""What every test shares: few threads, a seeded generator, and where the data is."""

import os
import shutil

for _name in ("OPENBLAS", "OMP", "MKL"):
    # Before numpy is loaded: pytest-xdist brings the cores.
    os.environ.setdefault(f"{_name}_NUM_THREADS", "1")

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import threadpool_limits

settings.register_profile("mercer", deadline=None, derandomize=True)
settings.load_profile("mercer")  # the same examples for everybody


@pytest.fixture(scope="session", autouse=True)
def _few_threads():
    """Plug-ins may have loaded numpy before this file could set the environment."""
    with threadpool_limits(limits=1, user_api="blas"):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def few_trees():
    """Few trees in AutoDependency: they take most of the time of a fit."""
    from mercer.auto.presets import PRESETS

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PRESETS, "default", replace(PRESETS["default"], trees=5, boosted=10))
        yield


@pytest.fixture(scope="session")
def forks():
    """Run code in a process of its own that need not import the package first."""
    if not hasattr(os, "fork"):
        pytest.skip("this system cannot fork")
    from forks import Forks

    running = Forks()
    yield running
    running.close()


@pytest.fixture(scope="session")
def data_home():
    """The folder that MERCER_DATA names; a test that needs it skips where there is none."""
    folder = os.environ.get("MERCER_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set MERCER_DATA to the folder of the data sets to run this test")
    return Path(folder)


@pytest.fixture(scope="module")
def server():
    """The demo page, served on loopback."""
    from mercer.app.page import serve

    running = serve()
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    yield running
    running.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def browser():
    """The system's chromium, where there is one."""
    playwright = pytest.importorskip("playwright.sync_api", exc_type=ImportError)
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        running = driver.chromium.launch(executable_path=path, args=arguments)
        yield running
        running.close()
