"""The first sheet of a workbook, however a spreadsheet has written it."""

import io

import pytest
from rebuilt import packed, workbook

from veilboost.data.public.workbook import first_sheet
from veilboost.errors import FileError

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = {
    "xl/workbook.xml": f'<x:workbook xmlns:x="{MAIN}" xmlns:y="{LINKS}"><x:sheets><x:sheet name="a" y:id="r1"/>'
    "</x:sheets></x:workbook>",
    "xl/_rels/workbook.xml.rels": '<Relationships><Relationship Id="r1" Target="/xl/worksheets/sheet1.xml"/>'
    "</Relationships>",
}


def sheet(rows: str, **others: str) -> list[list[str]]:
    """Read a sheet with these rows, in another prefix for names than is usual."""
    parts = PARTS | {"xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{rows}</sheetData></worksheet>"} | others
    return first_sheet(io.BytesIO(packed({name: text.encode() for name, text in parts.items()})), where="book.xlsx")


def test_numbers_and_texts_come_in_their_places() -> None:
    made = workbook([["AT", "a & b", ""], [14.96, -3, 1e-05]])
    assert first_sheet(io.BytesIO(made), where="x") == [["AT", "a & b"], ["14.96", "-3", "1e-05"]]


def test_a_field_that_is_not_there_is_empty_and_an_empty_end_is_left_out() -> None:
    first = '<row/><row><c r="C1"><v>1</v></c><c r="AA1"/></row>'
    second = '<row><c><v>2</v></c><c t="inlineStr"><is><t>x</t></is></c></row>'
    assert sheet(first + second) == [["", "", "1"], ["2", "x"]]


@pytest.mark.parametrize(
    "prefix",
    [
        "<!DOCTYPE worksheet>",
        '<!DOCTYPE worksheet [<!ENTITY a "b">]>',
        '<!DOCTYPE worksheet SYSTEM "file:///etc/passwd">',
        '<!DOCTYPE worksheet [<!ENTITY a SYSTEM "http://127.0.0.1:9/">]>',
    ],
)
def test_a_document_type_is_refused(prefix: str) -> None:
    with pytest.raises(FileError, match=r"^book\.xlsx: must not declare a document type; sheet1\.xml does"):
        first_sheet(io.BytesIO(workbook([["a"], [1]], prefix=prefix)), where="book.xlsx")


@pytest.mark.parametrize(
    "rows",
    [
        "<row>",
        '<c r="A1"><v>1</v></c>',
        '<row><c r="1A"/></row>',
        '<row><c r="DA1"/></row>',
        '<row><c t="s"><v>0</v></c></row>',
        "<row>&x;</row>",
    ],
)
def test_what_is_no_sheet_is_refused(rows: str) -> None:
    with pytest.raises(FileError, match=r"^book\.xlsx: cannot be read as a workbook \(sheet1\.xml\)"):
        sheet(rows)


def test_a_workbook_without_sheets_is_refused() -> None:
    with pytest.raises(FileError, match="must be a workbook with a sheet"):
        sheet("", **{"xl/workbook.xml": f'<workbook xmlns="{MAIN}"/>'})


def test_a_sheet_that_is_nowhere_is_refused() -> None:
    with pytest.raises(FileError, match="it holds 0"):
        sheet("", **{"xl/_rels/workbook.xml.rels": "<Relationships/>"})
