"""Requests that no page sends, folders that cannot be written to, pictures of the wrong model."""

import base64
import json
from http.client import HTTPConnection

import numpy as np
import pytest

from mercer import ForestDependency, KernelDependency, plots
from mercer.kernels import Linear
from mercer.operators import CurlFree
from mercer.sets import Ball, Band


def told(server, path, body):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", path, body)
    reply = connection.getresponse()
    found = json.loads(reply.read(), parse_constant=lambda name: pytest.fail(name))
    connection.close()
    return reply.status, found["error"]


CELLS = {"name": "t.csv", "file": base64.b64encode(b"a,b\n1,2\n").decode()}


@pytest.mark.parametrize(
    ("path", "body", "match"),
    [
        ("/table/look", "{", "Expecting"),
        ("/table/fit", "[1]", "must be an object"),
        ("/table/look", '{"file": 3}', "base64"),
        ("/table/look", json.dumps(CELLS | {"file": "YSxiCjEsMgozLDQsNQo="}), "line 3: 3 cells"),
        ("/table/look", json.dumps(CELLS | {"name": "t.xlsx"}), "t.xlsx"),
        ("/table/fit", "{}", "Drop a table"),
        ("/table/row", '{"number": 1}', "fit one first"),
        ("/table/predict", "{}", "fit one first"),
        ("/table/look", "[" * 100_000, "recursion"),
    ],
)
def test_bad_requests_get_a_sentence(server, path, body, match):
    server.answers["/table/look"].__self__.table = None
    status, error = told(server, path, body)
    assert status == 400
    assert match in error


@pytest.mark.parametrize("length", ["-1", "x", "1" * 5000, "+5", "1e3", " ", "٣"])
def test_a_wrong_length_does_not_hang_the_page(server, length):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.putrequest("POST", "/table/look")
    connection.putheader("Content-Length", length.encode())
    connection.endheaders(b"{}")
    assert connection.getresponse().status in (400, 413)
    connection.close()


@pytest.fixture
def pairs(rng):
    return rng.normal(size=(6, 2)), rng.normal(size=(6, 2))


def test_pictures_of_the_wrong_model_are_refused(pairs):
    with pytest.raises(TypeError, match="KernelDependencyCV"):
        plots.risk(KernelDependency().fit(*pairs))
    for model in (KernelDependency(CurlFree(1.0)), ForestDependency(n_trees=3)):
        with pytest.raises(TypeError, match="scalar kernel times an operator"):
            plots.spectrum(model.fit(*pairs))


def test_sets_that_have_no_picture_are_refused():
    with pytest.raises(TypeError, match="band"):
        plots.curves(Ball(np.zeros(3), 1.0, Linear()))
    with pytest.raises(ValueError, match="nothing to draw"):
        plots.curves(Band(np.full(3, -np.inf), np.full(3, np.inf)))


@pytest.mark.parametrize("shape", [(2, 3, 5), (1, 3, 4), (2, 4)])
def test_completions_of_other_sizes_are_named(shape):
    with pytest.raises(ValueError, match="columns\\['ours'\\]"):
        plots.completions(np.zeros((2, 3, 4)), {"ours": np.zeros(shape)})
    with pytest.raises(ValueError, match="given must be images"):
        plots.completions(np.zeros((0, 3, 4)), {})
