"""Draw plain values as SVG: text stays text, nothing is loaded, and the same values give the same bytes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from veilboost.report.axes import Axis, Scale, scale
from veilboost.report.marks import Band, Bars, Frame, Line, Look, Mark, Points, tag, text_of

__all__ = ["Axis", "Band", "Bars", "Chart", "Line", "Mark", "Points", "ranking"]

_LETTER, _BAR = 8.0, 28.0
_PLAIN = Axis()
_INK, _SOFT, _RULE, _GRID = "#1d2530", "#55606d", "#8b97a5", "#e3e8ee"


@dataclass(frozen=True, kw_only=True)
class Chart:
    """Marks between two axes, with a legend of those that have a name.

    Names have the look of their place in ``palette``, so that they keep it from chart to chart; a name that is not
    there is dark. Without a palette the order of the marks decides. ``looks`` are for names whose look means something.

    >>> loss = Line(name="exact", x=[1, 2, 3], y=[0.5, 1.0, 1.5])
    >>> Chart(marks=[loss], across=Axis(label="codes apart"), up=Axis(label="loss")).svg()[:40]
    '<svg xmlns="http://www.w3.org/2000/svg" '
    """

    marks: Sequence[Mark]
    across: Axis = _PLAIN
    up: Axis = _PLAIN
    title: str = ""
    palette: Sequence[str] = ()
    looks: Mapping[str, Look] = field(default_factory=dict)
    legend: bool = True

    def svg(self, width: int = 720) -> str:
        """Return the chart ``width`` units wide; letters are 13 high, so name about as many units as the place has."""
        head = self._head(width)
        frame = self._frame(width, 12 + sum(height for height, _ in head))
        parts = (
            *_stacked(head),
            *_rules(frame, flat=bool(self.up.names)),
            *(mark.draw(frame, self._look(mark.name)) for mark in self.marks),
            *_numbers(frame),
            "" if any(mark.reach()[0] for mark in self.marks) else _text("no data", *frame.middle, anchor="middle"),
            _below(self.across.label, frame, width),
        )
        return tag(
            "svg",
            "\n".join(part for part in parts if part),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {frame.bottom + (48 if self.across.label else 28):g}",
            role="img",
            aria_label=self.title or f"{self.up.label} against {self.across.label}",
            font_family="system-ui, sans-serif",
            font_size=13,
            fill=_INK,
        )

    def _repr_svg_(self) -> str:
        """Return what a notebook shows."""
        return self.svg()

    def _head(self, width: int) -> list[tuple[float, str]]:
        """Return the rows above the chart, each under its height: title, legend, what is measured upwards."""
        title, up = _fit(self.title, width * 0.9), _fit(self.up.label, width)
        rows = [(26.0, _text(title, size=15, weight=600)), *((20.0, row) for row in self._legend(width))]
        return [(height, row) for height, row in (*rows, (26.0, _text(up, fill=_SOFT))) if row]

    def _legend(self, width: int) -> list[str]:
        rows, x = [""], 0.0
        for name in dict.fromkeys(mark.name for mark in self.marks if mark.name and self.legend):
            said = _fit(name, width - 32)
            if x and x + 32 + _room(said) > width:
                rows, x = [*rows, ""], 0.0
            samples = (mark.sample(x, -4.5, self._look(name)) for mark in self.marks if mark.name == name)
            rows[-1] += "".join(samples) + _text(said, x + 32)
            x += 32 + _room(said) + 18
        return rows

    def _look(self, name: str) -> Look:
        if name in self.looks:
            return self.looks[name]
        names = list(dict.fromkeys(mark.name for mark in self.marks))
        palette = list(self.palette) or names
        if name in palette:
            return Look.of(palette.index(name))
        return Look.aside([each for each in names if each not in palette].index(name))

    def _frame(self, width: int, top: float) -> Frame:
        """Return where the values lie: beside the longest text on the left, under ``top``."""
        reach = [mark.reach() for mark in self.marks]
        up = scale(self._from_zero(self.up, flat=False), [y for _, ys in reach for y in ys], most=7)
        up = replace(up, texts=[_fit(text, width * 0.4) for text in up.texts])
        left = max(map(_room, up.texts)) + 12
        axis, values = self._from_zero(self.across, flat=True), [x for xs, _ in reach for x in xs]
        found = [scale(axis, values, most=most) for most in (10, 8, 6, 5, 4, 3)]
        across = next((each for each in found if _sparse(each, width - left)), found[-1])
        if self.across.names:
            slot = (width - left) / len(across.texts)
            across = replace(across, texts=[_fit(text, slot) for text in across.texts])
        right = max(10.0, _room(across.texts[-1]) / 2)
        height = _BAR * len(up.texts) if self.up.names else 140 + width / 4
        return Frame(left, top, width - left - right, height, across, up)

    def _from_zero(self, axis: Axis, *, flat: bool) -> Axis:
        """Return the axis, which holds zero if bars stand on it."""
        return replace(axis, zero=axis.zero or any(isinstance(mark, Bars) and mark.flat == flat for mark in self.marks))


def ranking(values: Mapping[str, float], *, across: str, title: str = "") -> Chart:
    """Return a chart of one flat bar per name, in the order given, from the top down."""
    names, lengths = list(values), list(values.values())
    bars = Bars(name="", at=range(len(names) - 1, -1, -1), length=lengths, thick=0.7, flat=True)
    return Chart(marks=[bars], across=Axis(label=across), up=Axis(names=names[::-1]), title=title)


def _stacked(rows: Iterable[tuple[float, str]]) -> Iterator[str]:
    """Yield the rows, each set on the foot of its height."""
    foot = -2.0
    for height, row in rows:
        foot += height
        yield tag("g", row, transform=f"translate(0 {foot:g})")


def _rules(frame: Frame, *, flat: bool) -> list[str]:
    """Return the grid of the axis that has numbers, and the line on which the marks stand."""
    right, bottom, scale = frame.left + frame.width, frame.bottom, frame.across if flat else frame.up
    if flat:
        ends = [(x, frame.top, x, bottom) for x in map(frame.x, scale.ticks)]
        foot = (x := frame.foot(flat=True), frame.top, x, bottom)
    else:
        ends = [(frame.left, y, right, y) for y in map(frame.y, scale.ticks)]
        foot = (frame.left, y := frame.foot(flat=False), right, y)
    return [*(_line(end, _GRID) for end in ends), _line(foot, _RULE)]


def _line(ends: tuple[float, float, float, float], colour: str) -> str:
    x1, y1, x2, y2 = ends
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour)


def _numbers(frame: Frame) -> list[str]:
    """Return the texts of the ticks on both sides."""
    beside = zip(map(frame.y, frame.up.ticks), frame.up.texts, strict=True)
    below = zip(map(frame.x, frame.across.ticks), frame.across.texts, strict=True)
    return [
        *(_text(text, frame.left - 8, y + 4.5, anchor="end", fill=_SOFT) for y, text in beside),
        *(_text(text, x, frame.bottom + 20, anchor="middle", fill=_SOFT) for x, text in below),
    ]


def _below(label: str, frame: Frame, width: int) -> str:
    """Return the label of the axis across, under its middle, or as near to that as the picture is wide."""
    said = _fit(label, width)
    half = _room(said) / 2
    middle = min(max(frame.left + frame.width / 2, half), width - half)
    return _text(said, middle, frame.bottom + 40, anchor="middle", fill=_SOFT)


def _text(
    text: str,
    x: float | None = None,
    y: float | None = None,
    *,
    anchor: str | None = None,
    fill: str | None = None,
    size: int | None = None,
    weight: int | None = None,
) -> str:
    if not text:
        return ""
    return tag("text", text_of(text), x=x, y=y, text_anchor=anchor, fill=fill, font_size=size, font_weight=weight)


def _room(text: str) -> float:
    """Return about how wide ``text`` is."""
    return _LETTER * len(text)


def _fit(text: str, width: float) -> str:
    """Return ``text``, cut short where it is wider than ``width``."""
    most = max(1, int(width / _LETTER))
    return text if len(text) <= most else text[: most - 1] + "…"


def _sparse(scale: Scale, width: float) -> bool:
    """Return whether the texts of an axis stand clear of one another."""
    return sum(_room(text) + 12 for text in scale.texts) <= width
