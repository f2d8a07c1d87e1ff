from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from ..._arrays import Items, object_array
from ..._extras import require
from ...decoders import Candidates, Decoder
from ...kernels import Fingerprint, Kernel, Normalized, Spectrum
from ...metrics import character_error_rate, exact_match
from ..table import Table
from ..values import refused
from .base import Space
from .words import Words

SENTENCE = 2
"""Blanks in the middle one of texts from which on their words are compared."""


class Text(Space):
    """Text: names, words, sentences."""

    name = "text"

    def parse(self, table: Table) -> np.ndarray:
        """The cells as they are, without blanks around them."""
        name, cells = self._single(table)
        for i, cell in enumerate(cells):
            if not isinstance(cell, str | np.str_ | int | float | np.number):
                raise refused(table, i, name, f"{cell!r:.40} is no text.")
        return object_array([str(cell).strip() for cell in cells])

    def kernels(self, items: Items) -> list[Kernel]:
        """Shared pieces of two to four letters, by cosine; of sentences, shared words too."""
        letters: list[Kernel] = [Normalized(Spectrum(n, blended=True)) for n in (2, 3, 4)]
        if np.median([text.count(" ") for text in items]) < SENTENCE:
            return letters
        return letters + [Normalized(Words(Spectrum(n, blended=True))) for n in (1, 2)]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """One of the training texts."""
        return Normalized(Spectrum(3, blended=True)), Candidates()

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Exact matches and, where edit distances can be had, characters to be changed."""
        measures = {"exact match": float(exact_match(truth, predicted))}
        if find_spec("rapidfuzz") is not None:
            errors = character_error_rate(list(truth), list(predicted))
            measures["character error rate"] = float(errors)
        return measures


class Smiles(Text):
    """Molecules, written as SMILES."""

    name = "smiles"

    def parse(self, table: Table) -> np.ndarray:
        """SMILES that can be read."""
        require("rdkit", "molecules")
        from rdkit import Chem, rdBase

        items = super().parse(table)
        with rdBase.BlockLogs():
            for i, item in enumerate(items):
                if Chem.MolFromSmiles(item) is None:
                    raise refused(table, i, self.columns_[0], f"{item!r:.40} is no SMILES.")
        return items

    def kernels(self, items: Items) -> list[Kernel]:
        """Shared substructures."""
        return [Fingerprint(), Normalized(Fingerprint())]

    def output(self, items: Items) -> tuple[Kernel, Decoder | None]:
        """One of the training molecules."""
        return Fingerprint(), Candidates()

    def measures(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Exact matches."""
        return {"exact match": float(exact_match(truth, predicted))}
