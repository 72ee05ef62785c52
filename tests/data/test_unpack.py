"""What a publisher has packed: never more of it than was expected, and nothing of it on disk."""

import gzip
import io
import random
import zipfile
from pathlib import Path

import pytest
from rebuilt import packed

from veilboost.data.public.unpack import member, plain
from veilboost.errors import FileError

CONTENT = b"one,two\n1,2\n"


def read(archive: bytes, name: str = "table.csv", most: int = 1000) -> bytes:
    with member(io.BytesIO(archive), name, most=most, where="archive.zip") as stream:
        return stream.read()


def test_a_member_is_found_in_any_folder() -> None:
    assert read(packed({"a/b/table.csv": CONTENT, "a/other.csv": b""})) == CONTENT


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"other.csv": CONTENT}, "must hold one file table.csv; it holds 0"),
        ({"a/table.csv": CONTENT, "b/table.csv": CONTENT}, "must hold one file table.csv; it holds 2"),
        ({"table.csv": CONTENT, "../../table.csv": CONTENT}, "holds '../../table.csv', a name that leads out"),
        ({"table.csv": CONTENT, "/etc/cron.d/x": CONTENT}, "holds '/etc/cron.d/x', a name that leads out"),
        ({"table.csv": CONTENT, "a\\..\\..\\x": CONTENT}, "a name that leads out of it"),
        ({"table.csv": bytes(1001)}, "holds more than was expected"),
    ],
)
def test_an_archive_that_means_ill_is_refused(members: dict[str, bytes], problem: str) -> None:
    with pytest.raises(FileError, match=r"^archive\.zip") as caught:
        read(packed(members))
    assert problem in str(caught.value)


@pytest.mark.parametrize("content", [b"PK no archive", b""])
def test_what_is_no_archive_is_refused(content: bytes) -> None:
    with pytest.raises(FileError, match=r"^archive\.zip: is no zip archive, or a damaged one"):
        read(content)


def test_nothing_of_a_leading_name_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in" / "side").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "in" / "side")
    with pytest.raises(FileError):
        read(packed({"table.csv": CONTENT, "../x": CONTENT}))
    assert sorted(each.name for each in tmp_path.rglob("*")) == ["in", "side"]


def test_an_archive_under_a_password_is_refused() -> None:
    archive = bytearray(packed({"table.csv": CONTENT}))
    for place in (archive.find(b"PK\x03\x04") + 6, archive.find(b"PK\x01\x02") + 8):
        archive[place] |= 1
    with pytest.raises(FileError, match="is no zip archive, or a damaged one"):
        read(bytes(archive))


def test_a_bomb_is_not_unpacked() -> None:
    """A thousandth of what it would become is read, not all of it."""
    bomb = packed({"table.csv": bytes(50_000_000)})
    assert len(bomb) < 60_000
    with pytest.raises(FileError, match="holds more than was expected"):
        read(bomb)


def test_a_gzip_file_is_read_up_to_its_bound() -> None:
    assert plain(io.BytesIO(gzip.compress(CONTENT)), most=len(CONTENT), where="x.gz").read() == CONTENT
    with pytest.raises(FileError, match=r"^x\.gz: holds more than was expected"):
        plain(io.BytesIO(gzip.compress(CONTENT)), most=len(CONTENT) - 1, where="x.gz").read()


GZIP = gzip.compress(CONTENT, mtime=0)


@pytest.mark.parametrize("spoilt", [b"\x1f\x8b", b"PK", GZIP[:-1], GZIP[:-8] + bytes(8), GZIP[:20] + b"?" + GZIP[21:]])
def test_a_damaged_gzip_file_is_refused(spoilt: bytes) -> None:
    with pytest.raises(FileError, match=r"^x\.gz: is damaged"):
        plain(io.BytesIO(spoilt), most=1000, where="x.gz").read()


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_any_changed_byte_is_refused_or_harmless(method: int) -> None:
    """An archive changed in any place gives what it held, or one line; never a traceback, never other bytes."""
    source, archive = random.Random(5), packed({"folder/table.csv": CONTENT * 5, "x": b"y"}, method)
    refusals = 0
    for place in [*range(len(archive)), *(None,) * 400]:
        changed = bytearray(archive)
        for where in [place] if place is not None else source.sample(range(len(archive)), 3):
            changed[where] ^= source.randrange(1, 256)
        try:
            assert read(bytes(changed)) == CONTENT * 5
        except FileError:
            refusals += 1
    assert refusals > 300


def test_our_own_bugs_are_not_taken_for_damage() -> None:
    with pytest.raises(RuntimeError, match="a bug"), member(io.BytesIO(packed({"x": b""})), "x", most=1):
        raise RuntimeError("a bug")


def test_a_member_that_claims_less_than_it_holds_gives_no_more() -> None:
    archive = bytearray(packed({"table.csv": bytes(5000)}))
    for sign, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = archive.find(sign) + place
        archive[at : at + 4] = (10).to_bytes(4, "little")
    with pytest.raises(FileError):
        read(bytes(archive), most=10)
    assert zipfile.ZipFile(io.BytesIO(bytes(archive))).getinfo("table.csv").file_size == 10
