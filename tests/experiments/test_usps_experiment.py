"""Table 2 (left): its rows, its tie rule, and the answers that need no model."""

import numpy as np
import pytest
from rich.console import Console

from experiments import floors, halves, usps
from mercer.datasets import DataNotFound
from naive import rbf


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("usps")
    try:
        report = usps.run(folder, Console(quiet=True), quick=True)
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert (folder / "usps.png").stat().st_size > 10_000
    return report


def test_every_variant_has_its_columns(report):
    settings = {
        usps.LITERAL,
        usps.COMMON,
        "leave-one-out, candidates",
        "leave-one-out, fixed point",
    }
    for name in (
        "identity",
        "covariance",
        "conditional covariance",
        "Weston 3",
        "Weston 3 centred",
    ):
        assert {row.setting for row in report.rows if row.method == name} == settings
    assert {"nearest neighbour", "best training output in hindsight"} <= {
        row.method for row in report.rows
    }


def test_published_losses_stand_beside_ours(report):
    found = {row.method: row.published for row in report.rows if row.published is not None}
    assert found == {
        "identity": 0.9247,
        "covariance": 0.7550,
        "conditional covariance": 0.6276,
        "Weston 3 centred": 0.8145,
    }


def test_three_operators_are_as_good_as_demanded(report):
    for row in report.rows:
        if row.method in {method.name for method in halves.OPERATORS}:
            bound = {"leave-one-out, candidates": 0.355, "leave-one-out, fixed point": 0.250}
            assert row.mean <= bound.get(row.setting, np.inf)


def test_differences_are_within_one_loss(report):
    """Losses of different length scales are not compared."""
    assert usps.LITERAL not in {d.setting for d in report.differences()}
    assert {d.metric for d in report.differences()} == {"rbf loss"}


@pytest.mark.parametrize("method", halves.OPERATORS[:2], ids=lambda m: m.name)
def test_of_equal_scores_the_first_training_output_wins(method, rng):
    """Where the input kernel underflows the answer is a constant, and always the same one."""
    Y = rng.normal(size=(6, 4))
    X = 1e3 * rng.normal(size=(6, 2))
    predicted = usps.model_at_paper_parameters(method).fit(X, Y).predict(X + 500.0)
    assert (predicted == Y[0]).all()


def test_floors_equal_loops(rng):
    X, Y = rng.normal(size=(9, 2, 2)), rng.normal(size=(9, 2, 3))
    splits = [(np.arange(5), np.arange(5, 9)), (np.arange(4, 9), np.arange(4))]

    def loss(a, b):
        return 2 - 2 * rbf(1.5)(a.ravel(), b.ravel())

    def mean(answer):
        return [np.mean([loss(Y[t], answer(t, train)) for t in test]) for train, test in splits]

    def near(t, train):
        return Y[min(train, key=lambda i: ((X[i] - X[t]) ** 2).sum())]

    def best(t, train):
        return min((Y[i] for i in train), key=lambda y: loss(Y[t], y))

    assert floors.losses_of_nearest(X, Y, splits, 1.5) == pytest.approx(mean(near))
    assert floors.losses_of_hindsight(Y, splits, 1.5) == pytest.approx(mean(best))
    assert floors.losses_of_mean(Y, splits, 1.5) == pytest.approx(
        mean(lambda t, r: Y[r].mean(axis=0))
    )
    every = [np.mean([loss(Y[t], Y[i]) for t in b for i in a]) for a, b in splits]
    assert floors.losses_of_chance(Y, splits, 1.5) == pytest.approx(every)
    each = [[np.mean([loss(Y[t], Y[i]) for t in b]) for i in a] for a, b in splits]
    wanted = np.mean([min(e) for e in each]), np.mean([max(e) for e in each])
    assert floors.range_of_constant_losses(Y, splits, 1.5) == pytest.approx(wanted)


def test_centred_components_come_with_an_intercept():
    assert halves.weston_method(3, center=True).intercept
    assert not halves.weston_method(3, center=False).intercept
    model = usps.model_at_paper_parameters(halves.weston_method(3, center=True))
    assert model.fit_intercept is False  # as published
