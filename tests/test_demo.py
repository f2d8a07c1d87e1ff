"""The page: its server answers the page alone."""

import json
import urllib.error
import urllib.request

import numpy as np
import pytest

from mercer.demo.server import FILES

START = {
    "upper": np.zeros((4, 8)).tolist(),
    "alpha": 0.01,
    "epsilon": 0.1,
    "scale": 1.0,
    "output": 2.0,
}


def ask(server, path, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.address + path, data, headers)
    with urllib.request.urlopen(request) as reply:
        return reply.read()


def answer(server, path, body):
    return json.loads(ask(server, path, body))


def test_it_listens_on_loopback_alone(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_page_asks_nobody_else(server):
    assert "<title>mercer</title>" in ask(server, "/").decode()
    for path in FILES:
        assert "http" not in ask(server, path).decode().replace("http-equiv", "")


def test_digits(server):
    some = answer(server, "/digits/some", {"seed": 1})
    upper = some["upper"][0]
    told = answer(server, "/digits/complete", START | {"upper": upper})["completions"]
    assert [c["operator"] for c in told] == ["identity", "covariance", "conditional covariance"]
    for c in told:
        assert np.shape(c["halves"]["FixedPoint"]) == (4, 8)
        alphas, risks = c["risk"]
        assert c["alpha"] == alphas[int(np.argmin(risks))]
        assert c["spectrum"] == sorted(c["spectrum"], reverse=True)


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/digits/complete", START | {"upper": [[0.0]]}, "an upper half is"),
        ("/digits/complete", START | {"alpha": 0.0}, "alpha must be between"),
        ("/digits/complete", {}, "upper"),
        ("/strings/learn", {"table": "one\n"}, "line 1: two strings"),
        ("/strings/learn", {"table": "a\tb\n"}, "between 4 and 5000 lines"),
        ("/strings/answer", {"text": "a"}, "learn it first"),
        ("/fields/predict", {"a": [1.0]}, "40 finite numbers"),
        ("/fields/predict", {"a": [100.0] * 40}, "between 0.2 and 5"),
    ],
)
def test_bad_requests_are_told_why(server, path, body, message):
    server.answers["/strings/answer"].__self__.model = None
    assert message in answer(server, path, body)["error"]


def test_strings(server):
    words = ["nab", "ban", "banana", "an", "cab", "bac", "nac", "can"]
    table = "\n".join(f"{w}\t{w.upper()}" for w in words)
    assert answer(server, "/strings/learn", {"table": table})["pairs"] == 8
    assert answer(server, "/strings/answer", {"text": "cana"})["best"][0][0] == "CANA"


def test_fields(server):
    told = answer(server, "/fields/some", {"seed": 3})
    inside = []
    for seed in range(12):
        a = answer(server, "/fields/some", {"seed": seed})["a"]
        told = answer(server, "/fields/predict", {"a": a})
        low, high = np.array(told["band"])
        inside.append(bool((low <= told["truth"]).all() and (told["truth"] <= high).all()))
        assert np.corrcoef(told["predicted"], told["truth"])[0, 1] > 0.95
    assert sum(inside) >= 8  # of 12, where 90 % are promised
    flat = answer(server, "/fields/predict", {"a": [2.0] * 40})["truth"]
    x = (np.arange(40) + 0.5) / 40
    assert np.abs(np.array(flat) - x * (1 - x) / 4).max() < 1e-3  # the equation's own solution


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_other_sites_are_refused(server, headers):
    for path, body in (("/", None), ("/digits/some", {})):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(server, path, body, **headers)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(server, "/etc/passwd")
