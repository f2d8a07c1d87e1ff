"""The built site: links lead somewhere, nothing is loaded from elsewhere, search finds pages.

`make docs` builds it and runs these; without a build they are skipped. MERCER_SITE names another
folder.
"""

import functools
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

SITE = Path(os.environ.get("MERCER_SITE", Path(__file__).parents[2] / "docs/_build/html"))
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="no site: run make docs")
PAGES = sorted(path for path in SITE.rglob("*.html") if "_static" not in path.parts)
NUMBERED = re.compile(r"[\u0590-\u08ff]+")


class Page(HTMLParser):
    """The links, anchors, sources and text of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.loaded, self.open = [], set(), [], []
        self.loose = ""  # text outside of bdi
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name")}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in ("script", "img", "link", "iframe") and found.get("rel") != "canonical":
            self.loaded.append(found.get("src") or found.get("href") or "")
        self.open.append(tag) if tag in ("bdi", "script", "title") else None

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_data(self, data):
        self.loose += "" if self.open else data


@functools.cache
def page(path):
    return Page(path)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_links(path):
    for link in page(path).links:
        name, _, anchor = link.partition("#")
        if re.match(r"\w+:", name):
            continue  # elsewhere
        target = (path.parent / unquote(name.split("?")[0])).resolve() if name else path
        target = target / "index.html" if target.is_dir() else target
        assert target.exists(), link
        if anchor and target.suffix == ".html":
            assert unquote(anchor) in page(target).anchors, link


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_nothing_is_loaded_from_elsewhere(path):
    assert not [source for source in page(path).loaded if re.match(r"(https?:)?//", source)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(SITE)))
def test_right_to_left_words_are_isolated(path):
    if "_modules" not in path.parts:
        assert not NUMBERED.search(page(path).loose)


def test_a_class_has_a_page_with_inherited_methods_and_links():
    text = (SITE / "reference/generated/mercer.KernelDependencyCV.html").read_text("utf-8")
    for method in ("fit", "predict", "predict_top", "score", "embed", "loo_predict", "plan"):
        assert f'id="mercer.KernelDependencyCV.{method}"' in text
    assert "_modules/mercer/estimators/kernel_dependency_cv.html" in text  # its source
    assert "Examples that use KernelDependencyCV" in text
    assert "prev-next-area" in text


def test_formulas_are_typeset_without_a_network():
    text = (SITE / "theory.html").read_text("utf-8")
    assert text.count('class="math notranslate nohighlight"') >= 10
    script = re.search(r'src="(_static/mathjax/[^"?]*)', text)[1]
    assert (SITE / script).is_file()


def test_examples_can_be_downloaded_as_notebooks():
    assert len(list((SITE / "_downloads").rglob("*.ipynb"))) >= 15


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("pandas", "from_scikit_learn.html"),
        ("prediction interval", "prediction_sets.html"),
        ("dates", "auto.html"),
        ("missing values", "records.html"),
        ("multi-label", "label_sets.html"),
        ("sample_weight", "from_scikit_learn.html"),
        ("predict", "Dependency.predict"),
    ],
)
def test_search_finds_the_page(browser, address, words, wanted):
    tab = browser.new_page()
    tab.goto(f"{address}/search.html?q={words}")
    tab.wait_for_selector("#search-results li a", timeout=60_000)
    tab.wait_for_selector("#search-results p.search-summary:has-text('found')", timeout=60_000)
    found = tab.eval_on_selector_all("#search-results li a", "all => all.map(a => a.href)")
    tab.close()
    assert any(wanted in link for link in found[:5]), found[:8]


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize(
    "name",
    ["index", "start", "tutorial", "theory", "evidence", "gallery/index", "gallery/plot_images",
     "reference/generated/mercer.KernelDependency"],
)  # fmt: skip
def test_pages_fit_the_window_and_ask_nobody_else(browser, address, name, width):
    tab = browser.new_page(viewport={"width": width, "height": 900})
    asked, problems = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto(f"{address}/{name}.html", wait_until="load")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    tab.close()
    assert not problems
    assert all(url.startswith((address, "data:", "blob:")) for url in asked)
