"""Run a notebook cell by cell, and say what each shows; as a program, write that into the file."""

import ast
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Output = dict[str, Any]


def run(path: Path) -> list[tuple[str, list[Output]]]:
    """Return the source and the outputs of every code cell, run one after the other in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = json.loads(path.read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [(source, list(_outputs(source, names))) for source in sources]


def stored(path: Path) -> list[tuple[str, list[Output]]]:
    """Return the same as it stands in the file."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return [("".join(cell["source"]), cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]


def _outputs(source: str, names: dict[str, Any]) -> Iterator[Output]:
    tree = ast.parse(source)
    last = tree.body[-1]
    value = last.value if isinstance(last, ast.Expr) else None
    if value is not None:
        tree.body.pop()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "notebook", "exec"), names)
        shown = None if value is None else eval(compile(ast.Expression(value), "notebook", "eval"), names)
    if printed.getvalue():
        yield {"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(keepends=True)}
    if shown is not None:
        yield {"data": _data(shown), "metadata": {}, "output_type": "display_data"}


def _data(shown: Any) -> dict[str, list[str]]:
    picture = getattr(shown, "_repr_svg_", None)
    if picture is not None:
        return {"image/svg+xml": picture().splitlines(keepends=True), "text/plain": ["a picture"]}
    return {"text/plain": repr(shown).splitlines(keepends=True)}


def write(path: Path) -> None:
    """Put what the cells show into the file."""
    notebook = json.loads(path.read_text("utf-8"))
    found = iter(run(path))
    for number, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        cell |= {"outputs": next(found)[1], "execution_count": number}
    path.write_text(json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
