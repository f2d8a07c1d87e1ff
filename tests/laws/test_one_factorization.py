"""One factorisation gives the fit, left-out predictions, variances and prediction sets."""

import numpy as np
import pytest
import scipy.linalg

from laws.cases import LOW_RANK, vectors
from mercer import KernelDependency
from mercer.kernels import RBF
from mercer.operators import ConditionalCovariance, Covariance
from mercer.sets import ConformalSets

X, Y = vectors(30)
SPECTRA = {
    "identity": (RBF(1.0), {}, 1),
    "covariance": (RBF(1.0) * Covariance(), {}, 2),
    "conditional covariance": (RBF(1.0) * ConditionalCovariance(0.1), {}, 2),
    "low rank": (RBF(1.0), LOW_RANK, 0),
}
"""The kernel, further parameters, and the eigendecompositions of its inputs and its operator."""


def counting(monkeypatch):
    """The sizes of all matrices whose eigenvectors are computed from now on."""
    sizes = []

    def counted(plain):
        return lambda A, *args, **more: sizes.append(len(A)) or plain(A, *args, **more)

    monkeypatch.setattr(scipy.linalg, "eigh", counted(scipy.linalg.eigh))
    monkeypatch.setattr(np.linalg, "eigh", counted(np.linalg.eigh))
    return sizes


@pytest.mark.parametrize("name", SPECTRA)
def test_spectra_are_made_once(name, monkeypatch):
    kernel, params, number = SPECTRA[name]
    sizes = counting(monkeypatch)
    model = KernelDependency(kernel, alpha=0.1, **params).fit(X, Y)
    model.loo_predict()
    model.embed(X[:3]).variance()
    model.embed(X[:3]).variance(noise="left out")
    assert len(sizes) <= number, sizes


@pytest.mark.filterwarnings("ignore:jackknife")
@pytest.mark.parametrize("name", SPECTRA)
def test_jackknife_shares_the_factorisation_of_its_model(name, monkeypatch):
    kernel, params, number = SPECTRA[name]
    sizes = counting(monkeypatch)
    sets = ConformalSets(KernelDependency(kernel, alpha=0.1, **params), calibration="jackknife+")
    sets.fit(X, Y)
    sets.model_.loo_predict()
    sets.model_.embed(X[:3]).variance()
    sets.predict(X[:3])
    assert len(sizes) <= number, sizes
