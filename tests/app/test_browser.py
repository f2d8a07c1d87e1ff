"""A real browser plays with every tab of the page; nothing is asked of another machine."""

import time

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("few_trees")
PATIENCE = 180_000
"""Milliseconds; a busy machine is no failure."""


@pytest.fixture(params=[1400, 390])
def page(server, browser, request):
    """A page in a window of that width; it must not scroll sideways, fail or ask elsewhere."""
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    page.set_default_timeout(PATIENCE)
    asked, problems = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: problems.append(str(error)))
    yield page
    assert page.evaluate("document.documentElement.scrollWidth") <= request.param
    page.close()
    assert not problems
    assert all(url.startswith((server.address, "data:", "blob:")) for url in asked)


@pytest.fixture
def wide(page):
    if page.viewport_size["width"] != 1400:
        pytest.skip("one width is enough")
    return page


def until(page, expression):
    """Wait until an expression holds; the page's own policy forbids it to evaluate one."""
    end = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        time.sleep(0.05)


PIXELS = """([operator, decoder]) => {
  const chosen = `canvas[data-operator="${operator}"][data-decoder="${decoder}"]`;
  const canvas = document.querySelector(chosen);
  return [...canvas.getContext("2d").getImageData(0, 4, 8, 4).data].filter((_, i) => i % 4 == 0);
}"""


def test_a_drawn_digit_is_completed(server, page):
    page.goto(server.address)
    page.wait_for_selector("canvas[data-decoder=truth]")  # the truth of a picked digit is known
    until(page, "!waiting && !again")
    box = page.locator("#pad").bounding_box()
    page.mouse.move(box["x"] + 110, box["y"] + 20)
    page.mouse.down()
    for x, y in ((150, 20), (170, 50), (160, 90), (130, 110)):
        page.mouse.move(box["x"] + x, box["y"] + y, steps=3)
    page.mouse.up()
    until(page, "!waiting && !again")
    assert page.evaluate("upper[3][0]") == 0  # the first stroke cleared the pad
    assert page.locator("canvas[data-decoder=truth]").count() == 0  # nobody knows it
    drawn = page.evaluate(PIXELS, ["identity", "FixedPoint"])
    assert min(drawn) < 160  # something dark was completed
    page.evaluate("document.getElementById('alpha').value = 1; ask()")
    until(page, "!waiting && !again")
    assert page.evaluate(PIXELS, ["identity", "FixedPoint"]) != drawn
    assert page.locator("#risk polyline").count() == 3
    page.click("#clear")
    until(page, "!waiting && !again")
    assert np.sum(page.evaluate("upper")) == 0


def test_a_word_is_read(server, wide, monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))  # without the data set
    wide.goto(server.address)
    wide.click("text=Handwritten words")
    wide.click(".word >> nth=0")
    wide.wait_for_selector("#alone")
    truth = wide.text_content("#truth")
    assert len(wide.text_content("#alone")) == len(truth)
    assert wide.locator(".known").first.text_content() == truth
    assert "of scikit-learn" in wide.text_content("#source")


def test_the_keyboard_is_enough(server, wide):
    wide.on("filechooser", lambda chooser: None)  # from now on: a later start may miss a quick one
    wide.goto(server.address)
    wide.focus("[role=tab][aria-selected=true]")
    opened = []
    for key in ("ArrowRight", "End", "ArrowRight", "ArrowLeft"):
        wide.keyboard.press(key)
        opened.append(wide.evaluate("document.activeElement.dataset.tab"))
        assert wide.is_visible(f"section#{opened[-1]}")
    assert opened == ["words", "table", "digits", "table"]
    wide.keyboard.press("Tab")
    assert wide.evaluate("document.activeElement.id") == "choose"
    with wide.expect_file_chooser() as chooser:
        wide.keyboard.press("Enter")
    rows = "".join(f"{i},{i % 3}\n" for i in range(12))
    file = {"name": "d.csv", "mimeType": "text/csv", "buffer": f"x,y\n{rows}".encode()}
    chooser.value.set_files([file])
    wide.wait_for_selector("#told:has-text('d.csv: 12 rows, 2 columns')")


def test_strings_are_learnt(server, page):
    server.answers["/strings/answer"].__self__.model = None
    page.goto(server.address + "/#strings")
    page.fill("#ask", "cana")
    page.wait_for_selector("#answers .error")
    page.click("#learn")
    page.wait_for_selector("#learnt:has-text('8 pairs')")
    page.wait_for_selector("#answers td")
    assert page.locator("#answers td").first.text_content() == "KSANA"


def test_a_drawn_coefficient_is_solved(server, page):
    page.goto(server.address + "/#fields")
    page.wait_for_selector("#bar-state:has-text('band')")
    before = page.inner_html("#solution")
    box = page.locator("#bar-pad").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] - 30, steps=4)
    page.mouse.up()
    until(page, "!barWaits && !barAgain")
    assert page.inner_html("#solution") != before
    assert page.evaluate("bar.a[0] > bar.a[39]")
    assert page.locator("#solution polygon").count() == 1  # the band


def test_a_dropped_table_is_learnt_and_asked(server, page):
    page.goto(server.address + "/#table")
    text = "size,city,price\n" + "".join(
        f"{size},{city},{size * (3 if city == 'Rome' else 2)}\n"
        for size in range(20, 44)
        for city in ("Rome", "Oslo")
    )
    drop = """(text) => {
      const files = new DataTransfer();
      files.items.add(new File([text], "flats.csv"));
      $("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
    }"""
    page.evaluate(drop, text)
    page.wait_for_selector("#told:has-text('flats.csv: 48 rows, 3 columns')")
    assert page.locator("select.role[data-column=price]").input_value() == "output"
    assert page.locator("select.kind[data-column=price]").input_value() == ""
    page.select_option("select.kind[data-column=size]", "number")
    page.click("#fit")
    page.wait_for_selector("#result b")
    assert "Left-out mean R²" in page.text_content("#fitting")
    page.fill("[id='in-size']", "30")
    page.select_option("[id='in-city']", "Rome")
    page.click("#predict")
    until(page, "!document.querySelector('#result .truth')")
    assert abs(float(page.text_content("b[data-output=price]")) - 90) < 6
    assert "90 %" in page.text_content("#result .set")
    frame = page.frame_locator("#report")
    assert "price" in frame.locator("h1").text_content()


def test_errors_of_the_server_are_shown(server, wide, monkeypatch):
    def broken(request):
        raise ValueError("no digits today")

    monkeypatch.setitem(server.answers, "/digits/some", broken)
    wide.goto(server.address)
    wide.wait_for_selector("#problem:has-text('no digits today')")
    monkeypatch.setitem(server.answers, "/digits/complete", broken)
    wide.click("#clear")
    wide.wait_for_selector("#state.error:has-text('no digits today')")
    wide.click("text=Your table")
    assert wide.is_hidden("#problem")
    wide.click("#sample")
    wide.wait_for_selector("#told:has-text('flats.csv')")
    wide.evaluate("void send('x.csv', new Blob(['']))")
    wide.wait_for_selector("#problem:has-text('x.csv is empty')")
    assert wide.is_hidden("#looked")  # the old table is gone
    wide.route("**/strings/learn", lambda route: route.abort())
    wide.click("text=Your strings")
    wide.click("#learn")
    wide.wait_for_selector("#learnt.error:has-text('does not answer')")
