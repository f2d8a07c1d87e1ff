"""Loaded models: what a file leaves out, and errors of models whose parts do not fit.

Whether the parts of a loaded model fit each other is known when it predicts. It then fails with
`DamagedModel`, which names the file, and not with an error of numpy.
"""

from __future__ import annotations

import copy
import dis
from collections.abc import Callable
from functools import wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any, ClassVar

from .checks import DamagedModel
from .errors import LocatedError

MARK = "_file"
"""The attribute with the name of the file that an estimator came from; `fit` removes it."""
GUARDED = {
    "_predict_proba", "confidence", "covers", "embed", "evaluate", "explain", "link_scores",
    "potentials", "predict", "predict_proba", "predict_set", "predict_top", "score", "sizes",
    "variance",
}  # fmt: skip
"""Methods whose errors name the file of a loaded model."""
FOREIGN = {"array_api_compat", "networkx", "numba", "numpy", "ot", "scipy"}
"""Libraries whose error messages do not help the user of a loaded model."""


class FromFile:
    """Mix-in for estimators whose errors name the file that they were loaded from."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in GUARDED:
            owner = next((base for base in cls.__mro__ if name in vars(base)), None)
            mixin = owner is not None and not issubclass(owner, FromFile)
            if (owner is cls or mixin) and isfunction(vars(owner)[name]):
                setattr(cls, name, guarded(vars(owner)[name]))
        if "fit" in vars(cls):
            cls.fit = _clearing_mark(cls.fit)  # type: ignore[attr-defined]


def guarded(method: Callable) -> Callable:
    """Wrap a method so that its errors name the file that the estimator was loaded from."""

    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        file = vars(self).get(MARK)
        if file is None:
            return method(self, *args, **keywords)
        try:
            found = method(self, *args, **keywords)
            if isinstance(found, FromFile):  # points, whose variances are computed later
                vars(found)[MARK] = file
            return found
        except Exception as problem:
            if _is_sentence(problem):
                raise
            raise DamagedModel(
                f"the model of {file} failed ({type(problem).__name__}: {problem!s:.200}): either "
                "the inputs are not like those it was fitted on, or the file is damaged. Check the "
                "inputs, or save the model again."
            ) from problem

    return call


def _clearing_mark(fit: Callable) -> Callable:
    """Wrap `fit` so that the estimator is no longer marked as loaded from a file."""

    @wraps(fit)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        fitted = fit(self, *args, **keywords)
        vars(self).pop(MARK, None)
        return fitted

    return call


def _is_sentence(problem: BaseException) -> bool:
    """Return whether an error message was written for users, not by a numerical library."""
    if isinstance(problem, LocatedError) and problem.__cause__ is not None:
        return _is_sentence(problem.__cause__)
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


class NotSaved(ValueError, AttributeError):
    """Error for training data that was not saved with a model."""


class Reducible:
    """A part of a model that drops its training data when it is saved.

    Attributes
    ----------
    dropped
        The attributes that a file leaves out, each with a description for messages.
    """

    __slots__ = ()  # parts may have slots of their own
    dropped: ClassVar[dict[str, str]] = {}

    def without_training_data(self) -> Any:
        """Return a copy that has only what `predict` needs, which `mercer.save` writes."""
        bare = copy.copy(self)
        for name in (*self.dropped, "_skl_callbacks"):  # scikit-learn's callbacks of the fit
            bare.__dict__.pop(name, None)
        return bare

    if not TYPE_CHECKING:  # or every attribute would pass for one that exists

        def __getattr__(self, name: str) -> Any:
            """Raise the error for an attribute that a file leaves out."""
            if name in type(self).dropped and any(key.endswith("_") for key in self.__dict__):
                raise NotSaved(
                    f"{name} is not available: a saved {type(self).__name__} does without "
                    f"{self.dropped[name]}, which no prediction needs. Use the model before it "
                    "is saved, or fit it again."
                )
            return object.__getattribute__(self, name)  # says why: it may be a property's error
