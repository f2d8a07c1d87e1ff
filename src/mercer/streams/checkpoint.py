"""A run that was killed goes on where its last checkpoint left it."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import host, like
from ..operators import Moments
from .gathering import PARTS, Gathering

FORMAT = "mercer stream 1"
DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    NotImplementedError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What reading a file that is damaged, or no archive at all, is known to raise."""
SAME = 1e-9
"""How near the coordinates of a few pairs have to be for two runs to be the same."""


class BadCheckpoint(ValueError):
    """A checkpoint that is damaged, or of another run."""


@dataclass(frozen=True)
class Checkpoint:
    """A file of plain arrays that moments are written to every `every` blocks.

    The new file is complete on disk before it takes the place of the last one, which is kept
    beside it as ``NAME.previous``. Nothing in it is ever executed: numbers, and a header in JSON.
    What has to match on resuming is all that moments depend on: kernels, feature maps, intercept
    and data, seen through the coordinates of a few pairs. Alpha, operator and decoder are free.
    """

    path: Path
    every: int

    @property
    def previous(self) -> Path:
        """Where the checkpoint before the last one is kept."""
        return self.path.with_name(self.path.name + ".previous")

    @property
    def unfinished(self) -> Path:
        """Where the next one is written; a run killed meanwhile leaves a part of it there."""
        return self.path.with_name(self.path.name + ".unfinished")

    def save(self, done: int, gatherings: list[Gathering]) -> None:
        """Write the moments of the first `done` blocks, and only then let go of older ones."""
        header = {"format": FORMAT, "blocks": done, "models": len(gatherings)}
        arrays = {"header": np.array(json.dumps(header))}
        for i, gathering in enumerate(gatherings):
            raw = gathering.raw
            arrays[f"{i}.n"] = np.array(raw.n)
            arrays |= {f"{i}.{name}": host(getattr(raw, name)) for name in PARTS}
            arrays |= {f"{i}.probe.{side}": host(gathering.probe[side]) for side in (0, 1)}
        with open(self.unfinished, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        if self.path.exists():
            os.replace(self.path, self.previous)
        os.replace(self.unfinished, self.path)

    def resume(self, gatherings: list[Gathering]) -> int:
        """Give fresh gatherings the moments of the file; how many blocks they stand for."""
        arrays = self._load()
        if arrays is None:
            return 0
        header = json.loads(str(arrays["header"]))
        if header["models"] != len(gatherings):
            raise self._foreign(f"it holds {header['models']} kernels, not {len(gatherings)}")
        found = [self._moments(arrays, i, gathering) for i, gathering in enumerate(gatherings)]
        for gathering, moments in zip(gatherings, found, strict=True):
            gathering.merge(moments)
        return int(header["blocks"])

    def _moments(self, arrays: dict[str, np.ndarray], i: int, gathering: Gathering) -> Moments:
        """The moments of the file for one gathering, whose coordinates they have to be of."""
        for side, name in enumerate(("inputs", "outputs")):
            self._compare(arrays[f"{i}.probe.{side}"], host(gathering.probe[side]), name)
        for name in PARTS:
            part, wanted = arrays[f"{i}.{name}"], tuple(getattr(gathering, name).shape)
            if part.shape != wanted or part.dtype.kind != "f" or not np.isfinite(part).all():
                raise self._damaged(self.path, f"{i}.{name} is no finite array of shape {wanted}")
        parts = [like(arrays[f"{i}.{name}"], gathering.vu) for name in PARTS]
        return Moments(int(arrays[f"{i}.n"]), *parts)

    def clear(self) -> None:
        """The run has ended: nothing is left to resume."""
        for path in (self.path, self.previous, self.unfinished):
            path.unlink(missing_ok=True)

    def _load(self) -> dict[str, np.ndarray] | None:
        # Killed between its two renames, a run leaves the previous file alone, and that is whole.
        path = self.path if self.path.exists() else self.previous
        if not path.exists():
            return None
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            _check_names(arrays)
        except DAMAGE as error:
            raise self._damaged(path, str(error)) from error
        return arrays

    def _damaged(self, path: Path, why: str) -> BadCheckpoint:
        kept = self.previous if path == self.path and self.previous.exists() else None
        way = f"move {kept}, which is kept, in its place" if kept else "delete it to start over"
        return BadCheckpoint(f"the checkpoint {path} is damaged or is none ({why}): {way}.")

    def _compare(self, there: np.ndarray, here: np.ndarray, name: str) -> None:
        if there.ndim != 2 or there.dtype.kind != "f":
            raise self._damaged(self.path, f"the coordinates of its {name} are no matrix")
        if there.shape != here.shape:
            raise self._foreign(
                f"its {name} have {there.shape[1]} coordinates, not {here.shape[1]}"
            )
        scale = max(1.0, float(np.abs(here).max(initial=0.0)))
        if not np.allclose(there, here, rtol=0, atol=SAME * scale):
            raise self._foreign(f"the same pairs have other coordinates of their {name}")

    def _foreign(self, why: str) -> BadCheckpoint:
        return BadCheckpoint(
            f"the checkpoint {self.path} is of another run: {why}. Kernels, feature maps (with "
            "their random_state a number), intercept and data have to be those of the run that "
            "wrote it; give another path, or delete it to start over."
        )


def _check_names(arrays: dict[str, np.ndarray]) -> None:
    """Refuse, by a KeyError or ValueError, arrays that are not all that a checkpoint has."""
    header = json.loads(str(arrays["header"]))
    if not isinstance(header, dict) or header["format"] != FORMAT:
        raise ValueError("its header is of another format")
    for name in ("blocks", "models"):
        if not isinstance(header[name], int) or header[name] < 0:
            raise ValueError(f"{name} in its header is no number")
    for i in range(header["models"]):
        missing = {f"{i}.{name}" for name in ("n", *PARTS, "probe.0", "probe.1")} - arrays.keys()
        if missing:
            raise KeyError(min(missing))
        if arrays[f"{i}.n"].dtype.kind != "i" or arrays[f"{i}.n"].shape or arrays[f"{i}.n"] < 0:
            raise ValueError(f"{i}.n is no number of pairs")


def as_checkpoint(path: Any, every: Any) -> Checkpoint | None:
    """A checkpoint from a path; None where there is none."""
    if isinstance(every, bool) or not isinstance(every, int | np.integer) or every < 1:
        raise ValueError(f"every must be a positive whole number of blocks, got {every!r}.")
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"checkpoint={str(path)!r} is in a folder that does not exist.")
    return None if path is None else Checkpoint(Path(path), int(every))
