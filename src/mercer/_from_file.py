"""Estimators that came from a file: where they fail because they do not fit together, they say so.

Each part checks its own arrays when it is loaded. Whether the parts fit each other can show when
one predicts: then a stranger's model fails with `DamagedModel`, not with an error of numpy's.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import Any

from ._checks import DamagedModel

MARK = "_file"
"""The attribute that names the file an estimator came from; a fit takes it away."""
ASKED = {
    "_predict_proba", "confidence", "covers", "embed", "evaluate", "explain", "link_scores",
    "potentials", "predict", "predict_proba", "predict_set", "predict_top", "score", "sizes",
}  # fmt: skip
FOREIGN = {"array_api_compat", "networkx", "numba", "numpy", "ot", "scipy"}
"""Libraries whose errors say nothing to whoever asked for a prediction."""


class FromFile:
    """An estimator whose predictions name the file where its parts do not fit together."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in ASKED:
            owner = next((base for base in cls.__mro__ if name in vars(base)), None)
            mixin = owner is not None and not issubclass(owner, FromFile)
            if (owner is cls or mixin) and isfunction(vars(owner)[name]):
                setattr(cls, name, _guarded(vars(owner)[name]))
        if "fit" in vars(cls) and not hasattr(vars(cls)["fit"], "afresh"):  # it drops the mark
            cls.fit = _renewed(cls.fit)  # type: ignore[attr-defined]


def _guarded(method: Callable) -> Callable:
    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        file = vars(self).get(MARK)
        if file is None:
            return method(self, *args, **keywords)
        try:
            return method(self, *args, **keywords)
        except Exception as problem:
            if _is_said(problem):
                raise
            raise DamagedModel(
                f"the model of {file} cannot predict this ({type(problem).__name__}: "
                f"{problem!s:.200}): either the inputs are not such as it was fitted on, or the "
                "file is damaged. Try inputs that it knows, or save the model again."
            ) from problem

    return call


def _renewed(fit: Callable) -> Callable:
    @wraps(fit)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        fitted = fit(self, *args, **keywords)
        vars(self).pop(MARK, None)
        return fitted

    return call


def _is_said(problem: Exception) -> bool:
    """Whether an error is a refusal in words: raised by name, and not in a numerical library."""
    if isinstance(problem, DamagedModel | MemoryError | Warning):
        return True
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(problem, ValueError | TypeError | ImportError):
        return False
    code, package = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
    raised = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return raised and package.split(".")[0] not in FOREIGN
