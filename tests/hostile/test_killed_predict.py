"""Predictions killed at random moments leave the old file or the new one, never half."""

import json

import mercer
from mercer import AutoDependency
from mercer.tables import read

KILLS = 24
SCRIPT = """
import json, os, random, signal, sys
from pathlib import Path
from mercer.app.cli import main

def child(last):
    '''Predict in a process of its own, and kill it at an event; return the number of events.'''
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        events = 0
        def count(frame, event, argument):
            nonlocal events
            events += 1
            if events == last:
                os.kill(os.getpid(), signal.SIGKILL)
        sys.setprofile(count)
        main(["predict", "m.mercer", "d.csv", "-o", "out.csv"], standalone_mode=False)
        sys.setprofile(None)
        os.write(writing, str(events).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        events = pipe.read()
    _, status = os.waitpid(pid, 0)
    return int(events or 0), os.WIFSIGNALED(status)

out, old = Path("out.csv"), b"old\\n" * 50
main(["predict", "m.mercer", "d.csv", "-o", "warm.csv"], standalone_mode=False)  # imports
out.write_bytes(old)
events, _ = child(0)
new = out.read_bytes()
draw = random.Random(0)
moments = [draw.randrange(events) for _ in range(KILLS // 4)]
while_writing = range(events - 220, events - 60)
moments += draw.sample(while_writing, KILLS - len(moments))
found = []
for moment in moments:
    out.write_bytes(old)
    _, killed = child(moment)
    data = out.read_bytes()
    found.append([killed, "old" if data == old else "new" if data == new else "half"])
child(0)
print(json.dumps([found, out.read_bytes() == new]))
"""


def test_kills_leave_the_old_file_or_the_new_one(tmp_path, monkeypatch, few_trees, forks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("x,y\n" + "".join(f"{i},{2 * i}\n" for i in range(60)))
    mercer.save(AutoDependency().fit(read("d.csv")), tmp_path / "m.mercer")
    told = forks(SCRIPT.replace("KILLS", str(KILLS)), seconds=300)
    assert told.returncode == 0, told.stderr
    found, whole = json.loads(told.stdout)
    assert len(found) == KILLS
    assert sum(killed for killed, _ in found) >= KILLS - 2
    assert {what for _, what in found} == {"old", "new"}
    assert whole  # drafts that were left behind do not matter
