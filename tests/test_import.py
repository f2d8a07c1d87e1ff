"""What importing mercer brings with it, in a process of its own."""

import subprocess
import sys

import pytest

LATER = ["numba", "matplotlib", "rich", "click", "networkx", "ot", "rdkit", "rapidfuzz", "torch",
         "sklearn.metrics", "sklearn.callback", "mercer.tables", "mercer.cli"]  # fmt: skip


@pytest.fixture(scope="module")
def imported():
    code = "import sys, mercer; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("name", LATER)
def test_what_is_slow_is_imported_when_first_used(name, imported):
    assert name not in imported


def test_what_is_imported(imported):
    assert {"mercer", "mercer.kernels", "sklearn.base"} <= imported
