"""Draw plain values as SVG."""

import io
from collections.abc import Mapping, Sequence

Lines = Mapping[str, tuple[Sequence[float], Sequence[float]]]


_COLOURS = ("#1f77b4", "#e07b00", "#2a9d4a", "#c8202f", "#7a52b3", "#8c6d31", "#d0469b")


def lines(series: Lines, *, across: str, up: str, palette: Sequence[str], steps: bool = False) -> str:
    """Return a line chart of ``series`` (name: x values, y values).

    Each name has the colour of its place in ``palette``, so that it keeps it from picture to picture; a name that
    is not there is drawn dashed, thin and grey.
    """
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, (x, y) in series.items():
        known = name in palette
        colour = _COLOURS[palette.index(name) % len(_COLOURS)] if known else "#66717e"
        shape, width = ("-", 1.8) if known else ("--", 1.2)
        drawn = "steps-mid" if steps else "default"
        axes.plot(x, y, label=name, drawstyle=drawn, color=colour, linestyle=shape, linewidth=width)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6eaee")
    axes.legend(frameon=False)
    text = io.StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
