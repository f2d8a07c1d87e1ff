"""What the tests of AutoDependency share: few trees, which take most of the time of a fit."""

import pytest

from mercer.auto import baselines, search


@pytest.fixture(scope="module", autouse=True)
def _few_trees():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "TREES", 5)
        patch.setattr(baselines, "TREES", 5)
        yield
