"""Files from a publisher: whole or not there at all, whatever the line and the other side do."""

import hashlib
import random
import resource
import threading
from functools import partial
from pathlib import Path

import pytest
from publisher import Offer, publishing

from veilboost.data.download import Patience, download
from veilboost.errors import FileError

CONTENT = random.Random(1).randbytes(700_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
get = partial(download, most=1 << 20, patience=Patience(silence=0.5))


@pytest.fixture(autouse=True)
def _straight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Go to loopback without a proxy, whatever the machine has."""
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "file"


def refused(offers: dict[str, Offer], path: Path, *, sha256: str | None = None) -> str:
    """Return the line with which a file is refused; nothing may be in its place."""
    with publishing(offers) as address, pytest.raises(FileError) as caught:
        get(f"{address}/file", path, sha256=sha256)
    assert not path.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def remains(path: Path) -> list[str]:
    return sorted(each.name for each in path.parent.iterdir())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_file_comes_whole_and_nothing_else_stays(tmp_path: Path, chunked: bool) -> None:
    path, shares = tmp_path / "new" / "file", list[float]()
    with publishing({"/file": Offer(CONTENT, chunked=chunked)}) as address:
        assert get(f"{address}/file", path, sha256=SHA256, progress=shares.append) == SHA256
    assert path.read_bytes() == CONTENT
    assert remains(path) == ["file"]
    assert shares == sorted(shares)
    assert shares[-1] == (len(CONTENT) / (1 << 20) if chunked else 1)


def test_an_empty_file_is_a_file(path: Path) -> None:
    with publishing({"/file": Offer(b"")}) as address:
        assert get(f"{address}/file", path) == hashlib.sha256(b"").hexdigest()
    assert path.read_bytes() == b""


def test_a_line_that_breaks_is_taken_up_where_it_broke(path: Path) -> None:
    offer = Offer(CONTENT, cuts=[300_000, 200_000])
    with publishing({"/file": offer}) as address:
        assert get(f"{address}/file", path) == SHA256
    assert [each.get("Range") for each in offer.asked] == [None, "bytes=300000-", "bytes=500000-"]
    assert {each["If-Range"] for each in offer.asked[1:]} == {'"first"'}


def test_a_break_within_a_chunk_is_one(path: Path) -> None:
    offer = Offer(CONTENT, chunked=True, cuts=[300_000])
    with publishing({"/file": offer}) as address:
        assert get(f"{address}/file", path) == SHA256
    assert offer.asked[1]["Range"] == f"bytes={300_000 - len('aae60') - 2}-"  # so long is the head of the chunk


def test_the_next_call_goes_on_from_there(path: Path) -> None:
    offer = Offer(CONTENT, cuts=[100_000] * 3)
    with publishing({"/file": offer}) as address:
        with pytest.raises(
            FileError, match=r"broke off 3 times \(after 300,000 of 700,000 bytes\); run again to go on"
        ):
            get(f"{address}/file", path)
        assert remains(path) == ["file.part", "file.part.json"]
        assert get(f"{address}/file", path, sha256=SHA256) == SHA256
    assert offer.asked[-1]["Range"] == "bytes=300000-"
    assert remains(path) == ["file"]


def test_what_came_from_one_address_is_not_continued_from_another(path: Path) -> None:
    refused({"/file": Offer(CONTENT, cuts=[100_000] * 3)}, path)
    other = Offer(CONTENT[::-1])
    with publishing({"/mirror": other}) as address:
        assert get(f"{address}/mirror", path) == hashlib.sha256(CONTENT[::-1]).hexdigest()
    assert "Range" not in other.asked[0]


@pytest.mark.parametrize("spoilt", [b"", b"{", b"[]", b'{"address": 1, "validator": 2}'])
def test_a_note_that_says_nothing_is_not_believed(path: Path, spoilt: bytes) -> None:
    offer = Offer(CONTENT, cuts=[100_000] * 3)
    with publishing({"/file": offer}) as address:
        with pytest.raises(FileError):
            get(f"{address}/file", path)
        path.with_name("file.part.json").write_bytes(spoilt)
        assert get(f"{address}/file", path) == SHA256
    assert "Range" not in offer.asked[-1]


def test_a_server_without_ranges_starts_anew(path: Path) -> None:
    with publishing({"/file": Offer(CONTENT, ranges=False, cuts=[300_000])}) as address:
        assert get(f"{address}/file", path) == SHA256


@pytest.mark.parametrize("headers", [{}, {"ETag": 'W/"weak"'}])
def test_without_a_mark_to_go_by_nothing_is_continued(path: Path, headers: dict[str, str]) -> None:
    offer = Offer(CONTENT, headers=headers, cuts=[300_000])
    with publishing({"/file": offer}) as address:
        assert get(f"{address}/file", path) == SHA256
    assert "Range" not in offer.asked[1]


def test_the_time_of_the_last_change_will_do(path: Path) -> None:
    offer = Offer(CONTENT, headers={"Last-Modified": "Thu, 19 Nov 2026 06:44:54 GMT"}, cuts=[300_000])
    with publishing({"/file": offer}) as address:
        assert get(f"{address}/file", path) == SHA256
    assert offer.asked[1]["If-Range"] == "Thu, 19 Nov 2026 06:44:54 GMT"


@pytest.mark.parametrize(
    "partial_headers",
    [
        None,  # an honest server sends the new file from its start
        {"ETag": '"second"'},  # these continue, but what?
        {"Content-Range": "bytes 0-699999/700000"},
        {"Content-Range": "bytes"},
    ],
)
def test_a_file_that_changed_in_between_comes_anew(path: Path, partial_headers: dict[str, str] | None) -> None:
    offers = {"/file": Offer(CONTENT, cuts=[100_000] * 3)}
    with publishing(offers) as address:
        with pytest.raises(FileError):
            get(f"{address}/file", path)
        mark = '"second"' if partial_headers is None else '"first"'
        offers["/file"] = Offer(CONTENT[::-1], headers={"ETag": mark}, partial_headers=partial_headers)
        get(f"{address}/file", path)
    assert path.read_bytes() == CONTENT[::-1]
    assert remains(path) == ["file"]


def test_a_file_that_became_shorter_comes_anew(path: Path) -> None:
    offers = {"/file": Offer(CONTENT, cuts=[100_000] * 3)}
    with publishing(offers) as address:
        with pytest.raises(FileError):
            get(f"{address}/file", path)
        offers["/file"] = Offer(CONTENT[:1000])
        get(f"{address}/file", path)
    assert path.read_bytes() == CONTENT[:1000]


def test_another_digest_leaves_nothing(path: Path) -> None:
    problem = refused({"/file": Offer(CONTENT)}, path, sha256="0" * 64)
    assert problem.endswith(f"sent a file with SHA-256 {SHA256}, not {'0' * 64}; nothing was kept")
    assert remains(path) == []


def test_a_joint_of_two_files_does_not_pass(path: Path) -> None:
    """A server that keeps the mark of a file that it changed is found out by the digest."""
    offers = {"/file": Offer(CONTENT, cuts=[100_000] * 3)}
    with publishing(offers) as address:
        with pytest.raises(FileError):
            get(f"{address}/file", path)
        offers["/file"] = Offer(CONTENT[::-1])
        with pytest.raises(FileError, match="nothing was kept"):
            get(f"{address}/file", path, sha256=SHA256)
        offers["/file"] = Offer(CONTENT)
        assert get(f"{address}/file", path, sha256=SHA256) == SHA256


def test_a_file_that_was_there_stays_until_the_new_one_is_whole(path: Path) -> None:
    path.write_bytes(b"old")
    with publishing({"/file": Offer(CONTENT)}) as address, pytest.raises(FileError, match="nothing was kept"):
        get(f"{address}/file", path, sha256="0" * 64)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(
    ("offer", "problem"),
    [
        (Offer(CONTENT, length=10**12), "has 1,000,000,000,000 bytes; at most 1,048,576 were expected"),
        (Offer(CONTENT, headers={"Content-Length": "9" * 5000}, chunked=True), "has 99,999,999,999,999,999,999 bytes"),
        (Offer(CONTENT + CONTENT, chunked=True), "sends more than 1,048,576 bytes; no more were expected"),
        (Offer(CONTENT, headers={"Content-Encoding": "gzip"}), "answers in an encoding that was not asked for"),
        (Offer(b"", status=500), "answers 500 Internal Server Error"),
        (Offer(b"", status=403), "answers 403 Forbidden"),
    ],
)
def test_what_cannot_be_the_file_is_refused(path: Path, offer: Offer, problem: str) -> None:
    assert problem in refused({"/file": offer}, path)
    assert remains(path) == []


def test_a_file_that_is_not_there_is_named(path: Path) -> None:
    problem = refused({}, path)
    assert problem.startswith("http://127.0.0.1:")
    assert problem.endswith("/file: answers 404 Not Found")


def test_a_redirect_is_followed(path: Path) -> None:
    moved = Offer(b"", status=302, headers={"Location": "/here"})
    with publishing({"/file": moved, "/here": Offer(CONTENT)}) as address:
        assert get(f"{address}/file", path) == SHA256


@pytest.mark.parametrize("away", ["file:///etc/passwd", "ftp://127.0.0.1/file", "http://publisher.example/file"])
def test_a_redirect_to_where_we_would_not_go_is_not(path: Path, away: str) -> None:
    problem = refused({"/file": Offer(b"", status=302, headers={"Location": away})}, path)
    assert away in problem or "answers 302" in problem
    assert remains(path) == []


def test_a_circle_of_redirects_ends(path: Path) -> None:
    assert "answers 302" in refused({"/file": Offer(b"", status=302, headers={"Location": "/file"})}, path)


def test_a_silent_server_is_not_waited_for(path: Path) -> None:
    problem = refused({"/file": Offer(CONTENT, stall=threading.Event())}, path)
    assert "broke off 3 times (no answer in time)" in problem


def test_a_server_that_sends_next_to_nothing_is_left(path: Path) -> None:
    patience = Patience(silence=5, window=0, least=1 << 30)
    with publishing({"/file": Offer(CONTENT)}) as address:
        with pytest.raises(FileError, match="sends next to nothing; run again to go on from there"):
            get(f"{address}/file", path, patience=patience)
        assert get(f"{address}/file", path) == SHA256


def test_nobody_there_is_said_in_one_line(path: Path) -> None:
    with publishing({}) as address:
        pass
    with pytest.raises(FileError, match=r"/file: cannot be reached \(Connection refused\)"):
        get(f"{address}/file", path)


@pytest.mark.parametrize(
    "address", ["http://publisher.example/file", "file:///etc/passwd", "ftp://127.0.0.1/f", "file"]
)
def test_only_https_is_asked(path: Path, address: str) -> None:
    with pytest.raises(FileError, match="must begin with https://"):
        get(address, path)


def test_a_folder_in_the_way_is_said_in_one_line(path: Path) -> None:
    path.with_name("file.part").mkdir()
    with (
        publishing({"/file": Offer(CONTENT)}) as address,
        pytest.raises(FileError, match=r"file: (Is a directory|Operation not permitted)"),
    ):
        get(f"{address}/file", path)


def test_a_disk_that_takes_no_more_is_said_in_one_line(path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with publishing({"/file": Offer(CONTENT)}) as address:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))
        try:
            with pytest.raises(FileError, match="file: File too large"):
                get(f"{address}/file", path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not path.exists()
        assert get(f"{address}/file", path, sha256=SHA256) == SHA256
