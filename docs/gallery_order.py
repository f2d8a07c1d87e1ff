"""Order of the gallery: first one example for each kind of output, then the others."""

from pathlib import Path

OUTPUTS = (
    "images", "plurals", "words", "pronunciation", "inflection", "trees", "rankings", "label_sets",
    "curves", "graphs", "spectra_to_molecules", "simulation", "fields", "vector_field",
)  # fmt: skip


def by_output(path):
    """Return the key that examples are sorted by."""
    name = Path(path).stem.removeprefix("plot_")
    return (OUTPUTS.index(name) if name in OUTPUTS else len(OUTPUTS), name)
