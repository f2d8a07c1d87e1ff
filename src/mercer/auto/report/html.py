"""Pieces of HTML: tables, cards, figures, pictures of pixels; strangers' text is escaped."""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

LONG = re.compile(r"\d+\.\d{5,}(?:e[+-]?\d+)?")
"""Numbers with more digits than anybody reads."""
STYLE = """
:root{--ink:#1c2733;--soft:#5c6b7a;--line:#dde3ea;--blue:#2f6db5;--good:#2e7d4f;--bad:#b3452f;
--card:#fff;--page:#f4f6f9}
*{box-sizing:border-box}
body{font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);
background:var(--page);margin:0}
main{max-width:72rem;margin:0 auto;padding:1.2rem 1rem 4rem}
h1{font-size:1.5rem;line-height:1.25;margin:.3rem 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:0 0 .5rem}
p{margin:.3rem 0}.soft{color:var(--soft)}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:1rem;
margin:1rem 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);
vertical-align:top;overflow-wrap:anywhere;min-width:5.2rem}
td.n,th.n{text-align:right}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:0 1rem}
.two>section{min-width:0}
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr));gap:1rem}
figure{margin:0;min-width:0}figcaption{font-size:.85rem;color:var(--soft);overflow-wrap:anywhere}
svg{width:100%;height:auto;display:block}
.big{font-size:2rem;font-weight:650}.tiles{display:flex;flex-wrap:wrap;gap:.6rem 2.2rem}
.chip{display:inline-block;border-radius:99px;padding:0 .6rem;margin:.1rem .2rem .1rem 0;
background:#e8edf3}
.chip.good{background:#dcefe3;color:var(--good)}.chip.bad{background:#f6e0da;color:var(--bad)}
.chip.miss{background:none;border:1px dashed var(--soft);color:var(--soft)}
.bar{display:inline-block;height:.75em;background:var(--blue);border-radius:2px;min-width:1px}
.bar.base{background:#a9b6c4}
img.pixels{image-rendering:pixelated;width:100%;border:1px solid var(--line);background:#fff}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:.5rem}
"""


def page(title: str, body: Iterable[str]) -> str:
    """A whole page."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>mercer: {escape(title)}</title>"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{STYLE}</style></head><body><main>{''.join(body)}</main></body></html>\n"
    )


def section(title: str, *parts: str, note: str = "") -> str:
    """A card; nothing where there are no parts."""
    told = f'<p class="soft">{escape(note)}</p>' if note else ""
    inside = "".join(parts)
    return f"<section><h2>{escape(title)}</h2>{told}{inside}</section>" if inside else ""


def table(rows: Sequence[dict[str, Any]], most: int = 30) -> str:
    """A table of dictionaries with the same keys."""
    if not rows:
        return ""
    numeric = {key for key in rows[0] if isinstance(rows[0][key], int | float)}
    head = "".join(f"<th{_right(key in numeric)}>{escape(str(key))}</th>" for key in rows[0])
    lines = "".join(
        "<tr>" + "".join(f"<td{_right(k in numeric)}>{cell(v)}</td>" for k, v in row.items())
        + "</tr>" for row in rows[:most]
    )  # fmt: skip
    rest = f'<p class="soft">{len(rows) - most} more.</p>' if len(rows) > most else ""
    return f'<div class="scroll"><table><tr>{head}</tr>{lines}</table></div>{rest}'


def _right(numeric: bool) -> str:
    return ' class="n"' if numeric else ""


class Html(str):
    """Text that is HTML already."""


def cell(value: Any) -> str:
    """A value, escaped."""
    if isinstance(value, Html):
        return value
    return escape(f"{value:.3f}" if isinstance(value, float) else shown(value))


def shown(value: Any, most: int = 160) -> str:
    """A value as text of moderate length."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, np.ndarray):
        value = [float(f"{v:.4g}") for v in value.ravel()[:8]] + ["…"] * (value.size > 8)
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value)) or "(none)"
    text = LONG.sub(lambda m: f"{float(m[0]):.4g}", str(value))
    return text if len(text) <= most else text[: most - 1] + "…"


def bar(share: float, base: bool = False) -> Html:
    """A bar as long as a share of one."""
    width = 8.0 * min(max(share, 0.0), 1.0)
    return Html(f'<span class="bar{" base" * base}" style="width:{width:.2f}rem"></span>')


def figure(picture: str, caption: str) -> str:
    """A picture with a line below."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"


def pixels(image: np.ndarray, limits: tuple[float, float]) -> str:
    """A grey image, dark for high values."""
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
    return (
        f'<img class="pixels" alt="" src="data:image/png;base64,{base64.b64encode(data).decode()}">'
    )


def small(image: np.ndarray, limits: tuple[float, float]) -> str:
    """A grey image of the size of a few words."""
    return f'<div style="width:5rem">{pixels(image, limits)}</div>'
