"""The fuzzer of model files: many mutations in a child process with limits on memory and time.

``python -m hostile.fuzz --count 20000`` (with ``tests`` on the path) writes a line for each failure
and a summary; ``--seed`` draws other cases, ``--case`` repeats one. A case is a number: the same
seed, models and number give the same file. ``--bounds`` has compiled loops check their indices, so
that reading beyond an array fails even where it would go unnoticed.
"""

import argparse
import json
import os
import pickle
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np

from hostile.mutations import ARRAYS, NODES, Members, mutated, places

HANG = 10.0
"""Seconds of the processor that loading and predicting may take."""
MEMORY = 4 * 2**30
"""Bytes of address space that a child may take beyond what it starts with."""
BOUNDS = "MERCER_FUZZ_BOUNDS"
DOCUMENTED = (ValueError, TypeError, MemoryError, ImportError)
"""What `predict` may raise (`DamagedModel` is a ValueError); `load` raises `DamagedModel` alone."""


def budget(unpacked):
    """The memory that a file may take, as docs/security.md states it."""
    return 20 * unpacked + 200 * 2**20


def drawn(folder, count, seed):
    """Cases: every second one an array, the rest nodes, spread evenly over models."""
    files = sorted(folder.glob("*.mercer"))
    draw, cases = random.Random(seed), []
    targets = [_targets(file) for file in files]
    for number in range(count):
        which = number % len(files)
        arrays, nodes = targets[which]
        of_array = arrays and (number // len(files)) % 2 == 0
        target = draw.choice(arrays if of_array else nodes)
        kind = draw.choice(list(ARRAYS) if of_array else range(len(NODES)))
        cases.append((number, files[which].name, target, kind))
    return cases


def _targets(file):
    members = Members(file.read_bytes())
    return list(range(len(members.arrays))), list(places(members.tree["root"]))


# -- the child ----------------------------------------------------------------------------------


def child(folder, cases, seed):
    """Try the cases, telling the parent of each before and after."""
    if os.environ.get(BOUNDS):
        _check_bounds()
    import mercer

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    _warm(folder, {name for _, name, _, _ in cases}, mercer)
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, here + MEMORY))
    for number, name, target, kind in cases:
        target = tuple(target) if isinstance(target, list) else target
        data = (folder / name).read_bytes()
        made = mutated(data, target, kind, np.random.default_rng([seed, number]))
        if made is None:
            _tell({"end": number, "outcome": "no change"})
            continue
        data, unpacked, what = made
        _tell({"begin": number, "name": name, "what": what})
        X = pickle.loads((folder / name).with_suffix(".inputs").read_bytes())
        before, start = _peak(fresh=True), time.process_time()
        outcome = _tried(folder, data, X, mercer)
        used, seconds = _peak() - before, time.process_time() - start
        if used > budget(unpacked):
            outcome = f"MEMORY {used / 2**20:.0f} MB of {budget(unpacked) / 2**20:.0f}, {outcome}"
        _tell({"end": number, "outcome": outcome, "s": round(seconds, 3), "mb": used >> 20})


def _check_bounds():
    """Compile loops with checks of their indices."""
    import numba

    plain = numba.njit
    numba.njit = lambda **how: plain(**how, boundscheck=True)


def _warm(folder, names, mercer):
    """Compile all loops before memory and time count."""
    for name in names:
        X = pickle.loads((folder / name).with_suffix(".inputs").read_bytes())
        for _, answer in _asked(mercer.load(folder / name), X):
            with suppress(ValueError):  # not every decoder ranks
                answer()


def _tried(folder, data, X, mercer):
    file = folder / f"mutated-{os.getpid()}"
    file.write_bytes(data)
    try:
        model = mercer.load(file)
    except mercer.DamagedModel as problem:
        return "refused" if "MemoryError" not in str(problem) else f"MEMORY load {problem!s:.200}"
    except BaseException as problem:
        return f"LOAD {type(problem).__name__}: {problem!s:.200}"
    outcome = "predicts"
    for name, answer in _asked(model, X):
        try:
            answer()
        except DOCUMENTED as problem:
            if str(problem.__cause__) == "index is out of bounds":  # numba's, where asked for
                return f"BOUNDS {name} {problem!s:.200}"
            if isinstance(problem, MemoryError):  # there was room for a model of this size
                return f"MEMORY {name} {problem!s:.200}"
            outcome = f"{name} says {type(problem).__name__}"
        except BaseException as problem:
            return f"PREDICT {name} {type(problem).__name__}: {problem!s:.200}"
    return outcome


def _asked(model, X):
    """What is asked of a model."""
    yield "str", lambda: str(model)
    if hasattr(model, "predict"):
        yield "predict", lambda: model.predict(X)
    if hasattr(model, "predict_top"):
        yield "predict_top", lambda: model.predict_top(X, k=2)


def _tell(message):
    print(json.dumps(message), flush=True)


def _peak(fresh=False):
    """The most memory this process has had, since the last time that was `fresh`; in bytes."""
    if fresh:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


# -- the parent ---------------------------------------------------------------------------------


def fuzz(folder, cases, seed, bounds=False, report=print):
    """Outcomes of all cases, and those that failed: crashes, hangs, memory, undocumented errors."""
    outcomes, failures, peak, slowest = Counter(), [], 0, 0.0
    waiting = list(cases)
    while waiting:
        last, number = None, {case[0]: i for i, case in enumerate(waiting)}
        for message in _told(folder, waiting, seed, bounds):
            if "begin" in message:
                last = message
                continue
            if message["outcome"].split()[0].isupper():
                failures.append({**(last or {}), **message})
                report(
                    f"case {message['end']}: {last['name']}: {last['what']}: {message['outcome']}"
                )
            outcomes[message["outcome"].split(":")[0]] += 1
            peak, slowest = max(peak, message.get("mb", 0)), max(slowest, message.get("s", 0.0))
            done = number[message["end"]] + 1
        waiting = waiting[done:]
    return outcomes, failures, {"peak MB": peak, "slowest s": slowest}


def _told(folder, cases, seed, bounds):
    """Messages of a child that works through cases; the last is of its death where it dies."""
    (folder / "cases.json").write_text(json.dumps([seed, cases]))
    here = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": here}
    if bounds:
        environment |= {BOUNDS: "1", "NUMBA_CACHE_DIR": str(folder / "bounds")}
    command = [sys.executable, "-m", "hostile.fuzz", "--child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as process:  # fmt: skip
        begun, patience = None, 300.0
        while True:
            ready, _, _ = select.select([process.stdout], [], [], patience)
            line = process.stdout.readline() if ready else b""
            if not line:
                break
            message = json.loads(line)
            begun, patience = message.get("begin"), 12 * HANG
            yield _late(message)
        process.kill()
        code, errors = process.wait(), process.stderr.read().decode(errors="replace")
    if begun is not None:
        name = "HANG" if not ready else signal.Signals(-code).name if code < 0 else f"exit {code}"
        yield {"end": begun, "outcome": f"DIED {name} {errors[-300:]}"}
    elif code and code != -signal.SIGKILL:
        raise RuntimeError(errors[-2000:])


def _late(message):
    if message.get("s", 0.0) > HANG:
        message["outcome"] = f"HANG {message['s']} s, {message['outcome']}"
    return message


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--bounds", action="store_true", help="check the bounds in loops")
    parser.add_argument("--child", type=Path)
    given = parser.parse_args()
    if given.child:
        seed, cases = json.loads((given.child / "cases.json").read_text())
        child(given.child, cases, seed)
        return
    with tempfile.TemporaryDirectory() as made:
        folder = given.folder or Path(made)
        if not list(folder.glob("*.mercer")):
            from hostile import zoo

            zoo.write(folder)
        count = given.count if given.case is None else given.case + 1
        cases = drawn(folder, count, given.seed)
        cases = cases if given.case is None else cases[-1:]
        start = time.perf_counter()
        outcomes, failures, most = fuzz(folder, cases, given.seed, given.bounds)
    for outcome, number in outcomes.most_common():
        print(f"{number:6} {outcome}")
    print(
        f"{len(cases)} cases, {len(failures)} failures, {time.perf_counter() - start:.0f} s, {most}"
    )


if __name__ == "__main__":
    main()
