"""Integer sample weights equal repeated rows in one group, from columns to scores."""

import numpy as np
import pandas
import pytest

from mercer import AutoDependency

N = 24
RNG = np.random.default_rng(2)
X = RNG.normal(size=(N, 2)) * [1.0, 30.0]
COUNTS = RNG.integers(0, 3, size=N)
HIGH = X[:, 0] + 0.4 * RNG.normal(size=N) > 0
OUTPUTS = {
    "number": np.sin(X[:, 0]) + X[:, 1] / 60,
    "class": np.where(HIGH, "high", "low"),
    "labels": np.array([["a", "b"] if high else ["b"] for high in HIGH] + [None], object)[:-1],
}


def repeated(A):
    return np.repeat(A, COUNTS, axis=0)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", OUTPUTS)
def test_weights_are_repeats(kind):
    y, found = OUTPUTS[kind], []
    for rows, weights in ((np.arange(N), COUNTS), (repeated(np.arange(N)), None)):
        frame = pandas.DataFrame({"a": X[rows, 0], "b": X[rows, 1], "y": list(y[rows])})
        model = AutoDependency(output="y", time_limit=1000, preset="fast", random_state=0)
        found.append(model.fit(frame, groups=rows, sample_weight=weights))
    once, often = found
    assert once.outputs_.kind_ == often.outputs_.kind_ == kind
    scores = [sorted((row["model"], row["score"]) for row in model.board_) for model in found]
    assert [name for name, _ in scores[0]] == [name for name, _ in scores[1]]
    np.testing.assert_allclose(*([score for _, score in board] for board in scores), rtol=1e-6)
    assert once.loo_score_ == pytest.approx(often.loo_score_, rel=1e-6)
    new = pandas.DataFrame({"a": X[:5, 0] + 0.1, "b": X[:5, 1]})
    left, right = (model.predict(new)["y"] for model in found)
    if kind == "number":
        np.testing.assert_allclose(left, right, rtol=1e-5)
    else:
        assert list(left) == list(right)
