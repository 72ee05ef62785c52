"""From a publisher into the cache: what is believed, what is refused, and what is left behind."""

import gzip
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from publisher import Offer, publishing
from rebuilt import packed, put, workbook

from veilboost.data.public import PUBLIC_SETS, fetch, fetch_all, listed, public_table
from veilboost.data.public.exact import digest
from veilboost.data.public.store import cache_folder
from veilboost.errors import DataError, EvidenceError, FileError, SettingError

NAMES = [f"V{number}" for number in range(1, 17)]
TRAIN = b" 47,100, 27, 81, 57, 37, 26,  0,  0, 23, 56, 53,100, 90, 40, 98, 8\n" * 3
TEST = b"  0, 89, 27,100, 42, 75, 29, 45, 15, 15, 37,  0, 69,  2,100,  6, 2\n" * 2
ARCHIVE = packed({"pendigits.tra": TRAIN, "pendigits.tes": TEST, "pendigits.names": b""})
FILE = "pen+based+recognition+of+handwritten+digits.zip"
SMALL = replace(PUBLIC_SETS["pendigits"], rows=5, digest=None)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep everything in a folder of the test's own, ask no proxy and no publisher."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("VEILBOOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VEILBOOST_DATA", raising=False)
    monkeypatch.setitem(PUBLIC_SETS, "pendigits", SMALL)
    return tmp_path / "cache"


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Offer]]:
    """Serve a small archive in the place of the real one."""
    offers = {f"/{FILE}": Offer(ARCHIVE)}
    with publishing(offers) as address:
        moved = replace(SMALL.files[0], addresses=(f"{address}/gone.zip", f"{address}/{FILE}"))
        monkeypatch.setitem(PUBLIC_SETS, "pendigits", replace(SMALL, files=(moved,)))
        yield offers


def change(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    monkeypatch.setitem(PUBLIC_SETS, "pendigits", replace(PUBLIC_SETS["pendigits"], **values))  # type: ignore[arg-type]  # one test, one field


def remains(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


def test_a_table_comes_from_its_publisher_once(offers: dict[str, Offer], cache: Path) -> None:
    steps: list[tuple[str, float]] = []
    table = public_table("pendigits", progress=lambda name, share: steps.append((name, share)))
    assert table.column_names == [*NAMES, "class", "split"]
    assert table["V2"].to_pylist() == [100] * 3 + [89] * 2
    assert table["split"].to_pylist() == ["train"] * 3 + ["test"] * 2
    assert steps[-1] == (FILE, 1.0)
    assert remains(cache) == [".pendigits.lock", "pendigits.json", "pendigits.parquet"]
    assert public_table("pendigits").equals(table)
    assert len(offers[f"/{FILE}"].asked) == 1


def test_the_record_says_what_was_found(offers: dict[str, Offer], cache: Path) -> None:
    found = fetch("pendigits")
    record = json.loads((cache / "pendigits.json").read_bytes())
    assert record == {"digest": found.digest, "files": {FILE: hashlib.sha256(ARCHIVE).hexdigest()}}
    assert (found.rows, found.columns, found.path, found.known) == (5, 18, str(cache / "pendigits.parquet"), False)
    assert found == fetch("pendigits")


def test_a_table_without_a_digest_must_not_change_later(
    offers: dict[str, Offer], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch("pendigits")
    (cache / "pendigits.parquet").unlink()
    offers[f"/{FILE}"] = Offer(packed({"pendigits.tra": TRAIN.replace(b" 47", b" 48"), "pendigits.tes": TEST}))
    with pytest.raises(EvidenceError, match=r"the digest of the table must be [0-9a-f]{64}; it is [0-9a-f]{64}"):
        fetch("pendigits")
    assert not (cache / "pendigits.parquet").exists()


def test_a_digest_from_somebody_else_is_demanded(offers: dict[str, Offer], cache: Path) -> None:
    with pytest.raises(EvidenceError, match=f"must be {'0' * 64}"):
        fetch("pendigits", digest="0" * 64)
    assert remains(cache) == [".pendigits.lock"]
    true = digest(public_table("pendigits"))
    assert fetch("pendigits", digest=true).known
    with pytest.raises(EvidenceError):
        fetch("pendigits", digest="0" * 64)


def test_a_file_that_has_its_digest_is_kept_where_reading_it_fails(
    offers: dict[str, Offer], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = replace(PUBLIC_SETS["pendigits"].files[0], sha256=hashlib.sha256(ARCHIVE).hexdigest())
    change(monkeypatch, rows=6, files=(file,))
    with pytest.raises(FileError, match="must have 6 rows"):
        public_table("pendigits")
    assert f"pendigits/{FILE}" in remains(cache)


@pytest.mark.parametrize("nonsense", ["", "0" * 63, "0" * 63 + "g", "A" * 64])
def test_what_is_no_digest_is_refused(nonsense: str) -> None:
    with pytest.raises(SettingError, match="digest must be 64 of the characters 0-9 and a-f"):
        fetch("pendigits", digest=nonsense)


def test_a_known_digest_is_demanded(offers: dict[str, Offer], monkeypatch: pytest.MonkeyPatch) -> None:
    true = digest(public_table("pendigits"))
    change(monkeypatch, digest=true)
    assert fetch("pendigits").known
    change(monkeypatch, digest="0" * 64)
    with pytest.raises(EvidenceError, match=r"pendigits\.parquet: the digest of the table must be 0000"):
        public_table("pendigits")


def test_a_cached_table_that_was_altered_is_refused(offers: dict[str, Offer], cache: Path) -> None:
    table = public_table("pendigits")
    pq.write_table(table.set_column(0, "V1", pa.array([46] * 5, pa.int8())), cache / "pendigits.parquet")
    with pytest.raises(EvidenceError, match=r"pendigits\.parquet: the digest of the table must be"):
        public_table("pendigits")


@pytest.mark.parametrize("spoilt", [b"", b"{", b'{"digest": "0"}', b'{"digest": 1, "files": {}}', b"\xff"])
def test_a_damaged_record_is_refused(offers: dict[str, Offer], cache: Path, spoilt: bytes) -> None:
    public_table("pendigits")
    (cache / "pendigits.json").write_bytes(spoilt)
    with pytest.raises(FileError, match=r"pendigits\.json: is damaged; delete it to fetch the table again"):
        public_table("pendigits")


def test_a_cache_of_which_nothing_is_known_is_made_anew(offers: dict[str, Offer], cache: Path) -> None:
    cache.mkdir()
    (cache / "pendigits.parquet").write_bytes(b"half")
    assert len(public_table("pendigits")) == 5


def test_a_file_put_in_place_is_read_without_a_network_and_stays(cache: Path) -> None:
    put({FILE: ARCHIVE}, cache / "pendigits")
    assert len(public_table("pendigits")) == 5
    assert (cache / "pendigits" / FILE).read_bytes() == ARCHIVE


def test_what_came_and_was_wrong_is_asked_for_again(offers: dict[str, Offer], cache: Path) -> None:
    offers[f"/{FILE}"] = Offer(b"<html>Down for maintenance</html>")
    with pytest.raises(FileError, match="is no zip archive, or a damaged one"):
        public_table("pendigits")
    assert remains(cache) == [".pendigits.lock"]
    offers[f"/{FILE}"] = Offer(ARCHIVE)
    assert len(public_table("pendigits")) == 5


def test_a_file_put_in_place_must_have_its_digest(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put({FILE: ARCHIVE}, cache / "pendigits")
    change(monkeypatch, files=(replace(SMALL.files[0], sha256="0" * 64),))
    with pytest.raises(FileError, match="must have the SHA-256 0000"):
        public_table("pendigits")


def test_without_a_network_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    with publishing({}) as address:
        pass
    change(monkeypatch, files=(replace(SMALL.files[0], addresses=(f"{address}/{FILE}",)),))
    with pytest.raises(FileError) as caught:
        public_table("pendigits")
    line = str(caught.value)
    assert line.startswith(f"{address}/{FILE}: cannot be reached (Connection refused): without a network, put the file")
    assert str(cache / "pendigits") in line
    assert line.endswith("or pendigits.parquet into the folder that VEILBOOST_DATA names")


@pytest.mark.parametrize(("name", "file"), [("salaries", "Salaries.csv"), ("give-me-some-credit", "cs-training.csv")])
def test_what_needs_a_login_says_where_to_get_it(name: str, file: str, cache: Path) -> None:
    with pytest.raises(FileError) as caught:
        public_table(name)
    assert str(caught.value) == (
        f"{cache / name / file}: is not there; sign in at {PUBLIC_SETS[name].page}, take {file}, and put it here"
    )


@pytest.mark.parametrize(
    ("values", "error", "problem"),
    [
        ({"rows": 6}, FileError, "must have 6 rows; it has 5"),
        ({"ranges": {"V1": (0, 46)}}, DataError, "column 'V1' must lie from 0 to 46; found 0 to 47"),
        ({"ranges": {"V1": (1, 50)}}, DataError, "column 'V1' must lie from 1 to 50; found 0 to 47"),
    ],
)
def test_a_table_of_another_shape_is_refused(
    offers: dict[str, Offer], monkeypatch: pytest.MonkeyPatch, values: dict[str, object], error: type, problem: str
) -> None:
    change(monkeypatch, **values)
    with pytest.raises(FileError if error is DataError else error, match=problem):
        public_table("pendigits")


def test_a_range_of_a_column_without_values_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    empty = pa.table({name: pa.nulls(5, kind) for name, kind in SMALL.columns.items()})
    pq.write_table(empty, tmp_path / "pendigits.parquet")
    change(monkeypatch, ranges={"V1": (0, 100)})
    with pytest.raises(FileError, match="column 'V1' must lie from 0 to 100; found None to None"):
        public_table("pendigits", folder=tmp_path)


def test_the_folder_comes_before_the_cache_and_the_environment_names_it(
    offers: dict[str, Offer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = public_table("pendigits").slice(0, 5).set_column(0, "V1", pa.array([1] * 5))
    pq.write_table(other, tmp_path / "pendigits.parquet")
    assert public_table("pendigits", folder=tmp_path)["V1"].to_pylist() == [1] * 5
    monkeypatch.setenv("VEILBOOST_DATA", str(tmp_path))
    assert public_table("pendigits")["V1"].to_pylist() == [1] * 5
    assert next(each for each in listed() if each.name == "pendigits").here == str(tmp_path / "pendigits.parquet")
    monkeypatch.setenv("VEILBOOST_DATA", str(tmp_path / "none"))
    with pytest.raises(SettingError, match="VEILBOOST_DATA must be a folder"):
        public_table("pendigits")


def test_several_at_once_fetch_once(offers: dict[str, Offer]) -> None:
    tables: list[pa.Table] = []
    threads = [threading.Thread(target=lambda: tables.append(public_table("pendigits"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tables) == 4
    assert all(table.equals(tables[0]) for table in tables)
    assert len(offers[f"/{FILE}"].asked) == 1


def test_one_missing_table_keeps_no_other_away(offers: dict[str, Offer], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(PUBLIC_SETS) - {"pendigits", "salaries"}:
        monkeypatch.delitem(PUBLIC_SETS, name)
    found = fetch_all()
    assert [each.name for each in found.fetched] == ["pendigits"]
    assert list(found.missing) == ["salaries"]
    with pytest.raises(FileError, match="salaries: could not be had"):
        found.check()


def test_the_cache_lies_where_the_platform_has_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VEILBOOST_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "veilboost"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says: to be ignored
    assert cache_folder() == tmp_path / ".cache" / "veilboost"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "veilboost"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "veilboost"


def test_a_cache_that_cannot_be_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("VEILBOOST_CACHE", str(tmp_path / "file"))
    with pytest.raises(FileError, match="file: "):
        public_table("pendigits")


CREDIT = (
    b'"","SeriousDlqin2yrs","RevolvingUtilizationOfUnsecuredLines","age","NumberOfTime30-59DaysPastDueNotWorse",'
    b'"DebtRatio","MonthlyIncome","NumberOfOpenCreditLinesAndLoans","NumberOfTimes90DaysLate",'
    b'"NumberRealEstateLoansOrLines","NumberOfTime60-89DaysPastDueNotWorse","NumberOfDependents"\n'
    b'"1",1,0.766126609,45,2,0.802982129,9120,13,0,6,0,2\n'
    b'"2",0,7.96E-05,57,0,5710,NA,8,0,3,0,NA\n'
)


def test_give_me_some_credit_keeps_what_is_missing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUBLIC_SETS, "give-me-some-credit", replace(PUBLIC_SETS["give-me-some-credit"], rows=2))
    put({"cs-training.csv": CREDIT}, cache / "give-me-some-credit")
    table = public_table("give-me-some-credit")
    assert table.column_names[:2] == ["SeriousDlqin2yrs", "RevolvingUtilizationOfUnsecuredLines"]
    assert [list(row.values()) for row in table.to_pylist()] == [
        [1, 0.766126609, 45, 2, 0.802982129, 9120.0, 13, 0, 6, 0, 2],
        [0, 7.96e-05, 57, 0, 5710.0, None, 8, 0, 3, 0, None],
    ]


def test_higgs_takes_the_first_rows_of_its_file(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [",".join(f"{value:.18e}" for value in (row % 2, *(row + at / 8 for at in range(28)))) for row in range(4)]
    packed_ = gzip.compress("".join(f"{line}\n" for line in lines).encode())
    monkeypatch.setattr("veilboost.data.public.uci._HIGGS_ROWS", 3)
    higgs = PUBLIC_SETS["higgs"]
    small = replace(higgs, rows=3, files=(replace(higgs.files[0], sha256=None),))
    monkeypatch.setitem(PUBLIC_SETS, "higgs", small)
    put({"HIGGS.csv.gz": packed_}, cache / "higgs")
    table = public_table("higgs")
    assert table["label"].to_pylist() == [0, 1, 0]
    assert table["lepton_pT"].to_pylist() == [0.0, 1.0, 2.0]
    assert table["m_wwbb"].to_pylist() == [27 / 8, 1 + 27 / 8, 2 + 27 / 8]
    assert table.column_names[5:10] == [
        "missing_energy_phi",
        *(f"jet_1_{what}" for what in ("pt", "eta", "phi", "b-tag")),
    ]


def test_nomao_has_no_names_of_places(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = [1 + 8 * block + at for block in range(11) for at in (6, 7)] + [89 + 4 * block + 3 for block in range(7)]

    def row(label: str, letter: str) -> str:
        fields = ["Chez Anne#Anne"] + [letter if at in text else "0.5" for at in range(1, 119)] + [label]
        fields[9] = "?"
        return ",".join(fields)

    monkeypatch.setitem(PUBLIC_SETS, "nomao", replace(PUBLIC_SETS["nomao"], rows=2))
    content = f"{row('+1', 'n')}\n{row('-1', 'm')}\n".encode()
    put({"nomao.zip": packed({"Nomao/Nomao.data": content, "Nomao/Nomao.names": b""})}, cache / "nomao")
    table = public_table("nomao")
    assert (table.num_columns, table["label"].to_pylist()) == (119, [1, -1])
    assert table["clean_name_equality"].to_pylist() == ["n", "m"]
    assert table["city_intersect_min"].to_pylist() == [None, None]
    assert table["coordinates_lat_equality"].to_pylist() == ["n", "m"]
    assert table["coordinates_diff"].to_pylist() == [0.5, 0.5]


@pytest.mark.parametrize(
    "spoilt",
    [
        b"\x00\x00\x08\x01\x00\x00\xea\x60",  # as many labels as there should be, and none there
        b"\x00\x00\x08\x03\x00\x00\xea\x60" + bytes(60_000),
        b"\x00\x00\x08\x01\x00\x00\xea\x60" + bytes(60_001),
        b"",
    ],
)
def test_an_idx_file_of_another_shape_is_refused(cache: Path, spoilt: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    mnist = PUBLIC_SETS["mnist49"]
    loose = replace(mnist, files=tuple(replace(file, sha256=None) for file in mnist.files))
    monkeypatch.setitem(PUBLIC_SETS, "mnist49", loose)
    put({file.name: gzip.compress(spoilt) for file in mnist.files}, cache / "mnist49")
    with pytest.raises(FileError, match=r"must be an IDX file of 60000 bytes|holds more than was expected"):
        public_table("mnist49")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"pendigits.tra": TRAIN + b"1,2\n", "pendigits.tes": TEST}, "cannot be read as a table"),
        ({"pendigits.tra": TRAIN.replace(b"81", b"8x"), "pendigits.tes": TEST}, "column 'V4' must be int8"),
        ({"pendigits.tra": b"\xff" + TRAIN, "pendigits.tes": TEST}, "cannot be read as a table"),
        ({"pendigits.tra": b"", "pendigits.tes": TEST}, "cannot be read as a table"),
        ({"pendigits.tes": TEST}, "must hold one file pendigits.tra; it holds 0"),
    ],
)
def test_a_file_of_another_form_is_refused(cache: Path, members: dict[str, bytes], problem: str) -> None:
    put({FILE: packed(members)}, cache / "pendigits")
    with pytest.raises(FileError) as caught:
        public_table("pendigits")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("sheet", [[], [["AT", "V"]], [["AT", "V"], [1.0]], [["AT", "V"], [1.0, 2.0, 3.0]]])
def test_a_sheet_of_another_form_is_refused(cache: Path, sheet: list[list[object]]) -> None:
    put({"combined+cycle+power+plant.zip": packed({"Folds5x2_pp.xlsx": workbook(sheet)})}, cache / "powerplant")
    with pytest.raises(FileError, match="must have rows, and as many fields in each as in the first"):
        public_table("powerplant")


def test_a_table_known_by_its_file_is_not_known_without_it(
    offers: dict[str, Offer], cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = replace(PUBLIC_SETS["pendigits"].files[0], sha256=hashlib.sha256(ARCHIVE).hexdigest())
    change(monkeypatch, files=(file,))
    assert fetch("pendigits").known
    assert fetch("pendigits").known  # out of the cache: its record says what it was made of
    (cache / "pendigits.parquet").rename(tmp_path / "pendigits.parquet")
    monkeypatch.setenv("VEILBOOST_DATA", str(tmp_path))
    assert not fetch("pendigits").known


def test_a_table_without_its_columns_is_refused(cache: Path) -> None:
    put({"Salaries.csv": b"Id,Pay\n1,2\n"}, cache / "salaries")
    with pytest.raises(FileError, match="must have the columns TotalPay"):
        public_table("salaries")
