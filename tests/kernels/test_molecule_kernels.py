import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.kernels import (
    Fingerprint,
    Gaussian,
    MassSpectrum,
    Normalized,
    WeisfeilerLehman,
    molecule_graph,
)
from mercer.kernels.fingerprint import FINGERPRINTS
from mercer.testing import check_kernel

SMILES = ["CCO", "CCN", "c1ccccc1O", "CC(=O)O", "CCO"]


@pytest.mark.parametrize("kind", FINGERPRINTS)
def test_fingerprints_keep_the_contract(kind):
    check_kernel(Fingerprint(kind), SMILES)


@pytest.mark.parametrize(
    "kernel",
    [
        Fingerprint(size=64),
        Fingerprint(counts=False),
        Fingerprint(similarity="linear"),
        Gaussian(Fingerprint(), 0.5),
        Fingerprint() + Fingerprint("pairs"),
    ],
    ids=str,
)
def test_variants_keep_the_contract(kernel):
    check_kernel(kernel, SMILES)


def test_tanimoto_of_bits_agrees_with_rdkit():
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator as make

    generator = make.GetMorganGenerator(radius=2, fpSize=512)
    bits = [generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in SMILES]
    expected = [DataStructs.BulkTanimotoSimilarity(b, bits) for b in bits]
    np.testing.assert_allclose(Fingerprint(size=512, counts=False)(SMILES), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("C1CC", r"y\[2\] is not a SMILES string that rdkit can read: 'C1CC'"),
        ("", r"y\[2\] is not a SMILES string .*no atoms"),
        (None, r"y\[2\] must be a SMILES string, got None"),
        (3.5, r"y\[2\] must be a SMILES string, got 3.5"),
    ],
)
def test_unparsable_molecules_are_named(bad, message, capfd):
    with pytest.raises(ValueError, match=message):
        Fingerprint().as_outputs(["C", "CC", bad])
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (Fingerprint("ecfp"), "kind must be one of"),
        (Fingerprint(similarity="cosine"), "similarity must be one of"),
        (Fingerprint(radius=-1), "radius must be an integer"),
        (Fingerprint(size=0), "size must be an integer"),
    ],
)
def test_bad_parameters(kernel, message):
    with pytest.raises(ValueError, match=message):
        kernel(SMILES)


def test_a_missing_extra_is_named(monkeypatch):
    from mercer._base import errors as _errors

    monkeypatch.setattr(_errors, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[molecules\]"'):
        Fingerprint()(["CCCCCCCCCCCCCCN"])


# -- spectra ----------------------------------------------------------------------------------

PEAK = st.tuples(st.floats(10, 20), st.floats(0.1, 1))


@st.composite
def spectra(draw):
    peaks = draw(st.lists(PEAK, min_size=1, max_size=6))
    mz, intensity = map(list, zip(*peaks, strict=True))
    return mz, intensity, draw(st.floats(18, 30))


def naive(a, b, width, power, of):
    def peaks(item):
        m, i, precursor = (np.array(v) for v in item)
        if of == "peaks":
            return m, i
        return (precursor - m)[precursor - m > 0.5], i[precursor - m > 0.5]

    (m, i), (u, j) = peaks(a), peaks(b)
    near = np.maximum(0.0, 1.0 - np.abs(m[:, None] - u[None, :]) / width)
    return i**power @ near @ j**power


@settings(deadline=None, max_examples=40)
@given(st.lists(spectra(), min_size=2, max_size=3), st.sampled_from(["peaks", "losses"]))
def test_overlap_is_the_double_sum(batch, of):
    kernel = MassSpectrum(width=0.4, power=0.5, of=of)
    expected = [[naive(a, b, 0.4, 0.5, of) for b in batch] for a in batch]
    np.testing.assert_allclose(kernel(batch), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel(batch[:1], batch), expected[:1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.diag(batch), np.diag(expected), rtol=1e-9, atol=1e-12)


BATCH = [
    ([50.0, 60.0, 75.5], [1.0, 0.5, 0.2], 100.0),
    ([50.001, 61.0], [0.3, 1.0], 101.0),
    ([], [], 80.0),
    ([50.0, 60.0, 75.5], [1.0, 0.5, 0.2], 100.0),
]


@pytest.mark.parametrize("of", ["peaks", "losses", "differences"])
def test_spectra_keep_the_contract(of):
    check_kernel(MassSpectrum(of=of), BATCH)
    check_kernel(Normalized(MassSpectrum(of=of)) + MassSpectrum(), BATCH)


def test_differences_are_those_of_the_strongest_peaks():
    kernel = MassSpectrum(power=1.0, of="differences", strongest=2)
    assert kernel([BATCH[0]])[0, 0] == pytest.approx((1.0 * 0.5) ** 2)  # 60 - 50 alone


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (([1.0], [1.0]), r"X\[0\] must be a spectrum"),
        (([1.0, 2.0], [1.0], 3.0), r"X\[0\] needs one intensity for each peak"),
        (([1.0], [0.0], 3.0), r"X\[0\] needs finite masses and positive intensities"),
        (([np.nan], [1.0], 3.0), r"X\[0\] needs finite masses"),
        (None, r"X\[0\] must be a spectrum"),
    ],
)
def test_bad_spectra_are_named(bad, message):
    with pytest.raises(ValueError, match=message):
        MassSpectrum().check([bad], "X")


def test_bad_side():
    with pytest.raises(ValueError, match="of must be one of"):
        MassSpectrum(of="gains")(BATCH)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("c1cc2[nH]ccc2cn1", "c1cc2nccc2c[nH]1"),
        ("CC", "C[CH2]"),
        ("CO", "C[O-]"),
        ("[CH3]", "[CH2]"),
        ("C", "[C]"),
    ],
)
def test_graphs_tell_hydrogens_charges_and_radicals(one, other):
    """Molecules whose atoms and bonds alone are the same."""
    graphs = [molecule_graph(smiles) for smiles in (one, other)]
    assert WeisfeilerLehman(4, edge_label=None)(graphs)[0, 1] < min(
        WeisfeilerLehman(4, edge_label=None).diag(graphs)
    )


def test_what_bonds_imply_is_not_told():
    for plain, written in (("CCO", "[CH3][CH2][OH]"), ("c1ccccc1N", "c1ccccc1[NH2]")):
        labels = [molecule_graph(smiles).nodes(data="label") for smiles in (plain, written)]
        assert list(labels[0]) == list(labels[1])
        assert all(len(label) == 1 for _, label in labels[0])
