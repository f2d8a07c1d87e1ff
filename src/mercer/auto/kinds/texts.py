"""Texts and molecules as outputs."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

import numpy as np

from ..._base.arrays import Items, object_array
from ..._base.errors import require
from ...decoders import Candidates
from ...metrics import character_error_rate
from ...spaces import Molecules, Sequences, Space
from ..tables.table import Name, Table
from .base import Kind


class TextKind(Kind):
    """Texts or lists of tokens, one in each cell."""

    kind_ = "text"
    is_free_text = is_single = True
    space: Space = Sequences()

    def read_cells(self, table: Table) -> np.ndarray:
        """Return the texts, stripped of surrounding blanks, and lists of tokens unchanged."""
        name, cells = self.single_column(table)
        for i, cell in enumerate(cells):
            if not isinstance(cell, str | int | float | np.number | list | tuple):
                raise table.refused(i, name, f"{cell!r:.40} is not a text", "write a text")
        texts = [cell if isinstance(cell, list | tuple) else str(cell).strip() for cell in cells]
        return self.check_items(object_array(texts), table)

    def decoder(self) -> Candidates:
        """Return the decoder that chooses among the training texts."""
        return Candidates()

    def other_metrics(self, truth: Items, predicted: Items) -> dict[str, float]:
        """Return the character error rate, if rapidfuzz is installed."""
        if not self.is_free_text or find_spec("rapidfuzz") is None or not any(map(len, truth)):
            return {}
        errors = character_error_rate(list(truth), list(predicted))
        return {"character error rate": float(errors)}


class SmilesKind(TextKind):
    """Molecules, one in each cell, as SMILES strings."""

    kind_ = "smiles"
    is_free_text = False
    space = Molecules()

    def read_cells(self, table: Table) -> np.ndarray:
        """Return the SMILES strings; raise an error if rdkit cannot parse one."""
        items = super().read_cells(table)
        check_smiles(table, self.columns_[0], items)
        return items


def check_smiles(table: Table, name: Name, items: Iterable[str]) -> None:
    """Raise an error for the first SMILES string of a column that rdkit cannot parse."""
    require("rdkit", "molecules")
    from rdkit import Chem, rdBase

    with rdBase.BlockLogs():
        for i, item in enumerate(items):
            if item and Chem.MolFromSmiles(item) is None:
                raise table.refused(
                    i, name, f"{item!r:.40} is not a SMILES string", "fix the cell",
                    "leave the row out",
                )  # fmt: skip
