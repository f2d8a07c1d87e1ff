"""Requests that no page sends, many at once, and connections that say nothing.

MERCER_HOSTILE=long sends twenty times as many.
"""

import json
import os
import random
import socket
import threading
import time
from http.client import HTTPConnection

import pytest

from mercer.app.page import connection as limits
from mercer.app.page import server as page

REQUESTS = 500 * (20 if os.environ.get("MERCER_HOSTILE") == "long" else 1)
PATHS = ["/", "/table/look", "/table/fit", "/table/progress", "/table/row",
         "/table/predict", "/table/report", "/table/model", "/common.js", "/etc/passwd",
         "/%00", "/" + "a" * 5000, "//", "*"]  # fmt: skip
METHODS = ["GET", "POST", "PUT", "HEAD", "OPTIONS", "G\0T", "", "POST " * 20]
VALUES = [None, True, -1, 1e308, float("nan"), 10**300, "", "x" * 5000, "\ud800", [], [[]], {},
          [[0.0] * 8] * 4, {"upper": 1}, "a\tb\n" * 10, "YSxiCjEsMgozLDQK", "../etc/passwd", ["a"],
          "a" * 90_000 + "\tb\n"]  # fmt: skip
NAMES = ["seed", "upper", "scale", "output", "alpha", "epsilon", "number", "table", "text", "\0",
         "file", "name", "inputs", "outputs", "row"]  # fmt: skip
LENGTHS = [
    None,
    "-1",
    "+5",
    "1e3",
    "0" * 30 + "5",
    "0" * 20 + "99999999",
    "9" * 5000,
    "٣",
    " 3",
    "2",
]


def hostile(draw):
    """A request of bytes: a plausible one with something wrong with it."""
    body = json.dumps(
        {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randrange(4))}
    ).encode()
    if draw.random() < 0.3:
        body = bytes(draw.randrange(256) for _ in range(draw.randrange(200)))
    if draw.random() < 0.1:
        body = draw.choice([b"[" * 50_000, b'{"seed":' * 50_000, b"9" * 50_000])
    length = draw.choice(LENGTHS) if draw.random() < 0.4 else str(len(body))
    head = (
        f"{draw.choice(METHODS)} {draw.choice(PATHS)} HTTP/{draw.choice(['1.0', '1.1', '9', ''])}"
    )
    lines = [head, f"Host: {draw.choice(['127.0.0.1', 'localhost:1', 'evil.example', ''])}"]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    if draw.random() < 0.2:
        lines.append(draw.choice(["Origin: null", "X: " + "y" * 70_000, "no colon", "A: b"]))
    data = "\r\n".join(lines).encode("utf-8", "replace") + b"\r\n\r\n" + body
    return data[: draw.randrange(len(data))] if draw.random() < 0.2 else data


def sent(server, data):
    """The reply to a request, or what came until the connection ended."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
        pieces = []
        try:
            link.sendall(data)
            while piece := link.recv(2**16):
                pieces.append(piece)
        except ConnectionError:
            pass
    return b"".join(pieces)


def good(server):
    """Ask for the page and for its state, and return the seconds that it took."""
    start = time.perf_counter()
    for method, path, body in (("GET", "/", None), ("POST", "/table/progress", "{}")):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request(method, path, body)
        reply = connection.getresponse()
        assert reply.status == 200
        content = reply.read()
        connection.close()
    assert json.loads(content)["state"] == "none"
    return time.perf_counter() - start


@pytest.fixture
def quiet(server, monkeypatch, capsys):
    """Tracebacks of the server would be on standard error."""
    yield server
    assert "Traceback" not in capsys.readouterr().err


def test_hostile_requests_and_idle_connections(quiet, monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.5)  # requests that are cut off wait for it
    idle = [socket.create_connection(("127.0.0.1", quiet.port)) for _ in range(300)]
    for link in idle[::2]:
        link.sendall(b"POST /table/progress HTTP/1.1\r\nContent-Length: 100\r\n")
    draw = random.Random(0)
    requests = iter([hostile(draw) for _ in range(REQUESTS)])
    lock, replies = threading.Lock(), []

    def attack():
        while True:
            with lock:
                data = next(requests, None)
            if data is None:
                return
            replies.append(sent(quiet, data))

    attackers = [threading.Thread(target=attack) for _ in range(8)]
    for attacker in attackers:
        attacker.start()
    slowest = 0.0
    while any(attacker.is_alive() for attacker in attackers):
        slowest = max(slowest, good(quiet))
        time.sleep(0.05)
    slowest = max(slowest, good(quiet))
    for link in idle:
        link.close()
    assert len(replies) == REQUESTS
    assert slowest < 10, f"{slowest:.1f} s"  # two seconds on a quiet machine
    for reply in replies:
        head, _, body = reply.partition(b"\r\n\r\n")
        if b"application/json" in head:
            json.loads(body, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_a_length_with_zeros_in_front_is_a_length(quiet):
    head = b"POST /table/progress HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: "
    over = b"0" * 10 + str(page.REQUEST_BYTES + 1).encode()
    assert b" 413 " in sent(quiet, head + over + b"\r\n\r\n")
    assert b'"none"' in sent(quiet, head + b"0" * 10 + b"2\r\n\r\n{}")


def test_a_body_without_a_length_is_limited(quiet):
    chunk = b"10000\r\n" + b" " * 2**16 + b"\r\n"
    head = b"POST /table/progress HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply = sent(quiet, head + chunk * (page.REQUEST_BYTES // 2**16 + 2) + b"0\r\n\r\n")
    assert reply == b"" or b" 413 " in reply  # a reset may overtake the reply
    good(quiet)


def test_no_memory_is_an_answer(quiet, monkeypatch):
    def greedy(request):
        raise MemoryError

    monkeypatch.setitem(quiet.answers, "/table/progress", greedy)
    reply = sent(quiet, b"POST /table/progress HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
    assert b"not enough memory" in reply


def test_idle_connections_end(quiet, monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.3)
    address = ("127.0.0.1", quiet.port)
    starts = [
        b"",
        b"POST /table/progress HTTP/1.1\r\n",
        b"POST /table/progress HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{",
    ]
    idle = [socket.create_connection(address, timeout=30) for _ in range(15)]
    for i, link in enumerate(idle):
        link.sendall(starts[i % 3])
    drops = socket.create_connection(address, timeout=30)
    for _ in range(20):  # one byte at a time is not a request either
        try:
            drops.sendall(b"P")
        except ConnectionError:
            break
        time.sleep(0.1)
    else:
        pytest.fail("a connection that sends single bytes is kept")
    for link in [*idle, drops]:
        try:
            while link.recv(2**16):
                pass
        except ConnectionError:
            pass
        link.close()
    end = time.monotonic() + 30
    while quiet.server_state.connections and time.monotonic() < end:
        time.sleep(0.05)
    assert not quiet.server_state.connections


def test_a_client_that_does_not_read_is_cut_off(quiet, monkeypatch):
    monkeypatch.setattr(limits, "PATIENCE", 0.5)
    monkeypatch.setitem(quiet.answers, "/table/progress", lambda _: {"long": "x" * 2**25})
    with socket.create_connection(("127.0.0.1", quiet.port)) as link:
        link.sendall(b"POST /table/progress HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        end = time.monotonic() + 30
        while not quiet.server_state.connections and time.monotonic() < end:
            time.sleep(0.02)
        while quiet.server_state.connections and time.monotonic() < end:
            time.sleep(0.05)
        assert not quiet.server_state.connections


def test_the_oldest_connection_makes_room(quiet, monkeypatch):
    monkeypatch.setattr(limits, "CONNECTIONS", 10)
    idle = [socket.create_connection(("127.0.0.1", quiet.port), timeout=30) for _ in range(30)]
    good(quiet)
    assert len(quiet.server_state.connections) <= 11
    for link in idle:
        link.close()


def test_few_requests_wait_for_a_model(quiet, monkeypatch):
    release = threading.Event()
    monkeypatch.setitem(quiet.answers, "/table/predict", lambda _: release.wait(30) and {})
    request = b"POST /table/predict HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"
    replies = []
    waiting = [
        threading.Thread(target=lambda: replies.append(sent(quiet, request)))
        for _ in range(page.WAITING + 5)
    ]
    for thread in waiting:
        thread.start()
    end = time.monotonic() + 30
    while len(replies) < 5 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(replies) == 5
    assert all(b"try again in a moment" in reply for reply in replies)
    release.set()
    for thread in waiting:
        thread.join()
