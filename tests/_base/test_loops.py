"""Compiled functions check their indices, wherever they are called from."""

import importlib
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer._base.loops import compiled, inlined, parallel
from mercer.sequences.transduction._key_loops import number_keys


def entry(array, index):
    return array[index]


called, written = compiled(entry), inlined(entry)


@compiled
def through_calls(array, index):
    return called(array, index)


@compiled
def through_inlining(array, index):
    return written(array, index)


@parallel
def in_rounds(start, stop, array, index, out):
    for i in range(start, stop):
        out[i] = called(array, index)


@pytest.mark.parametrize("index", [3, 10**12, -4])
def test_every_way_of_compiling_checks_bounds(index):
    array = np.arange(3.0)
    for loop in (called, through_calls, through_inlining):
        assert loop(array, 2) == 2.0
        with pytest.raises(IndexError, match="out of bounds"):
            loop(array, index)
    with pytest.raises(IndexError, match="out of bounds"):
        in_rounds(array, index, np.empty(2))


def test_one_module_compiles():
    package = Path(mercer.__file__).parent
    files = [
        file for file in package.rglob("*.py") if re.search(r"\bn?jit\b", file.read_text("utf-8"))
    ]
    assert [file.name for file in files] == ["loops.py"]


VERSION = """
from typing import NamedTuple

from mercer._base.loops import compiled


class {name}(NamedTuple):
    value: float


@compiled
def doubled(pair):
    return 2.0 * pair.value


found = doubled({name}(4.0))
"""


def test_compiled_code_of_an_earlier_version_is_replaced(tmp_path, monkeypatch):
    """An upgrade may rename the class of an argument, which the cache on disk still names."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    source = tmp_path / "upgraded_loops.py"
    for name in ("Before", "After"):
        source.write_text(VERSION.format(name=name), "utf-8")
        sys.modules.pop("upgraded_loops", None)
        importlib.invalidate_caches()
        assert importlib.import_module("upgraded_loops").found == 8.0
    assert list(tmp_path.rglob("*.nbi"))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="interrupts itself by a timer")
def test_an_interrupt_of_a_compiled_function_is_a_keyboard_interrupt():
    keys = np.random.default_rng(0).integers(0, 50, (4000, 6)).astype(np.uint64)
    number_keys(keys)
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for delay in np.linspace(3e-3, 6e-3, 30):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012
                signal.setitimer(signal.ITIMER_REAL, float(delay))
                while True:
                    number_keys(keys)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, previous)
