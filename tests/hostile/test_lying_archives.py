"""Zip directories that lie about the size of a member: refused, with at most what they claim."""

import io
import re
import tracemalloc
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.auto.tables.binary import read_npz, read_sheet
from mercer.kernels import RBF
from mercer.tables import BadTable

BOMB = 2**26
"""Bytes of zeros that a member unpacks to."""
CLAIM = 1000


def lying(data, name, content=bytes(BOMB), claim=CLAIM):
    """An archive with one member more, whose directory claims the length `claim`."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            if info.filename != name:
                new.writestr(info.filename, old.read(info.filename))
        new.writestr(name, content, zipfile.ZIP_DEFLATED)
        info = new.getinfo(name)
        info.file_size, info.CRC = claim, zlib.crc32(content[:claim])
    return out.getvalue()


def peak(call, error, message):
    """The most memory that a call takes, which must raise an error."""
    tracemalloc.start()
    try:
        with pytest.raises(error, match=message):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def model_file(folder):

    return mercer.save(RBF(1.0), folder / "model.mercer")


@pytest.mark.parametrize(("content", "claim"), [(bytes(BOMB), CLAIM), (b"{}", 10), (b"{}x", 2)])
def test_model_files(content, claim, tmp_path):
    path = model_file(tmp_path)
    path.write_bytes(lying(path.read_bytes(), "model.json", content, claim))
    used = peak(lambda: mercer.load(path), mercer.DamagedModel, "than the archive says|Bad CRC")
    assert used < BOMB / 8


def spreadsheet():
    """The bytes of a small spreadsheet."""
    out = io.BytesIO()
    pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}).to_excel(out, index=False)
    return out.getvalue()


def arrays():
    """The bytes of a small NPZ file."""
    out = io.BytesIO()
    np.savez(out, x=np.arange(3.0), y=np.arange(3.0))
    return out.getvalue()


def npy(shape, content):
    """The bytes of an NPY file whose header claims a shape."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        out, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    return out.getvalue() + content


READERS = [
    (spreadsheet, "xl/worksheets/sheet1.xml", lambda data: read_sheet(data, "t", None, None)),
    (spreadsheet, "xl/unused.xml", lambda data: read_sheet(data, "t", None, None)),
    (arrays, "x.npy", lambda data: read_npz(data, "t")),
]


@pytest.mark.parametrize(("made", "member", "read"), READERS, ids=["sheet", "unused", "npz"])
def test_tables(made, member, read):
    data = lying(made(), member)
    read(made())
    assert peak(lambda: read(data), BadTable, "BadZipFile") < BOMB / 8


def test_arrays_that_claim_a_larger_shape():
    content = npy((2**24,), bytes(80))
    data = lying(arrays(), "x.npy", content, len(content))
    assert peak(lambda: read_npz(data, "t"), BadTable, re.escape("not an NPZ")) < BOMB / 8
