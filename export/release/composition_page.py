"""The composition of a release as one HTML file with plots, which needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .composition import TEXTS, TOKENIZERS, Composition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["composition_page"]

COLORS = {"Bash Script": "#1f5f9e", "Python Code": "#d98c21"}
LEFT, WIDTH, LINE = 210, 520, 24

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}: composition</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #222; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: 13px; }}
td, th {{ border: 1px solid #ccc; padding: 2px 8px; text-align: right; }} th {{ text-align: left; }}
svg text {{ font: 13px system-ui, sans-serif; fill: #222; }}
.scroll {{ overflow-x: auto; }}
</style></head><body><h1>{title}: composition</h1>
<p>{lead}</p>
<h2>Examples per repository</h2><p>{legend}</p>{examples}
{lengths}
<h2>All figures</h2><div class="scroll">{table}</div></body></html>
"""


def composition_page(title: str, found: Composition) -> str:
    """The page: examples per repository by type, lengths per repository, and the whole table."""
    table = found.by_repository()
    squares = (f'<span style="color:{color}">&#9632;</span> {name}' for name, color in COLORS.items())
    named = " and ".join(TOKENIZERS)
    return PAGE.format(
        title=escape(title),
        lead=f"Lengths are in tokens of {named}, as the package quicktok counts them; plots show {TOKENIZERS[0]}.",
        legend=" &nbsp; ".join(squares),
        examples=_stacked(table),
        lengths="".join(_lengths(table, text) for text in ("README", *TEXTS)),
        table=found.table().reset_index().to_html(index=False, border=0, na_rep=""),
    )


def _stacked(table: pd.DataFrame) -> str:
    most = max(1, int(table[list(COLORS)].sum(axis=1).max()))
    bars = []
    for index, (name, row) in enumerate(table.iterrows()):
        x, parts = float(LEFT), []
        for kind, color in COLORS.items():
            width = float(row[kind]) / most * WIDTH
            parts.append(f'<rect x="{x:.1f}" y="{index * LINE + 4}" width="{width:.1f}" height="15" fill="{color}"/>')
            x += width
        total = int(row[list(COLORS)].sum())
        bars.append(_label(str(name), index) + "".join(parts) + _figure(x, index, f"{total}"))
    return _svg(bars)


def _lengths(table: pd.DataFrame, text: str) -> str:
    """One bar a repository: the mean over its examples, or all its documents together."""
    values = table[f"{text} {TOKENIZERS[0]}"].astype(float)
    most = max(1.0, float(values.fillna(0).max()))
    bars = []
    for index, (name, value) in enumerate(values.items()):
        known = value == value  # not NaN
        width = value / most * WIDTH if known else 0.0
        bar = f'<rect x="{LEFT}" y="{index * LINE + 4}" width="{width:.1f}" height="15" fill="#5b8f6a"/>'
        bars.append(
            _label(str(name), index) + bar + _figure(LEFT + width, index, f"{value:,.0f}" if known else "not at hand")
        )
    what = "tokens of the documents together" if text == "README" else "mean tokens"
    return f"<h2>{text}: {what}</h2>{_svg(bars)}"


def _label(name: str, index: int) -> str:
    return f'<text x="{LEFT - 10}" y="{index * LINE + 16}" text-anchor="end">{escape(name)}</text>'


def _figure(x: float, index: int, text: str) -> str:
    return f'<text x="{x + 6:.1f}" y="{index * LINE + 16}">{text}</text>'


def _svg(bars: list[str]) -> str:
    height = LINE * len(bars) + 8
    return f'<svg viewBox="0 0 {LEFT + WIDTH + 90} {height}" width="100%" role="img">{"".join(bars)}</svg>'
