"""Files are read as they are, or refused in one sentence that names file, row or column."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer.auto.tables.columns import numbers
from mercer.tables import BadTable, read, write


def test_quotes_newlines_and_byte_order_marks(file):
    table = read(file(b'\xef\xbb\xbfa,b\r\n"x, y","line\nbreak"\r\n"say ""hi""",2\r\n'))
    assert table.columns == {"a": ["x, y", 'say "hi"'], "b": ["line\nbreak", "2"]}
    assert list(table.lines) == [3, 4]


@pytest.mark.parametrize(
    ("name", "columns"), [(None, ["x", "y"]), ("day", ["day", "x", "y"])], ids=["unnamed", "named"]
)
def test_the_index_of_pandas_in_parquet_files_is_not_the_output(name, columns, tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [2.0, 3.0, 4.0]}, index=[1, 5, 7])
    frame.rename_axis(name).to_parquet(tmp_path / "t.parquet")
    assert list(read(tmp_path / "t.parquet").columns) == columns


def test_other_formats_hold_the_same(file, tmp_path):
    rows = [{"a": "x", "b": 1.5}, {"a": "y", "b": 2.0}]
    for name in ("t.csv", "t.tsv", "t.jsonl", "t.npz"):
        write(rows, tmp_path / name)
        table = read(tmp_path / name)
        assert list(table.columns["a"]) == ["x", "y"]
        assert [float(b) for b in table.columns["b"]] == [1.5, 2.0]
    pytest.importorskip("pyarrow")
    write(rows, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").columns["b"] == [1.5, 2.0]


def test_formats_are_seen_without_a_suffix(file):
    assert read(file('{"a": 1}\n{"a": 2}\n', "data")).columns == {"a": [1, 2]}
    assert list(read(file("a\tb\n1\t2\n", "data")).columns) == ["a", "b"]
    assert list(read(file("a,b\n1,2\n", "data")).columns) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ["1", "2"]),
        ("a,b\n3,4\n", ["a", "b"]),
        ("آب,ab\nآرلن,arlen\n", ["1", "2"]),
        ("arabic,latin\nآرلن,arlen\n", ["arabic", "latin"]),
        ("word,sound\ncat,kat\n", ["word", "sound"]),
    ],
)
def test_whether_the_first_row_is_data(file, text, names):
    assert list(read(file(text)).columns) == names


def test_the_user_has_the_last_word_on_headers(file):
    path = file("word,sound\ncat,kat\n")
    assert read(path, header=False).columns["1"] == ["word", "cat"]
    assert list(read(file("1,2\n3,4\n"), header=True).columns) == ["1", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n \n", "is empty"),
        (b"a,b\n", "a header and no rows"),
        (b"a,a\n1,2\n", r"column 'a' more than once \(column 1 and column 2\)"),
        (b"a,b\n1,2\n1,2,3\n", "line 3: 3 cells, but the first row has 2"),
        (b'a,b\n"x,2\n', "line 2: unexpected end of data"),
    ],
)
def test_bad_csv(file, content, message):
    with pytest.raises(BadTable, match=message):
        read(file(content))


def test_empty_records_have_no_header(file):
    with pytest.raises(BadTable, match="has no rows: add some"):
        read(file(b"[]"), format="json")


def test_durations_of_an_npz_file(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.array([36, 12], dtype="m8[h]"))
    assert numbers(read(tmp_path / "d.npz"), ["x"]).ravel().tolist() == [1.5, 0.5]


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_separators_of_other_countries(file, separator):
    text = "a,b\n1,x\n2,y\n".replace(",", separator)
    assert read(file(text)).columns == {"a": ["1", "2"], "b": ["x", "y"]}


def test_utf_16_is_seen_by_its_mark(file):
    for encoding in ("utf-16", "utf-8-sig"):
        assert read(file("a,b\nü,2\n".encode(encoding))).columns == {"a": ["ü"], "b": ["2"]}


def test_encodings(file):
    path = file("a,b\nü,2\n".encode("latin-1"))
    assert read(path, encoding="latin-1").columns["a"] == ["ü"]
    guessed = read(path)
    assert guessed.columns["a"] == ["ü"] and guessed.read_as.endswith("encoding cp1252")
    with pytest.raises(BadTable, match=r"line 2: this is not utf-8. .*encoding='latin-1'"):
        read(path, encoding="utf-8")
    with pytest.raises(BadTable, match=r"line 2: this is not cp1252"):
        read(file(b"a,b\n\x81,2\n"))
    other = file("имя;рост\nИван;1,5\nОлег;2,5\n".encode("cp1251"))
    with pytest.raises(BadTable, match=r"is not UTF-8.*encoding='cp1251'"):
        read(other)
    assert read(other, encoding="cp1251", header=True).columns["рост"] == ["1,5", "2,5"]
    with pytest.raises(BadTable, match="not an encoding that Python knows"):
        read(path, encoding="latin-99")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2: not JSON"),
        ('{"a": 1}\n[1, 2]\n', r"line 2: '\[1, 2\]' is not an object"),
    ],
)
def test_bad_json_lines(file, content, message):
    with pytest.raises(BadTable, match=message):
        read(file(content, "data.jsonl"))


def test_bad_files(file, tmp_path):
    with pytest.raises(BadTable, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(BadTable, match="is a folder"):
        read(tmp_path)
    with pytest.raises(BadTable, match="is not an NPZ file"):
        read(file(b"PK\x03\x04 rubbish", "data.npz"))
    np.savez(tmp_path / "uneven.npz", X=np.zeros((3, 2)), y=np.zeros(2))
    with pytest.raises(BadTable, match=r"unequal lengths \(X \(3, 2\), y \(2,\)\)"):
        read(tmp_path / "uneven.npz")
    np.savez(tmp_path / "things.npz", X=np.array([object()], dtype=object))
    with pytest.raises(BadTable, match="is not an NPZ file of plain arrays"):
        read(tmp_path / "things.npz")


def test_columns_by_name_number_and_range(file):
    table = read(file("id,red,green,blue\n1,2,3,4\n"), header=True)
    assert table.names(["red", "4"]) == ["red", "blue"]
    assert table.names(["2-4"]) == ["red", "green", "blue"]
    with pytest.raises(BadTable, match="no column 'grene': did you mean 'green'"):
        table.names(["grene"])
    with pytest.raises(BadTable, match="no column '7': its columns are 'id', 'red'"):
        table.names(["7"])


def test_missing_cells(file):
    table = read(file("a,b\n1,x\n,y\n3,NA\n"))
    with pytest.raises(BadTable, match=r"line 3: column 'a' is empty \(and 1 other rows"):
        table.filled(["a", "b"], drop=False)
    assert table.filled(["a", "b"], drop=True).columns == {"a": ["1"], "b": ["x"]}
    with pytest.raises(BadTable, match="every row has an empty cell"):
        table.rows([1]).filled(["a"], drop=True)


def test_written_text_is_read_again():
    text = write([{"word": "a\tb", "labels": ["x", "y"], "score": 0.5}], None)
    assert text == 'word,labels,score\na\tb,"[""x"", ""y""]",0.5\n'
    line = write([{"image": np.zeros((1, 2))}], None, "jsonl")
    assert json.loads(line) == {"image": [[0.0, 0.0]]}
    with pytest.raises(ValueError, match="is not text"):
        write([{"a": 1}], None, "npz")


def test_blanks_inside_numbers_and_named_separators_stay(file):
    assert read(file("net price\n1 234\n5 678\n")).columns == {"net price": ["1 234", "5 678"]}
    gap = read(file("a b c\n1  3\n4 5 6\n"), separator=" ")
    assert gap.columns == {"a": ["1", "4"], "b": ["", "5"], "c": ["3", "6"]}
    numbers = read(file("  1.0   2.5\n  3.0   4.5\n"))
    assert list(numbers.columns.values()) == [["1.0", "3.0"], ["2.5", "4.5"]]
