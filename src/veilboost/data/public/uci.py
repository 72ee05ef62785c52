"""Tables of the UCI Machine Learning Repository, each in one archive."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from veilboost.data.public.exact import TEXT
from veilboost.data.public.lines import rows
from veilboost.data.public.published import PublicSet, Published
from veilboost.data.public.unpack import member, plain
from veilboost.data.public.workbook import first_sheet
from veilboost.errors import FileError

_LICENCE = "CC BY 4.0"
_MOST = 64 << 20


def _page(number: int, title: str) -> str:
    return f"https://archive.ics.uci.edu/dataset/{number}/{title}"


def _archive(number: int, name: str) -> tuple[Published, ...]:
    """Return the archive of a table that has a digest, so that UCI may pack it anew."""
    return (Published(f"{name}.zip", (f"https://archive.ics.uci.edu/static/public/{number}/{name}.zip",), 16 << 20),)


def _with_split(parts: Mapping[str, pa.Table]) -> pa.Table:
    tables = (table.append_column("split", pa.array([split] * len(table))) for split, table in parts.items())
    return pa.concat_tables(tables)


_ADULT = {
    "age": pa.int8(),
    "workclass": TEXT,
    "fnlwgt": pa.int32(),
    "education": TEXT,
    "education-num": pa.int8(),
    "marital-status": TEXT,
    "occupation": TEXT,
    "relationship": TEXT,
    "race": TEXT,
    "sex": TEXT,
    "capital-gain": pa.int32(),
    "capital-loss": pa.int16(),
    "hours-per-week": pa.int8(),
    "native-country": TEXT,
    "income": TEXT,
}


def _adult(files: Mapping[str, Path]) -> pa.Table:
    """Read both files; the second begins with a remark, and its labels end with a dot."""
    path, names = files["adult.zip"], list(_ADULT)
    with member(path, "adult.data", most=_MOST) as stream:
        train = rows(stream, names, where=path)
    with member(path, "adult.test", most=_MOST) as stream:
        test = rows(stream, names, skip=1, where=path)
    labels = pc.utf8_rtrim(test["income"], ".")
    return _with_split({"train": train, "test": test.set_column(names.index("income"), "income", labels)})


ADULT = PublicSet(
    name="adult",
    title="Adult",
    publisher="UCI 2, Becker and Kohavi",
    licence=_LICENCE,
    page=_page(2, "adult"),
    files=_archive(2, "adult"),
    read=_adult,
    columns=_ADULT | {"split": TEXT},
    rows=48_842,
    digest="fef46b1fed1aa74e44442cb54af931b901195eba2e7b6fcae9a03992b9f7562a",
)

_PENDIGITS = {**{f"V{number}": pa.int8() for number in range(1, 17)}, "class": pa.int8()}


def _pendigits(files: Mapping[str, Path]) -> pa.Table:
    (path,) = files.values()
    parts = {}
    for split, name in {"train": "pendigits.tra", "test": "pendigits.tes"}.items():
        with member(path, name, most=_MOST) as stream:
            parts[split] = rows(stream, list(_PENDIGITS), where=path)
    return _with_split(parts)


PENDIGITS = PublicSet(
    name="pendigits",
    title="Pen-Based Recognition of Handwritten Digits",
    publisher="UCI 81, Alpaydin and Alimoglu",
    licence=_LICENCE,
    page=_page(81, "pen+based+recognition+of+handwritten+digits"),
    files=_archive(81, "pen+based+recognition+of+handwritten+digits"),
    read=_pendigits,
    columns=_PENDIGITS | {"split": TEXT},
    rows=10_992,
    digest="2e25b630437cbc7929d4fb488bf28ced0ce6e280ef9873d972f500fbb612e236",
)

_POWERPLANT = dict.fromkeys(("AT", "V", "AP", "RH", "PE"), pa.float64())


def _powerplant(files: Mapping[str, Path]) -> pa.Table:
    (path,) = files.values()
    with member(path, "Folds5x2_pp.xlsx", most=_MOST) as stream:
        head, *body = first_sheet(io.BytesIO(stream.read()), where=path) or [[]]
    if not body or any(len(row) != len(head) for row in body):
        raise FileError(path, "must have rows, and as many fields in each as in the first")
    return pa.table([pa.array(column) for column in zip(*body, strict=True)], names=head)


POWERPLANT = PublicSet(
    name="powerplant",
    title="Combined Cycle Power Plant, the first sheet",
    publisher="UCI 294, Tufekci and Kaya",
    licence=_LICENCE,
    page=_page(294, "combined+cycle+power+plant"),
    files=_archive(294, "combined+cycle+power+plant"),
    read=_powerplant,
    columns=_POWERPLANT,
    rows=9_568,
    digest="e4971598b2dc90696ed7e6d8ae58126cf0ceac76ed3a7c35ed32b2d4e56bf153",
)

_CASP = {"RMSD": pa.float64(), **{f"F{number}": pa.float64() for number in range(1, 10)}, "F8": pa.int16()}


def _casp(files: Mapping[str, Path]) -> pa.Table:
    (path,) = files.values()
    with member(path, "CASP.csv", most=_MOST) as stream:
        return rows(stream, columns=list(_CASP), where=path)


CASP = PublicSet(
    name="casp",
    title="Physicochemical Properties of Protein Tertiary Structure",
    publisher="UCI 265, Rana",
    licence=_LICENCE,
    page=_page(265, "physicochemical+properties+of+protein+tertiary+structure"),
    files=_archive(265, "physicochemical+properties+of+protein+tertiary+structure"),
    read=_casp,
    columns=_CASP,
    rows=45_730,
    digest="47d1bbac307f0af62695e32622be7d49c586947cf91eaab1c28502f9fc472d2d",
)

_BANK = {
    "age": pa.int8(),
    "job": TEXT,
    "marital": TEXT,
    "education": TEXT,
    "default": TEXT,
    "balance": pa.int32(),
    "housing": TEXT,
    "loan": TEXT,
    "contact": TEXT,
    "day": pa.int8(),
    "month": TEXT,
    "duration": pa.int16(),
    "campaign": pa.int8(),
    "pdays": pa.int16(),
    "previous": pa.int16(),
    "poutcome": TEXT,
    "y": TEXT,
}


def _bank(files: Mapping[str, Path]) -> pa.Table:
    """Read the larger table of the older of two archives inside the archive."""
    (path,) = files.values()
    with member(path, "bank.zip", most=_MOST) as stream:
        inner = io.BytesIO(stream.read())
    with member(inner, "bank-full.csv", most=_MOST, where=path) as stream:
        return rows(stream, columns=list(_BANK), delimiter=";", where=path)


BANK = PublicSet(
    name="bank",
    title="Bank Marketing, bank-full.csv",
    publisher="UCI 222, Moro, Cortez and Rita",
    licence=_LICENCE,
    page=_page(222, "bank+marketing"),
    files=_archive(222, "bank+marketing"),
    read=_bank,
    columns=_BANK,
    rows=45_211,
    digest="0753cf01d49a762dd2f7705a1196b5c7d857f096155d6dfb9208b347fb07f8ba",
)

_CREDIT_DEFAULT = {
    "LIMIT_BAL": pa.int32(),
    **dict.fromkeys(("SEX", "EDUCATION", "MARRIAGE", "AGE"), pa.int8()),
    **{f"PAY_{month}": pa.int8() for month in (0, 2, 3, 4, 5, 6)},
    **{f"BILL_AMT{month}": pa.int32() for month in range(1, 7)},
    **{f"PAY_AMT{month}": pa.int32() for month in range(1, 7)},
    "default_payment_next_month": pa.int8(),
}


def _credit_default(files: Mapping[str, Path]) -> pa.Table:
    """Read the table that UCI offers beside the workbook; it calls the columns X1 to X23 and Y."""
    columns = [f"X{number}" for number in range(1, 24)] + ["Y"]
    return rows(files["data.csv"], columns=columns).rename_columns(list(_CREDIT_DEFAULT))


CREDIT_DEFAULT = PublicSet(
    name="credit-default",
    title="Default of Credit Card Clients",
    publisher="UCI 350, Yeh and Lien",
    licence=_LICENCE,
    page=_page(350, "default+of+credit+card+clients"),
    files=(
        Published(
            "data.csv",
            ("https://archive.ics.uci.edu/static/public/350/data.csv",),
            16 << 20,
            "45bcf4df62ff2e237a74eb155cabfb4bbbc171219a0637daef44fdad07503dd0",
        ),
    ),
    read=_credit_default,
    columns=_CREDIT_DEFAULT,
    rows=30_000,
    digest="83145842b55e3ab670558ea6bc2f18006d3b01eb9fe7669374a8bb540ef2175e",
)

_HIGGS_ROWS = 200_000
_JETS = ("pt", "eta", "phi", "b-tag")
_HIGGS = {
    "label": pa.int8(),
    **dict.fromkeys(("lepton_pT", "lepton_eta", "lepton_phi", "missing_energy_magnitude"), pa.float64()),
    "missing_energy_phi": pa.float64(),
    **{f"jet_{jet}_{what}": pa.float64() for jet in range(1, 5) for what in _JETS},
    **dict.fromkeys(("m_jj", "m_jjj", "m_lv", "m_jlv", "m_bb", "m_wbb", "m_wwbb"), pa.float64()),
}


def _higgs(files: Mapping[str, Path]) -> pa.Table:
    """Read as many rows as the paper took; all are there, but they need 80 times the room."""
    (path,) = files.values()
    with path.open("rb") as file, plain(file, most=_MOST << 2, where=path) as stream:
        table = rows(io.BytesIO(_first_lines(stream, _HIGGS_ROWS)), list(_HIGGS), where=path)
    return table.set_column(0, "label", table["label"].cast(pa.float64()))


def _first_lines(stream: IO[bytes], count: int) -> bytes:
    return b"".join(stream.readline(1 << 12) for _ in range(count))


HIGGS = PublicSet(
    name="higgs",
    title="HIGGS, the first 200,000 rows",
    publisher="UCI 280, Whiteson",
    licence=_LICENCE,
    page=_page(280, "higgs"),
    files=(
        Published(
            "HIGGS.csv.gz",
            ("https://archive.ics.uci.edu/ml/machine-learning-databases/00280/HIGGS.csv.gz",),
            2_816_407_858,
            "ea302c18164d4e3d916a1e2e83a9a8d07069fa6ebc7771e4c0540d54e593b698",
        ),
    ),
    read=_higgs,
    columns=_HIGGS,
    rows=_HIGGS_ROWS,
    ranges={"label": (0, 1)},
)

_NOMAO_TEXTS = ("clean_name", "city", "zip", "street", "website", "countryname", "geocoderlocalityname")
_NOMAO_CODED = ("inputaddress", "outputaddress", "postalcodenumber", "countrynamecode")
_NOMAO_TEXT = ("intersect_min", "intersect_max", "levenshtein_sim", "trigram_sim", "levenshtein_term", "trigram_term")
_NOMAO_PLACES = ("geocode_coordinates_long", "geocode_coordinates_lat", "coordinates_long", "coordinates_lat")
_NOMAO = {
    **{
        f"{text}_{what}": TEXT if what in ("including", "equality") else pa.float64()
        for text in (*_NOMAO_TEXTS, *(f"geocoder{code}" for code in _NOMAO_CODED))
        for what in (*_NOMAO_TEXT, "including", "equality")
    },
    **{
        f"{number}_{what}": TEXT if what == "equality" else pa.float64()
        for number in ("phone", "fax", "street_number", *_NOMAO_PLACES)
        for what in ("diff", "levenshtein", "trigram", "equality")
    },
    **dict.fromkeys(("geocode_coordinates_diff", "coordinates_diff"), pa.float64()),
    "label": pa.int8(),
}


def _nomao(files: Mapping[str, Path]) -> pa.Table:
    """Read the table; its first column, which names the two places that are compared, is left behind."""
    (path,) = files.values()
    with member(path, "Nomao.data", most=_MOST) as stream:
        table = rows(stream, ["id", *_NOMAO], missing=["?"], where=path)
    return table.set_column(len(_NOMAO), "label", pc.utf8_ltrim(table["label"], "+"))


NOMAO = PublicSet(
    name="nomao",
    title="Nomao, without the names of the places",
    publisher="UCI 227, Candillier and Lemaire",
    licence=_LICENCE,
    page=_page(227, "nomao"),
    files=(
        Published(
            "nomao.zip",
            (
                "https://archive.ics.uci.edu/static/public/227/nomao.zip",
                "https://archive.ics.uci.edu/ml/machine-learning-databases/00227/Nomao.zip",
            ),
            32 << 20,
        ),
    ),
    read=_nomao,
    columns=_NOMAO,
    rows=34_465,
    ranges={"label": (-1, 1)},
)
