"""
Molecules from mass spectra
===========================

A model learns from 1,000 compounds of MassBank. It then ranks the known molecules of a formula that
is not in the training data. This example needs ``mercer[molecules,plots]``. The data are read by
`mercer.datasets.load_massbank`.
"""

import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem
from rdkit.Chem import Draw

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
# Predict fingerprints from peaks and neutral losses. The candidates of a spectrum are the molecules
# with its formula.
peaks, losses = (Normalized(MassSpectrum(0.008, power=0.25, of=of)) for of in ("peaks", "losses"))
model = KernelDependency(
    0.5 * peaks + 0.5 * losses,
    Fingerprint() + Fingerprint("pairs"),
    alpha=0.1,
    decoder=Candidates(lambda spectrum: pool[spectrum.formula]),
).fit(data.spectra[train], data.molecules[train])
ranked = model.predict_top(data.spectra[test], k=6)[0]

# %%
# Plot the spectrum and its candidates, best first. The true molecule has an orange frame.
spectrum, truth = data.spectra[test[0]], data.molecules[test[0]]
figure, axes = plt.subplot_mosaic(
    "sss;012;345", figsize=(8, 7), height_ratios=[1, 1.3, 1.3], layout="constrained"
)
axes["s"].stem(spectrum.mz, spectrum.intensity, markerfmt=" ", basefmt=" ")
axes["s"].set(xlabel="m/z", ylabel="intensity", title=held_out)
for i, (smiles, score) in enumerate(ranked):
    axis = axes[str(i)]
    axis.imshow(Draw.MolToImage(Chem.MolFromSmiles(smiles), size=(400, 260)))
    axis.set_title(f"{score:.2f}", fontsize=10)
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_color("tab:orange" if smiles == truth else "none")
    axis.spines[:].set_linewidth(3)
plt.show()

# sphinx_gallery_thumbnail_path = '_static/gallery/spectra_to_molecules.png'
