"""What do settings of SequenceTransducer reach on words that are neither training nor test words?

    python benchmarks/transducer_settings.py --jobs 16 --out DIR

Each line is a setting of one task (CMUdict without and with stress, Arabic names, inflection at
3,000 pairs): exact matches on further pairs, on those that `python -m experiments` tests on, and
the seconds of the fit on one core.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config

from mercer import SequenceTransducer
from mercer.datasets import load_cmudict, load_inflection, load_transliteration
from mercer.kernels import LocalWindow
from mercer.metrics import character_error_rate, exact_match

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "alpha 0.7": {"alpha": 0.7},
    "alpha 3": {"alpha": 3.0},
    "max_chunk 2": {"max_chunk": 2},
    "radius 5": {"kernel": LocalWindow(5)},
    "radius 6, decay 0.6": {"kernel": LocalWindow(6, 0.6)},
    "decay 0.3": {"kernel": LocalWindow(decay=0.3)},
    "decay 0.7": {"kernel": LocalWindow(decay=0.7)},
    "beam 24": {"beam": 24},
    "folds 10": {"folds": 10},
}


def words(stress: bool) -> tuple[np.ndarray, ...]:
    """5,000 training words, 6,000 further words, and the test words."""
    X, y = load_cmudict(stress=stress)
    drawn = np.random.default_rng(0).permutation(len(X))
    rows = drawn[2000:7000], drawn[60_000:66_000], drawn[:2000]
    return tuple(part[r] for r in rows for part in (X, y))


def names() -> tuple[np.ndarray, ...]:
    """5,000 training names, 3,000 further names, and the test names."""
    X, y, X_test, y_test = load_transliteration()
    drawn = np.random.default_rng(0).permutation(len(X))
    return (
        X[drawn[:5000]],
        y[drawn[:5000]],
        X[drawn[5000:8000]],
        y[drawn[5000:8000]],
        X_test,
        y_test,
    )


def forms(language: str) -> tuple[np.ndarray, ...]:
    """Lemmas with their tags: 3,000 training pairs, 3,000 further ones, and dev."""
    few = [load_inflection(language, part) for part in ("train", "dev")]
    (X, tags, y), (X_test, tags_test, y_test) = few
    drawn = np.random.default_rng(0).permutation(len(X))
    train, more = drawn[:3000], drawn[3000:6000]
    context = tags[train], tags[more], tags_test
    return X[train], y[train], X[more], y[more], X_test, y_test, *context


TASKS: dict[str, Callable[[], tuple[np.ndarray, ...]]] = {
    "words": lambda: words(False),
    "words with stress": lambda: words(True),
    "names": names,
    "german": lambda: forms("german"),
    "turkish": lambda: forms("turkish"),
}


def measured(task: str, setting: str, quick: bool) -> dict[str, Any]:
    """One fit, and how often it is right."""
    parts = [part[:300] if quick else part for part in TASKS[task]()]
    X, y, X_more, y_more, X_test, y_test = parts[:6]
    known, known_more, known_test = parts[6:] or [None] * 3
    start = time.perf_counter()
    model = SequenceTransducer(unalignable="skip", **SETTINGS[setting]).fit(X, y, context=known)
    seconds = time.perf_counter() - start
    more = model.predict(X_more, context=known_more)
    test = model.predict(X_test, context=known_test)
    return {
        "task": task,
        "setting": setting,
        "seconds": seconds,
        "more": exact_match(y_more, more),
        "more_errors": character_error_rate(y_more, more),
        "test": exact_match(y_test, test),
        "test_errors": character_error_rate(y_test, test),
        "chosen": [model.temperature_, model.lm_weight_, model.joint_weight_],
        "left_out": model.left_out_accuracy_,
    }


def main() -> None:
    """Print the table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("out"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--tasks", nargs="*", default=list(TASKS))
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    given = parser.parse_args()
    pairs = [(task, setting) for setting in given.settings for task in given.tasks]
    pairs.sort(key=lambda pair: pair[1] != "chosen")  # the longest first
    found = []
    given.out.mkdir(parents=True, exist_ok=True)
    tasks = [delayed(measured)(*pair, given.quick) for pair in pairs]
    with parallel_config("loky", inner_max_num_threads=1):
        rows = Parallel(given.jobs, return_as="generator_unordered")(tasks)
    for row in rows:
        found.append(row)
        print(
            f"{row['task']:18} {row['setting']:22} {row['seconds']:6.0f} s  more {row['more']:.4f} "
            f"({row['more_errors']:.4f})  test {row['test']:.4f} ({row['test_errors']:.4f})",
            flush=True,
        )
        (given.out / "transducer_settings.json").write_text(json.dumps(found, default=str))


if __name__ == "__main__":
    main()
