"""One self-contained HTML page: headings, sentences, tables and pictures, readable on a desk and on a phone."""

import re
from collections.abc import Iterable, Sequence
from html import escape

from veilboost.report.pictures import Chart

_ONE = "[-\N{MINUS SIGN}\N{NON-BREAKING HYPHEN}]?[0-9][0-9.,]*(?:e[-+\N{NON-BREAKING HYPHEN}]?[0-9]+)?"
_NUMBER = re.compile(f"{_ONE}(?:\\s±\\s{_ONE})?|[\N{EN DASH}\N{INFINITY}]")
_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2530; background: #fff; max-width: 60rem; margin: 0 auto;
  padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.2rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .3rem; }
p, li { max-width: 46rem; }
ul { padding-left: 1.2rem; }
li { margin: .3rem 0; }
.wide { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; font-size: .95rem; }
th, td { padding: .35rem .8rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid #dfe4ea; }
td { max-width: 24rem; overflow-wrap: break-word; }
td:last-child:not(.number) { min-width: 16rem; }
th { font-weight: 600; border-bottom: 2px solid #8b97a5; vertical-align: bottom; }
.number { text-align: right; white-space: nowrap; }
td:first-child:not(.number) { min-width: 9rem; }
tr > :first-child { position: sticky; left: 0; background: #fff; }
figure { margin: 1.2rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 52rem; }
figure .narrow { display: none; }
@media (max-width: 36rem) { figure .broad { display: none; } figure .narrow { display: block; }
  td:last-child:not(.number) { min-width: 11rem; } }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0 1.5rem; }
.gallery figcaption { margin-top: .2rem; font-size: .85rem; line-height: 1.4; }
figcaption { margin-top: .5rem; color: #55606d; font-size: .92rem; max-width: 46rem; }
footer { margin-top: 3rem; color: #55606d; font-size: .88rem; }
"""


def page(title: str, blocks: Iterable[str], footer: str) -> str:
    """Return a whole HTML document made of ``blocks``."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(title)}</h1>\n{''.join(blocks)}<footer>{escape(footer)}</footer></body></html>\n"
    )


def heading(text: str) -> str:
    r"""Return a heading.

    >>> heading("a < b")
    '<h2>a &lt; b</h2>\n'
    """
    return f"<h2>{escape(text)}</h2>\n"


def subheading(text: str) -> str:
    """Return a heading under a heading."""
    return f"<h3>{escape(text)}</h3>\n"


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>\n"


def listed(items: Iterable[tuple[str, str]]) -> str:
    r"""Return a list of sentences, each behind the word that sums it up.

    >>> listed([("Holds", "1 < 2.")])
    '<ul>\n<li><strong>Holds.</strong> 1 &lt; 2.</li>\n</ul>\n'
    """
    lines = "".join(f"<li><strong>{escape(word)}.</strong> {escape(text)}</li>\n" for word, text in items)
    return f"<ul>\n{lines}</ul>\n"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that scrolls by itself where it is wider than the screen; numbers stand to the right.

    >>> '<td class="number">1,024</td>' in table(["party", "bytes"], [["shop", "1,024"]])
    True
    >>> "number" in table(["error"], [["0.0017 ± 9.8e\N{NON-BREAKING HYPHEN}05"]])
    True
    """
    listed = list(rows)
    marks = [' class="number"' if _numbers(column) else "" for column in zip(*listed, strict=True)] or [""] * len(
        headers
    )
    body = "".join(f"<tr>{_cells('td', row, marks)}</tr>\n" for row in listed)
    head = _cells("th", headers, marks)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'


def _cells(kind: str, texts: Sequence[str], marks: Sequence[str]) -> str:
    return "".join(f"<{kind}{mark}>{escape(text)}</{kind}>" for text, mark in zip(texts, marks, strict=True))


def _numbers(column: Iterable[str]) -> bool:
    return all(_NUMBER.fullmatch(cell) for cell in column)


def figure(chart: Chart, caption: str) -> str:
    """Return a picture with its caption, drawn twice: for a desk, and in fewer units for a phone."""
    drawn = f'<div class="broad">{chart.svg(720)}</div><div class="narrow">{chart.svg(360)}</div>'
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>\n"


def gallery(figures: Iterable[tuple[Chart, str]]) -> str:
    """Return small pictures side by side, as many as the screen has room for, each with its caption."""
    drawn = "".join(
        f"<figure>{chart.svg(360)}<figcaption>{escape(caption)}</figcaption></figure>\n" for chart, caption in figures
    )
    return f'<div class="gallery">{drawn}</div>\n'
