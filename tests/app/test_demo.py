"""The page: what it answers, and to whom."""

import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest

from mercer.app import page

START = {
    "upper": np.zeros((4, 8)).tolist(),
    "alpha": 0.01,
    "epsilon": 0.1,
    "scale": 1.25,
    "output": 2.0,
}


def ask(server, path, body=None, **headers):
    """Return status, headers and content of a reply."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
    with closing(connection):
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()


def answer(server, path, body):
    status, _, content = ask(server, path, body)
    assert status == 200, content
    return json.loads(content)


def test_it_listens_on_loopback_alone(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_the_page_asks_nobody_else(server):
    assert b"<title>mercer</title>" in ask(server, "/")[2]
    for path in (Path(page.__file__).parent / "static").iterdir():
        status, _, content = ask(server, f"/{path.name}")
        assert status == 200 and b"http" not in content


def test_the_first_digit_is_one_that_is_predicted_well(server):
    some = answer(server, "/digits/some", {"seed": 0})
    found = answer(server, "/digits/complete", START | {"upper": some["upper"][0]})["completions"]
    assert [c["operator"] for c in found] == ["identity", "covariance", "conditional covariance"]
    for c in found:
        error = np.array(c["halves"]["FixedPoint"]) - some["lower"][0]
        assert np.sqrt(np.mean(error**2)) < 0.15  # half of the digits have more than 0.25
        alphas, risks = c["risk"]
        assert c["alpha"] == alphas[int(np.argmin(risks))]
        assert c["spectrum"] == sorted(c["spectrum"], reverse=True)


def test_words_need_no_download(server, monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    some = answer(server, "/words/some", {"seed": 0})
    assert "of scikit-learn" in some["source"]
    assert np.shape(some["words"][0]["letters"])[1:] == (8, 8)
    right = [
        answer(server, "/words/read", {"number": word["number"]})["words"][0][0] == word["truth"]
        for word in some["words"]
    ]
    assert sum(right) >= 7  # of 8


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/digits/complete", START | {"upper": [[0.0]]}, "An upper half must be"),
        ("/digits/complete", START | {"alpha": 0.0}, "alpha must be between"),
        ("/digits/complete", {}, "upper"),
        ("/strings/learn", {"table": "one\n"}, "Line 1 must have two strings"),
        ("/strings/learn", {"table": "a\tb\n"}, "between 4 and 5000"),
        ("/strings/answer", {"text": "a"}, "learn it first"),
        ("/fields/predict", {"a": [1.0]}, "40 finite numbers"),
        ("/fields/predict", {"a": [100.0] * 40}, "between 0.2 and 5"),
    ],
)
def test_bad_requests_get_a_sentence(server, path, body, message):
    server.answers["/strings/answer"].__self__.model = None
    status, _, content = ask(server, path, body)
    assert status == 400
    assert message in json.loads(content)["error"]


def test_strings(server):
    words = ["nab", "ban", "banana", "an", "cab", "bac", "nac", "can"]
    table = "\n".join(f"{w}\t{w.upper()}" for w in words)
    assert answer(server, "/strings/learn", {"table": table})["pairs"] == 8
    assert answer(server, "/strings/answer", {"text": "cana"})["best"][0][0] == "CANA"


def test_fields(server):
    inside = []
    for seed in range(12):
        a = answer(server, "/fields/some", {"seed": seed})["a"]
        found = answer(server, "/fields/predict", {"a": a})
        low, high = np.array(found["band"])
        inside.append(bool((low <= found["truth"]).all() and (found["truth"] <= high).all()))
        assert np.corrcoef(found["predicted"], found["truth"])[0, 1] > 0.95
    assert sum(inside) >= 8  # of 12, where 90 % are promised
    flat = answer(server, "/fields/predict", {"a": [2.0] * 40})["truth"]
    x = (np.arange(40) + 0.5) / 40
    assert np.abs(np.array(flat) - x * (1 - x) / 4).max() < 1e-3  # the exact solution


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:1@evil.example", "127.0.0.1@evil.example", "localhost.evil"]
)
def test_other_hosts_are_refused(server, host):
    for path, body in (("/", None), ("/digits/some", {})):
        assert ask(server, path, body, Host=host)[0] == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_other_sites_are_refused(server, origin):
    for path, body in (("/", None), ("/digits/some", {})):
        assert ask(server, path, body, Origin=origin)[0] == 403
    assert ask(server, "/digits/some", {}, Origin=server.address)[0] == 200


def test_files_outside_of_the_page_are_not_served(server):
    for path in ("/etc/passwd", "/../server.py", "/%2e%2e/server.py", "/static/index.html"):
        assert ask(server, path)[0] == 404


def test_no_other_site_may_frame_the_page(server):
    for path in ("/", "/common.js", "/etc/passwd", "/table/report"):
        headers = ask(server, path)[1]
        policies = " ".join(headers.get_all("Content-Security-Policy"))
        assert "frame-ancestors 'self'" in policies
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert ("sandbox" in policies) == (path == "/table/report")
