"""The page: what it answers, and to whom."""

import json
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from mercer.app import page


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


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1:1@evil.example", "127.0.0.1@evil.example", "localhost.evil"]
)
def test_other_hosts_are_refused(server, host):
    for path, body in (("/", None), ("/table/progress", {})):
        assert ask(server, path, body, Host=host)[0] == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_other_sites_are_refused(server, origin):
    for path, body in (("/", None), ("/table/progress", {})):
        assert ask(server, path, body, Origin=origin)[0] == 403
    assert ask(server, "/table/progress", {}, Origin=server.address)[0] == 200


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
