"""The page: its server answers the page alone, and a real browser can play with it."""

import json
import shutil
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

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
    page = ask(server, "/").decode()
    assert "<title>mercer</title>" in page
    assert "http" not in page.replace("http-equiv", "")


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


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}])
def test_other_sites_are_refused(server, headers):
    for path, body in (("/", None), ("/digits/some", {})):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(server, path, body, **headers)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(server, "/etc/passwd")


@pytest.fixture
def page(server):
    playwright = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium")
    if browser_path is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=browser_path,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        page = browser.new_page(viewport={"width": 1100, "height": 1100}, bypass_csp=True)
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.problems = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        yield page
        assert not page.problems
        assert all(url.startswith((server.address, "data:")) for url in page.asked)
        browser.close()


PIXELS = """([operator, decoder]) => {
  const chosen = `canvas[data-operator="${operator}"][data-decoder="${decoder}"]`;
  const canvas = document.querySelector(chosen);
  return [...canvas.getContext("2d").getImageData(0, 4, 8, 4).data].filter((_, i) => i % 4 == 0);
}"""


def test_a_browser_draws_and_reads_the_completion_back(server, page, tmp_path):
    page.goto(server.address)
    page.wait_for_selector("canvas[data-decoder=FixedPoint]")
    page.click("#clear")
    box = page.locator("#pad").bounding_box()
    start = time.perf_counter()
    page.mouse.move(box["x"] + 110, box["y"] + 20)
    page.mouse.down()
    for x, y in ((150, 20), (170, 50), (160, 90), (130, 120)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    page.wait_for_function("!waiting && !again")
    assert time.perf_counter() - start < 10  # two seconds on a quiet machine; this one may be busy
    drawn = page.evaluate(PIXELS, ["identity", "FixedPoint"])
    assert min(drawn) < 160  # something dark was completed
    page.evaluate("document.getElementById('alpha').value = 1; ask()")
    page.wait_for_function("!waiting && !again")
    assert page.evaluate(PIXELS, ["identity", "FixedPoint"]) != drawn
    assert page.locator("#risk polyline").count() == 3
    page.screenshot(path=tmp_path / "page.png")


def test_a_browser_learns_strings(server, page):
    page.goto(server.address)
    page.click("text=Your strings")
    page.click("#learn")
    page.wait_for_function("document.getElementById('learnt').textContent.includes('8 pairs')")
    page.fill("#ask", "cana")
    page.wait_for_selector("#answers td")
    assert page.locator("#answers td").first.text_content() == "KSANA"
