"""Fits give what they gave when they were recorded, by whatever route they go."""

import json
from pathlib import Path

import numpy as np
import pytest

from reference.cases import CASES

RECORDS = json.loads(Path(__file__).with_name("records.json").read_text())
AGREE = 1e-8
"""Of the largest entry."""


def test_every_fit_is_recorded():
    assert list(RECORDS) == list(CASES)


@pytest.mark.parametrize("name", RECORDS)
def test_as_recorded(name):
    found = CASES[name]()
    assert list(found) == list(RECORDS[name])
    for part, wanted in RECORDS[name].items():
        wanted, got = np.asarray(wanted), np.asarray(found[part])
        assert got.shape == wanted.shape, part
        if wanted.dtype.kind == "U":
            assert got.tolist() == wanted.tolist(), part
            continue
        error = np.abs(got - wanted).max() / np.abs(wanted).max()
        assert error <= AGREE, f"{part}: off by {error:.1e} of the largest entry"
