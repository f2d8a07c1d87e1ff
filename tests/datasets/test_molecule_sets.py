import gzip
import json

import pytest

from mercer.datasets import DataNotFound, load_massbank, load_qm9
from mercer.datasets.molecules import protonated_mass


def test_parsers_on_small_files(tmp_path):
    folder = tmp_path / "massbank"
    folder.mkdir()
    record = {"ik14": "A", "formula": "CH4O", "precursor_mz": None, "mz": [15.0], "intensity": [1]}
    with gzip.open(folder / "massbank_msms_pos_MH.jsonl.gz", "wt") as file:
        file.write(json.dumps(record) + "\n")
    with gzip.open(folder / "massbank_structure_pool.tsv.gz", "wt") as file:
        file.write("ik14\tformula\tsmiles\nA\tCH4O\tCO\nB\tCH4O\t[CH3][OH]\n")
    data = load_massbank(tmp_path, sha256=(None, None))
    assert data.molecules.tolist() == ["CO"]
    assert data.pool == {"CH4O": ["CO", "[CH3][OH]"]}
    assert data.spectra[0].precursor == pytest.approx(33.0335, abs=1e-3)
    (tmp_path / "molecules").mkdir()
    (tmp_path / "molecules" / "qm9_5k.smi").write_text("CCO\nC\n")
    assert load_qm9(tmp_path, sha256=None).tolist() == ["CCO", "C"]


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DataNotFound, match=r"massbank_msms_pos_MH\.jsonl\.gz is missing"):
        load_massbank(tmp_path)


def test_masses():
    assert protonated_mass("C21H33NO8") == pytest.approx(428.2279, abs=1e-3)
    assert protonated_mass("C19H18P+") == pytest.approx(277.1141, abs=1e-3)


def test_the_real_sets():
    try:
        data, qm9 = load_massbank(), load_qm9()
    except DataNotFound as missing:
        pytest.skip(str(missing))
    assert len(data.spectra) == 4088 and sum(map(len, data.pool.values())) == 7128
    assert sum(len(data.pool[f]) > 1 for f in data.formulas) == 1639
    assert all(y in data.pool[f] for y, f in zip(data.molecules, data.formulas, strict=True))
    assert len(qm9) == 4989
