"""The fuzzer of files: many mutations in a child process with limits on memory and time.

From the root of the repository, ``python -m tests.hostile.fuzz --mutations 20000 --seed 0`` writes
a line for each failure and a summary; ``--case`` repeats one. A case is a number: the same seed,
models and number give the same file. Model files are mutated in every array and node, with digests
made to fit; NPZ, Parquet and Excel files in their bytes.
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

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `python -m tests.hostile.fuzz`

from hostile.mutations import ARRAYS, NODES, Members, corrupted, mutated, places

HANG = 5.0
"""Seconds of the processor that loading and predicting may take."""
MEMORY = 4 * 2**30
"""Bytes of address space that a child may take beyond what it starts with."""
TABLES = (".npz", ".parquet", ".xlsx")
MORE = 0.3
"""How often a mutated file is mutated once more."""
SHARE = 20
"""One case in so many is a table."""
DOCUMENTED = (ValueError, TypeError, MemoryError, ImportError)
"""What `predict` may raise (`DamagedModel` is a ValueError); `load` raises `DamagedModel` alone."""


def budget(unpacked):
    """Return the memory that a file may take, as docs/sharing.md states it."""
    return min(20 * unpacked + 200 * 2**20, 500 * 2**20)


def drawn(folder, count, seed):
    """Return cases: tables, and models in turn, half of them changed in an array."""
    models, tables = (
        sorted(folder.glob("*.mercer")),
        [file for file in sorted(folder.iterdir()) if file.suffix in TABLES],
    )
    draw, cases = random.Random(seed), []
    draw.shuffle(models)
    targets = {}
    for number in range(count):
        if number % SHARE == 0:
            cases.append((number, tables[number // SHARE % len(tables)].name, None, None))
            continue
        file = models[number % len(models)]
        if file not in targets:
            targets[file] = _targets(file)
        arrays, nodes = targets[file]
        of_array = arrays and draw.random() < 0.5
        target = draw.choice(arrays if of_array else nodes)
        kind = draw.choice(list(ARRAYS) if of_array else range(len(NODES)))
        cases.append((number, file.name, target, kind))
    return cases


def _targets(file):
    members = Members(file.read_bytes())
    return list(range(len(members.arrays))), list(places(members.tree["root"]))


# -- the child ----------------------------------------------------------------------------------


def child(folder, cases, seed):
    """Try the cases, telling the parent of each before and after."""
    import mercer

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    _warm(folder, {name for _, name, _, _ in cases}, mercer)
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, here + MEMORY))
    for number, name, target, kind in cases:
        made = _made(folder / name, target, kind, np.random.default_rng([seed, number]))
        if made is None:
            _tell({"end": number, "outcome": "no change"})
            continue
        data, unpacked, what = made
        _tell({"begin": number, "name": name, "what": what})
        before, start = _peak(fresh=True), time.process_time()
        try:
            outcome = _outcome(folder / name, data)
        except BaseException as problem:
            outcome = f"RAISED {type(problem).__name__}: {problem!s:.200}"
        used, seconds = _peak() - before, time.process_time() - start
        if used > budget(unpacked):
            outcome = f"MEMORY {used / 2**20:.0f} MB of {budget(unpacked) / 2**20:.0f}, {outcome}"
        _tell({"end": number, "outcome": outcome, "s": round(seconds, 3), "mb": used >> 20})


def _made(file, target, kind, rng):
    """Return the bytes of a mutated file, their unpacked size, and the change in words."""
    data = file.read_bytes()
    if file.suffix in TABLES:
        data = corrupted(data, rng)
        return data, len(data), "bytes"
    made = mutated(data, tuple(target) if isinstance(target, list) else target, kind, rng)
    while made is not None and rng.random() < MORE:
        another = _mutated_again(made[0], rng)
        if another is None:
            break
        made = (*another[:2], f"{made[2]}; {another[2]}")
    return made


def _mutated_again(data, rng):
    """Return a mutated file with one more change, drawn from what it holds now."""
    members = Members(data)
    nodes = list(places(members.tree["root"]))
    if members.arrays and rng.random() < 0.5:
        kinds = list(ARRAYS)
        target = int(rng.integers(len(members.arrays)))
        return mutated(data, target, kinds[rng.integers(len(kinds))], rng)
    if not nodes:  # the first change emptied the tree
        return None
    return mutated(data, nodes[rng.integers(len(nodes))], int(rng.integers(len(NODES))), rng)


def _outcome(file, data):
    changed = file.with_name(f"mutated-{os.getpid()}{file.suffix}")
    changed.write_bytes(data)
    try:
        if file.suffix in TABLES:
            return _read_table(changed)
        return _tried(changed, pickle.loads(file.with_suffix(".inputs").read_bytes()))
    finally:
        changed.unlink()


def _warm(folder, names, mercer):
    """Compile all loops before memory and time count."""
    for name in sorted(names):
        if name.endswith(".mercer"):
            X = pickle.loads((folder / name).with_suffix(".inputs").read_bytes())
            for _, answer in _asked(mercer.load(folder / name), X):
                with suppress(ValueError, TypeError):  # not every decoder ranks
                    answer()
        else:
            _read_table(folder / name)


def _read_table(file):
    """Read a table as `mercer fit` does, and as shards of pairs."""
    from mercer.sources import Shards
    from mercer.tables import read

    outcome = "read"
    readers = [lambda: read(file)]
    if file.suffix == ".npz":
        readers.append(lambda: list(Shards(file)))
    if file.suffix == ".parquet":
        readers.append(lambda: list(Shards(file, inputs="x", outputs="y")))
    for answer in readers:
        try:
            answer()
        except DOCUMENTED as problem:
            outcome = _answered("table", problem)
    return outcome


def _tried(file, X):
    import mercer

    try:
        model = mercer.load(file)
    except mercer.DamagedModel as problem:
        return "refused" if "MemoryError" not in str(problem) else f"MEMORY load {problem!s:.200}"
    outcome = "predicts"
    for name, answer in _asked(model, X):
        try:
            answer()
        except MemoryError as problem:  # there was room for a model of this size
            return f"MEMORY {name} {problem!s:.200}"
        except DOCUMENTED as problem:
            outcome = _answered(name, problem)
    return outcome


def _answered(name, problem):
    """Return an outcome for an error; the errors of other libraries are failures."""
    own = type(problem).__module__.startswith(("builtins", "mercer", "sklearn.exceptions"))
    return f"{name} says {type(problem).__name__}" if own else f"RAW {name} {problem!r:.200}"


def _asked(model, X):
    """Yield what is asked of a model."""
    yield "str", lambda: str(model)
    if not hasattr(model, "predict"):
        return
    yield "predict", lambda: model.predict(X)
    if hasattr(model, "predict_top"):
        yield "predict_top", lambda: model.predict_top(X, k=2)
    if hasattr(model, "embed"):
        yield "variance", lambda: model.embed(X).variance()
    if hasattr(model, "predict_set"):
        yield "predict_set", lambda: model.predict_set(X)
    if hasattr(model, "explain"):
        yield "explain", lambda: model.explain(X, k=2)


def _tell(message):
    print(json.dumps(message), flush=True)


def _peak(fresh=False):
    """The most memory this process has had, since the last time that was `fresh`; in bytes."""
    if fresh:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


# -- the parent ---------------------------------------------------------------------------------


def fuzz(folder, cases, seed, report=print):
    """Outcomes of all cases, and those that failed: crashes, hangs, memory, undocumented errors."""
    outcomes, failures, peak, slowest = Counter(), [], 0, 0.0
    waiting = list(cases)
    while waiting:
        last, number = None, {case[0]: i for i, case in enumerate(waiting)}
        for message in _told(folder, waiting, seed):
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


def _told(folder, cases, seed):
    """Messages of a child that works through cases; the last is of its death where it dies."""
    (folder / "cases.json").write_text(json.dumps([seed, cases]))
    here = os.pathsep.join(filter(None, sys.path))
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": here}
    command = [sys.executable, "-m", "hostile.fuzz", "--child", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as process:  # fmt: skip
        begun, patience = None, 600.0
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
    parser.add_argument("--mutations", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int)
    parser.add_argument("--folder", type=Path)
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
        models = len(list(folder.glob("*.mercer")))
        count = given.mutations if given.case is None else given.case + 1
        cases = drawn(folder, count, given.seed)
        cases = cases if given.case is None else cases[-1:]
        start = time.perf_counter()
        outcomes, failures, most = fuzz(folder, cases, given.seed)
    for outcome, number in outcomes.most_common():
        print(f"{number:6} {outcome}")
    print(
        f"seed {given.seed}: {len(cases)} mutations of {models} models and of tables, "
        f"{len(failures)} failures, {time.perf_counter() - start:.0f} s, {most}"
    )


if __name__ == "__main__":
    main()
