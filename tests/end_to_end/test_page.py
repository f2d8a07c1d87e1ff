"""The web page as `mercer demo` serves it: from a table to predictions, a report and a model."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest

import mercer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def address(tmp_path):
    """The address of a page that runs in a process of its own."""
    for extra in ("starlette", "uvicorn", "matplotlib"):
        pytest.importorskip(extra)
    x = np.linspace(0.0, 6.0, 60)
    frame = pd.DataFrame({"hour": x, "wind": np.sin(x), "power": 3.0 * np.sin(x) ** 2})
    frame.to_csv(tmp_path / "power.csv", index=False)
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-u", "-m", "mercer", "demo", "power.csv"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-browser"], cwd=tmp_path, text=True,
        env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    yield re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate(timeout=60)
    assert process.returncode == 0 and not problems, problems


def ask(address, question, **request):
    body = json.dumps(request).encode()
    with urlopen(Request(f"{address}/table/{question}", body), timeout=120) as reply:
        return json.load(reply)


def test_a_table_is_learnt_and_asked(address, tmp_path):
    with urlopen(address) as reply:
        assert b"<title>mercer</title>" in reply.read()
    looked = ask(address, "look")
    assert [column["output"] for column in looked["columns"]] == ["number"] * 3
    ask(address, "fit", inputs=["hour", "wind"], outputs=["power"])
    deadline = time.monotonic() + 120
    while (found := ask(address, "progress"))["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert found["state"] == "done" and found["score"] > 0.9
    answer = ask(address, "predict", row={"hour": 1.5, "wind": 1.0})
    (low,), (high,) = answer["band"]
    assert low <= answer["output"]["power"] <= high
    with urlopen(f"{address}/table/report") as reply:
        assert b"data:image/svg+xml" in reply.read()
    with urlopen(f"{address}/table/model") as reply:
        (tmp_path / "power.mercer").write_bytes(reply.read())
    model = mercer.load(tmp_path / "power.mercer")
    assert model.predict({"hour": [1.5], "wind": [1.0]})["power"][0] == answer["output"]["power"]
