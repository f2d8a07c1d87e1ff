"""Files as they come: other separators, headers, packings and formats, and files that attack."""

import gzip
import io
import json
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from click.testing import CliRunner

from mercer import AutoDependency
from mercer.app.cli import main
from mercer.auto.kinds.guess import output_kind
from mercer.auto.outputs import fit_outputs
from mercer.auto.tables.content import PACKED_BYTES, PACKED_RATIO
from mercer.tables import BadTable, read, write


@pytest.mark.parametrize(
    ("text", "names", "rows"),
    [
        ("0,1,2\n0.5,1.5,2.5\n3,4,5\n", ["0", "1", "2"], 2),  # pandas without an index
        (",0,1\n0,0.5,1.5\n1,2.5,3.5\n", ["Unnamed: 0", "0", "1"], 2),  # and with one
        (",0\n0,7\n1,8\n", ["Unnamed: 0", "0"], 2),
        ("0,1,kind\n0.5,1.5,a\n3,4,b\n", ["0", "1", "kind"], 2),  # names beside counts
        (",0,kind\n0,0.5,a\n1,3,b\n", ["Unnamed: 0", "0", "kind"], 2),
        ("id,1,2\nx,1.5,3\ny,4,5\n", ["id", "1", "2"], 2),
        ("0,1,red\n1,0,red\n2,1,blue\n", ["1", "2", "3"], 3),  # a word that comes again
        ("0,1,2\n1,0,2\n2,1,0\n", ["1", "2", "3"], 3),  # rankings
        ("0,1\n1,0\n1,1\n", ["1", "2"], 3),  # zeros and ones
        ("1,2\n3,4\n", ["1", "2"], 2),
        ("2024-01-01,5\n2024-01-02,6\n", ["1", "2"], 2),
        ("1,5;2,5\n3,5;4,5\n", ["1", "2"], 2),
        ("when,x\n2024-01-01,5\n", ["when", "x"], 1),
        (",a\n0,5\n1,6\n", ["Unnamed: 0", "a"], 2),
        ("Stadt;Preis (€)\nUlm;5 €\nKöln;6 €\n", ["Stadt", "Preis (€)"], 2),
    ],
)
def test_headers(file, text, names, rows):
    table = read(file(text))
    assert list(table.columns) == names
    assert len(table) == rows


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("Länge, cm;Breite, cm\n1,5;2,5\n3,5;4,5\n", ";"),
        ("a|b\n1|2\n", "|"),
        ("a\tb\nx,y\tz\n", "\t"),
        ("text,tags\nhot sun,sea;sun\ncold,rain;sun\n", ","),
        ('text;n\n"a, b; c";1\nx;2\n', ";"),
        ("only\none\ncolumn\n", ","),
        ("1.0e+00 -2.0e+00\n3.0e+00  4.0e+00\n", " "),  # as numpy writes
        (" x   y\n 1  -2\n10   4\n", " "),
        ("points\n1 2 3\n4 5 6\n", ","),
    ],
)
def test_separators(file, text, separator):
    table = read(file(text))
    assert table.separator == separator
    assert repr(separator) in table.read_as


def test_errors_of_a_spreadsheet_are_empty_cells(file):
    table = read(file("a,b\n1,2\n#DIV/0!,3\n4,#REF!\n"))
    assert [table.empty("a"), table.empty("b")] == [[1], [2]]


def test_a_separator_can_be_said(file):
    assert list(read(file("a,b;c\n1,2;3\n"), separator=";").columns) == ["a,b", "c"]


def test_gzip(file, tmp_path):
    path = file(gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"), "data.csv.gz")
    assert read(path).columns == {"a": ["1", "3"], "b": ["2", "4"]}
    assert read(file(gzip.compress(b'{"a": 1}\n'), "data.csv"), format="jsonl").columns["a"] == [1]
    with pytest.raises(BadTable, match="damaged gzip file"):
        read(file(gzip.compress(b"a,b\n1,2\n")[:-9], "cut.csv.gz"))
    with pytest.raises(BadTable, match="damaged gzip file"):
        read(file(b"\x1f\x8b rubbish", "rubbish.gz"))


def test_json(file):
    assert read(file('[{"a": 1, "b": "x"}, {"a": 2}]', "t.json")).columns["b"] == ["x", None]
    assert read(file('[\n {"a": 1}]', "t")).columns == {"a": [1]}
    assert read(file('{"a": [1, 2], "b": [3, 4]}', "t.json")).columns == {"a": [1, 2], "b": [3, 4]}
    with pytest.raises(BadTable, match=r'orient="records"'):
        read(file('{"a": {"0": 1}}', "t.json"))
    with pytest.raises(BadTable, match="record 2: '3' is not an object"):
        read(file('[{"a": 1}, 3]', "t.json"))
    with pytest.raises(BadTable, match="holds 3, not an array"):
        read(file("3", "t.json"))


def test_line_separators_inside_json_lines(file):
    line = json.dumps({"a": "one\u2028two\u2029three\x85four"}, ensure_ascii=False)
    assert read(file(line + "\n", "t.jsonl")).columns["a"] == ["one\u2028two\u2029three\x85four"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "line 1: the JSON is nested too deeply"),
        ('{"a": ' * 100_000, "line 1: the JSON is nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "line 1: a number has too many digits"),
        ('{"a": "\\ud800"}', "line 1: half a character"),
        ('{"a": 1}\n{"b"}', "line 2: not JSON"),
    ],
)
def test_json_that_attacks(file, text, message):
    with pytest.raises(BadTable, match=message):
        read(file(text, "t.jsonl"))


def test_a_400_digit_integer(file):
    lines = [json.dumps({"x": i, "y": i}) for i in range(8)] + ['{"x": %s, "y": 1}' % ("9" * 400)]
    with pytest.raises(BadTable, match="line 9, column 'x': the value is not finite"):
        AutoDependency().fit(read(file("\n".join(lines), "t.jsonl")))


@pytest.fixture
def book(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")

    def make(rows, name="book.xlsx", **more):
        made = openpyxl.Workbook()
        for row in rows:
            made.active.append(row)
        for title, others in more.items():
            sheet = made.create_sheet(title)
            for row in others:
                sheet.append(row)
        made.save(tmp_path / name)
        return tmp_path / name

    return make


def test_spreadsheets(book):
    table = read(book([["a", "b"], [1, "x"], [], [2.5, None]]))
    assert table.columns == {"a": [1, 2.5], "b": ["x", None]}
    assert list(table.lines) == [2, 4]
    assert "sheet 'Sheet'" in table.read_as
    with pytest.raises(BadTable, match=r"several sheets: pass sheet='Sheet' or sheet='more'"):
        read(book([["a"], [1]], more=[["b"], [2]]))
    assert read(book([["a"], [1]], more=[["b"], [2]]), sheet="more").columns == {"b": [2]}
    assert read(book([["a"], [1]], empty=[])).columns == {"a": [1]}
    with pytest.raises(BadTable, match="no sheet 'x': its sheets are Sheet"):
        read(book([["a"], [1]]), sheet="x")
    with pytest.raises(BadTable, match="no cells"):
        read(book([]))


def test_a_spreadsheet_by_another_name(book, file):
    data = book([["a", "b"], [1, 2]]).read_bytes()
    assert read(file(data, "data.csv")).columns == {"a": [1], "b": [2]}


def test_spreadsheets_that_are_none(file, book):
    for data in (b"PK\x03\x04 xl/ rubbish", book([["a"], [1]]).read_bytes()[:-500]):
        with pytest.raises(BadTable, match="is not a spreadsheet that can be read"):
            read(file(data, "t.xlsx"))
    with pytest.raises(BadTable, match=r"old spreadsheet \(.xls\): save it as"):
        read(file(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "t.xls"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"BZh91AY", "packed with bzip2"),
        (b"%PDF-1.4", "PDF"),
        (b"a,b\n1,\x002\n", "line 2: a NUL character"),
        ("a,b\n1,2\n".encode("utf-16-le"), "NUL character.*encoding='utf-16'"),
        (b"PK\x03\x04 whatever", "is a zip archive: unpack it"),
        (b"a,b\n,\n", "a header and no rows"),
        (b",\n,\n", "only empty cells"),
        (b'a,b\n1,"' + b"x" * 200_000, "line 2: field larger than field limit.* as .jsonl"),
        (b'a,b\n1,"x\n2,y\n', "line 3: unexpected end of data: close every quote"),
    ],
)
def test_files_that_are_no_tables(file, data, message):
    with pytest.raises(BadTable, match=message):
        read(file(data))


MEGABYTE = bytes(2**20)


def zipped(name, size):
    data = io.BytesIO()
    with (
        zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as member,
    ):
        if name.endswith(".npy"):
            header = {"descr": "|u1", "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_2_0(member, header)
        for _ in range(size // 2**20):
            member.write(MEGABYTE)
    return data.getvalue()


def gzipped(size):
    packer = zlib.compressobj(9, wbits=31)
    pieces = [packer.compress(MEGABYTE) for _ in range(size // 2**20)]
    return b"".join([*pieces, packer.flush()])


def test_bombs_are_refused_before_they_go_off(file):
    size = 2**28
    bombs = [
        (zipped("a.npy", size), "b.npz", "numpy.savez"),
        (zipped("xl/sheet.xml", size), "b.xlsx", "save it as CSV"),
        (gzipped(size), "b.csv.gz", "gunzip"),
    ]
    for data, name, way_out in bombs:
        assert len(data) * PACKED_RATIO < size and size > PACKED_BYTES
        path = file(data, name)
        tracemalloc.start()
        with pytest.raises(BadTable, match=rf"{name} unpacks from .* MB to .*{way_out}"):
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 3 * PACKED_BYTES


def test_a_parquet_bomb(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    zeros = pa.array(np.zeros(20_000_000, dtype=np.int8))
    parquet.write_table(pa.table({"a": zeros}), tmp_path / "b.parquet")
    assert (tmp_path / "b.parquet").stat().st_size < 10**6
    with pytest.raises(BadTable, match="write it as CSV"):
        read(tmp_path / "b.parquet")


def test_a_file_without_an_end(monkeypatch):
    monkeypatch.setattr("mercer.auto.tables.content.available", lambda: 2**24)
    with pytest.raises(BadTable, match="/dev/zero is larger than"):
        read("/dev/zero")


def test_cells_that_memory_does_not_hold(file, monkeypatch):
    monkeypatch.setattr("mercer.auto.tables.content.available", lambda: 2**20)
    for name, text in (("t.csv", "a,b\n" + "1,2\n" * 20_000), ("t.jsonl", "{}\n" * 20_000)):
        with pytest.raises(BadTable, match=f"{name} takes about .* GB in memory"):
            read(file(text, name))


CITIES = ["New York, NY", "Buffalo, NY", "Los Angeles, CA", "Austin, TX", "Dallas, TX"]


def test_cities_are_one_label(file):
    rows = "".join(f'{i},"{CITIES[i % 5]}"\n' for i in range(40))
    table = read(file("x,city\n" + rows))
    assert output_kind(table, "city") == "class"
    _, items = fit_outputs({"city": "labels"}, table, ["city"])
    assert {label for item in items for label in item} == set(CITIES)


def test_tags_between_commas_are_several(file):
    tags = ["sea, sun", "sun", "rain", "rain, sea", "sea"]
    rows = "".join(f'{i},"{tags[i % 5]}"\n' for i in range(40))
    outputs, _ = fit_outputs(None, read(file("x,tags\n" + rows)), ["tags"])
    assert outputs.separator_ == ","


def test_names_that_look_missing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["NA", "None", "Null", "Nan"] * 5
    text = "x,name\n" + "".join(f"{i % 4},{name}\n" for i, name in enumerate(names))
    (tmp_path / "names.csv").write_text(text)
    refused = CliRunner().invoke(main, ["fit", "names.csv"])
    assert refused.exit_code == 1
    assert "--missing ''" in refused.stderr
    fitted = CliRunner().invoke(main, ["fit", "names.csv", "--missing", ""])
    assert fitted.exit_code == 0, fitted.stderr
    told = CliRunner().invoke(main, ["evaluate", "model.mercer", "names.csv", "--json"])
    assert json.loads(told.stdout)["accuracy"] == 1.0  # what is missing was learnt, too
    (tmp_path / "gaps.csv").write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(8)) + "-,8\n")
    told = CliRunner().invoke(main, ["fit", "gaps.csv", "--missing", "-", "--drop-missing"])
    assert told.exit_code == 0, told.stderr


def test_floats_survive_text(tmp_path):
    values = [0.1 + 0.2, 1e-300, 1 / 3, -0.0, 123456789.123456789]
    for name in ("t.csv", "t.tsv", "t.json", "t.jsonl"):
        write([{"a": np.float64(v), "b": v} for v in values], tmp_path / name)
        table = read(tmp_path / name)
        for column in ("a", "b"):
            assert [float(cell) for cell in table.columns[column]] == values


def test_values_that_are_no_numbers_are_written(tmp_path):
    from datetime import date

    row = {"d": date(2024, 1, 2), "n": None, "l": ["x;y"], "t": True}
    row |= {"m": np.datetime64("2024-01-02T03:00", "ns"), "s": np.timedelta64(90, "m")}
    write([row], tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == (
        'd,n,l,t,m,s\n2024-01-02,,"[""x;y""]",true,2024-01-02T03:00:00,0 days 01:30:00\n'
    )
