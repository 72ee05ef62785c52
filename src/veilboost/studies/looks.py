"""How lines look in every study alike: a colour for each family, darker as its parameter grows; ours stand out."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from veilboost.report.marks import COLOURS, Look
from veilboost.studies.outcome import Cell
from veilboost.studies.rivals import BY_PAIRS, BY_PROFILE, GLOBAL, GRR, KEPT, LOCAL, PIECEWISE, TIGHT

_HUES = {
    GLOBAL: (COLOURS[0], "#123a78"),
    "Adj-map": (COLOURS[1], "#521c00"),
    TIGHT: (COLOURS[2], COLOURS[2]),
    LOCAL: (COLOURS[3], "#5c1c54"),
    GRR: ("#7d8794", "#3b434d"),
    PIECEWISE: (COLOURS[4], COLOURS[4]),
    "no protection": ("#1d2530", "#1d2530"),
}
_DASHES = (None, "7 4", "2 3", "12 4 2 4")


_RAMP = (COLOURS[0], COLOURS[3], COLOURS[5])
"""For lines that are named by nothing but a number: from the first to the last of them."""
_NUMBERED = re.compile(r".* [0-9.]+")


def looks(names: Sequence[str]) -> Mapping[str, Look]:
    """Return the look of every line of known families, or named by numbers alone; the chart chooses the others'.

    >>> found = looks(["Global-map", "Adj-map, α = 1", "Adj-map, α = 10", "TightMap", "AHEAD"])
    >>> list(found), found["Adj-map, α = 1"].colour == found["Adj-map, α = 10"].colour
    (['Global-map', 'Adj-map, α = 1', 'Adj-map, α = 10', 'TightMap'], False)
    """
    if (
        len(names) > 2
        and all(map(_NUMBERED.fullmatch, names))
        and len({name.rpartition(" ")[0] for name in names}) == 1
    ):
        return {name: Look(_on_ramp(place / (len(names) - 1))) for place, name in enumerate(names)}
    found: dict[str, Look] = {}
    for family, (light, dark) in _HUES.items():
        members = [name for name in names if name == family or name.startswith((f"{family},", f"{family} "))]
        for place, name in enumerate(members):
            share = place / max(1, len(members) - 1)
            dash = _DASHES[place % len(_DASHES)] if light == dark else None
            found[name] = Look(_mixed(light, dark, share), dash, width=3.6 if name == TIGHT else 1.8)
    return {name: found[name] for name in names if name in found}


def palette(names: Sequence[str]) -> list[str]:
    """Return the palette for lines of no family: beside families they begin with the one colour that none has.

    >>> palette(["Global-map", "AHEAD"])[len(COLOURS) - 1 :], palette(["AHEAD"])
    (['AHEAD'], ['AHEAD'])
    """
    known = looks(names)
    return [*_HUES][: len(COLOURS) - 1] * bool(known) + [name for name in names if name not in known]


def _on_ramp(share: float) -> str:
    first, middle, last = _RAMP
    return _mixed(first, middle, 2 * share) if share < 0.5 else _mixed(middle, last, 2 * share - 1)


def _mixed(light: str, dark: str, share: float) -> str:
    """Return the colour that lies between two.

    >>> _mixed("#000000", "#ff8800", 0.5)
    '#804400'
    """
    channels = ((int(light[at : at + 2], 16), int(dark[at : at + 2], 16)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(low + (high - low) * share):02x}" for low, high in channels)


def pictured(cells: Sequence[Cell]) -> Iterator[tuple[Sequence[Cell], Mapping[str, Look]]]:
    """Yield the lines of a panel picture by picture: all mechanisms, then each rival beside TightMap under its losses.

    The second is drawn only where there are such lines, under shorter names, in the colour of their rival.
    """
    names = list(dict.fromkeys(cell.line for cell in cells))
    fair = {
        form.format(TIGHT, name): (name, dash)
        for name in names
        for form, dash in ((KEPT, "12 4 2 4"), (BY_PROFILE, "7 4"), (BY_PAIRS, "2 3"))
        if form.format(TIGHT, name) in names
    }
    rest = [name for name in names if name not in fair]
    known = looks(rest)
    yield [cell for cell in cells if cell.line in rest], known
    if fair:
        rivals = list(dict.fromkeys(name for name, _ in fair.values()))
        places = {cell.where for cell in cells if cell.line in fair}
        kept = [cell for cell in cells if cell.line in (*rivals, *fair) and cell.where in places]
        own = {name: known.get(name, Look.of(place)) for place, name in enumerate(rivals)}
        dashed = {short(line): own[name]._replace(dash=dash, width=2.6) for line, (name, dash) in fair.items()}
        yield [msgspec.structs.replace(cell, line=short(cell.line)) for cell in kept], own | dashed


def short(line: str) -> str:
    """Return the name of a line as pictures have room for it.

    >>> short("TightMap under the profile of Global-map")
    'TightMap, profile of Global-map'
    """
    return line.replace(" under the ", ", ").replace(" at the ε kept by ", ", ε kept by ")
