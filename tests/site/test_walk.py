"""A newcomer's walk in a browser: at most two clicks from the front page to code that runs."""

import doctest
import sys

import pytest

from end_to_end.test_newcomer import WALK as PAGES
from end_to_end.test_newcomer import run

CLICKS = {
    "a table of one's own": ["AutoDependency"],
    "a ranking": ["Rankings"],
    "an image": ["Five minutes"],
    "a curve with bands": ["Curves"],
    "an inflected word": ["Plurals of English nouns"],
    "a field": ["Fields"],
}
BLOCKS = "all => all.map(block => block.innerText)"


def first_code(tab):
    """What a newcomer copies: all of a gallery page, or blocks up to the first with a fit."""
    typed = []
    for block in tab.eval_on_selector_all(".highlight-python pre", BLOCKS):
        typed.append(block)
        if "fit(" in block:
            return doctest.script_from_examples("\n\n".join(typed))
    return "\n".join(tab.eval_on_selector_all(".highlight-Python pre", BLOCKS))


@pytest.mark.parametrize("goal", CLICKS)
def test_two_clicks_and_a_copied_example(browser, address, goal, tmp_path):
    assert set(CLICKS) == set(PAGES)
    tab = browser.new_page()
    tab.goto(f"{address}/index.html")
    for text in CLICKS[goal]:
        tab.locator("article").get_by_role("link", name=text, exact=True).first.click()
    assert PAGES[goal].removesuffix(".md") in tab.url
    code = first_code(tab)
    tab.close()
    done = run([sys.executable, "-W", "error", "-"], tmp_path, input=code)
    assert "fit(" in code
    assert done.returncode == 0, done.stderr[-2000:]
