"""The walk of a fit is short: few functions of the package, in few files."""

import sys
from pathlib import Path

import mercer
from laws.cases import vectors
from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import Covariance

FUNCTIONS, FILES = 60, 18
"""What the design asks for."""
PACKAGE = str(Path(mercer.__file__).parent)
INLINED = {"<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"}
"""Functions of their own in some versions of Python only."""


def walked(action):
    """The distinct functions of the package that an action calls, as (file, name)."""
    seen = set()

    def look(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name not in INLINED:
            seen.add((code.co_filename, code.co_qualname))

    sys.setprofile(look)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen


def walk_of_fit():
    """The functions that a second fit calls: what is imported on first use is no part of it."""
    X, Y = vectors(30)
    model = KernelDependency(RBF(1.0) * Covariance())
    model.fit(X, Y)
    return walked(lambda: model.fit(X, Y))


def told(seen):
    files = {file for file, _ in seen}
    listed = "\n".join(sorted(f"{Path(file).name}: {name}" for file, name in seen))
    return f"{len(seen)} functions in {len(files)} files:\n{listed}"


def test_the_walk_of_fit():
    seen = walk_of_fit()
    assert len(seen) <= FUNCTIONS and len({file for file, _ in seen}) <= FILES, told(seen)
