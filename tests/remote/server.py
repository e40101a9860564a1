"""A web server for tests: files of a folder, with ranges and ETags, and faults on request."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@functools.lru_cache(maxsize=64)
def tag_of(data: bytes) -> str:
    """Another one for other bytes."""
    return hashlib.sha1(data).hexdigest()


FAULTS = ("503", "429", "reset", "short", "cut", "slow", "shifted", "less", "more", "whole")


class Server(ThreadingHTTPServer):
    """Serves `files`, a dict of bytes by path, which may have a query, on loopback.

    Attributes:
        ranges: How often each range was sent, by (path, begin, end).
        looks: How many HEAD requests came.
        fault: Called with the number of each GET; names what goes wrong with it, or None: one of
            FAULTS, "400", "403", or "hang", until `hangs` is set.
        broken: What goes wrong with each GET of a path.
        injected: How often each fault was.
        stale: Old bytes by path, which HEAD tells of, as a list of objects that is out of date.
        is_away: It breaks off every connection.
        query: What addresses must have as their query; None: none is asked for.  Where one is, HEAD
            is refused, as a signature that allows GET does.
        login: The header Authorization that requests must have; None: none is asked for.
        latency: Seconds before each answer.
        most_at_once: The most requests that were waiting for their answers at a time.
        rate: Bytes per second of all bodies together; 0: as fast as it goes.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.files = files
        self.ranges: Counter[tuple[str, int, int]] = Counter()
        self.looks = 0
        self.gets = 0
        self.hanging = 0  # requests that wait for `hangs`
        self.hangs = threading.Event()
        self.fault: Callable[[int], str | None] = lambda _number: None
        self.broken: dict[str, str] = {}
        self.injected: Counter[str] = Counter()
        self.stale: dict[str, bytes] = {}
        self.is_away = False
        self.query: str | None = None
        self.login: str | None = None
        self.latency, self.rate = 0.0, 0
        self.at_once = self.most_at_once = 0
        self._free_at = 0.0  # when the line has sent what it was given
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"

    def verify_request(self, *_: object) -> bool:
        return not self.is_away

    def handle_error(self, *_: object) -> None:
        pass  # a client that went away

    @contextlib.contextmanager
    def answering(self) -> Iterator[None]:
        with self.lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            yield
        finally:
            with self.lock:
                self.at_once -= 1

    def send_in_time(self, size: int) -> None:
        """Waits as a line of `rate` takes for so many bytes, which all answers share."""
        if self.rate:
            with self.lock:
                self._free_at = max(self._free_at, time.monotonic()) + size / self.rate
                until = self._free_at
            time.sleep(max(0.0, until - time.monotonic()))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else a body waits 40 ms for the answer to its head
    server: Server

    def parse_request(self) -> bool:
        """Reads the headers as lines: the base class parses them as those of a mail, which takes
        longer than the answer.
        """
        self.requestline = self.raw_requestline.decode("latin-1").rstrip()
        self.command, self.path, self.request_version = self.requestline.split()
        self.headers = {}
        while (line := self.rfile.readline().decode("latin-1").strip()):
            name, _, value = line.partition(":")
            self.headers[name.title()] = value.strip()
        self.close_connection = self.headers.get("Connection", "").lower() == "close"
        return True

    def log_message(self, *_: object) -> None:
        pass

    def _found(self) -> tuple[bytes, str] | None:
        path, _, query = self.path.partition("?")
        files, wanted = self.server.files, self.server.query
        data = files.get(self.path[1:], files.get(path[1:]))
        is_refused = wanted is not None and (query != wanted or self.command == "HEAD")
        is_refused |= self.server.login not in (None, self.headers.get("Authorization"))
        if data is None or is_refused:
            self.send_response(403 if is_refused else 404)
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
        with self.server.answering():
            self._look()

    def do_GET(self) -> None:
        with self.server.answering():
            self._get()

    def _look(self) -> None:
        with self.server.lock:
            self.server.looks += 1
        if self.server.is_away:
            self._break_off()
            return
        time.sleep(self.server.latency)
        old = self.server.stale.get(self.path.lstrip("/"))
        found = self._found() if old is None else (old, f'"{tag_of(old)}"')
        if found:
            self._head(200, len(found[0]), found[1])
            self.end_headers()

    def _break_off(self) -> None:
        """Ends the connection with a reset."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def _get(self) -> None:
        server = self.server
        with server.lock:
            server.gets += 1
            fault = server.fault(server.gets) or server.broken.get(self.path[1:])
            if server.is_away:
                fault = "reset"
            if fault:
                server.injected[fault] += 1
        time.sleep(server.latency)
        found = self._found()
        if found is None:
            return
        data, tag = found
        if fault in ("503", "429", "400", "403"):
            self._head(int(fault), 0, tag)
            self.end_headers()
            return
        if self.headers.get("If-Match", tag) != tag:
            self._head(412, 0, tag)
            self.end_headers()
            return
        asked = self.headers.get("Range")
        if asked is None:
            self._send(data, tag, 0, len(data), "whole")
            return
        begin, end = (int(one) for one in asked[len("bytes=") :].split("-"))
        end = min(end, len(data) - 1)
        if begin >= len(data):
            self._head(416, 0, tag)
            self.end_headers()
            return
        if fault == "hang":
            server.hanging += 1
            server.hangs.wait()
        if fault == "reset":
            self._break_off()
            return
        if fault != "hang":  # noted first: the client is faster than what follows an answer
            with server.lock:
                server.ranges[self.path.lstrip("/").partition("?")[0], begin, end + 1] += 1
        self._send(data, tag, begin, end + 1, fault)

    def _send(self, data: bytes, tag: str, begin: int, end: int, fault: str | None) -> None:
        if fault == "shifted":  # another range than was asked for, and it says so
            begin, end = (begin - 1, end - 1) if begin else (begin + 1, min(end + 1, len(data)))
        if fault == "less":
            end = max(begin + 1, end - 1000)
        if fault == "whole":
            begin, end = 0, len(data)
        body = data[begin:end]
        self._head(200 if fault == "whole" else 206, len(body) + 7 * (fault == "more"), tag)
        if fault != "whole":
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(data)}")
        self.end_headers()
        if fault in ("short", "cut"):  # the connection ends in the middle: orderly, or by a reset
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            if fault == "cut":
                self._break_off()
            return
        step = -(-len(body) // 8) if fault == "slow" else 65536
        for at in range(0, len(body), step):
            time.sleep(0.01 * (fault == "slow"))
            self.server.send_in_time(len(body[at : at + step]))
            self.wfile.write(body[at : at + step])
        self.close_connection |= fault == "more"


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
