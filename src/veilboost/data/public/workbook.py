"""The first sheet of an .xlsx workbook, as rows of text: all that a published table needs."""

import re
from collections.abc import Callable
from typing import IO
from xml.parsers import expat

from veilboost.data.public.unpack import member
from veilboost.errors import FileError

_MOST = 64 << 20
_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships id"
_WIDEST = 100
_COLUMN = re.compile(r"[A-Z]{1,2}(?=[0-9])")

Start = Callable[[str, dict[str, str]], None]


def first_sheet(source: IO[bytes], *, where: object) -> list[list[str]]:
    """Return the rows of the first sheet; a field that is not there is an empty text, a row without any is left out."""
    links: list[str] = []
    _parse(source, "workbook.xml", where, lambda tag, has: links.append(has[_LINK]) if tag == "sheet" else None)
    if not links:
        raise FileError(where, "must be a workbook with a sheet")
    targets: dict[str, str] = {}
    _parse(
        source, "workbook.xml.rels", where, lambda _, has: targets.update({has.get("Id", ""): has.get("Target", "")})
    )
    shared = _Texts()
    if "sharedStrings.xml" in "".join(targets.values()):
        _parse(source, "sharedStrings.xml", where, shared.start, shared.end, shared.text)
    sheet = _Sheet(shared.found)
    _parse(source, targets.get(links[0], "").rpartition("/")[2], where, sheet.start, sheet.end, sheet.text)
    return sheet.rows


def _without_empty_end(row: list[str]) -> list[str]:
    """Return the fields up to the last that holds anything: what follows was only coloured."""
    return row[: max((place for place, text in enumerate(row, 1) if text), default=0)]


def _parse(
    source: IO[bytes],
    name: str,
    where: object,
    start: Start,
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Read one part of the workbook; a document type, and with it every entity, is refused."""

    def refuse(*_: object) -> None:
        raise FileError(where, f"must not declare a document type; {name} does")

    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = lambda tag, has: start(tag.rpartition(" ")[2], has)
    parser.EndElementHandler = lambda tag: end(tag.rpartition(" ")[2]) if end else None
    parser.CharacterDataHandler = text or (lambda _: None)
    try:
        with member(source, name, most=_MOST, where=where) as stream:
            parser.ParseFile(stream)
    except FileError:
        raise
    except (expat.ExpatError, KeyError, IndexError, ValueError) as error:
        raise FileError(where, f"cannot be read as a workbook ({name})") from error


class _Texts:
    """The texts that cells refer to by number."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._inside = False

    def start(self, tag: str, _has: dict[str, str]) -> None:
        if tag == "si":
            self.found.append("")
        self._inside = tag == "t"

    def end(self, _tag: str) -> None:
        self._inside = False

    def text(self, text: str) -> None:
        if self._inside:
            self.found[-1] += text


class _Sheet:
    """The cells of a sheet, in rows."""

    def __init__(self, shared: list[str]) -> None:
        self.rows: list[list[str]] = []
        self._shared, self._kind, self._text, self._inside = shared, "n", "", False

    def start(self, tag: str, has: dict[str, str]) -> None:
        if tag == "row":
            self.rows.append([])
        elif tag == "c":
            self._kind, self._text = has.get("t", "n"), ""
            missing = _position(has["r"]) - len(self.rows[-1]) if "r" in has else 0
            self.rows[-1].extend([""] * missing)
        self._inside = tag in ("v", "t")

    def text(self, text: str) -> None:
        if self._inside:
            self._text += text

    def end(self, tag: str) -> None:
        self._inside = False
        if tag == "c":
            self.rows[-1].append(self._shared[int(self._text)] if self._kind == "s" else self._text)
        elif tag == "row":
            row = _without_empty_end(self.rows.pop())
            self.rows += [row] if row else []


def _position(cell: str) -> int:
    """Return the column of a cell by its letters, from 0.

    >>> _position("A1"), _position("AB7")
    (0, 27)
    """
    found = _COLUMN.match(cell)
    number = 0
    for letter in found[0] if found else "":
        number = 26 * number + ord(letter) - ord("A") + 1
    if not 1 <= number <= _WIDEST:
        raise ValueError(cell)
    return number - 1
