import numpy as np
import pytest

from experiments.face_files import load_faces, load_mpi_faces
from mercer.datasets import DataNotFound, WrongData, load_cmu_faces


def test_cmu(data_home):
    faces = load_cmu_faces(data_home)
    assert faces.images.shape == (624, 30, 32)
    assert load_cmu_faces(data_home, size="half").images.shape == (624, 60, 64)
    X, Y, subject, view = faces.pairs()
    assert X.shape == Y.shape == (457, 30, 32) and len(set(subject)) == 20
    assert set(view) == {"left", "right", "up"}
    assert "Mitchell" in faces.attribution
    with pytest.raises(ValueError, match='size must be "quarter" or "half"'):
        load_cmu_faces(data_home, size="whole")


def test_cmu_that_is_missing_or_another(tmp_path):
    with pytest.raises(DataNotFound, match="put it at"):
        load_cmu_faces(tmp_path)
    (tmp_path / "cmu_faces").mkdir()
    (tmp_path / "cmu_faces/cmu_faces.npz").write_bytes(b"no faces")
    with pytest.raises(WrongData, match="SHA-256 differs"):
        load_cmu_faces(tmp_path)


@pytest.fixture
def values(rng):
    """Four subjects in three views, the middle one symmetric."""
    values = rng.uniform(size=(4, 3, 5, 6))
    values[:, 1] += values[:, 1, :, ::-1]
    return values


def test_an_array_file_and_its_symmetric_view(values, tmp_path):
    np.save(tmp_path / "faces.npy", values)
    faces = load_faces(tmp_path / "faces.npy")
    assert faces.frontal == "1" and faces.turned == ["0", "2"] and faces.nearest == "2"
    X, Y, subject, view = faces.pairs(["2"])
    np.testing.assert_array_equal(X, values[:, 2])
    np.testing.assert_array_equal(Y, values[:, 1])
    assert subject.tolist() == ["001", "002", "003", "004"] and set(view) == {"2"}
    assert len(faces.pairs()[0]) == 8
    assert load_faces(tmp_path / "faces.npy", frontal=0).frontal == "0"


def test_named_views_and_bytes(values, tmp_path):
    grey = (values * 100).astype(np.uint8)
    np.savez(tmp_path / "faces.npz", faces=grey, views=np.array([0, 30, 60]))
    faces = load_faces(tmp_path / "faces.npz")
    assert faces.frontal == "0" and faces.turned == ["30", "60"]
    assert faces.images.max() <= 1.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((3, 4)), r"must hold one array of numbers \(subject, view, height, width\)"),
        (np.zeros((3, 1, 2, 2)), "at least two views"),
        (np.full((3, 2, 2, 2), np.nan), "contains NaN"),
        (np.zeros((0, 2, 2, 2)), "shows nothing"),
        (np.ones((3, 2, 2, 2)), "shows nothing"),
    ],
)
def test_files_of_another_form(content, message, tmp_path):
    np.save(tmp_path / "faces.npy", content)
    with pytest.raises(WrongData, match=message):
        load_faces(tmp_path / "faces.npy")


def test_no_file_and_no_array(tmp_path):
    with pytest.raises(DataNotFound, match="give an array file, or a folder"):
        load_faces(tmp_path / "none.npy")
    (tmp_path / "text.npy").write_text("faces")
    with pytest.raises(WrongData, match="is not an array file"):
        load_faces(tmp_path / "text.npy")
    np.savez(tmp_path / "cut.npz", faces=np.zeros((3, 2, 2, 2)))
    whole = (tmp_path / "cut.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[:100])
    with pytest.raises(WrongData, match="is not an array file"):
        load_faces(tmp_path / "cut.npz")


def test_views_are_as_many_as_there_are(values, tmp_path):
    np.savez(tmp_path / "faces.npz", faces=values, views=np.array([0, 30]))
    with pytest.raises(WrongData, match="must be 3 different names, got 2"):
        load_faces(tmp_path / "faces.npz")
    np.save(tmp_path / "faces.npy", values)
    with pytest.raises(WrongData, match="frontal=7 is none of the views 0, 1, 2"):
        load_faces(tmp_path / "faces.npy", frontal=7)


@pytest.fixture
def write(tmp_path, rng):
    Image = pytest.importorskip("PIL.Image")

    def write(name, shape=(8, 8)):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 255, shape, dtype=np.uint8)).save(path)

    return write


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("017_30r.tif", ("017", "30")),
        ("017_30l.tif", ("017", "-30")),
        ("017-m60.png", ("017", "-60")),
        ("017-60.png", ("017", "60")),
        ("head17_view-90.pgm", ("017", "-90")),
        ("sub/017_0.bmp", ("017", "0")),
    ],
)
def test_names_of_heads_and_views(name, label, write, tmp_path):
    write(name)
    write("001_0.png" if label[1] != "0" else "001_30.png")
    faces = load_mpi_faces(tmp_path)
    assert label in set(zip(faces.subject.tolist(), faces.view.tolist(), strict=True))


def test_a_folder_of_heads(write, tmp_path):
    for head in ("001", "002"):
        for view in ("90l", "60l", "30l", "0", "30r", "60r", "90r"):
            write(f"{head}_{view}.png")
    faces = load_faces(tmp_path)
    assert len(faces.pairs()[0]) == 12 and faces.frontal == "0" and faces.nearest == "30"
    assert faces.images.min() >= 0 and faces.images.max() <= 1
    assert "MPI" in faces.attribution


def test_folders_that_are_not_it(write, tmp_path):
    with pytest.raises(DataNotFound, match="holds no face images"):
        load_faces(tmp_path)
    write("face.png")
    with pytest.raises(WrongData, match="does not name a head and a view"):
        load_faces(tmp_path)
    (tmp_path / "face.png").unlink()
    write("001_30.png")
    with pytest.raises(WrongData, match="has the frontal view 0"):
        load_faces(tmp_path)
    write("001_0.png", (4, 4))
    with pytest.raises(WrongData, match="differ in size"):
        load_faces(tmp_path)
    write("001_00.png")
    with pytest.raises(WrongData, match="are the same head in the same view"):
        load_faces(tmp_path)


def test_shrinking_takes_means_of_blocks(values, tmp_path):
    np.save(tmp_path / "faces.npy", values)
    faces = load_faces(tmp_path / "faces.npy")
    assert faces.shrunk(6) is faces
    small = faces.shrunk(3)
    assert small.images.shape == (12, 2, 3)
    assert small.images[0, 0, 0] == pytest.approx(values[0, 0, :2, :2].mean())


def test_a_subject_without_a_frontal_view_is_left_out(values, tmp_path):
    np.save(tmp_path / "faces.npy", values)
    faces = load_faces(tmp_path / "faces.npy")
    with pytest.raises(WrongData, match="no turned face has a frontal one"):
        faces.pairs(["frontal"])
