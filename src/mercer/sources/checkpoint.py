"""Checkpoints: files from which an interrupted pass over a stream continues."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._base.arrays import host, like
from .._base.files import ARCHIVE_ERRORS
from .._base.parameters import integer
from ..operators import Moments
from .contents import Progress, content_hash
from .gathering import Gathering

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

CHECKPOINT_FORMAT = "mercer stream 4"
"""The name and version of the file format."""
SUMS = ("n", "uu", "vu", "vv", "u", "v")
"""The names of the sums that moments consist of, in the order of `Moments`."""
TOLERANCE = 1e-9
"""A checkpoint is of the same run if the coordinates of a few pairs differ by less than this."""


class BadCheckpoint(ValueError):
    """Error for a checkpoint that is damaged, written by another run, or in use.

    Examples
    --------
    >>> from mercer.sources import BadCheckpoint
    >>> issubclass(BadCheckpoint, ValueError)
    True
    """


@dataclass(frozen=True)
class Checkpoint:
    """A file to which the moments of a stream are saved after every `every` blocks.

    The new file is complete on disk before it replaces the last one, which is kept next to it as
    ``NAME.mercer-previous``. The file has numbers and a JSON header, and no code. A run can resume
    from it if everything that moments depend on is the same: kernels, feature maps, intercept, and
    the blocks that were read, which are compared by their hashes. Alpha, operator and decoder may
    differ. Only one process at a time can use the file: it locks ``NAME.mercer-lock`` if the
    system supports that.
    """

    path: Path
    every: int

    def _sibling(self, kind: str) -> Path:
        """Return the path of a file next to the checkpoint: "previous", "unfinished" or "lock".

        The name is distinctive: files of the user next to the checkpoint are not touched.
        """
        return self.path.with_name(f"{self.path.name}.mercer-{kind}")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Lock the checkpoint while a run lasts; remove the files if it succeeds."""
        lock = self._sibling("lock")
        with open(lock, "ab") as lock_file:
            self._acquire(lock_file, lock)
            try:
                yield
                for path in (self.path, self._sibling("previous"), self._sibling("unfinished")):
                    path.unlink(missing_ok=True)
            finally:
                if fcntl is not None:  # the name is free for the next run
                    lock.unlink(missing_ok=True)

    def _acquire(self, lock_file: Any, path: Path) -> None:
        """Lock the open file at a path; raise an error if another process has locked it."""
        if fcntl is None:
            return
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = path.exists() and os.path.samestat(os.fstat(lock_file.fileno()), path.stat())
        except BlockingIOError:
            free = False
        except OSError:  # a file system without locks
            return
        if not free:
            raise BadCheckpoint(
                f"the checkpoint {self.path} is in use by another process or fit: wait for its "
                "end, or give another path."
            )

    def save(self, done: Progress, moments: list[Moments], gatherings: list[Gathering]) -> None:
        """Write progress and moments to a new file, and replace the checkpoint by it."""
        arrays: dict[str, np.ndarray] = {}
        for i, (gathering, raw) in enumerate(zip(gatherings, moments, strict=True)):
            arrays |= {f"{i}.{name}": np.asarray(host(getattr(raw, name))) for name in SUMS}
            arrays |= {f"{i}.probe.{side}": host(gathering.probe[side]) for side in (0, 1)}
        header = {
            "format": CHECKPOINT_FORMAT,
            "models": len(gatherings),
            "center": gatherings[0].center,
        }
        header |= asdict(done) | {"arrays": _hashes_of(arrays)}
        unfinished = self._sibling("unfinished")
        with open(unfinished, "wb") as file:
            np.savez(file, allow_pickle=False, header=np.array(json.dumps(header)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        if self.path.exists():
            os.replace(self.path, self._sibling("previous"))
        os.replace(unfinished, self.path)

    def resume(self, gatherings: list[Gathering]) -> tuple[Progress, list[Moments] | None]:
        """Return the saved progress and moments; moments are None if there is no file.

        A file whose run differs from that of `gatherings` is refused.
        """
        # A run that is killed between the two renames leaves the previous file, which is complete.
        previous = self._sibling("previous")
        path = self.path if self.path.exists() else previous
        if not path.exists():
            return Progress(), None
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                return self._restored({name: file[name] for name in file.files}, gatherings)
        except BadCheckpoint:
            raise
        except ARCHIVE_ERRORS as error:
            way = "delete it to start over"
            if path == self.path and previous.exists():
                way = f"move {previous}, which is kept, in its place"
            raise BadCheckpoint(
                f"the checkpoint {path} is damaged or is none ({error}): {way}."
            ) from error

    def _restored(
        self, arrays: dict[str, np.ndarray], gatherings: list[Gathering]
    ) -> tuple[Progress, list[Moments]]:
        """Return progress and moments from saved arrays; refuse those of another run."""
        header = json.loads(str(arrays.pop("header")))
        if header["format"] != CHECKPOINT_FORMAT or header["arrays"] != _hashes_of(arrays):
            raise ValueError("its format, or what it holds, is not what was written")
        hashes = tuple(header["values"]), tuple(header["digest"])
        done = Progress(int(header["blocks"]), int(header["pairs"]), *hashes)
        if done.blocks < 1:
            raise ValueError("it stands for no block")
        if header["models"] != len(gatherings):
            raise self.other_run_error(
                f"it holds {header['models']} kernels, not {len(gatherings)}"
            )
        if header["center"] != gatherings[0].center:
            raise self.other_run_error(f"it was written with fit_intercept={header['center']}")
        return done, [self._restored_moments(arrays, i, one) for i, one in enumerate(gatherings)]

    def _restored_moments(
        self, arrays: dict[str, np.ndarray], i: int, gathering: Gathering
    ) -> Moments:
        """Return the saved moments number i; raise an error if they are in other coordinates."""
        for side, name in enumerate(("inputs", "outputs")):
            self._require_equal(arrays[f"{i}.probe.{side}"], host(gathering.probe[side]), name)
        n, *sums = (arrays[f"{i}.{name}"] for name in SUMS)
        uu, vu, vv, u, v = (like(A, gathering.probe[0]) for A in sums)
        return Moments(float(n), uu, vu, vv, u, v)

    def _require_equal(self, saved: np.ndarray, current: np.ndarray, name: str) -> None:
        """Raise an error if a saved array differs from the array of the current run."""
        if saved.shape != current.shape:
            raise self.other_run_error(f"its {name} have coordinates of shape {saved.shape[1:]}")
        scale = max(1.0, float(np.abs(current).max(initial=0.0)))
        if not np.allclose(saved, current, rtol=0, atol=TOLERANCE * scale):
            raise self.other_run_error(f"the same pairs have other coordinates of their {name}")

    def other_run_error(self, why: str) -> BadCheckpoint:
        """Return an error to be raised for a checkpoint that another run wrote."""
        return BadCheckpoint(
            f"the checkpoint {self.path} is of another run: {why}. Kernels, feature maps (with "
            "their random_state a number), intercept, data and their cut into blocks have to be "
            "those of the run that wrote it; give another path, or delete it to start over."
        )


def _hashes_of(arrays: dict[str, np.ndarray]) -> dict[str, list]:
    """Return a dictionary from names to the dtype, shape and hash of each array."""
    return {name: [A.dtype.str, list(A.shape), content_hash(A)] for name, A in arrays.items()}


def as_checkpoint(path: str | Path | None, every: int) -> Checkpoint | None:
    """Return a `Checkpoint` at a path after a check; None if the path is None."""
    every = integer(every, "every")
    if path is not None and not Path(path).absolute().parent.is_dir():
        raise FileNotFoundError(f"checkpoint={str(path)!r} is in a folder that does not exist.")
    return None if path is None else Checkpoint(Path(path), every)
