"""Print results in the terminal: JSON for programs, tables and small pictures for people."""

import io
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import ROUND_CEILING, Context, Decimal
from itertools import groupby

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from veilboost.files import as_json
from veilboost.privacy.rounding import shown

Report = Callable[[float], None]

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ROWS = 8
_WIDE = 160  # where nobody looks on, a table is not squeezed into a terminal that is not there


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints what it is given, in the characters that the terminal has.

    A reader that has gone away ends the program quietly, as the shell expects.
    """
    stream = sys.stderr if stderr else sys.stdout
    if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
        stream.reconfigure(errors="replace")
    return _Console(highlight=False, markup=False, stderr=stderr, width=None if stream.isatty() else _WIDE)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def json(value: object) -> None:
    """Print ``value`` as one JSON document; an infinite number is the text "inf"."""
    console().out(as_json(value).decode())


@contextmanager
def progress(task: str, *, quiet: bool = False) -> Iterator[Report]:
    """Show a bar with the time left on standard error; give it the share that is done."""
    with steps(quiet=quiet) as report:
        yield lambda done: report(task, done)


@contextmanager
def steps(*, quiet: bool = False) -> Iterator[Callable[[str, float], None]]:
    """Show a bar for each step of some work, with its time left; give it the step and the share that is done."""
    with news(quiet=quiet) as (report, _):
        yield report


@contextmanager
def news(*, quiet: bool = False) -> Iterator[tuple[Callable[[str, float], None], Callable[[str], None]]]:
    """Show such bars, and above them lines of what happens, on standard error; other threads may tell lines."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=quiet or not screen.is_terminal) as bar:
        known: dict[str, TaskID] = {}

        def report(step: str, done: float) -> None:
            if step not in known:
                known[step] = bar.add_task(step, total=1.0)
            bar.update(known[step], completed=done)

        def tell(line: str) -> None:
            if not quiet:
                screen.print(line, soft_wrap=True)

        yield report, tell


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


def number(value: float | None, digits: int = 4) -> str:
    """Return ``value`` for a table; a loss is rounded up, so that it never reads better than it is.

    >>> number(0.09531), number(1e-10), number(0.1), number(math.inf), number(None)
    ('0.0954', '0.0001', '0.1000', '∞', '–')
    """
    if value is None or math.isinf(value) or value >= 10**6:
        return "–" if value is None else shown(value)
    nearest = Context(prec=15).create_decimal(Decimal(value))
    return str(nearest.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING))


def runs(gaps: Sequence[float]) -> str:
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
    """Print ``lines`` of plain text, wrapped to the terminal, or not at all where a program reads them."""
    screen = console()
    for line in lines:
        screen.print(line, soft_wrap=not screen.is_terminal)


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table: the first column to the left, the others to the right."""
    drawn = Table(*headers, box=None, pad_edge=False)
    for column in drawn.columns[1:]:
        column.justify = "right"
    for row in rows:
        drawn.add_row(*row)
    console().print(drawn)


def bars(heights: NDArray[np.float64], width: int = 72) -> None:
    """Print ``heights`` as a picture of bars."""
    say(*(f"  {line}" for line in picture(heights, width)))
