"""What a chart can show: lines, points, bars and bands, each of which knows how far it reaches and how it is drawn."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from html import escape
from itertools import pairwise
from typing import NamedTuple

from veilboost.errors import SettingError
from veilboost.report.axes import Scale

_UNSAYABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-5.2L5.2 0L0 5.2L-5.2 0z",
    "M0-5L4.6 3.4H-4.6z",
    "M0 5L4.6-3.4H-4.6z",
    "M-1.4-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z",
)


def text_of(text: str) -> str:
    """Return ``text`` as it may stand in XML."""
    return escape(_UNSAYABLE.sub("\N{REPLACEMENT CHARACTER}", text))


def tag(kind: str, content: str = "", **attributes: object) -> str:
    """Return an element; ``_`` in the name of an attribute stands for ``-``, and None leaves the attribute out.

    >>> tag("path", d="M0 0", stroke_width=1.50)
    '<path d="M0 0" stroke-width="1.5"/>'
    """
    said = "".join(
        f' {name.strip("_").replace("_", "-")}="{_short(value) if isinstance(value, float) else text_of(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{kind}{said}>{content}</{kind}>" if content else f"<{kind}{said}/>"


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def path_of(corners: Iterable[tuple[float, float]]) -> str:
    """Return corners as a polyline names them.

    >>> path_of([(0.0, 1.5), (10.0, 2.0)])
    '0,1.5 10,2'
    """
    return " ".join(f"{_short(x)},{_short(y)}" for x, y in corners)


class Frame(NamedTuple):
    """The place of a chart's values on the page."""

    left: float
    top: float
    width: float
    height: float
    across: Scale
    up: Scale

    def x(self, value: float | Decimal) -> float:
        """Return how far right ``value`` lies."""
        return self.left + self.width * self.across.place(value)

    def y(self, value: float | Decimal) -> float:
        """Return how far down ``value`` lies."""
        return self.top + self.height * (1 - self.up.place(value))

    @property
    def bottom(self) -> float:
        """The lower end of the upward axis."""
        return self.top + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """The middle of the place."""
        return self.left + self.width / 2, self.top + self.height / 2

    def foot(self, *, flat: bool) -> float:
        """Return where bars begin: at zero, or at the low end of an axis that does not hold it."""
        scale, place = (self.across, self.x) if flat else (self.up, self.y)
        return place(Decimal(0) if scale.low <= 0 <= scale.high else scale.low)


class Look(NamedTuple):
    """What tells one name from another: a colour, a dash pattern, the shape of a point."""

    colour: str
    dash: str | None = None
    shape: str = _SHAPES[0]
    width: float = 2.2

    @classmethod
    def of(cls, place: int) -> "Look":
        """Return the look of the name at ``place``; from the seventh on colours return, dotted."""
        return cls(COLOURS[place % len(COLOURS)], "1.5 4" if place >= len(COLOURS) else None, _SHAPES[place % 6])

    @classmethod
    def aside(cls, place: int) -> "Look":
        """Return the look of what is there for comparison only, the ``place``-th of its kind."""
        return cls("#1d2530", (None, "2 3", "14 4 2 4")[place % 3])


COLOURS = ("#257ff0", "#e27900", "#0d724f", "#b643a7", "#3c248c", "#760800")
"""Told apart also by eyes that lack one kind of cone, and by their lightness; each stands out from white by 3:1."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Values under a name; marks of one name look alike and share a line of the legend."""

    name: str

    def __post_init__(self) -> None:
        lengths = [len(values) for values in self.held()]
        if len(set(lengths)) > 1:
            raise SettingError(f"'{self.name}'", "must have as many values each way", " and ".join(map(str, lengths)))

    def held(self) -> tuple[Sequence[float], ...]:
        """Return the values that belong together, one by one."""
        raise NotImplementedError

    def reach(self) -> tuple[list[float], list[float]]:
        """Return values across and up that the chart must hold."""
        raise NotImplementedError

    def draw(self, frame: Frame, look: Look) -> str:
        """Return the mark as SVG."""
        raise NotImplementedError

    def sample(self, x: float, y: float, look: Look) -> str:
        """Return what stands beside the name in the legend, 24 wide, from ``x`` on, about the height ``y``."""
        return tag("rect", x=x + 4, y=y - 6, width=16, height=12, fill=look.colour)


@dataclass(frozen=True, kw_only=True)
class Line(Mark):
    """Values joined by a line; with ``steps`` each keeps its height half way to the next."""

    x: Sequence[float]
    y: Sequence[float]
    dashed: bool = False
    steps: bool = False

    def held(self) -> tuple[Sequence[float], ...]:
        return self.x, self.y

    def reach(self) -> tuple[list[float], list[float]]:
        return [*self.x, *(self._edges() if self.steps else [])], list(self.y)

    def _edges(self) -> list[float]:
        """Return the ends of the steps, one more than there are values."""
        if len(self.x) < 2:
            return [edge for x in self.x for edge in (x - 0.5, x + 0.5)]
        inner = [a / 2 + b / 2 for a, b in pairwise(self.x)]
        return [self.x[0] - (inner[0] - self.x[0]), *inner, self.x[-1] + (self.x[-1] - inner[-1])]

    def draw(self, frame: Frame, look: Look) -> str:
        corners = list(zip(self.x, self.y, strict=True))
        if self.steps:
            corners = [(edge, y) for ends, y in zip(pairwise(self._edges()), self.y, strict=True) for edge in ends]
        if len(corners) == 1:
            return tag("circle", cx=frame.x(self.x[0]), cy=frame.y(self.y[0]), r=3, fill=look.colour)
        return self._stroke([(frame.x(x), frame.y(y)) for x, y in corners], look)

    def _stroke(self, corners: Sequence[tuple[float, float]], look: Look) -> str:
        return tag(
            "polyline",
            points=path_of(corners),
            fill="none",
            stroke=look.colour,
            stroke_width=look.width,
            stroke_dasharray=look.dash or ("6 6" if self.dashed else None),
            stroke_linejoin="round",
        )

    def sample(self, x: float, y: float, look: Look) -> str:
        return self._stroke([(x, y), (x + 24, y)], look)


@dataclass(frozen=True, kw_only=True)
class Points(Mark):
    """Values as points, with error bars from ``low`` to ``high`` where these are given."""

    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()

    def held(self) -> tuple[Sequence[float], ...]:
        return self.x, self.y, *((self.low, self.high) if self.low or self.high else ())

    def reach(self) -> tuple[list[float], list[float]]:
        return list(self.x), [*self.y, *self.low, *self.high]

    def draw(self, frame: Frame, look: Look) -> str:
        bars = "".join(
            self._bar(frame.x(x), frame.y(low), frame.y(high), look)
            for x, low, high in zip(self.x if self.low else (), self.low, self.high, strict=True)
        )
        return bars + "".join(self._point(frame.x(x), frame.y(y), look) for x, y in zip(self.x, self.y, strict=True))

    def _bar(self, x: float, low: float, high: float, look: Look) -> str:
        x, low, high = round(x, 2), round(low, 2), round(high, 2)
        path = f"M{x - 4:.2f} {low}h8m-4 0V{high}m-4 0h8"
        return tag("path", d=path, fill="none", stroke=look.colour, stroke_width=1.4)

    def _point(self, x: float, y: float, look: Look) -> str:
        return tag("path", d=look.shape, transform=f"translate({x:.2f} {y:.2f})", fill=look.colour)

    def sample(self, x: float, y: float, look: Look) -> str:
        return self._point(x + 12, y, look)


@dataclass(frozen=True, kw_only=True)
class Bars(Mark):
    """Bars from zero: upright ones stand ``at`` places across, ``flat`` ones lie at places up."""

    at: Sequence[float]
    length: Sequence[float]
    thick: float = 0.8
    flat: bool = False

    def held(self) -> tuple[Sequence[float], ...]:
        return self.at, self.length

    def reach(self) -> tuple[list[float], list[float]]:
        places = [at + side * self.thick / 2 for at in self.at for side in (-1, 1)]
        return (list(self.length), places) if self.flat else (places, list(self.length))

    def draw(self, frame: Frame, look: Look) -> str:
        foot = frame.foot(flat=self.flat)
        return "".join(
            self._bar(frame, at, foot, length, look) for at, length in zip(self.at, self.length, strict=True)
        )

    def _bar(self, frame: Frame, at: float, foot: float, length: float, look: Look) -> str:
        sides = at - self.thick / 2, at + self.thick / 2
        if self.flat:
            (left, right), (bottom, top) = sorted((foot, frame.x(length))), map(frame.y, sides)
        else:
            (left, right), (top, bottom) = map(frame.x, sides), sorted((foot, frame.y(length)))
        return tag("rect", x=left, y=top, width=right - left, height=bottom - top, fill=look.colour)


@dataclass(frozen=True, kw_only=True)
class Band(Mark):
    """A light area between two lines."""

    x: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]

    def held(self) -> tuple[Sequence[float], ...]:
        return self.x, self.low, self.high

    def reach(self) -> tuple[list[float], list[float]]:
        return list(self.x), [*self.low, *self.high]

    def draw(self, frame: Frame, look: Look) -> str:
        there = zip(self.x, self.high, strict=True)
        back = zip(reversed(self.x), reversed(self.low), strict=True)
        corners = [(frame.x(x), frame.y(y)) for x, y in (*there, *back)]
        return tag("polygon", points=path_of(corners), fill=look.colour, fill_opacity=0.18)

    def sample(self, x: float, y: float, look: Look) -> str:
        return tag("rect", x=x, y=y - 6, width=24, height=12, fill=look.colour, fill_opacity=0.18)
