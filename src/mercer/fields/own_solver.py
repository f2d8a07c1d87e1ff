"""What kernels that bring their solver refuse."""

from __future__ import annotations

from .._base.errors import NotSupported
from ..problem import Problem, Want


def require_own_solver(problem: Problem, want: Want) -> None:
    """Raise an error if a problem requests another solver than the one that its kernel brings."""
    if want.solver != "auto":
        raise NotSupported(
            f"{problem.kernel} brings its own solver and does not take solver={want.solver!r}: "
            "use solver='auto'."
        )
    if problem.inputs.features is not None:
        raise NotSupported(
            f"{problem.kernel} does not take features={problem.inputs.features}: leave features at "
            "None."
        )
