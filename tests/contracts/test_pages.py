"""Pages are reached, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")


def prose(page):
    """A page without its code, where brackets mean something else."""
    return re.sub(r"(?ms)^```python.*?^```", "", page.read_text())


def anchors(page):
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"(?m)^#+ (.*)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages(page):
    for link in LINK.findall(prose(page)):
        name, _, anchor = link.partition("#")
        if name.startswith("gallery/"):
            continue  # made at build
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}"
        site = DOCS not in page.parents or DOCS in target.parents
        assert site, f"{page.name} links to {link}, which the site does not have"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_is_in_a_tree():
    entries = {"index"}
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(r"(?ms)^```\{toctree\}\n(.*?)^```", page.read_text()):
            entries |= {line for line in tree.split() if not line.startswith(":")}
    assert {str(page.relative_to(DOCS).with_suffix("")) for page in DOCS.rglob("*.md")} <= entries


def test_examples_on_the_pages_exist():
    index = (DOCS / "index.md").read_text()
    for name in re.findall(r"gallery/(plot_\w+)", index):
        assert (ROOT / "examples" / f"{name}.py").exists(), name


def test_half_of_the_gallery_runs_without_a_data_set():
    examples = sorted((ROOT / "examples").glob("plot_*.py"))
    loaders = re.compile(r"load_(?!digit_halves|diabetes|digits)\w+")
    free = [path for path in examples if not loaders.search(path.read_text())]
    assert len(free) >= len(examples) / 2
    settings = (DOCS / "conf.py").read_text()
    for path in examples:
        named = f'"{path.stem.removeprefix("plot_")}":' in settings
        assert named == (path not in free), f"{path.name}: name its data in NEEDS of docs/conf.py"
