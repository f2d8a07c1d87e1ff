"""How English words are said: letters to phones by `SequenceTransducer`, at growing sizes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer import SequenceTransducer
from mercer.datasets import load_cmudict
from mercer.metrics import character_error_rate, exact_match

from .report import Report
from .resources import peak_memory
from .string_baselines import NEAREST, predict_by_nearest

TEST = 2000
SIZES = (5000, 12_000, 50_000)
SEED = 0


def train_and_test_words(n: int, size: int, test: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random indices of training and test words; the test words are always the same."""
    drawn = np.random.default_rng(SEED).permutation(n)
    return drawn[test : test + size], drawn[:test]


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report accuracy, phone errors and time on words that are drawn with seed 0."""
    sizes, test = ((500,), 200) if quick else (SIZES, TEST)
    report, times = Report("cmudict"), []
    for stress in (False, True):
        words, phones = load_cmudict(stress=stress)
        for size in sizes[: 1 if stress else None]:
            train, held = train_and_test_words(len(words), size, test)
            with console.status(f"learning from {size} words"):
                times.append(_fit_and_report(report, stress, words, phones, train, held))
    report.notes.append(
        f"First pronunciations; {test} test words and the training words drawn with seed {SEED}; "
        f"default parameters, temperature and n-gram weight by left-out training words. Seconds "
        f"are those of the fit, everything included; peak memory {peak_memory():.1f} GiB."
    )
    if len(sizes) > 1:
        power = np.log(times[len(sizes) - 1] / times[0]) / np.log(sizes[-1] / sizes[0])
        report.notes.append(f"From the smallest to the largest size time grows as n^{power:.2f}.")
    return report


def _fit_and_report(
    report: Report, stress: bool, words: np.ndarray, phones: np.ndarray, train: np.ndarray,
    held: np.ndarray,
) -> float:  # fmt: skip
    """Fit a transducer and a baseline, add their rows to the report; return the seconds."""
    start = time.perf_counter()
    model = SequenceTransducer(unalignable="skip").fit(words[train], phones[train])
    seconds = time.perf_counter() - start
    predicted = model.predict(words[held])
    setting = f"{len(train)} words, {'69 phones with stress' if stress else '39 phones'}"
    accuracy = exact_match(phones[held], predicted)
    report.add("aligned chunks", setting, "word accuracy", accuracy, seconds=seconds)
    errors = character_error_rate(phones[held], predicted)
    report.add("aligned chunks", setting, "phone error rate", errors)
    near = predict_by_nearest(words[train], phones[train], words[held])
    report.add(NEAREST, setting, "word accuracy", exact_match(phones[held], near))
    report.add(NEAREST, setting, "phone error rate", character_error_rate(phones[held], near))
    return seconds
