"""A custom space as the output of a table: fitted, saved, predicted, evaluated and reported."""

import json
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mercer
from mercer import AutoDependency
from mercer._base.registered import REGISTERED
from mercer.app.cli import main
from mercer.decoders import Decoder
from mercer.kernels import Kernel
from mercer.spaces import Space

pytestmark = pytest.mark.usefixtures("few_trees", "registered")


class Angles(Space):
    """Directions in degrees, where 360 is 0."""

    name = "angles"
    greater_is_better = False

    def check(self, A, name="y"):
        A = np.asarray(A, dtype=float)
        if not np.isfinite(A).all():
            raise ValueError(f"{name} must hold angles in degrees.")
        return A.reshape(len(A)) % 360.0

    def kernel(self):
        return Direction()

    def decoder(self, kernel):
        return Mean()

    def metric(self, y_true, y_pred, average=True):
        gaps = np.abs(np.asarray(y_true) - np.asarray(y_pred)) % 360.0
        gaps = np.minimum(gaps, 360.0 - gaps)
        return float(gaps.mean()) if average else gaps


class Direction(Kernel):
    """The cosine of the difference of two angles."""

    space = property(lambda self: Angles())

    def _gram(self, A, B):
        return np.cos(np.radians(np.subtract.outer(np.asarray(A), np.asarray(B))))


class Mean(Decoder):
    """The angle of the predicted mean direction."""

    def decode(self, points):
        cosines, sines = np.asarray(points.inner([0.0, 90.0])).T
        return np.degrees(np.arctan2(sines, cosines)) % 360.0


@pytest.fixture
def registered():
    for part in (Angles, Direction, Mean):
        mercer.register(part)
    yield
    for name in [name for name, part in REGISTERED.items() if part.__module__ == __name__]:
        del REGISTERED[name]


def winds(n=60):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=n), rng.normal(size=n)
    heading = (np.degrees(0.8 * x) + 10 * rng.normal(size=n)) % 360.0
    return pd.DataFrame({"x": x, "z": z, "heading": heading.round(2)})


def test_angles_are_learnt_and_predicted_over_the_turn(tmp_path):
    frame = winds()
    model = AutoDependency(output={"heading": "angles"}, random_state=0).fit(frame)
    assert model.spaces_["heading"] == "angles"
    assert model.loo_score_ > 0.6  # 1 minus the error, relative to that of another row's angle
    new = pd.DataFrame({"x": [-0.1, 0.1], "z": [0.0, 0.0]})
    predicted = model.predict(new)["heading"]
    gaps = Angles().metric(np.degrees(0.8 * new["x"]), predicted, average=False)
    assert (gaps < 20).all() and ((predicted >= 0) & (predicted < 360)).all()
    loaded = mercer.load(mercer.save(model, tmp_path / "m.mercer"))
    np.testing.assert_array_equal(loaded.predict(new)["heading"], predicted)
    assert model.evaluate(frame)["score"] == pytest.approx(model.score(frame))
    assert model.diagnose()["worst"][0]["error"] > 0


def test_angles_on_the_command_line_and_in_the_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    winds().to_csv("wind.csv", index=False)

    def run(*arguments):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    with_report = find_spec("jinja2") is not None  # an extra
    report = ["--report", "wind.html"] if with_report else []
    facts = json.loads(run("fit", "wind.csv", "--space", "heading=angles", "--json", *report))
    assert facts["columns"]["heading"] == "angles"
    rows = run("predict", "model.mercer", "wind.csv").splitlines()
    assert rows[0] == "x,z,heading,predicted heading" and len(rows) == 61
    assert json.loads(run("evaluate", "model.mercer", "wind.csv", "--json"))["score"] > 0.6
    assert not with_report or "heading" in (tmp_path / "wind.html").read_text()


def test_an_angle_among_columns_of_other_kinds():
    frame = winds().assign(strong=lambda f: np.where(f["z"] > 0, "yes", "no"))
    model = AutoDependency(output={"heading": "angles", "strong": "class"}, random_state=0)
    model.fit(frame)
    assert model.outputs_.kinds_ == {"heading": "angles", "strong": "class"}
    assert list(model.predict(frame).columns) == ["heading", "strong"]


def test_a_kind_that_is_not_registered_is_named():
    with pytest.raises(ValueError, match=r"output\['heading'\] must be one of number, .*angles"):
        AutoDependency(output={"heading": "angle"}).fit(winds())
