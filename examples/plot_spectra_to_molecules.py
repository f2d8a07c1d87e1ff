"""
Molecules from mass spectra
===========================

Learn from 1,000 compounds of MassBank, then rank the known molecules of a formula that was never
seen. Needs ``mercer[molecules,plots]`` and the massbank files (`mercer.datasets.load_massbank`).
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDependency
from mercer.datasets import load_massbank
from mercer.decoders import Candidates
from mercer.kernels import Fingerprint, MassSpectrum, Normalized

data = load_massbank()
pool = data.pool
held_out = next(f for f in data.formulas if len(pool[f]) == 6)
train = np.flatnonzero(data.formulas != held_out)[:1000]
test = np.flatnonzero(data.formulas == held_out)[:1]

# %%
# Peaks and neutral losses in, fingerprints out; each spectrum names its own candidates.
peaks, losses = (Normalized(MassSpectrum(0.008, power=0.25, of=of)) for of in ("peaks", "losses"))
model = KernelDependency(
    0.5 * peaks + 0.5 * losses,
    Fingerprint() + Fingerprint("pairs"),
    alpha=0.1,
    decoder=Candidates(lambda spectrum: pool[spectrum.formula]),
).fit(data.spectra[train], data.molecules[train])
ranked = model.predict_top(data.spectra[test], k=6)[0]

# %%
# The spectrum, and the candidates of its formula, the true one in orange.
spectrum, truth = data.spectra[test[0]], data.molecules[test[0]]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.5), layout="constrained")
left.stem(spectrum.mz, spectrum.intensity, markerfmt=" ", basefmt=" ")
left.set(xlabel="m/z", ylabel="intensity", title=held_out)
colours = ["tab:orange" if smiles == truth else "tab:blue" for smiles, _ in ranked]
right.barh(
    [smiles[:40] for smiles, _ in ranked][::-1], [s for _, s in ranked][::-1], color=colours[::-1]
)
right.set(xlabel="score", title="candidates")
plt.show()
