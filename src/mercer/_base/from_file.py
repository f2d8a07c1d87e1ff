"""Loaded models: data that files leave out, and errors that name the file of a model.

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
    "confidence", "covers", "diagnose", "embed", "evaluate", "explain", "label_probabilities",
    "link_scores", "positions", "potentials", "predict", "predict_proba", "predict_set",
    "predict_top", "rank_inputs", "score", "sizes", "variance",
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


def guarded(method: Callable) -> Callable:
    """Wrap a method so that its errors name the file that the estimator was loaded from."""

    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        """Call the method; raise `DamagedModel` for an error of a numerical library."""
        file = vars(self).get(MARK)
        if file is None:
            return method(self, *args, **keywords)
        try:
            found = method(self, *args, **keywords)
            if isinstance(found, FromFile):  # points, whose variances are computed later
                vars(found)[MARK] = file
            return found
        except Exception as error:
            if _is_user_message(error):
                raise
            raise DamagedModel(
                f"the model of {file} failed ({type(error).__name__}: {error!s:.200}): either "
                "the inputs are not like those it was fitted on, or the file is damaged. Check the "
                "inputs, or save the model again."
            ) from error

    return call


def _is_user_message(error: BaseException) -> bool:
    """Return whether an error has a message for users, not one of a numerical library."""
    if isinstance(error, LocatedError) and error.__cause__ is not None:
        return _is_user_message(error.__cause__)
    if isinstance(error, DamagedModel | MemoryError | Warning):
        return True
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None or not isinstance(error, ValueError | TypeError | ImportError):
        return False
    code, package = trace.tb_frame.f_code, trace.tb_frame.f_globals.get("__name__", "")
    raised = dis.opname[code.co_code[trace.tb_lasti]] == "RAISE_VARARGS"
    return raised and package.split(".")[0] not in FOREIGN


class NotSaved(ValueError, AttributeError):
    """Error for training data that was not saved with a model."""


class Reducible:
    """Mix-in for parts of a model whose training data is not saved in files.

    Attributes
    ----------
    dropped
        The attributes that a file leaves out, each with a description for messages.
    """

    __slots__ = ()  # parts may have slots of their own
    dropped: ClassVar[dict[str, str]] = {}

    def without_training_data(self) -> Any:
        """Return a copy with only the attributes that `predict` needs; `mercer.save` writes it."""
        reduced = copy.copy(self)
        for name in (*self.dropped, "_skl_callbacks"):  # scikit-learn's callbacks of the fit
            reduced.__dict__.pop(name, None)
        return reduced

    if not TYPE_CHECKING:  # or every attribute would pass for one that exists

        def __getattr__(self, name: str) -> Any:
            """Raise the error for an attribute that a file leaves out."""
            if name in type(self).dropped and any(key.endswith("_") for key in self.__dict__):
                raise NotSaved(
                    f"a saved model does without {self.dropped[name]}, which this needs but no "
                    "prediction does. Use the model before it is saved, or fit it again."
                )
            try:
                return object.__getattribute__(self, name)  # it may be a property's error
            except AttributeError as error:
                if isinstance(error.__cause__, AttributeError):
                    raise error.__cause__ from None  # the reason why scikit-learn hides a method
                raise
