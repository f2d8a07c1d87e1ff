import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_trees(few_trees):
    """Forests take most of the time of a fit: few trees keep the tests of real sizes affordable."""
