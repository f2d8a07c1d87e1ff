"""A real browser learns from tables on the page; nothing is asked of another machine."""

import time

import pytest

import mercer

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


DROP = """([name, text]) => {
  const files = new DataTransfer();
  files.items.add(new File([text], name));
  $("drop").dispatchEvent(new DragEvent("drop", {dataTransfer: files, bubbles: true}));
}"""


def drop(page, name, text):
    page.evaluate(DROP, [name, text])


def test_a_dropped_table_is_learnt_and_asked(server, page):
    page.goto(server.address)
    text = "size,city,price\n" + "".join(
        f"{size},{city},{size * (3 if city == 'Rome' else 2)}\n"
        for size in range(20, 44)
        for city in ("Rome", "Oslo")
    )
    drop(page, "flats.csv", text)
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


def test_from_a_file_to_a_report_with_empty_tags_and_a_bad_cell(server, wide):
    """A bad cell is named; empty tags are sets without labels; a second fit has to wait."""
    wide.goto(server.address)
    posts = [("sunny sea", "sun;sea"), ("rainy sea", "sea"), ("grey town", "")] * 10
    cells = [*range(30)]
    text = "text,size,tags\n" + "".join(
        f"{words},{size},{tags}\n" for (words, tags), size in zip(posts, cells, strict=True)
    )
    drop(wide, "bad.csv", text.replace("sunny sea,27,", "sunny sea,oops,"))
    wide.wait_for_selector("#told:has-text('bad.csv: 30 rows, 3 columns')")
    wide.click("#fit")
    wide.wait_for_selector("#fitting.error:has-text(\"line 29, column 'size': 'oops' is not a\")")
    drop(wide, "posts.csv", text)
    wide.wait_for_selector("#told:has-text('posts.csv: 30 rows, 3 columns')")
    assert wide.is_hidden("#fitted")
    wide.click("#fit")
    again = wide.evaluate(
        """async () => {
          const request = {inputs: ["text"], outputs: ["tags"], kinds: {}};
          const reply = await fetch("/table/fit", {method: "POST", body: JSON.stringify(request)});
          return (await reply.json()).error;
        }"""
    )
    assert again is None or "Another fit is running" in again
    wide.wait_for_selector("#result b")
    assert "30 rows in" in wide.text_content("#fitting")
    assert "not used" not in wide.text_content("#fitting")
    wide.select_option("[id='in-text']", "grey town")
    wide.click("#predict")
    until(wide, "!document.querySelector('#result .truth')")
    assert wide.text_content("b[data-output=tags]") in ("", "(none)")
    report = wide.frame_locator("#report")
    assert "tags" in report.locator("h1").text_content()
    with wide.expect_download() as model:
        wide.click("text=Download the model")
    loaded = mercer.load(model.value.path())
    assert loaded.spaces_["tags"] == "labels"


def test_the_keyboard_is_enough(server, wide):
    wide.on("filechooser", lambda chooser: None)  # from now on: a later start may miss a quick one
    wide.goto(server.address)
    wide.keyboard.press("Tab")
    assert wide.evaluate("document.activeElement.id") == "choose"
    with wide.expect_file_chooser() as chooser:
        wide.keyboard.press("Enter")
    rows = "".join(f"{i},{i % 3}\n" for i in range(12))
    file = {"name": "d.csv", "mimeType": "text/csv", "buffer": f"x,y\n{rows}".encode()}
    chooser.value.set_files([file])
    wide.wait_for_selector("#told:has-text('d.csv: 12 rows, 2 columns')")


def test_errors_of_the_server_are_shown(server, wide):
    wide.goto(server.address)
    wide.click("#sample")
    wide.wait_for_selector("#told:has-text('flats.csv')")
    wide.evaluate("void send('x.csv', new Blob(['']))")
    wide.wait_for_selector("#problem:has-text('x.csv is empty')")
    assert wide.is_hidden("#looked")  # the old table is gone
    wide.click("#sample")
    wide.wait_for_selector("#told:has-text('flats.csv')")
    assert wide.is_hidden("#problem")
    wide.route("**/table/fit", lambda route: route.abort())
    wide.click("#fit")
    wide.wait_for_selector("#fitting.error:has-text('does not answer')")
