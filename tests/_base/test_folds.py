"""Folds keep groups together, and are the same at every call."""

import numpy as np
import pytest

from mercer._base.folds import fold_numbers, fold_rows

GROUPS = np.repeat(np.arange(8), 5)


def test_groups_stay_together():
    folds = fold_numbers(GROUPS, 5)
    assert len(np.unique(folds)) == 5
    assert all(len(set(folds[group == GROUPS])) == 1 for group in range(8))


def test_there_are_no_more_folds_than_groups():
    assert len(np.unique(fold_numbers(np.array([0, 0, 1]), 5))) == 2


def test_draws_repeat_unless_a_generator_is_given():
    assert (fold_numbers(GROUPS, 4) == fold_numbers(GROUPS, 4)).all()
    random = np.random.RandomState(0)
    draws = [tuple(fold_numbers(GROUPS, 4, random)) for _ in range(5)]
    assert len(set(draws)) > 1


def test_every_row_is_left_out_once():
    rows = list(fold_rows(fold_numbers(GROUPS, 3)))
    assert sorted(np.concatenate([out for _, out in rows])) == list(range(len(GROUPS)))
    assert all(len(seen) + len(out) == len(GROUPS) for seen, out in rows)


@pytest.mark.parametrize("number", [0, 1, 2.5])
def test_one_fold_leaves_nothing_to_learn_from(number):
    with pytest.raises(ValueError, match="cv must be an integer ≥ 2"):
        fold_numbers(GROUPS, number)
