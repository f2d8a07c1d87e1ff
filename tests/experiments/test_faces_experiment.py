import json

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from experiments import face_models, faces, reproduce
from experiments.__main__ import main
from experiments.face_models import METHODS
from experiments.face_ranks import CORTES, LOW_RANK, Run, sentences_on_claims
from experiments.faces import Study, numbers_of_people


@pytest.fixture
def file(rng, tmp_path):
    """Ten people in three views that are shifts of one image, the middle one mirror-symmetric."""
    heads = rng.normal(size=(10, 1, 4, 4)).repeat(3, axis=2).repeat(3, axis=3)[:, 0]
    heads = heads + heads[:, :, ::-1]
    views = np.stack([np.roll(heads, shift, axis=2) for shift in (-2, 0, 2)], axis=1)
    np.save(tmp_path / "faces.npy", views)
    return tmp_path / "faces.npy"


@pytest.mark.filterwarnings("ignore:the choice is at the edge")
def test_every_row_runs_on_a_file_of_subjects_and_views(file, tmp_path, monkeypatch):
    monkeypatch.setattr(face_models, "COSTS", (0.3, 1.0))
    monkeypatch.setattr(face_models, "MARGIN_SCALES", (1.0,))
    command = ["faces", "--quick", "--faces", str(file), "--out", str(tmp_path / "o")]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "faces read from faces.npy" in done.output
    folder = tmp_path / "o/faces"
    found = json.loads((folder / "results.json").read_text())
    rows = {(row["method"], row["setting"]) for row in found["rows"]}
    for method in set(METHODS) - {"nearest neighbour"}:
        assert {(method, setting) for setting in faces.SETTINGS.values()} <= rows
    published = {row["method"]: row["published"] for row in found["rows"] if row["published"]}
    assert published == faces.PUBLISHED
    assert all(np.isfinite(row["mean"]) for row in found["rows"])
    assert found["settings"]["frontal view"] == "1"
    for name in ("faces.png", "ranks.png", "results.md", "report.html"):
        assert (folder / name).stat().st_size > 1000


@pytest.mark.parametrize(
    ("shape", "message"),
    [((3, 4), "must hold one array of numbers"), ((3, 2, 4, 4), "6 are needed at least, got 3")],
)
def test_a_file_of_another_form_is_named_in_a_sentence(shape, message, tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(np.prod(shape)).reshape(shape))
    command = ["faces", "--faces", str(tmp_path / "flat.npy"), "--out", str(tmp_path)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 1
    assert message in done.output.replace("\n", " ")


def test_without_the_faces_a_sentence_says_where_to_put_them(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"cmu_faces.npz is missing: put it at"):
        reproduce("faces", tmp_path / "o", Console(quiet=True), quick=True)
    assert not (tmp_path / "o").exists()


def test_people_are_kept_apart_and_weigh_alike(rng):
    people = np.repeat([f"p{i}" for i in range(12)], 4)
    study = Study(np.zeros((48, 4)), np.zeros((48, 4)), people, (2, 2))
    for own, others in study.splits(5, train=6, test=4, rows=12):
        assert not set(people[own]) & set(people[others])
        assert len(set(people[own])) == 6 and len(own) == 12 and len(others) == 16
        assert set(np.unique(people[own], return_counts=True)[1]) == {2}


@pytest.mark.parametrize(("people", "expected"), [(200, (20, 80)), (20, (12, 8)), (70, (20, 50))])
def test_the_papers_sizes_where_there_are_as_many_people(people, expected):
    assert numbers_of_people(people) == expected


def test_hindsight_is_the_nearest_training_output(rng):
    Y = rng.normal(size=(6, 4))
    study = Study(Y, Y, np.arange(6), (2, 2))
    expected = np.mean([min(((y - z) ** 2).mean() for z in Y[:3]) for y in Y[3:]])
    assert study.hindsight_error(np.arange(3), np.arange(3, 6)) == pytest.approx(expected)


def test_claims_say_what_came_out():
    def runs(low):
        return [Run(LOW_RANK, 30, low, 0.1), Run(LOW_RANK, 100, 1.02, 0.1),
                Run(LOW_RANK, None, 1.0, 0.2), Run(CORTES, None, 1.1, 0.1)]  # fmt: skip

    better, rank = sentences_on_claims(runs(1.05))
    assert "holds here: 1.05 against 1.1, smaller in 1 of 1" in better
    assert "+2.0% from the exact error" in rank
    assert "does not hold here" in next(sentences_on_claims(runs(1.2)))
