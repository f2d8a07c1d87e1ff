import pytest

from mercer.datasets import DataNotFound, load_cmudict


@pytest.fixture
def folder(tmp_path):
    lines = ["'tis T IH1 Z", "a AH0", "a(2) EY1", "a.m. EY2 EH1 M", "aalto AA1 L T OW2 # name"]
    (tmp_path / "cmudict").mkdir()
    (tmp_path / "cmudict" / "cmudict.dict").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_first_pronunciations_of_words_are_read(folder):
    words, phones = load_cmudict(folder, sha256=None)
    assert list(words) == ["'tis", "a", "aalto"]
    assert list(phones) == [("T", "IH", "Z"), ("AH",), ("AA", "L", "T", "OW")]
    assert load_cmudict(folder, stress=True, sha256=None)[1][1] == ("AH0",)


def test_a_word_without_phones_is_named(folder):
    (folder / "cmudict" / "cmudict.dict").write_text("a AH0\nb\n")
    with pytest.raises(ValueError, match="line 2"):
        load_cmudict(folder, sha256=None)


def test_another_file_is_refused(folder):
    with pytest.raises(ValueError, match="SHA-256"):
        load_cmudict(folder)


def test_the_real_one():
    try:
        words, phones = load_cmudict()
    except DataNotFound as missing:
        pytest.skip(str(missing))
    assert len(words) == len(phones) == 124_926
    assert len({p for row in phones for p in row}) == 39
