"""Pieces of HTML: tables, cards, figures, pictures of pixels; strangers' text is escaped."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from ..describe import rounded

STYLE = files(__package__).joinpath("report.css").read_text()


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
    text = rounded(str(value))
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
