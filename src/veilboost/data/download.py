"""Fetch a file from its publisher: taken up again where it broke off, checked, and whole or not there at all."""

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

import msgspec

from veilboost.errors import FileError, blaming
from veilboost.files import as_json, settle, write_whole

Report = Callable[[float], None]

_ATTEMPTS = 3
_BLOCK = 1 << 18
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Patience:
    """How long a server may be silent, and how many bytes it must send in every ``window`` seconds."""

    silence: float = 30.0
    window: float = 60.0
    least: int = 1 << 16


class _BrokenOffError(Exception):
    """The line was lost, or what came does not fit what is there: worth another attempt."""


def download(
    address: str,
    path: Path,
    *,
    most: int,
    sha256: str | None = None,
    progress: Report | None = None,
    patience: Patience | None = None,
) -> str:
    """Fetch ``address`` to ``path`` and return its SHA-256; refuse more than ``most`` bytes, or another ``sha256``.

    What has come before a break stays beside ``path``, and the next call goes on from there if the server still has
    the same file.
    """
    _check(address)
    part = _Part(path, address)
    with blaming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        _persist(_Fetch(address, part, most, progress or (lambda _: None), patience or Patience()))
        found = part.digest()
        if sha256 is not None and found != sha256:
            part.discard()
            raise FileError(address, f"sent a file with SHA-256 {found}, not {sha256}; nothing was kept")
        part.finish(path)
    return found


def _check(address: str) -> None:
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise FileError(address, "must begin with https://")


def _persist(fetch: "_Fetch") -> None:
    problem = ""
    for _ in range(_ATTEMPTS):
        try:
            return fetch.attempt()
        except _BrokenOffError as error:
            problem = str(error)
    raise FileError(fetch.address, f"broke off {_ATTEMPTS} times ({problem}); run again to go on from there")


class _Note(msgspec.Struct, frozen=True):
    """What a part is a part of."""

    address: str
    validator: str


class _Part:
    """What has come so far, with a note of the file that it belongs to."""

    def __init__(self, path: Path, address: str) -> None:
        self.path, self._address = path.with_name(f"{path.name}.part"), address
        self._note = path.with_name(f"{path.name}.part.json")

    def state(self) -> tuple[int, str]:
        """Return how many bytes are there, and the mark of the file they belong to; nothing if that is not known."""
        try:
            note = msgspec.json.decode(self._note.read_bytes(), type=_Note)
            size = self.path.stat().st_size
        except (FileNotFoundError, msgspec.DecodeError):
            return 0, ""
        return (size, note.validator) if note.address == self._address and note.validator else (0, "")

    def begin(self, validator: str) -> None:
        """Forget what is there, and note what comes now."""
        self.discard()
        self.path.touch()
        write_whole(self._note, as_json(_Note(self._address, validator)).decode())

    def digest(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def finish(self, path: Path) -> None:
        settle(self.path)
        self.path.replace(path)
        self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        self._note.unlink(missing_ok=True)
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class _Fetch:
    """One file to be fetched."""

    address: str
    part: _Part
    most: int
    progress: Report
    patience: Patience

    def attempt(self) -> None:
        """Ask for what is missing, and take it."""
        size, validator = self.part.state()
        headers = {"User-Agent": "veilboost", "Accept": "*/*"}
        if size:
            headers |= {"Range": f"bytes={size}-", "If-Range": validator}
        with self._open(headers) as response:
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise FileError(self.address, "answers in an encoding that was not asked for")
            if response.status == HTTPStatus.PARTIAL_CONTENT:
                self._continues(response, size, validator)
            else:
                size = 0
                self.part.begin(_validator(response))
            self._take(response, size)

    def _open(self, headers: dict[str, str]) -> http.client.HTTPResponse:
        request = urllib.request.Request(self.address, headers=headers)  # noqa: S310  _check has seen the address
        try:
            response: http.client.HTTPResponse = _opener().open(request, timeout=self.patience.silence)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and "Range" in headers:
                self.part.discard()
                raise _BrokenOffError("the file has become shorter") from error
            raise FileError(self.address, f"answers {error.code} {_reason(error.reason)}") from error
        except urllib.error.URLError as error:
            raise FileError(self.address, f"cannot be reached ({_reason(error.reason)})") from error
        except (http.client.HTTPException, OSError) as error:
            raise _BrokenOffError(_reason(error)) from error
        return response

    def _continues(self, response: http.client.HTTPResponse, size: int, validator: str) -> None:
        """Refuse an answer that continues another file, or from another place."""
        span = response.headers.get("Content-Range", "")
        if not size or not span.startswith(f"bytes {size}-") or _validator(response) not in ("", validator):
            self.part.discard()
            raise _BrokenOffError("the answer does not continue what is there")

    def _take(self, response: http.client.HTTPResponse, size: int) -> None:
        total = _total(response)
        if total is not None and total > self.most:
            self.part.discard()
            raise FileError(self.address, f"has {total:,} bytes; at most {self.most:,} were expected")
        since, before = time.monotonic(), size
        with self.part.path.open("ab") as file:
            for block in _blocks(response):
                size += len(block)
                if size > self.most:
                    self.part.discard()
                    raise FileError(self.address, f"sends more than {self.most:,} bytes; no more were expected")
                file.write(block)
                self.progress(size / (total or self.most))
                if time.monotonic() - since > self.patience.window:
                    if size - before < self.patience.least:
                        raise FileError(self.address, "sends next to nothing; run again to go on from there")
                    since, before = time.monotonic(), size
        if total is not None and size != total:
            raise _BrokenOffError(f"after {size:,} of {total:,} bytes")


def _total(response: http.client.HTTPResponse) -> int | None:
    """Return how long the whole file is, where the server says so."""
    if response.status == HTTPStatus.PARTIAL_CONTENT:
        found = response.headers.get("Content-Range", "").rpartition("/")[2]
    else:
        found = response.headers.get("Content-Length", "")
    return int(found[:20]) if found.isdecimal() else None


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while block := response.read1(_BLOCK):
            yield block
    except (http.client.HTTPException, OSError) as error:
        raise _BrokenOffError(_reason(error)) from error


def _validator(response: http.client.HTTPResponse) -> str:
    """Return what tells this file from a later one: a strong ETag, or when it was last changed."""
    tag: str = response.headers.get("ETag", "")
    changed: str = response.headers.get("Last-Modified", "")
    return tag if tag.startswith('"') else changed


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect to where we would have gone ourselves."""

    def redirect_request(  # the base class wants all six
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            _check(newurl)
        except FileError:
            fp.close()
            raise
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """Return an opener for HTTP and HTTPS alone: no files, no FTP."""
    opener = urllib.request.OpenerDirector()
    for part in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _CheckedRedirects(),
    ):
        opener.add_handler(part)
    return opener


def _reason(error: object) -> str:
    """Return in a few words why a line could not be had, or was lost."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    words = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(words.split()) or type(error).__name__
