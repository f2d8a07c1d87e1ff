from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from .base import Space, resolve


class Trees(Space):
    """Ordered labelled trees: bracketed strings or nested tuples, as the kernel reads them.

    Examples
    --------
    >>> from mercer.spaces import Trees
    >>> list(Trees().check(["(S (NP I) (VP run))"]))
    ['(S (NP I) (VP run))']
    """

    name = "trees"

    def key(self, item: Any) -> Hashable:
        """The text, without what blanks there are; nested tuples as they are."""
        if isinstance(item, str):
            return " ".join(item.replace("(", " ( ").replace(")", " ) ").split())
        return super().key(item)

    def kernel(self) -> Any:
        """Fragments in common, by cosine."""
        return resolve("kernels.Normalized")(resolve("kernels.SubsetTree")())
