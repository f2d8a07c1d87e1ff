"""Parts that are saved without what no prediction needs."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar


class NotSaved(ValueError, AttributeError):
    """What was asked for is training data that the file of a model leaves out."""


class Lean:
    """A part of a model that drops training data when it is saved, and says so when asked for it.

    Attributes
    ----------
    dropped
        The attributes that a file leaves out, each with what to call it.
    """

    __slots__ = ()  # parts may have slots of their own
    dropped: ClassVar[dict[str, str]] = {}

    def lean(self) -> Any:
        """A copy with what `predict` needs and no more: what `mercer.save` writes."""
        bare = copy.copy(self)
        for name in (*self.dropped, "_skl_callbacks"):  # scikit-learn's: who watched the fit
            bare.__dict__.pop(name, None)
        return bare

    if not TYPE_CHECKING:  # or every attribute would pass for one that exists

        def __getattr__(self, name: str) -> Any:
            """Only called for what is not there."""
            if name in type(self).dropped and any(key.endswith("_") for key in self.__dict__):
                raise NotSaved(
                    f"{name} is not there: a saved {type(self).__name__} does without "
                    f"{self.dropped[name]}, which no prediction needs. Ask the model before it "
                    "is saved, or fit it again."
                )
            return object.__getattribute__(self, name)  # says why: it may be a property's error
