"""A report as one HTML file: no network, no script, every picture inside, light or dark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from .differences import Difference
from .tables import format_interval

if TYPE_CHECKING:
    from .report import Report

STYLE = """
:root { color-scheme: light dark; --text: #1d1f23; --soft: #62666e; --line: #d9dbdf;
  --ground: #fdfdfc; --better: #1a7f5a; --worse: #b3492f; --nothing: #8a8e96; }
@media (prefers-color-scheme: dark) { :root { --text: #e7e6e3; --soft: #a3a6ad; --line: #3a3d43;
  --ground: #17181b; --better: #5cc79b; --worse: #e88f75; --nothing: #8a8e96; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.1rem 4rem; max-width: 60rem; background: var(--ground);
  color: var(--text); font: 1rem/1.55 Charter, "Bitstream Charter", "Iowan Old Style", Georgia,
  serif; text-wrap: pretty; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; text-wrap: balance; }
h2 { font-size: 1.12rem; margin: 2.4rem 0 .6rem; }
p, li { max-width: 42rem; }
.soft, caption, figcaption, footer { color: var(--soft); }
table, dl, svg text { font-family: system-ui, -apple-system, "Segoe UI", sans-serif; }
.scroll { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .86rem; line-height: 1.35; width: 100%;
  border-top: 2px solid var(--text); border-bottom: 2px solid var(--text); }
caption { text-align: left; padding-bottom: .4rem; }
th { font-weight: 600; vertical-align: bottom; border-bottom: 1px solid var(--text); }
th, td { padding: .32rem .7rem .32rem 0; text-align: left; }
td { border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--ground);
  min-width: 6.5rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
.group td { padding-top: .9rem; font-weight: 600; }
.better { color: var(--better); } .worse { color: var(--worse); }
.nothing { color: var(--nothing); }
svg { display: block; width: 9rem; height: 1.1rem; }
figure { margin: 1.2rem 0; }
img { max-width: 100%; height: auto; background: #fff; border: 1px solid var(--line);
  border-radius: 4px; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .3rem 1.2rem;
  font-size: .88rem; line-height: 1.4; }
dt { color: var(--soft); } dd { margin: 0; }
@media (max-width: 34rem) { body { padding-top: 1.4rem; } dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .6rem; } svg { width: 6rem; } ul { padding-left: 1.1rem; } }
@media print { body { max-width: none; } }
"""


def page(report: Report, pictures: Mapping[str, bytes]) -> str:
    """Return a report as an HTML page; `pictures` are PNG files by name."""
    parts = [
        f"<h1>{escape(report.title or report.experiment)}</h1>",
        f'<p class="soft">make reproduce NAME={escape(report.experiment)}'
        f"{_format_resources(report)}</p>",
        *(table.html() for table in report.results()),
        *_difference_section(report),
        *_picture_section(report, pictures),
        *_settings_section(report),
        *_notes_section(report),
    ]
    name = escape(report.title or report.experiment)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _format_resources(report: Report) -> str:
    """Return the seconds and the peak memory of a report, as text."""
    taken = [] if report.seconds is None else [f"{report.seconds:.0f} s"]
    taken += [] if report.peak is None else [f"peak memory {report.peak:.2f} GiB"]
    return " · " + " · ".join(taken) if taken else ""


def _difference_section(report: Report) -> Iterator[str]:
    """Yield the HTML of the paired differences from the baseline."""
    differences = report.differences()
    if not differences:
        return
    yield f"<h2>Against {escape(report.baseline)}, split by split</h2>"
    yield (
        '<p class="soft">Mean paired difference and its 95 % t interval over '
        f"{differences[0].splits} splits, which share examples: read the intervals as a little "
        "too narrow. Grey: the interval contains zero.</p>"
    )
    yield "<ul>" + "".join(f"<li>{escape(s)}</li>" for s in report.verdicts()) + "</ul>"
    yield '<div class="scroll"><table>\n<tbody>'
    for setting, metric in dict.fromkeys((d.setting, d.metric) for d in differences):
        group = [d for d in differences if (d.setting, d.metric) == (setting, metric)]
        yield f'<tr class="group"><td colspan="3">{escape(setting)}, {escape(metric)}</td></tr>'
        reach = max(max(abs(d.low), abs(d.high)) for d in group) or 1.0
        yield from (_difference_row(d, reach) for d in group)
    yield "</tbody></table></div>"


def _difference_row(d: Difference, reach: float) -> str:
    """Return the HTML row of a difference: method, drawn interval, and numbers."""
    low, mean, high = (72 + 68 * value / reach for value in (d.low, d.mean, d.high))
    drawing = (
        f'<svg viewBox="0 0 144 18" class="{d.verdict}" role="img" aria-label="{d.verdict}">'
        '<line x1="72" x2="72" y1="0" y2="18" stroke="var(--line)"/>'
        f'<line x1="{low:.1f}" x2="{high:.1f}" y1="9" y2="9" stroke="currentColor" '
        f'stroke-width="2"/><circle cx="{mean:.1f}" cy="9" r="3.2" fill="currentColor"/></svg>'
    )
    numbers = escape(format_interval(d.mean, d.low, d.high))
    return (
        f"<tr><td>{escape(d.method)}</td><td>{drawing}</td>"
        f'<td class="number {d.verdict}">{numbers}</td></tr>'
    )


def _picture_section(report: Report, pictures: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the HTML of each picture with its caption."""
    for name, content in pictures.items():
        caption = escape(report.captions.get(name, ""))
        source = f"data:image/png;base64,{b64encode(content).decode()}"
        yield (
            f'<figure><img src="{source}" alt="{caption or escape(name)}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )


def _settings_section(report: Report) -> Iterator[str]:
    """Yield the HTML list of settings, if there are any."""
    if report.settings:
        items = (f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in report.settings.items())
        yield f"<h2>Settings</h2>\n<dl>{''.join(items)}</dl>"


def _notes_section(report: Report) -> Iterator[str]:
    """Yield the HTML of the notes and the attribution."""
    if report.notes:
        yield "<h2>Notes</h2>"
        yield from (f"<p>{escape(note)}</p>" for note in report.notes)
    if report.attribution:
        yield f"<footer><p>{escape(report.attribution)}</p></footer>"
