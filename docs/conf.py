"""Configuration of the documentation. Build it with ``make docs``, where warnings are errors.

No network is needed: MathJax, which typesets formulas, comes with a Python package.
"""

import os
import re
import sys
from pathlib import Path

import mercer

sys.path.insert(0, str(Path(__file__).parent))

from api_pages import write_pages

GENERATED = Path(__file__).parent / "reference" / "generated"

project = "mercer"
author = "the mercer developers"
version = release = mercer.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx-mathjax-offline",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = [
    "_build", "reference/generated/*.inc", "sg_execution_times.rst", "**/sg_execution_times.rst",
]  # fmt: skip
default_role = "code"
nitpicky = False
autosummary_generate = False  # api_pages.py writes them
viewcode_line_numbers = True
autodoc_type_aliases = {name: name for name in ("Array", "Axes", "Items", "Model", "Rows", "Score")}
napoleon_use_rtype = False
napoleon_custom_sections = ["Attributes"]  # as they stand: several names may share a line
toc_object_entries_show_parents = "hide"
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["mercer.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "logo": {"text": f"mercer {release}"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_depth": 2,
    "show_toc_level": 1,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
}

# The build runs the examples. It only shows an example whose data set is missing.
NEEDS = {
    "curves": "functional", "graphs": "molecules", "inflection": "inflection",
    "label_sets": "emotions",
    "pronunciation": "cmudict", "rankings": "label_ranking", "words": "ocr_words",
    "spectra_to_molecules": "massbank",
}  # fmt: skip
data = Path(os.environ.get("MERCER_DATA", Path.home() / ".cache" / "mercer"))
absent = [name for name, folder in NEEDS.items() if not (data / folder).is_dir()]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"__init__\.py|simulators\.py|make_posts\.py",  # helpers of examples
    "filename_pattern": rf"plot_(?!{'|'.join([*absent, 'nothing'])})",
    "within_subsection_order": "gallery_order.by_output",
    "default_thumb_file": str(Path(__file__).parent / "_static" / "not_run.png"),
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("mercer",),
    "inspect_global_variables": False,
    "show_memory": False,
    "remove_config_comments": True,
    "min_reported_time": 1e9,
}


def _skip(app, what, name, obj, skip, options):
    """Skip methods such as `set_fit_request`, which scikit-learn documents."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _escape_bars(app, what, name, obj, options, lines):
    """Escape bars, so that |x| in a docstring is not read as a substitution."""
    lines[:] = [line if ">>>" in line else line.replace("|", "\\|") for line in lines]


def _quote_attributes(app, what, name, obj, options, lines):
    """Mark names under Attributes as code, so that `name_` is not read as a reference."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # so that Sphinx does not read a type from the first line
    starts = [i for i in range(1, len(lines)) if lines[i] and not lines[i].strip("-")]
    within = [i for i in starts if lines[i - 1] == "Attributes"]
    for start in within:
        end = min([i - 1 for i in starts if i > start], default=len(lines))
        for i in range(start + 1, end):
            if lines[i] and not lines[i].startswith((" ", "`")):
                lines[i] = ", ".join(f"``{one}``" for one in lines[i].split(", "))


def _name_aliases(app, what, name, obj, options, signature, result):
    """Show a type alias inside another type by its name: Sphinx writes its forward reference."""
    parts = (
        text and re.sub(r"TypeAliasForwardRef\('(\w+)'\)", r"\1", text)
        for text in (signature, result)
    )
    return tuple(parts)


def _close_blocks(app, docname, source):
    """Remove the blank line that ends a doctest, which readers do not need."""
    source[0] = re.sub(r"(?ms)^(```python\n.*?)\n+```$", r"\1\n```", source[0])


RIGHT_TO_LEFT = r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]+"


def _isolate(app, pagename, templatename, context, doctree):
    """Wrap right-to-left words, so that they do not change the order of numbers next to them."""
    pattern = rf"(<[^>]*>)|({RIGHT_TO_LEFT}(?:\s+{RIGHT_TO_LEFT})*)"
    if "body" in context:
        context["body"] = re.sub(pattern, lambda m: m[1] or f"<bdi>{m[2]}</bdi>", context["body"])


def setup(app):
    """Connect the functions of this file to Sphinx."""
    app.connect("autodoc-process-docstring", _quote_attributes, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", _escape_bars)
    app.connect("autodoc-process-signature", _name_aliases)
    app.connect("autodoc-skip-member", _skip)
    app.connect("config-inited", lambda app, config: write_pages(GENERATED))
    app.connect("source-read", _close_blocks)
    app.connect("html-page-context", _isolate)
