"""Parts of a model whose training data is not saved in files."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar


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
