"""A web server for tests: files of a folder, with ranges and ETags, and faults on request."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@functools.lru_cache(maxsize=64)
def tag_of(data: bytes) -> str:
    """Another one for other bytes."""
    return hashlib.sha1(data).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves `files`, a dict of bytes by path, on loopback.

    Attributes:
        ranges: How often each range was sent, by (path, begin, end).
        looks: How many HEAD requests came.
        fault: Called with the number of each GET; names what goes wrong with it, or None.
    """

    daemon_threads = True

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.ranges: Counter[tuple[str, int, int]] = Counter()
        self.looks = 0
        self.gets = 0
        self.hanging = 0  # requests that wait for `hangs`
        self.hangs = threading.Event()
        self.fault: Callable[[int], str | None] = lambda _number: None
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        pass  # a client that went away


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def _found(self) -> tuple[bytes, str] | None:
        data = self.server.files.get(self.path.lstrip("/"))
        if data is None:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        return data, f'"{tag_of(data)}"'

    def _head(self, status: int, size: int, tag: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(size))
        self.send_header("ETag", tag)
        self.send_header("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT")

    def do_HEAD(self) -> None:
        with self.server.lock:
            self.server.looks += 1
        if found := self._found():
            self._head(200, len(found[0]), found[1])
            self.end_headers()

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.gets += 1
            fault = server.fault(server.gets)
        found = self._found()
        if found is None:
            return
        data, tag = found
        if fault in ("503", "403"):
            self._head(int(fault), 0, tag)
            self.end_headers()
            return
        if self.headers.get("If-Match", tag) != tag:
            self._head(412, 0, tag)
            self.end_headers()
            return
        begin, end = (int(one) for one in self.headers["Range"][len("bytes=") :].split("-"))
        if fault == "hang":
            server.hanging += 1
            server.hangs.wait()
        if fault == "reset":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        body = data[begin : end + 1]
        self._head(206, len(body), tag)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(data)}")
        self.end_headers()
        if fault == "short":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            return
        self.wfile.write(body)
        if fault != "hang":
            with server.lock:
                server.ranges[self.path.lstrip("/"), begin, end + 1] += 1


@contextlib.contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Server]:
    """A running server."""
    server = Server(files)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def files_below(folder: Path) -> dict[str, bytes]:
    """The files of a folder, by their paths in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*")) if path.is_file()
    }  # fmt: skip
