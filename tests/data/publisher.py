"""A publisher on this machine, as good or as bad as a test wants it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Offer:
    """One file: what it holds, how it is marked, and what goes wrong with it."""

    content: bytes
    headers: dict[str, str] = field(default_factory=lambda: {"ETag": '"first"'})
    ranges: bool = True
    status: int = 200
    cuts: list[int] = field(default_factory=list)  # after how many bytes each of the next answers breaks off
    length: int | None = None  # what is said, where that is not true
    chunked: bool = False
    partial_headers: dict[str, str] | None = None  # instead of the true ones of a continued answer
    stall: threading.Event | None = None  # say nothing more before this is set
    asked: list[dict[str, str]] = field(default_factory=list)


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        offer = self.server.offers.get(self.path)
        if offer is None:
            self.send_error(404)
            return
        offer.asked.append(dict(self.headers.items()))
        start = self._start(offer)
        if start > len(offer.content) or (start and start == len(offer.content)):
            self.send_error(416)
            return
        body = offer.content[start:]
        self._head(offer, start, body)
        if offer.stall is not None:
            self.wfile.flush()
            offer.stall.wait(20)
        whole = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if offer.chunked else body
        if offer.cuts:
            whole = whole[: offer.cuts.pop(0)]
            self.close_connection = True
        self.wfile.write(whole)

    def _start(self, offer: Offer) -> int:
        asked = self.headers.get("Range", "")
        marks = (offer.headers.get("ETag"), offer.headers.get("Last-Modified"))
        if not offer.ranges or not asked or self.headers.get("If-Range") not in marks:
            return 0
        return int(asked.removeprefix("bytes=").removesuffix("-"))

    def _head(self, offer: Offer, start: int, body: bytes) -> None:
        self.send_response(206 if start else offer.status)
        headers = dict(offer.headers)
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(offer.content) - 1}/{len(offer.content)}"
            headers |= offer.partial_headers or {}
        if offer.chunked:
            headers["Transfer-Encoding"] = "chunked"
        else:
            headers["Content-Length"] = str(len(body) if offer.length is None else offer.length)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    offers: dict[str, Offer]

    def handle_error(self, *_: object) -> None:
        """Let those go who hang up."""


@contextmanager
def publishing(offers: dict[str, Offer]) -> Iterator[str]:
    """Serve ``offers`` by their paths on loopback, and give the address that they lie under."""
    with _Server(("127.0.0.1", 0), _Answer) as server:
        server.offers = offers
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            for offer in offers.values():
                if offer.stall is not None:
                    offer.stall.set()
            server.shutdown()
            thread.join()
