"""Elements of HTML and SVG, tables and pictures of pixels; strangers' text is escaped."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from ..describe import rounded

STYLE = files(__package__).joinpath("report.css").read_text()


class Html(str):
    """Text that is HTML already."""


def joined(*parts: Any) -> Html:
    """Return values one after the other, escaped where they are not HTML."""
    return Html("".join(p if isinstance(p, Html) else escape(_number(p)) for p in parts))


def _number(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def tag(name: str, *inside: Any, **attributes: Any) -> Html:
    """Return an element of HTML or SVG; `class_` is its class, `text_anchor` its text-anchor."""
    given = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    head = Html("".join(f' {key}="{joined(value)}"' for key, value in given.items()))
    return Html(f"<{name}{head}>{joined(*inside)}</{name}>")


def soft(text: str) -> Html:
    """Return a paragraph in grey; nothing where there is no text."""
    return tag("p", text, class_="soft") if text else Html()


def page(title: str, body: Sequence[Html]) -> str:
    """Return a whole page."""
    head = Html(
        f'<meta charset="utf-8">{tag("title", "mercer: ", title)}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style>"
    )
    whole = tag("html", tag("head", head), tag("body", tag("main", *body)), lang="en")
    return f"<!doctype html>{whole}\n"


def section(title: str, *parts: Html, note: str = "") -> Html:
    """Return a card; nothing where there are no parts."""
    inside = joined(*parts)
    return tag("section", tag("h2", title), soft(note), inside) if inside else inside


def table(rows: Sequence[dict[str, Any]], most: int = 30) -> Html:
    """Return a table of dictionaries with the same keys, numbers to the right."""
    if not rows:
        return Html()
    right = {
        key: {"class_": "n"} for key, value in rows[0].items() if isinstance(value, int | float)
    }
    head = [tag("th", key, **right.get(key, {})) for key in rows[0]]
    lines = [
        [tag("td", _cell(value), **right.get(key, {})) for key, value in row.items()]
        for row in rows[:most]
    ]
    whole = tag("table", *(tag("tr", *line) for line in (head, *lines)))
    rest = soft(f"{len(rows) - most} more.") if len(rows) > most else Html()
    return joined(tag("div", whole, class_="scroll"), rest)


def _cell(value: Any) -> Any:
    return value if isinstance(value, Html | float) else shown(value)


def shown(value: Any, most: int = 160) -> str:
    """Return a value as text of moderate length."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        value = [float(f"{v:.4g}") for v in value.ravel()[:8]] + ["…"] * (value.size > 8)
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value)) or "(none)"
    text = rounded(str(value))
    return text if len(text) <= most else text[: most - 1] + "…"


def bar(share: float, kind: str = "bar") -> Html:
    """Return a bar as long as a share of one."""
    return tag("span", class_=kind, style=f"width:{8.0 * min(max(share, 0.0), 1.0):.2f}rem")


def figure(picture: Html, caption: str) -> Html:
    """Return a picture with a line below."""
    return tag("figure", picture, tag("figcaption", caption))


def pixels(image: np.ndarray, limits: tuple[float, float]) -> Html:
    """Return a grey image, dark for high values."""
    low, high = limits
    A = np.asarray(image, dtype=float)
    A = A if A.ndim == 2 else A.reshape(-1, A.shape[-1])
    grey = 255 - np.clip(255 * (A - low) / ((high - low) or 1.0), 0, 255)
    rows = b"".join(b"\0" + row.tobytes() for row in np.round(grey).astype(np.uint8))
    head = struct.pack(">IIBBBBB", A.shape[1], A.shape[0], 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts
    )
    source = f"data:image/png;base64,{base64.b64encode(data).decode()}"
    return Html(f'<img class="pixels" alt="" src="{source}">')
