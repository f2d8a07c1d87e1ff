import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_trees(few_trees):
    """In all tests of AutoDependency."""
