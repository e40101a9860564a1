"""A store for tests, with as much of S3 as clients need: lists, ranges, uploads in parts."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from .server import Server, _Handler, tag_of

_PAGE = 1000  # objects of one answer


class Bucket(Server):
    """Serves `files`, by keys that begin with the bucket.

    Attributes:
        kinds: How many requests came, by their kind: LIST, HEAD, GET, PUT, PART, ...
        parts: Those of unfinished uploads, by upload and number.
        fails: Kinds of requests that are answered 403.
        missing: Buckets that do not exist.
    """

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.RequestHandlerClass = _BucketHandler
        self.kinds: Counter[str] = Counter()
        self.parts: dict[str, dict[int, bytes]] = {}
        self.fails: set[str] = set()
        self.missing: set[str] = set()
        self.delay = 0.0

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that lead clients to it."""
        return {
            "AWS_ENDPOINT_URL": self.url, "AWS_SKIP_SIGNATURE": "true", "AWS_REGION": "us-east-1",
        }  # fmt: skip


class _BucketHandler(_Handler):
    server: Bucket

    def _begin(self) -> tuple[str, dict[str, str]]:
        """The key, and the query."""
        parts = urlsplit(self.path)
        query = parse_qs(parts.query, keep_blank_values=True)
        self.path = "/" + unquote(parts.path).strip("/")
        return self.path[1:], {name: values[0] for name, values in query.items()}

    def _count(self, kind: str) -> bool:
        """Whether the request goes on."""
        with self.server.lock:
            self.server.kinds[kind] += 1
        if self.server.delay:
            threading.Event().wait(self.server.delay)
        if kind in self.server.fails:
            self._answer(403, b"<Error><Code>AccessDenied</Code></Error>")
            return False
        return True

    def _answer(self, status: int, body: bytes = b"", tag: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if tag:
            self.send_header("ETag", f'"{tag}"')
        self.end_headers()
        self.wfile.write(body)

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_HEAD(self) -> None:
        self._begin()
        if self._count("HEAD"):
            super().do_HEAD()

    def do_GET(self) -> None:
        key, query = self._begin()
        if "list-type" in query:
            if self._count("LIST"):
                self._list(key, query)
        elif self._count("GET"):
            if "Range" not in self.headers:
                size = len(self.server.files.get(key, b""))
                self.headers["Range"] = f"bytes=0-{max(size - 1, 0)}"
            super().do_GET()

    def _list(self, bucket: str, query: dict[str, str]) -> None:
        if bucket in self.server.missing:
            self._answer(404, b"<Error><Code>NoSuchBucket</Code></Error>")
            return
        prefix = f"{bucket}/{query.get('prefix', '')}"
        after = query.get("continuation-token", "")
        keys = sorted(k for k in [*self.server.files] if k.startswith(prefix) and k > after)
        folders = ""
        if delimiter := query.get("delimiter"):
            rests = [key[len(prefix) :].partition(delimiter) for key in keys]
            below = sorted({name for name, found, _ in rests if found})
            keys = [key for key in keys if delimiter not in key[len(prefix) :]]
            if not after:
                folders = "".join(
                    f"<CommonPrefixes><Prefix>{escape(query.get('prefix', '') + name)}/</Prefix>"
                    "</CommonPrefixes>" for name in below
                )
        page = keys[:_PAGE]
        found = "".join(
            f"<Contents><Key>{escape(key[len(bucket) + 1:])}</Key>"
            f"<Size>{len(self.server.files[key])}</Size>"
            "<LastModified>2015-10-21T07:28:00.123Z</LastModified>"
            f"<ETag>&quot;{tag_of(self.server.files[key])}&quot;</ETag></Contents>" for key in page
        )
        more = len(keys) > len(page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        self._answer(200, (
            f"<ListBucketResult><Name>{bucket}</Name><KeyCount>{len(page)}</KeyCount>"
            f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{token}{found}{folders}"
            "</ListBucketResult>"
        ).encode())  # fmt: skip

    def do_PUT(self) -> None:
        key, query = self._begin()
        data = self._body()
        if "partNumber" in query:
            if self._count("PART"):
                self.server.parts[query["uploadId"]][int(query["partNumber"])] = data
                self._answer(200, tag=tag_of(data))
        elif self._count("PUT"):
            self.server.files[key] = data
            self._answer(200, tag=tag_of(data))

    def do_POST(self) -> None:
        key, query = self._begin()
        body = self._body()
        if "uploads" in query:
            if self._count("BEGIN"):
                name = f"upload-{len(self.server.parts)}"
                self.server.parts[name] = {}
                self._answer(200, (
                    "<InitiateMultipartUploadResult><UploadId>"
                    f"{name}</UploadId></InitiateMultipartUploadResult>"
                ).encode())  # fmt: skip
        elif "delete" in query:
            if self._count("DELETE"):
                for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                    self.server.files.pop(f"{key}/{name}", None)
                self._answer(200, b"<DeleteResult></DeleteResult>")
        elif self._count("END"):
            parts = self.server.parts.pop(query["uploadId"])
            data = self.server.files[key] = b"".join(parts[one] for one in sorted(parts))
            self._answer(200, (
                "<CompleteMultipartUploadResult><ETag>&quot;"
                f"{tag_of(data)}&quot;</ETag></CompleteMultipartUploadResult>"
            ).encode())  # fmt: skip

    def do_DELETE(self) -> None:
        key, query = self._begin()
        if self._count("ABORT" if "uploadId" in query else "DELETE"):
            if "uploadId" in query:
                self.server.parts.pop(query["uploadId"], None)
            else:
                self.server.files.pop(key, None)
            self._answer(204)


@contextlib.contextmanager
def storing(files: dict[str, bytes]) -> Iterator[Bucket]:
    """A running store."""
    server = Bucket(files)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
