"""Where models err, and reports of every kind of output: whole, escaped, nothing from elsewhere."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import mercer
from mercer import AutoDependency
from mercer.auto.report.examples import examples_of
from mercer.tables import Table

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=N)
OUTPUTS = {
    "number": X**2 + 0.1 * RNG.normal(size=N),
    "class": np.where(X > 0, "<b>up</b>", "down").tolist(),
    "labels": ["sea;<i>sun" if x > 0 else "sea" for x in X],
    "ranking": ["a > b > c" if x > 0 else "c > a > b" for x in X],
    "curve": np.cumsum(X[:, None] * np.ones(20), axis=1) + 0.1 * RNG.normal(size=(N, 20)),
    "image": X[:, None, None] * np.ones((3, 4)) + 0.1 * RNG.normal(size=(N, 3, 4)),
    "text": [f"{'up' if x > 0 else 'down'} & {i % 30}" for i, x in enumerate(X)],
}


class Tags(HTMLParser):
    """The tags of a page, all of which must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def fitted(kind, **parameters):
    kinds = np.where(RNG.normal(size=N) > 0, "rome", "oslo").tolist()
    groups = [f"g{i % 12}" for i in range(N)]
    columns = {"x<script>": X, "city": kinds, "who": groups, "y": OUTPUTS[kind]}
    table = Table("t.csv", columns, range(2, N + 2))
    model = AutoDependency(output={"y": kind}, groups="who", random_state=0, **parameters)
    return model.fit(table)


@pytest.mark.parametrize("kind", OUTPUTS)
def test_reports(kind, tmp_path):
    model = fitted(kind)
    text = model.report(tmp_path / "r.html").read_text()
    tags = Tags()
    tags.feed(text)
    assert not tags.open
    assert not {"script", "b", "i", "link", "iframe"} & set(tags.seen)
    assert not re.search(r"(src|href)=.(?!data:)", text)
    assert "Errors by group" in text and "baseline" in text and model.metric_name_ in text
    if kind in ("number", "curve", "class", "ranking"):
        assert "data:image/svg+xml" in text
    if kind == "image":
        assert "data:image/png" in text


def test_diagnosis():
    found = fitted("labels").diagnose()
    assert {row["label"] for row in found["labels"]} == {"sea", "<i>sun"}
    assert sum(row["rows"] for row in found["groups"]) == N
    errors = [row["error"] for row in found["groups"]]
    assert errors == sorted(errors, reverse=True)
    assert len(found["worst"]) == 10
    for row in found["labels"]:
        assert 0 <= row["precision"] <= 1 and 0 <= row["recall"] <= 1


def test_rows_are_those_of_the_training_table():
    x, y = np.arange(40.0), np.arange(40.0)
    y[:10] = np.nan
    model = AutoDependency(preset="fast", random_state=0)
    model.fit({"x": x, "y": y}, sample_weight=np.where(x < 15, 0.0, 1.0))
    explained = model.explain({"x": x[30:]}, k=3)
    assert all(output == y[row] for rows in explained for row, _, output in rows)
    assert all(row["row"] >= 15 for row in model.diagnose()["worst"])
    pairs = model.training_.pairs
    for shown in examples_of(model, pairs, model.best_estimator_.loo_predict(), np.arange(25.0)):
        rows = [shown, *shown["behind"]]
        assert len({row["row"] for row in rows}) == 6 and all(row["row"] >= 15 for row in rows)
        assert shown["inputs"][0]["value"] == x[shown["row"]]


def test_regions_find_where_errors_are():
    noise = np.where(X > 0, 3.0, 0.0) * RNG.normal(size=N)
    model = AutoDependency(random_state=0).fit({"x": X, "z": RNG.normal(size=N), "y": X + noise})
    regions = model.diagnose()["regions"]
    assert regions[0]["error"] > 3 * regions[-1]["error"]
    assert regions[0]["region"].startswith(("x", "z"))
    assert sum(row["rows"] for row in regions) == N


def test_a_saved_model_reports_what_it_still_knows(tmp_path):
    model = fitted("class")
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    assert "does without the training rows" in loaded.report(tmp_path / "r.html").read_text()
    with pytest.raises(AttributeError, match="does without the training rows"):
        loaded.diagnose()


def test_a_report_names_the_extra_that_it_needs(tmp_path, monkeypatch):
    model = fitted("class")
    monkeypatch.setattr("mercer._base.errors.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plots\]"'):
        model.report(tmp_path / "r.html")
