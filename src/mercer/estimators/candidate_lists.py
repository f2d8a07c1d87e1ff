"""Ranking of candidate lists by models that leave out the candidates they were trained on."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sized
from typing import Any

import numpy as np
import pandas as pd

from .._base.arrays import Items, blocks, count, has_columns, host, table_rows, take
from .._base.errors import NotSupported, warn
from ..decoders import Candidates
from ..decoders.base import Ranked
from ..decoders.own_candidates import CANDIDATES_AT_ONCE, CandidateLists
from ..embedding import Embedding
from ..kernels import Kernel
from ..spaces import Rows

DISTINCT_CANDIDATES, LISTED_CANDIDATES = 2**14, 2**20
"""The largest numbers of distinct candidates and of all candidates in a batch of lists."""

RELEASED = (
    "leaving examples out needs the training data, which this model has released, as saved models "
    "have. Predict with the model that was fitted."
)


def ranked_lists(
    model: Any, X: Items, candidates: Iterable[Items], k: int, leave_out: bool | None
) -> Iterator[Ranked]:
    """Yield for each input the best `k` outputs of its own candidate list, with their scores.

    Parameters
    ----------
    model
        A fitted estimator.
    X
        The inputs.
    candidates
        A list for each input, or an iterator of such lists.
    k
        How many candidates are returned.
    leave_out
        Whether training examples whose outputs are in a list are left out when it is ranked. None
        leaves them out of lists that also hold other outputs, with a warning.
    """
    exclusion = _Exclusion(model, leave_out)
    n = count(X)
    lists, start = _checked_lists(candidates, n, "input"), 0
    for points in model._points_in_batches(X):
        stop = start + len(points)
        for batch in _batches(lists, stop - start, model.output_kernel_):
            rows = np.arange(start, start + len(batch))
            found = CandidateLists(model.output_kernel_, batch, start)
            part, sets = points[rows - (stop - len(points))], exclusion.examples_in(found)
            yield from found.rank(exclusion.points_without(part, X, rows, sets), k)
            start += len(batch)
    next(lists, None)  # refuses lists beyond the last input
    exclusion.warn_of_exclusions(n)


def ranked_inputs(
    model: Any, Y: Items, candidates: Iterable[Items], k: int, leave_out: bool | None
) -> Iterator[Ranked]:
    """Yield for each output y the `k` nearest inputs of its list, scored by -‖g(x) - Φ(y)‖².

    Parameters are those of `ranked_lists`, with outputs and lists of inputs.
    """
    exclusion = _Exclusion(model, leave_out, "input")
    Y = model.output_kernel_.as_outputs(Y)
    lists, start = _checked_lists(candidates, count(Y), "output"), 0
    names: list[Any] = []  # of the inputs, if a list is a table with their names

    def checked() -> Iterator[Items]:
        """Yield the lists, after checking the column names of tables of vectors."""
        for row in lists:
            if has_columns(row) and "feature_names_in_" in vars(model):
                model._check_inputs(model.input_kernel_, row, reset=False)
                names[:] = model.feature_names_in_
            yield row

    for batch in _batches(checked(), count(Y), model.input_kernel_):
        found = CandidateLists(model.input_kernel_, batch, start)
        owners, sets = np.repeat(np.arange(len(batch)), found.lengths), exclusion.examples_in(found)
        scores = np.empty(len(owners))
        for some in blocks(len(owners), CANDIDATES_AT_ONCE):
            X, own = take(found.pool, found.positions[some]), owners[some]
            out = [sets[t] for t in own] if sets else []
            X = pd.DataFrame(X, columns=names) if names else X
            points = exclusion.points_without(model.embed(X), X, np.arange(len(own)), out)
            scores[some] = -host(points.sqdistances_to(take(Y, start + own)))
        for end, size in zip(found.ends, found.lengths, strict=True):
            best = end - size + np.argsort(-scores[end - size : end], kind="stable")[:k]
            yield [(found.pool[found.positions[j]], float(scores[j])) for j in best]
        start += len(batch)
    next(lists, None)
    exclusion.warn_of_exclusions(count(Y))


def _checked_lists(candidates: Iterable[Items], n: int, kind: str) -> Iterator[Items]:
    """Yield candidate lists one by one; raise an error unless there are n, one for each `kind`."""
    if not isinstance(candidates, Iterable):
        raise TypeError(
            f"candidates must hold one list for each of the {n} {kind}s, got {candidates!r:.40}."
        )
    got: Any = len(candidates) if isinstance(candidates, Sized) else n
    if got == n:
        got = 0
        for row in candidates:
            got += 1
            if got > n:
                got = "more"
                break
            yield row
    if got != n:
        raise ValueError(f"candidates must hold one list for each of the {n} {kind}s, got {got}.")


def _batches(lists: Iterator[Items], n: int, kernel: Kernel) -> Iterator[list[Items]]:
    """Yield the next n candidate lists of items of a kernel, in batches of limited size."""
    batch: list[Items] = []
    seen: set[int] = set()
    entries = 0
    for _ in range(n):
        row = next(lists)
        if has_columns(row):
            by_name = isinstance(kernel.space, Rows)  # whose items are dictionaries
            row = kernel.space.check(row, "candidates") if by_name else table_rows(row)
        if isinstance(row, Iterable) and not isinstance(row, str | bytes | dict):
            row = [*row]
        batch.append(row)
        if isinstance(row, list):
            seen.update(map(id, row))
            entries += len(row)
        if len(seen) >= DISTINCT_CANDIDATES or entries >= LISTED_CANDIDATES:
            yield batch
            batch, seen, entries = [], set(), 0
    if batch:
        yield batch


def _training_items(model: Any, kind: str) -> Items:
    """Return the training items of a model, "input" or "output"; [] if they were released.

    A saved model may have outputs in its decoder.
    """
    if kind == "input":
        fitted = vars(model).get("fitted_")
        return [] if fitted is None else fitted.problem.inputs.items
    if "outputs_" in vars(model):
        return model.outputs_
    decoder = vars(model).get("decoder_")
    chosen_from = isinstance(decoder, Candidates) and decoder.candidates is None
    return decoder.outputs_ if chosen_from else []


class _Exclusion:
    """Predictions without the training examples that are among the candidates.

    Parameters
    ----------
    model
        A fitted estimator.
    leave_out
        As in `ranked_lists`.
    kind
        Whether candidates are compared with the training items on the "output" or "input" side.
    """

    def __init__(self, model: Any, leave_out: bool | None, kind: str = "output"):
        self.model, self.leave_out, self.kind = model, leave_out, kind
        self.fitted = vars(model).get("fitted_")
        self.rows: dict[Hashable, list[int]] = {}
        if leave_out is False:
            return
        if leave_out and self.fitted is None:
            raise ValueError(f"leave_out_candidates=True is not possible: {RELEASED}")
        kernel = model.output_kernel_ if kind == "output" else model.input_kernel_
        keys = kernel.space.keys(_training_items(model, kind))
        for i, key in enumerate(keys):
            self.rows.setdefault(key, []).append(i)
        self.n, self.left_out, self.mixed_lists = len(keys), False, 0
        self.refusal = ""

    def points_without(
        self, points: Embedding, X: Items, rows: np.ndarray, sets: list[np.ndarray]
    ) -> Embedding:
        """Return `points` at X[rows], point i predicted without the training examples `sets[i]`."""
        if not any(map(len, sets)):
            return points
        checked = self.model._check_inputs(self.model.input_kernel_, X, reset=False)
        try:
            if self.fitted is None:
                gone = "outputs_" not in vars(self.model)
                raise NotSupported(RELEASED if gone else "this model has no closed form for that.")
            found = self.fitted.predictor_without()(take(checked, rows), sets)
        except NotSupported as problem:
            if self.leave_out:
                raise
            self.refusal = str(problem)
            return points
        self.left_out = True
        return found

    def examples_in(self, lists: CandidateLists) -> list[np.ndarray]:
        """Return for each candidate list the indices of the training examples to be left out.

        The result is empty if no list leaves examples out, because the user passed False. By
        default a list with training examples only leaves none out; other lists are counted.
        """
        if self.leave_out is False:
            return []
        trained = {
            number: self.rows[key] for key, number in lists.first.items() if key in self.rows
        }
        sets = []
        for t, own in enumerate(lists.distinct):
            known = [trained[number] for number in own if number in trained]
            every = len(known) == len(own)
            out = np.sort(np.array([i for rows in known for i in rows], dtype=np.intp))
            if self.leave_out and len(out) == self.n:
                raise ValueError(
                    f"candidate list {t} holds every training {self.kind}: leaving them out leaves "
                    "nothing to learn from. Use leave_out_candidates=False."
                )
            sets.append(out if self.leave_out or not every else out[:0])
        self.mixed_lists += sum(len(own) > 0 for own in sets)
        return sets

    def warn_of_exclusions(self, n: int) -> None:
        """Warn of training examples that were left out by default, or that could not be."""
        if self.leave_out is not None or not self.mixed_lists:
            return
        mixed = f"{self.mixed_lists} of {n} candidate lists mix training {self.kind}s with others"
        if self.left_out:
            text = (
                f"{mixed}: their examples were left out of the model that ranks the list, because "
                f"a training {self.kind} votes for itself. leave_out_candidates=True says that "
                "this is meant, False ranks by the whole model."
            )
        else:
            text = (
                f"{mixed} and were ranked by the whole model, in which a training {self.kind} "
                f"votes for itself: {self.refusal} leave_out_candidates=False says that this is "
                "meant."
            )
        warn(text)
