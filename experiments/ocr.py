"""Table 2 (right) of the paper: handwritten words, and words that were never learnt from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from os import cpu_count
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from rich.progress import track

from mercer.datasets import load_ocr_words
from mercer.metrics import symbol_accuracy

from .reading import Way
from .report import Report
from .resources import peak_memory
from .ways import LITERAL, WAYS
from .word_pictures import draw_readings

PROCESSES = 2
METRIC = "characters right, %"
PUBLISHED = {
    "constrained regression, eta 0": 88.5,
    "covariance": 89.2,
    "conditional covariance": 91.8,
    "M3N": 87.0,
}
"""Kadri et al. 2013, who take the numbers of M3N and constrained regression from Cortes 2007."""
SETTINGS = {
    ("seen", "letters"): "letters alone",
    ("literal", "letters"): "letters alone, the paper's λ",
    ("seen", "words"): "words of the training fold",
    ("unseen", "letters"): "new words, letters alone",
    ("unseen", "words"): "new words, from a dictionary",
}
NOTES = [
    "Learnt from one fold of ten (some 690 words), tested on the other nine; ten times. All is "
    "chosen on the training fold.",
    "Words of the training fold: a closed vocabulary of 55 words, all of them in every training "
    "fold, of which those as long as the input are compared.",
    "New words: the 55 words are dealt to ten groups (seed 0); split i learns from the words of "
    "fold i that are not in group i and is tested on those of the other folds that are. The "
    "dictionary holds all 55.",
]


@dataclass(frozen=True)
class Split:
    """Training and test words, as indices; `kind` says how they are split.

    `kind` says whether the latter were "seen" before, or not ("unseen"), or that nothing is to be
    chosen ("literal").
    """

    kind: str
    fold: int
    train: np.ndarray
    test: np.ndarray

    @property
    def ways(self) -> dict[str, Way]:
        """The methods to compare on this split, by name."""
        return LITERAL if self.kind == "literal" else WAYS


@dataclass(frozen=True)
class Outcome:
    """The readings and the scores of one method on one split."""

    split: Split
    way: str
    right: dict[str, float]
    read: dict[str, np.ndarray]
    seconds: float
    chosen: str
    peak: float


load_cached = lru_cache(load_ocr_words)
"""For the processes that read: `run` itself looks whether the data are there."""


def splits(words: np.ndarray, folds: np.ndarray) -> Iterator[Split]:
    """Yield the ten folds of the file, and the same folds with test words that are new."""
    texts = np.unique(words)
    group = dict(zip(texts, np.random.default_rng(0).permutation(len(texts)) % 10, strict=True))
    test_group = np.array([group[word] for word in words])
    for kind, fold in product(("seen", "literal"), range(10)):
        yield Split(kind, fold, np.flatnonzero(folds == fold), np.flatnonzero(folds != fold))
    for fold in range(10):
        train, test = (folds == fold) & (test_group != fold), (folds != fold) & (test_group == fold)
        yield Split("unseen", fold, np.flatnonzero(train), np.flatnonzero(test))


def read_split(split: Split, way: str) -> Outcome:
    """Fit a method to the training words of a split, and return its readings and scores."""
    images, words, _ = load_cached()
    start = time.perf_counter()
    texts, unseen = words[split.train], split.kind == "unseen"
    reader = split.ways[way](images[split.train], texts, texts if unseen else None)
    read = reader.read(images[split.test], np.unique(words if unseen else texts))
    seconds = time.perf_counter() - start
    right = {kind: 100.0 * symbol_accuracy(words[split.test], r) for kind, r in read.items()}
    return Outcome(split, way, right, read, seconds, reader.chosen, peak_memory())


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report every method on every split; two processes work at a time."""
    images, words, folds = load_ocr_words()
    used_splits = list(splits(words, folds))
    if quick:
        used_splits = [_subsample(split) for split in used_splits[::10]]
    tasks = [(split, way) for split in used_splits for way in split.ways]
    jobs = 1 if quick else min(PROCESSES, cpu_count() or 1)
    with parallel_config("loky", inner_max_num_threads=1):
        results = Parallel(jobs, return_as="generator")(
            delayed(read_split)(*task) for task in tasks
        )
        bar = track(results, "reading", total=len(tasks), console=console, transient=True)
        outcomes = list(bar)
    first = {o.way: o for o in outcomes if o.split.kind == "seen" and o.split.fold == 0}
    names = draw_readings(folder / "ocr.png", images, words, used_splits[0].test, first)
    report = _make_report(outcomes)
    report.captions["ocr.png"] = names
    return report


def _subsample(split: Split) -> Split:
    """Return a split with a part of the words, for quick runs."""
    step = max(1, len(split.test) // 80)
    return Split(split.kind, split.fold, split.train[::6], split.test[::step])


def _make_report(outcomes: list[Outcome]) -> Report:
    """Return the report of all outcomes, with published values."""
    report = Report("ocr", title="Handwritten words (Table 2, right)", wide=True)
    for (kind, decoding), setting in SETTINGS.items():
        for way in WAYS:
            ours = [o for o in outcomes if (o.way, o.split.kind) == (way, kind)]
            scores = [o.right[decoding] for o in ours if decoding in o.right]
            if scores:
                published = PUBLISHED.get(way) if kind != "unseen" else None
                seconds = sum(o.seconds for o in ours) if decoding == "letters" else None
                report.add(
                    way, setting, METRIC, published=published, seconds=seconds, scores=scores
                )
    for o in outcomes:
        if o.split.fold == 0:
            report.settings[f"{o.way}, {o.split.kind}, fold 0"] = " ".join(o.chosen.split())
    peak = max(o.peak for o in outcomes)
    report.notes += [*NOTES, f"At most {peak:.1f} GiB of memory a process, {PROCESSES} of them."]
    return report
