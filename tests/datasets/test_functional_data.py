import numpy as np
import pytest

from mercer.datasets import DataNotFound, load_canadian_weather, load_dti


def made_up(folder):
    rng = np.random.default_rng(0)
    cca, rcst = rng.random((5, 93)), rng.random((5, 55))
    cca[1, 3] = rcst[4, 0] = np.nan
    (folder / "functional").mkdir()
    np.savez(folder / "functional" / "dti.npz", cca=cca, rcst=rcst, ID=np.arange(1000.0, 1005.0))


def test_only_complete_scans_are_kept(tmp_path):
    made_up(tmp_path)
    X, Y, subject = load_dti(tmp_path, sha256=None)
    assert X.shape == (3, 93) and Y.shape == (3, 55)
    assert subject.tolist() == [1000, 1002, 1003]
    X, Y, subject = load_dti(tmp_path, complete=False, sha256=None)
    assert len(X) == len(Y) == len(subject) == 5


def test_another_file_is_refused(tmp_path):
    made_up(tmp_path)
    with pytest.raises(ValueError, match="is not the file expected"):
        load_dti(tmp_path)


@pytest.mark.parametrize("load", [load_dti, load_canadian_weather])
def test_missing_files_are_named(load, tmp_path):
    with pytest.raises(DataNotFound, match=r"npz is missing: put it at .*functional"):
        load(tmp_path)


def test_the_real_files():
    try:
        X, Y, subject = load_dti()
        temperature, rain, places = load_canadian_weather()
    except DataNotFound as absent:
        pytest.skip(str(absent))
    assert X.shape == (255, 93) and Y.shape == (255, 55) and len(set(subject)) == 121
    assert not np.isnan(X).any() and not np.isnan(Y).any()
    assert temperature.shape == rain.shape == (35, 365) and "Winnipeg" in places
