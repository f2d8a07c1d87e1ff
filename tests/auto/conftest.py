import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_trees(few_trees):
    """In all tests of AutoDependency."""


@pytest.fixture
def file(tmp_path):
    """Return a function that writes a file and returns its path."""

    def make(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make
