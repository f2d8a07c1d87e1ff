"""All methods that return outputs use the labels, units, dates and container of `predict`."""

import csv
import html
import io

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mercer
from mercer import AutoDependency, ConformalSets, KernelDependency
from mercer.app.cli import main
from mercer.decoders import Candidates
from mercer.kernels import RBF
from mercer.sets import LeftOutSets

pytestmark = pytest.mark.usefixtures("few_trees")

N = 40
RNG = np.random.default_rng(0)
x = np.linspace(-1, 1, N)
up = x > 0
KINDS = {
    "number": 1e4 + 100 * x + RNG.normal(size=N),
    "date": pd.date_range("2024-01-01", periods=N),
    "moment with a zone": pd.date_range("2024-01-01 08:30", periods=N, tz="Asia/Tokyo"),
    "duration": pd.to_timedelta(np.arange(N), "h"),
    "class": np.where(up, "warm", "cold"),
    "integer class": np.where(up, 3, 7),
    "label text": np.where(up, "sea;sun", "sea"),
    "label list": [["sea", "sun"] if u else ["sea"] for u in up],
    "order": np.where(up, "fig > pear > plum", "plum > pear > fig"),
    "order list": [["fig", "pear", "plum"] if u else ["plum", "pear", "fig"] for u in up],
    "ranks": np.where(up, "1 2 3", "3 2 1"),
    "text": [f"{'up' if u else 'down'} number {i % 20}" for i, u in enumerate(up)],
}
BANDS = ("number", "date", "moment with a zone", "duration")


@pytest.fixture(scope="module")
def models(few_trees):
    frames = {kind: pd.DataFrame({"x": x, "y": cells}, index=np.arange(N) + 7)
              for kind, cells in KINDS.items()}  # fmt: skip
    return {kind: (AutoDependency(output="y", random_state=0).fit(frame), frame)
            for kind, frame in frames.items()}  # fmt: skip


def words(cell):
    """A cell as something that can be compared and looked up."""
    return tuple(cell) if isinstance(cell, list) else cell


def labels_of(cell):
    return cell.split(";") if isinstance(cell, str) else cell if isinstance(cell, list) else [cell]


@pytest.mark.parametrize("kind", KINDS)
def test_one_language(kind, models, tmp_path):
    model, frame = models[kind]
    predicted, left_out = model.predict(frame), model.loo_predict()
    for found in (predicted, left_out):
        assert list(found.columns) == ["y"] and list(found.index) == list(frame.index)
        assert found["y"].dtype == frame["y"].dtype or kind == "number"
    known = {words(cell) for cell in frame["y"]}
    assert known >= {words(y) for rows in model.explain(frame[:3]) for _, _, y in rows}
    sets = model.predict_set(frame, 0.8)
    assert list(sets.index) == list(frame.index)
    if kind in BANDS:
        assert list(sets.columns) == ["lower y", "upper y"]
        assert (sets["lower y"] <= predicted["y"]).all() and (
            predicted["y"] <= sets["upper y"]
        ).all()
    else:
        tops = model.predict_top(frame[:3], k=2)
        assert [words(top[0][0]) for top in tops] == [words(y) for y in predicted["y"][:3]]
        if kind.startswith("label"):
            assert list(sets.columns) == ["surely y", "possibly y"]
            assert type(sets["surely y"].iloc[0]) is type(frame["y"].iloc[0])
        else:
            pairs = zip(predicted["y"], sets["set of y"], strict=True)
            assert all(words(y) in map(words, some) for y, some in pairs)
    if hasattr(model, "predict_proba"):
        assert set(model.classes_.tolist()) >= {a for y in predicted["y"] for a in labels_of(y)}
    shown = html.unescape(model.report(tmp_path / "report.html").read_text())
    if kind != "number":
        # A predicted moment need not be one of the training moments, which the report shows.
        cells = frame["y"] if kind in BANDS else predicted["y"][:1]
        texts = [", ".join(cell) if isinstance(cell, list) else str(cell) for cell in cells]
        assert any(text in shown for text in texts)


@pytest.mark.parametrize("kind", ["number", "date", "class", "label text", "order", "ranks"])
def test_the_command_line_speaks_it_too(kind, models, tmp_path):
    model, frame = models[kind]
    file = mercer.save(model, tmp_path / "model.mercer")
    frame[:3].to_csv(tmp_path / "new.csv", index=False)
    arguments = ["predict", str(file), str(tmp_path / "new.csv"), "-o", str(tmp_path / "out.csv")]
    done = CliRunner().invoke(main, [*arguments, "--coverage", "0.8"])
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    expected = model.predict(frame[:3])["y"]
    sets = model.predict_set(frame[:3], 0.8)
    assert set(rows[0]) == {"x", "y", "predicted y", *sets.columns}
    for row, cell in zip(rows, expected, strict=True):
        same = pd.Timestamp(row["predicted y"]) == cell if kind == "date" else None
        assert same or str(cell) == row["predicted y"] or float(row["predicted y"]) == cell


def test_arrays_in_arrays_out():
    y = np.where(up, "warm", "cold")
    model = AutoDependency(random_state=0).fit(x[:, None], y)
    assert model.predict_set(x[:1, None], 0.8) == [["cold"]]
    flat = AutoDependency(random_state=0).fit(x[:, None], x)
    assert all(ends.shape == flat.predict(x[:3, None]).shape
               for ends in flat.predict_set(x[:3, None], 0.8))  # fmt: skip
    orders = KINDS["order"].tolist()
    assert AutoDependency(random_state=0).fit(x[:, None], orders).predict(x[:1, None]) == orders[:1]


@pytest.mark.filterwarnings("ignore:jackknife")
@pytest.mark.parametrize("calibration", ["split", "jackknife+"])
def test_outputs_of_one_dimension_stay_numbers(calibration):
    y = np.round(3 * x)
    model = KernelDependency(RBF(1.0), RBF(1.0), 0.1, Candidates()).fit(x[:, None], y)
    sets = ConformalSets(model, 0.8, calibration).fit(x[:, None], y)
    assert sets.covers(x[:, None], y).mean() > 0.7
    lists = [
        [best for best, _ in model.predict_top(x[:1, None], 2)[0]],
        [output for *_, output in model.explain(x[:1, None], 2)[0]],
        sets.predict(x[:1, None])[0],
        LeftOutSets.of(model).predict(x[:1, None], 0.8)[0],
    ]
    assert all(np.ndim(output) == 0 and output in y for some in lists for output in some)
