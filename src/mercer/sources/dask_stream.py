"""Pairs on a cluster: Dask loads the blocks and reduces functions over them there."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .._base.errors import require
from ..kernels import Kernel
from .base import Source
from .blocks import BadBlock, Expected, number_of_pairs
from .dask_blocks import (
    block_loaders,
    delayed_blocks,
    delayed_parts,
    is_dask_array,
    merge_tree,
    named_task,
    shared_node,
    zip_blocks,
)
from .stream import is_dask


class DaskStream(Source):
    """Pairs in the blocks of Dask collections.

    Only a sample of the pairs and the sum of the moments ever reach the client. A block is loaded
    by its own task wherever it is needed, so that what a lost worker held is made again.

    Parameters
    ----------
    X : Dask array, bag or list of delayed blocks
        A Dask array (with `y` another one), a bag of pairs or two bags, a list of delayed blocks
        (X, y) or (X, y, weights), or two lists.
    y : Dask collection, default=None
        The outputs, if `X` has only the inputs.
    sample_weight : array or Dask collection, default=None
        One number for each pair: an array, or a Dask collection in the blocks of `X`.
    sample, random_state, precision : as in `Stream`
        As in `Stream`.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from mercer.sources import DaskStream
    >>> from mercer import KernelDependency
    >>> from mercer.features import IncompleteCholesky
    >>> X = da.from_array(np.linspace(0, 1, 40)[:, None], chunks=(10, 1))
    >>> model = KernelDependency("rbf", features=IncompleteCholesky(5)).fit(DaskStream(X, X))
    >>> model.predict(np.array([[0.5]])).shape
    (1, 1)
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        sample: int | None = None,
        random_state: int = 0,
        precision: str = "float64",
    ):
        require("dask", "dask")
        super().__init__(sample, random_state, precision)
        self.blocks, self.lengths = delayed_blocks(X, y)
        if sample_weight is not None:
            self._add_weights(sample_weight)

    def weighted(self, weights: Any) -> DaskStream:
        """Return a stream of the same pairs with one sample weight for each pair."""
        other = copy.copy(self)
        other._add_weights(weights)
        return other

    def _add_weights(self, weights: Any) -> None:
        """Add the sample weights to each block, in place, as a third part."""
        from dask import delayed

        if is_dask_array(weights) and self.lengths is not None:
            weights = weights.rechunk((tuple(self.lengths),))
        if is_dask(weights):
            cut = delayed_parts(weights)
        else:
            lengths = self._lengths()
            if len(weights) != sum(lengths):
                raise ValueError(
                    f"sample_weight has {len(weights)} numbers for {sum(lengths)} pairs: give one "
                    "for each pair."
                )
            cut = np.split(np.asarray(weights), np.cumsum(lengths)[:-1])
        weigh = delayed(_with_weights, pure=False)
        self.blocks = [weigh(block, w) for block, w in zip_blocks(self.blocks, cut)]

    def expected(self, kernels: tuple[Kernel, ...], output_kernel: Kernel) -> Expected:
        """Return the kernels with the shape and dtype of the first block, which all must have."""
        look = partial(Expected.of, kernels, output_kernel)
        return self._compute(named_task("look", 0, look, self.blocks[0]))

    def map_reduce(self, step: Callable, merge: Callable, resumable: Any = None) -> Any:
        """Merge `step(number, start, block)` over all blocks on the cluster."""
        lengths = self._lengths()
        starts = np.cumsum([0, *lengths])
        name = step.func.__name__ if isinstance(step, partial) else step.__name__
        what = shared_node(step)
        tasks = [
            named_task(
                name,
                number,
                _checked_step,
                what,
                number,
                int(starts[number]),
                lengths[number],
                block,
            )
            for number, block in enumerate(self.blocks)
        ]
        return self._compute(merge_tree(tasks, merge))

    def _lengths(self) -> list[int]:
        """Return the number of pairs in each block, counted on the cluster if unknown."""
        if self.lengths is None:
            tasks = [
                named_task("count", i, number_of_pairs, block)
                for i, block in enumerate(self.blocks)
            ]
            self.lengths = list(self._compute(tasks))
        self.pairs = sum(self.lengths)
        return self.lengths

    def _compute(self, what: Any) -> Any:
        """Compute a delayed object; if a block fails to load, raise an error with its number."""
        import dask

        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")
                return dask.compute(what)[0]
        except BadBlock:
            raise
        except Exception as error:
            self._raise_bad_block(error)
            raise

    def _raise_bad_block(self, error: Exception) -> None:
        """Load the blocks one by one, and raise an error for the first that fails."""
        if type(error).__name__ == "KilledWorker":
            return  # it would kill others; the error has the name of the task, with its block
        for number, load in enumerate(block_loaders(self.blocks)):
            try:
                load()
            except Exception as problem:
                raise BadBlock(
                    f"block {number} of the stream could not be loaded: "
                    f"{type(problem).__name__}: {problem}"
                ) from error


# -- what the workers do ----------------------------------------------------------------------


def _with_weights(block: tuple, weights: Any) -> tuple:
    """Return the block (X, y) with weights as a third part."""
    return (*block, weights)


def _checked_step(step: Callable, number: int, start: int, pairs: int, block: Any) -> Any:
    """Return `step(number, start, block)`; raise an error if the block has not `pairs` pairs."""
    if number_of_pairs(block) != pairs:
        raise BadBlock(
            f"block {number} of the stream had {pairs} pairs when it was first read and "
            f"{number_of_pairs(block)} when read again: give blocks that stay."
        )
    return step(number, start, block)
