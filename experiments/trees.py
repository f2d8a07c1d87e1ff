"""Parse trees of infix expressions, made and not chosen: no test tree was seen, none is listed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from mercer import KernelDependency
from mercer.decoders import Candidates, TreeChart
from mercer.kernels import Normalized, Productions, Spectrum

from .report import Report

LEVELS = ("+-", "*/", "^")
"""Operators by precedence; the last binds to the right."""
LETTERS = "abcdexyz"
SEEDS = 3


def random_expression(rng: np.random.Generator, depth: int, level: int = 0) -> Any:
    """Return the parse tree of a random expression; all inner nodes are called E."""
    if level == len(LEVELS) or depth == 0:
        if depth > 0 and rng.random() < 0.4:
            return ("E", "(", random_expression(rng, depth - 1), ")")
        return ("E", str(rng.choice(list(LETTERS))))
    parts = [random_expression(rng, depth - 1, level + 1)]
    while rng.random() < 0.5:
        parts.append(random_expression(rng, depth - 1, level + 1))
    to_the_right = level == len(LEVELS) - 1
    tree, *rest = parts[::-1] if to_the_right else parts
    for part in rest:
        operator = str(rng.choice(list(LEVELS[level])))
        tree = ("E", part, operator, tree) if to_the_right else ("E", tree, operator, part)
    return tree


def spell_tree(tree: Any) -> str:
    """Return the leaves of a tree joined to a text."""
    return tree if isinstance(tree, str) else "".join(map(spell_tree, tree[1:]))


def random_expressions(n: int, seed: int) -> tuple[list[str], list[Any]]:
    """Return distinct random expressions of 3 to 30 symbols, and their trees."""
    rng, trees = np.random.default_rng(seed), dict[str, Any]()
    while len(trees) < n:
        tree = random_expression(rng, 5)
        text = spell_tree(tree)
        if 3 <= len(text) <= 30:
            trees.setdefault(text, tree)
    return list(trees), list(trees.values())


def run(folder: Path, console: Any, quick: bool = False) -> Report:
    """Report the fraction of new expressions whose tree is predicted exactly."""
    train, test, seeds = (60, 20, 1) if quick else (400, 300, SEEDS)
    report = Report("trees")
    setting = f"{train} training and {test} new expressions, {seeds} draws"
    hits: dict[str, list[float]] = {}
    start = time.perf_counter()
    for seed in range(seeds):
        X, y = random_expressions(train + test, seed)
        for name, decoder in (("chart", TreeChart()), ("training trees", Candidates())):
            kernel = Normalized(Spectrum(3, blended=True))
            model = KernelDependency(kernel, Productions(), alpha=0.1, decoder=decoder)
            predicted = model.fit(X[:train], y[:train]).predict(X[train:])
            right = [a == b for a, b in zip(predicted, y[train:], strict=True)]
            hits.setdefault(name, []).append(float(np.mean(right)))
    seconds = time.perf_counter() - start
    for name, values in hits.items():
        took = seconds if name == "chart" else None
        report.add(
            name,
            setting,
            "exact match",
            float(np.mean(values)),
            float(np.std(values)),
            seconds=took,
        )
    report.notes.append(
        "Expressions of 3 to 30 symbols with three levels of precedence, two directions of binding "
        "and brackets; every inner node is called E, so that the grammar alone allows many trees. "
        "No new expression is one of the training expressions."
    )
    return report
