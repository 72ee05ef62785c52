"""Print results in the terminal: JSON for programs, tables and small pictures for people."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

import msgspec
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

Number = float | str
Report = Callable[[float], None]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ROWS = 8


def json(value: object) -> None:
    """Print ``value`` as one JSON document."""
    Console(highlight=False, markup=False).out(msgspec.json.encode(value).decode())


@contextmanager
def progress(task: str, *, quiet: bool = False) -> Iterator[Report]:
    """Show a bar with the time left on standard error; give it the share that is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        shown = bar.add_task(task, total=1.0)
        yield lambda done: bar.update(shown, completed=done)


def spread(count: int, most: int = 12) -> list[int]:
    """Return up to about ``most`` of the numbers 1 … count, close at the start and always with the last.

    >>> spread(9)
    [1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> spread(1000, most=5)
    [1, 6, 32, 178, 1000]
    """
    if count <= most:
        return list(range(1, count + 1))
    return sorted({round(step) for step in np.geomspace(1, count, most).tolist()})


def number(value: Number | None, digits: int = 4) -> str:
    """Return ``value`` for a table; a loss is rounded up, so that it never reads better than it is.

    >>> number(0.09531), number("inf"), number(None)
    ('0.0954', '∞', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, str) or math.isinf(value):
        return "∞"
    return f"{math.ceil(value * 10**digits - 1e-6) / 10**digits:.{digits}f}"


def runs(gaps: list[Number]) -> str:
    """Return the gap losses in words, equal neighbours together.

    >>> runs([0.1, 0.1, 2.0])
    '1-2: 0.1000, 3: 2.0000'
    """
    parts, at = [], 1
    for text, group in groupby(map(number, gaps)):
        last = at + len(list(group)) - 1
        parts.append(f"{at}: {text}" if at == last else f"{at}-{last}: {text}")
        at = last + 1
    return ", ".join(parts) if len(parts) <= 12 else ", ".join([*parts[:6], f"… {len(parts) - 12} more …", *parts[-6:]])


def picture(heights: NDArray[np.float64], width: int = 72, rows: int = _ROWS) -> list[str]:
    """Return ``heights`` as bars of block characters, neighbours averaged where they do not all fit.

    >>> picture(np.array([1.0, 2.0]), rows=1)
    ['▄▄▄▄████']
    """
    parts = np.array([part.mean() for part in np.array_split(heights, min(width, len(heights)))])
    levels = np.rint(parts / parts.max() * rows * 8).astype(int)
    wide = max(1, min(4, width // len(parts)))
    lines = []
    for row in reversed(range(rows)):
        lines.append("".join(_BLOCKS[min(8, max(0, level - 8 * row))] * wide for level in levels.tolist()))
    return lines


def say(*lines: str) -> None:
    """Print ``lines`` of plain text, wrapped to the terminal."""
    console = Console(highlight=False, markup=False)
    for line in lines:
        console.print(line)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    drawn = Table(*headers, box=None, pad_edge=False)
    for column in drawn.columns[1:]:
        column.justify = "right"
    for row in rows:
        drawn.add_row(*row)
    Console(highlight=False, markup=False).print(drawn)


def bars(heights: NDArray[np.float64], width: int = 72) -> None:
    """Print ``heights`` as a picture of bars."""
    say(*(f"  {line}" for line in picture(heights, width)))
