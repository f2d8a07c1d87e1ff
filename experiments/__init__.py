"""Tables of results from the data, next to published numbers: ``python -m experiments NAME``.

This package is part of the repository, not of the wheel: it may import anything of mercer, and
mercer imports nothing of it. An experiment is a module with
``run(folder, console, quick=False) -> Report``: it writes its pictures into `folder`, shows
progress on the rich `console`, and is small and fast when `quick`.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from .folder import output_folder
from .report import Report
from .resources import measure_resources

EXPERIMENTS = {
    "auto": "AutoDependency in one line next to what a scikit-learn user would try, on 19 sets",
    "bibtex": "sets of tags from the words of a text, in the given split",
    "burgers": "Burgers' equation on a circle, with and without its symmetry under shifts",
    "cmudict": "how English words are said, from 5,000 to 50,000 of them, stress left out and kept",
    "guarantees": "whether prediction sets hold the truth as often as they state (simulated)",
    "coverage": "how often prediction sets hold the truth, and how large they are",
    "darcy": "Darcy's equation: whole-field, local and shared kernels",
    "ellipsoids": "how large ellipsoids are next to balls, boxes and MAPIE's multivariate scores",
    "widths": "how wide bands are that adapt to places and inputs, at equal coverage",
    "risk": "expected losses that prediction sets are asked to bound, over 200 splits",
    "densities": "log densities and CRPS of the posterior next to scikit-learn's Gaussian process",
    "digits": "lower halves of scikit-learn's digits from the upper halves, by one line",
    "graphs": "molecular graphs from SMILES strings and from fingerprints, made by a search",
    "massbank": "molecules from mass spectra, among the candidates of the same formula",
    "qm9": "molecules as labelled graphs from counts of atoms, bonds and rings",
    "emotions": "sets of moods from the sound of a song, in the given split",
    "faces": "Table 3 and Figure 2 of the paper: turned faces to the front, people kept apart",
    "label_ranking": "seven label ranking sets, ten folds, ridge on the Kendall embedding",
    "operators": "operator learning: five simulated equations in the published settings",
    "records": "targets with missing values, and targets of different kinds in one model",
    "dti": "one tract of the brain from another, curves with several scans a subject",
    "ocr": "Table 2 (right) of the paper: handwritten words, seen and new",
    "transliteration": "Arabic names in Latin letters, string to string",
    "trees": "parse trees of infix expressions, made by a chart: new trees, no candidates",
    "usps": "Table 2 (left) of the paper: lower halves of USPS digits",
    "weather": "precipitation curves from temperature curves at 35 Canadian stations",
}
"""One line for each experiment; the key is the name of its module."""

QUICK = "A quick version, on a part of the data: for a first look, not for results."


def reproduce(name: str, out: Path, console: Any, quick: bool = False, **options: Any) -> Report:
    """Run the experiment `name`, and write its results to the folder `out`/`name`.

    Further `options` go to the experiment's `run` where it has such parameters.
    """
    module = import_module(f"{__name__}.{name}")
    known = signature(module.run).parameters
    options = {option: value for option, value in options.items() if option in known}
    with output_folder(out, name) as folder:
        with measure_resources() as usage:
            report: Report = module.run(folder, console, quick=quick, **options)
        report.seconds, report.peak = usage.seconds, usage.peak
        report.title = report.title or f"{name}: {EXPERIMENTS[name]}"
        report.notes += [QUICK] if quick else []
        report.save(folder)
    return report
