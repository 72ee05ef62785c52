"""The publishers' own files, made again from tables at hand."""

import gzip
import io
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa


def packed(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)  # of 1980: the same bytes every time
    return found.getvalue()


def _lines(rows: Sequence[str], end: str = "\n") -> bytes:
    return "".join(f"{row}{end}" for row in rows).encode()


def _split(table: pa.Table) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of each split, without the column that names it."""
    split = table["split"].to_pylist()
    rows = list(zip(*(column.to_pylist() for column in table.drop_columns("split").columns), strict=True))
    return {name: [row for row, each in zip(rows, split, strict=True) if each == name] for name in ("train", "test")}


def adult_data(table: pa.Table) -> bytes:
    return _lines([*(", ".join(map(str, row)) for row in _split(table)["train"]), ""])


def adult_test(table: pa.Table) -> bytes:
    rows = _split(table)["test"]
    return _lines(["|1x3 Cross validator", *(", ".join(map(str, row)) + "." for row in rows), ""])


def pendigits_part(table: pa.Table, split: str) -> bytes:
    return _lines([",".join([*(f"{value:3d}" for value in row[:-1]), f" {row[-1]}"]) for row in _split(table)[split]])


def bank_full(table: pa.Table) -> bytes:
    def shown(value: object) -> str:
        return f'"{value}"' if isinstance(value, str) else str(value)

    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return _lines([";".join(map(shown, table.column_names)), *(";".join(map(shown, row)) for row in rows)])


def credit_default(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    head = ["ID", *(f"X{number}" for number in range(1, 24)), "Y"]
    numbered = (",".join(map(str, (number, *row))) for number, row in enumerate(rows, 1))
    return _lines([",".join(head), *numbered], "\r\n")


def casp(table: pa.Table) -> bytes:
    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return _lines([",".join(table.column_names), *(",".join(map(repr, row)) for row in rows)])


def salaries(table: pa.Table) -> bytes:
    """Return the file with the columns that are read by nobody: a name with a comma and a quotation mark among them."""
    head = "Id,EmployeeName,JobTitle,BasePay,OvertimePay,OtherPay,Benefits,TotalPay,TotalPayBenefits,Year,Notes"
    pays = table["TotalPay"].to_pylist()
    return _lines(
        [head, *(f'{i},"Doe, ""J""",CLERK,Not Provided,0.0,0.0,,{pay!r},0.0,2011,' for i, pay in enumerate(pays, 1))]
    )


def workbook(rows: Sequence[Sequence[object]], *, prefix: str = "") -> bytes:
    """Return an .xlsx workbook as a spreadsheet writes it: texts apart from the cells, a second sheet, an empty end."""
    texts = sorted({value for row in rows for value in row if isinstance(value, str)})
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

    def cell(value: object, place: str) -> str:
        if isinstance(value, str):
            return f'<c r="{place}" t="s"><v>{texts.index(value)}</v></c>'
        return f'<c r="{place}"><v>{value!r}</v></c>'

    def row(values: Sequence[object], number: int) -> str:
        cells = "".join(cell(value, f"{chr(65 + column)}{number}") for column, value in enumerate(values))
        return f'<row r="{number}">{cells}</row>'

    body = "".join(row(values, number) for number, values in enumerate(rows, 1))
    files = {
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets><sheet name="Sheet1" sheetId="1" '
        'r:id="rId7"/><sheet name="Sheet2" sheetId="2" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Target="worksheets/sheet2.xml"/><Relationship Id="rId7" '
        'Target="worksheets/sheet1.xml"/><Relationship Id="rId3" Target="sharedStrings.xml"/></Relationships>',
        "xl/sharedStrings.xml": f'<sst xmlns="{main}">'
        + "".join(f"<si><t>{escape(text)}</t></si>" for text in texts)
        + "</sst>",
        "xl/worksheets/sheet1.xml": f'{prefix}<worksheet xmlns="{main}"><sheetData>{body}'
        f'<row r="{len(rows) + 1}"><c r="B{len(rows) + 1}" s="1"/></row></sheetData></worksheet>',
        "xl/worksheets/sheet2.xml": f'<worksheet xmlns="{main}"><sheetData/></worksheet>',
    }
    return packed({name: text.encode() for name, text in files.items()})


def powerplant(table: pa.Table) -> bytes:
    return workbook([table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)])


def idx_files(table: pa.Table, other: int) -> dict[str, bytes]:
    """Return the four packed files of images; where a row is not in ``table`` stands a black image of ``other``."""
    found = {}
    for split, prefix, count in (("train", "train", 60_000), ("test", "t10k", 10_000)):
        part = table.filter(pa.compute.equal(table["split"].cast(pa.string()), split))
        rows = part["source_row"].to_numpy()
        labels, images = np.full(count, other, np.uint8), np.zeros((count, 784), np.uint8)
        labels[rows] = part["label"].to_numpy()
        images[rows] = np.stack([part[f"p{pixel}"].to_numpy() for pixel in range(784)], axis=1)
        found[f"{prefix}-labels-idx1-ubyte.gz"] = gzip.compress(struct.pack(">II", 0x801, count) + labels.tobytes(), 1)
        head = struct.pack(">IIII", 0x803, count, 28, 28)
        found[f"{prefix}-images-idx3-ubyte.gz"] = gzip.compress(head + images.tobytes(), 1)
    return found


def _of(name: str, *members: tuple[str, Callable[[pa.Table], bytes]]) -> Callable[[pa.Table], dict[str, bytes]]:
    return lambda table: {name: packed({member: make(table) for member, make in members})}


REBUILT: dict[str, Callable[[pa.Table], dict[str, bytes]]] = {
    "adult": _of("adult.zip", ("adult.data", adult_data), ("adult.test", adult_test), ("Index", lambda _: b"")),
    "pendigits": _of(
        "pen+based+recognition+of+handwritten+digits.zip",
        ("pendigits.tra", lambda table: pendigits_part(table, "train")),
        ("pendigits.tes", lambda table: pendigits_part(table, "test")),
    ),
    "powerplant": _of("combined+cycle+power+plant.zip", ("CCPP/Folds5x2_pp.xlsx", powerplant)),
    "casp": _of("physicochemical+properties+of+protein+tertiary+structure.zip", ("CASP.csv", casp)),
    "salaries": lambda table: {"Salaries.csv": salaries(table)},
    "mnist49": lambda table: idx_files(table, 0),
    "fashion06": lambda table: idx_files(table, 1),
    "bank": lambda table: {
        "bank+marketing.zip": packed(
            {"bank-additional.zip": b"", "bank.zip": packed({"bank.csv": b"", "bank-full.csv": bank_full(table)})}
        )
    },
    "credit-default": lambda table: {"data.csv": credit_default(table)},
}


def put(files: Mapping[str, bytes], folder: Path) -> dict[str, Path]:
    """Write ``files`` into ``folder``, and return where each is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return {name: folder / name for name in files}
