"""What is asked of stores: the facts of an object, a range of its bytes, the objects of a pattern.

Most stores are read with obstore, others with fsspec.  A failure is one of three kinds:

- transient (a reset, a timeout, a 503): tried again, with pauses that grow;
- the environment (no such object, no rights, no ranges): an error at once, with what to do;
- a changed object: an error, since bytes of two versions are never mixed.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib
import os
import random
import re
import textwrap
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from ..errors import (
    Error, FileError, InvalidArgumentError, UnsupportedError, login_pattern, missing_package,
    without_secrets,
)  # fmt: skip
from ..native import encode

# ---- Addresses ----------------------------------------------------------------------------------

_MAGIC = re.compile(r"[*?[]")
_WEB = ("http", "https")
_OBSTORE = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", *_WEB)


def has_magic(url: str) -> bool:
    """Whether an address is a pattern."""
    return _MAGIC.search(url) is not None


_SIGNATURE = re.compile(
    r"(x-amz-|x-goog-|x-oss-|response-).*|awsaccesskeyid|googleaccessid|ossaccesskeyid|signature|"
    r"expires|policy|key-pair-id|x-id|token|access_token", re.IGNORECASE,
)  # fmt: skip
# Azure's names; they are of a signature only beside `sig`.
_SHARED_ACCESS = re.compile(r"s[a-z]{1,2}|sk[a-z]{1,3}|s[as]oid|scid|suoid|rsc[a-z]")

_MARK = re.compile(r"(?<=://)q-[0-9a-f]{12}@")  # PFD_REMOTE_MARK bytes
_given: dict[str, str] = {}  # queries by the names of objects: of files that are opened
_of_rows: dict[str, str] = {}  # and of objects that rows name, which are named again when read
_MOST_GIVEN, _MOST_OF_ROWS = 1 << 20, 1 << 16

_LOGIN = login_pattern()
_logins: dict[str, str] = {}  # by what is around them, SCHEME://HOST


def _mark(query: str) -> str:
    """What a query says beside a signature, as a digest; "" where it says nothing else."""
    said = {one: one.partition("=")[0] for one in query.split("&") if one}
    is_shared = "sig" in said.values()
    rest = [
        one for one, name in said.items()
        if not (_SIGNATURE.fullmatch(name) or is_shared and _SHARED_ACCESS.fullmatch(name))
    ]  # fmt: skip
    return f"q-{hashlib.sha256('&'.join(rest).encode()).hexdigest()[:12]}@" if rest else ""


def _host(address: str) -> str:
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _keep_login(address: str) -> str:
    """The address without its login, which requests to its host will have from now on."""
    login = _LOGIN.search(address.partition("?")[0])
    if login is None:
        return address
    url = address[: login.start()] + address[login.end() :]
    if _logins.get(_host(url)) != login[0]:
        _logins[_host(url)] = login[0]
        _store.cache_clear()
    return url


def _with_login(address: str) -> str:
    login = _logins.get(_host(address)) if _logins else None
    return address if login is None else address.replace("://", f"://{login}", 1)


def name_object(address: str, *, is_of_row: bool = False) -> str:
    """The name of the object at an address: without its query and login, which requests of this
    process will have.  The name stays the same where the object is signed again, and
    nothing that shows it tells a secret.  Where a query says more than a signature, a digest of
    that is before the host, so that another query names another object.
    """
    encode(address, "path")  # no NUL, which would end it in C
    address = _keep_login(address)
    url, _, query = address.partition("?")
    if urlsplit(url).scheme not in _WEB:
        return address
    if not query:
        return url
    name = _MARK.sub("", url).replace("://", f"://{_mark(query)}", 1)
    kept, most = (_of_rows, _MOST_OF_ROWS) if is_of_row else (_given, _MOST_GIVEN)
    with _lock:
        _of_rows.pop(name, None)
        kept.pop(name, None)
        kept[name] = query  # the last one of the dict
        while len(kept) > most:
            del kept[next(iter(kept))]
    return name


def _query_of(name: str) -> str | None:
    return _of_rows.get(name) or _given.get(name)


def full_address(name: str) -> str:
    """The address of an object, with its query and password: for requests and other processes, and
    never shown.
    """
    query = _query_of(name)
    return _with_login(name if query is None else f"{_MARK.sub('', name, count=1)}?{query}")


def name_matches(name: str, pattern: str) -> bool:
    """Whether a name without slashes matches a pattern, as glob(3) has it: hidden names match only
    where the pattern begins with a dot."""
    is_hidden = name.startswith(".") and not pattern.startswith(".")
    return not is_hidden and fnmatchcase(name, pattern.replace("[^", "[!"))


def _matches(names: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the parts of a key match those of a pattern, of which ** stands for any number."""
    if not patterns or not names:
        return not patterns and not names
    first, *others = patterns
    if first != "**":
        return name_matches(names[0], first) and _matches(names[1:], others)
    if others and _matches(names, others):
        return True
    return name_matches(names[0], "*") and (
        _matches(names[1:], patterns) or not others and len(names) == 1
    )


# ---- Stores -------------------------------------------------------------------------------------


class Facts(NamedTuple):
    """An object as it is now.

    Attributes:
        size: In bytes.
        modified: When it was written, in seconds since 1970; 0: not known.
        tag: A text that is another one for another version.
    """

    size: int
    modified: float
    tag: str


class _Changed(Exception):
    """The object is another version than the one that was asked for."""


class _Store(Protocol):
    def look(self, url: str) -> Facts: ...

    def get(self, url: str, tag: str, offset: int, size: int) -> Any:
        """The bytes, as a buffer; those of another version are refused with _Changed."""

    def get_first(self, url: str, size: int) -> tuple[Facts, Any]:
        """The object as it is now, and its first bytes, at most so many; none where that takes two
        requests."""

    def list(self, folder: str, is_deep: bool) -> Iterator[tuple[str, Facts | None]]:
        """The addresses below a folder, whose address ends with a slash; with their facts, where
        a list tells them as look() does.  If not deep, also folders, which end with a slash."""

    def put(self, path: str, url: str) -> None:
        """Makes an object of a local file; nobody sees a part of it."""

    def remove(self, url: str) -> None: ...


_PART = 8 << 20  # bytes of a part of an upload
_MOST_PARTS = 9000  # S3 takes 10,000


_has_asked = False  # of obstore, which has threads then
_is_lost = False  # those threads: they are the parent's


class _Obstore:
    """The objects of a bucket or a server."""

    def __init__(self, base: str, options: Mapping[str, Any]) -> None:
        global _has_asked
        self._obstore = importlib.import_module("obstore")
        _has_asked = True
        self._base = base
        given = dict(options)
        client = dict(given.pop("client_options", {}))
        login = _logins.get(_host(base))
        if login is not None and urlsplit(base).scheme in _WEB:  # obstore leaves out that of a URL
            user, _, password = login[:-1].partition(":")
            word = base64.b64encode(unquote(f"{user}:{password}").encode()).decode()
            headers = {"Authorization": f"Basic {word}", **client.get("default_headers", {})}
            client["default_headers"] = headers
        where = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")
        where = str(given.get("endpoint", where if base.startswith("s3") else base))
        if where.lower().startswith("http://"):
            client.setdefault("allow_http", True)
        client.setdefault("timeout", "30 seconds")
        client.setdefault("connect_timeout", "10 seconds")
        # Attempts of reads are counted and told below.
        tried = {"retry_config": {"max_retries": 0}, **given}
        make = importlib.import_module("obstore.store").from_url
        try:  # asks no server, so that no further try would help
            self._store = make(base, client_options=client, **tried)
        except Exception as failure:
            raise InvalidArgumentError(
                f"no client of this store can be made: {_short(failure)}; are the options of "
                "pyflowdata.remote.configure(), and the store's variables, right?", file=base,
            ) from failure
        self._make_writer = partial(make, base, client_options=client, **given)

    @cached_property
    def _writer(self) -> Any:
        """The same store, for writing, which tries parts again."""
        return self._make_writer()

    def _key(self, url: str) -> str:
        return url[len(self._base) :]

    def look(self, url: str) -> Facts:
        return _facts(self._obstore.head(self._store, self._key(url)))

    def get(self, url: str, tag: str, offset: int, size: int) -> Any:
        asked: dict[str, Any] = {"range": (offset, offset + size)}
        if tag.startswith('etag:"'):  # a weak one never matches
            asked["if_match"] = tag[5:]
        try:
            begin = time.monotonic()
            got = self._obstore.get(self._store, self._key(url), options=asked)
            answered.seconds = time.monotonic() - begin
        except self._obstore.exceptions.PreconditionError:
            raise _Changed from None
        if _facts(got.meta).tag != tag:
            raise _Changed
        return got.bytes()

    def get_first(self, url: str, size: int) -> tuple[Facts, Any]:
        begin = time.monotonic()
        try:
            got = self._obstore.get(self._store, self._key(url), options={"range": (0, size)})
        except self._obstore.exceptions.GenericError:  # an empty object has no such range
            return self.look(url), b""
        answered.seconds = time.monotonic() - begin
        return _facts(got.meta), got.bytes()

    def list(self, folder: str, is_deep: bool) -> Iterator[tuple[str, Facts | None]]:
        try:
            yield from self._list(folder, is_deep)
        except self._obstore.exceptions.GenericError as failure:
            # The only place that reads a message: obstore gives no number for lists.
            number = _STATUS.search(_said(failure))
            if number is None:
                raise
            if number[1] == "404":
                raise FileError(
                    "there is no such bucket, or container", file=self._base, reason="environment",
                ) from failure
            raise PermissionError(_said(failure)) from failure

    def _list(self, folder: str, is_deep: bool) -> Iterator[tuple[str, Facts | None]]:
        prefix = self._key(folder)
        if is_deep:
            pieces = self._obstore.list(self._store, prefix=prefix, chunk_size=_PAGE)
        else:
            listed = self._obstore.list_with_delimiter(self._store, prefix)
            pieces = [listed["objects"]]
            yield from ((f"{self._base}{one}/", None) for one in listed["common_prefixes"])
        for piece in pieces:
            for found in piece:
                yield self._base + found["path"], _facts(found)

    def put(self, path: str, url: str) -> None:
        part = max(_PART, os.path.getsize(path) // _MOST_PARTS + 1)
        with open(path, "rb") as file:
            self._obstore.put(self._writer, self._key(url), file, chunk_size=part)

    def remove(self, url: str) -> None:
        self._obstore.delete(self._writer, self._key(url))


_STATUS = re.compile(r"non-2xx status code: (40[134])\b")  # those that no further try mends


def _facts(meta: Any) -> Facts:
    modified = meta["last_modified"]
    # Whole ones: lists of some stores tell more of them than a look at the object.
    seconds = float(int(modified.timestamp())) if modified else 0.0
    tag = f"etag:{meta['e_tag']}" if meta["e_tag"] else f"time:{seconds!r} {meta['size']}"
    return Facts(int(meta["size"]), max(seconds, 0.0), tag)


class _Signed(_Obstore):
    """One object, at an address with a query: it is asked for by GET only, which is what most
    signatures allow, and no failure tells the query."""

    def __init__(self, address: str, options: Mapping[str, Any]) -> None:
        # The connections of many clients would use up the descriptors of the process.
        client = {"pool_idle_timeout": "5 seconds", **options.get("client_options", {})}
        super().__init__(address, {**options, "client_options": client})

    def _key(self, url: str) -> str:
        return ""  # the address is that of the object

    def look(self, url: str) -> Facts:
        ask = partial(self._obstore.get, self._store, "")
        with self._without_queries():
            try:
                return _facts(ask(options={"range": (0, 1)}).meta)
            except self._obstore.exceptions.GenericError:
                facts = _facts(ask().meta)  # an empty object has no such range
                if facts.size:
                    raise
                return facts

    def get(self, url: str, tag: str, offset: int, size: int) -> Any:
        with self._without_queries():
            return super().get(url, tag, offset, size)

    def get_first(self, url: str, size: int) -> tuple[Facts, Any]:
        with self._without_queries():
            return super().get_first(url, size)

    @contextlib.contextmanager
    def _without_queries(self) -> Iterator[None]:
        try:
            yield
        except Exception as failure:
            first, *others = _said(failure).split("?")
            shown = first + "".join(f"?... {one.partition(' ')[2]}" for one in others)
            kind = type(failure)
            if isinstance(failure, self._obstore.exceptions.GenericError) and self._is_refused():
                kind = PermissionError
            raise kind(shown) from None

    def _is_refused(self) -> bool:
        """Whether the answer is 400, as Google's to an expired signature: obstore tells the number
        in a sentence only.
        """
        from http.client import HTTPException
        from urllib import error, request

        ask = request.Request(self._base, headers={"Range": "bytes=0-0"})  # noqa: S310  (http)
        try:
            with request.urlopen(ask, timeout=5):  # noqa: S310
                return False
        except error.HTTPError as answer:
            return answer.code == 400
        except (OSError, HTTPException):
            return False


class _Fsspec:
    """The files of a file system of fsspec."""

    def __init__(self, base: str, options: Mapping[str, Any]) -> None:
        core = importlib.import_module("fsspec.core")
        self._base = base
        self._files, _ = core.url_to_fs(_with_login(base), **options)

    def _name(self, url: str) -> str:
        return str(self._files._strip_protocol(self._base + url[len(self._base) :]))

    def look(self, url: str) -> Facts:
        self._files.invalidate_cache()
        return _fsspec_facts(self._files.info(self._name(url)))

    def get(self, url: str, tag: str, offset: int, size: int) -> Any:
        name = self._name(url)
        data = self._files.cat_file(name, start=offset, end=offset + size)
        if self.look(url).tag != tag:  # these stores cannot be asked for a version
            raise _Changed
        return data

    def get_first(self, url: str, size: int) -> tuple[Facts, Any]:
        return self.look(url), b""

    def list(self, folder: str, is_deep: bool) -> Iterator[tuple[str, Facts | None]]:
        self._files.invalidate_cache()
        depth = None if is_deep else 1
        begin = len(self._name(folder).rstrip("/")) + 1
        found = self._files.find(
            self._name(folder), maxdepth=depth, withdirs=not is_deep, detail=True
        )
        for name, info in found.items():
            if info["type"] != "directory":
                yield folder + name[begin:], None
            elif not is_deep and name[begin:]:
                yield f"{folder}{name[begin:].rstrip('/')}/", None


    def put(self, path: str, url: str) -> None:
        name = self._name(url)
        folder, _, last = name.rpartition("/")
        unfinished = f"{folder}/.{last}.{os.getpid()}-{os.urandom(4).hex()}.tmp"
        self._files.makedirs(folder, exist_ok=True)
        try:
            self._files.put_file(path, unfinished)
            if self._files.exists(name):  # renaming replaces nothing in some stores
                self._files.rm_file(name)
            self._files.mv(unfinished, name)
        except BaseException:
            if self._files.exists(unfinished):
                self._files.rm_file(unfinished)
            raise

    def remove(self, url: str) -> None:
        self._files.rm_file(self._name(url))


def _fsspec_facts(info: Mapping[str, Any]) -> Facts:
    if info["type"] == "directory":
        raise FileNotFoundError(info["name"])
    names = ("ETag", "etag", "checksum", "mtime", "LastModified", "last_modified", "created")
    version = next((info[name] for name in names if info.get(name)), "")
    times = (info.get(name) for name in names[3:])
    modified = next((one for one in times if one), 0.0)
    seconds = modified.timestamp() if hasattr(modified, "timestamp") else modified
    return Facts(
        int(info["size"]), float(seconds) if isinstance(seconds, (int, float)) else 0.0,
        f"{version} {info['size']}",
    )


_options: dict[str, Mapping[str, Any]] = {}  # by the beginning of the address


def set_options(options: Mapping[str, Mapping[str, Any]]) -> None:
    """Options of stores, by how addresses begin."""
    _options.clear()
    _options.update(options)
    _store.cache_clear()
    _signed.cache_clear()
    forget_facts()


def _options_of(url: str) -> Mapping[str, Any]:
    matching = [begin for begin in _options if url.startswith(begin)]
    return _options[max(matching, key=len)] if matching else {}


@lru_cache(maxsize=1024)  # of 0.1 MB each: objects that are looked at and then read
def _signed(address: str) -> _Store:
    try:
        url = _LOGIN.sub("", address, count=1)
        return _Signed(url, _options_of(url))
    except ModuleNotFoundError as missing:
        raise missing_package("an address with a query", "obstore") from missing


@lru_cache(maxsize=256)
def _store(base: str) -> _Store:
    options = _options_of(base)
    scheme = urlsplit(base).scheme
    if scheme in _OBSTORE:
        try:
            return _Obstore(base, options)
        except ModuleNotFoundError as missing:
            if missing.name != "obstore":
                raise
    try:
        return _Fsspec(base, options)
    except ImportError as missing:
        if scheme in _OBSTORE:
            raise missing_package(f"{scheme}://", "obstore") from missing
        raise UnsupportedError(
            f"{scheme}:// is read with fsspec, which says: {missing}; pip install "
            "pyflowdata[remote], and the package that fsspec needs for it"
        ) from missing
    except ValueError as unknown:  # of fsspec: no such protocol
        raise UnsupportedError(f"{base}: {unknown}") from unknown


def _store_of(url: str) -> _Store:
    parts, is_signed = urlsplit(url), _query_of(url) is not None
    if not is_signed and _MARK.search(url):
        raise UnsupportedError(
            "the query of the object is not known: give the address with its query", file=url
        )
    base = f"{parts.scheme}://{parts.netloc}/"
    with _opening:
        store = _signed(full_address(url)) if is_signed else _store(base)
    if _is_lost and isinstance(store, _Obstore):
        raise UnsupportedError(
            "this process was forked after its parent had read from a store, and the client of "
            'stores does not work in such a child; start processes with "spawn" or "forkserver", '
            "or read from stores in the children alone", file=url,
        )
    return store


# ---- Failures, and further attempts -------------------------------------------------------------

_A = TypeVar("_A")
_T = TypeVar("_T")
_FETCH_PAUSES = (0.05, 0.2, 0.8, 2.0, 4.0, 8.0, 8.0, 8.0)  # seconds; 31 in all
_LOOK_PAUSES = (0.05, 0.2, 0.8, 2.0)
retries = 0  # of this process
answered = threading.local()  # `seconds`: until the first byte of this thread's last answer


def _classes(*names: str) -> tuple[type[BaseException], ...]:
    try:
        found = importlib.import_module("obstore.exceptions")
    except ModuleNotFoundError:
        return ()
    return tuple(getattr(found, name) for name in names)


def _as_error(failure: Exception, url: str) -> Error | None:
    """The error of a failure that no further try can mend; None: it may pass."""
    if isinstance(failure, Error):
        return failure
    if isinstance(failure, _Changed):
        return FileError(
            "the object changed while open: it is no longer the version that was opened; open the "
            "data set again", file=url, reason="environment",
        )
    if isinstance(failure, (FileNotFoundError, *_classes("NotFoundError"))):
        return FileError("there is no such object", file=url, reason="environment")
    if isinstance(failure, (
        PermissionError, *_classes("PermissionDeniedError", "UnauthenticatedError"),
    )):  # fmt: skip
        if _query_of(url):
            return FileError(
                "the store refuses the signature of its address (400, 401 or 403): it may have "
                "expired, or allows no GET; sign the address again, and open it with that",
                file=url, reason="environment",
            )
        if urlsplit(url).scheme in _WEB:
            return FileError(
                "the server refuses it (401 or 403): it may want credentials, as "
                "http://user:password@host/..., which no text shows, or, by the options of "
                "pyflowdata.remote.configure(), a header", file=url, reason="environment",
            )  # fmt: skip
        return FileError(
            "the store refuses it (401 or 403): are the credentials there, as AWS_ACCESS_KEY_ID, "
            "GOOGLE_APPLICATION_CREDENTIALS or AZURE_STORAGE_ACCOUNT_KEY, and may they read, or "
            "write, this object?", file=url, reason="environment",
        )
    if isinstance(failure, _classes("NotSupportedError")):  # that is all that is asked of a server
        return UnsupportedError(
            "the server answers no ranges of bytes, which remote files are read by; use one that "
            "does, such as nginx, caddy or `npx http-server`, or download the file", file=url,
        )
    if isinstance(failure, _classes("InvalidPathError")):
        return UnsupportedError(f"the store has no such keys: {_short(failure)}", file=url)
    return None


def _said(failure: BaseException) -> str:
    # What follows is obstore's, for its own developers.
    return without_secrets(f"{failure}".partition("\n\nDebug source:")[0])


def _short(failure: BaseException) -> str:
    return textwrap.shorten(_said(failure), 300) or type(failure).__name__


@dataclass
class _Silence:
    """Failures of a store without an answer in between, whichever requests they are of: the times
    of the first and of the last one, in seconds of time.monotonic()."""

    since: float
    last: float


_FORGOTTEN = 60.0  # seconds after a failure; a try and the pause before it take less
_JUST_NOW = 1.0
_silences: dict[str, _Silence] = {}  # by host


def _note_failure(url: str, begin: float) -> float:
    """Notes a failure; returns since when the store has given no answer, either to this request,
    which was first sent at `begin`, or to all requests."""
    now = time.monotonic()
    with _lock:
        silence = _silences.get(_host(url))
        if silence is None or now - silence.last > _FORGOTTEN:
            silence = _silences[_host(url)] = _Silence(now, now)
        silence.last = now
        return min(begin, silence.since)


def _note_answer(url: str) -> None:
    if _silences:
        with _lock:
            _silences.pop(_host(url), None)


def _is_given_up(url: str, limit: float) -> bool:
    """Whether another request to the store was given up a moment ago: no need to try again."""
    with _lock:
        silence = _silences.get(_host(url))
    now = time.monotonic()
    return (
        silence is not None and now - silence.last < _JUST_NOW and 0 < limit <= now - silence.since
    )


def _failed(url: str, seconds: float, last: BaseException | None) -> FileError:
    said = f": {_short(last)}" if last is not None else ""
    return FileError(
        f"the store failed for {seconds:.0f} s{said}; is the server up, and are its name, address, "
        "region and credentials right?", file=url, reason="environment",
    )  # fmt: skip


def in_threads(function: Callable[[_A], _T], items: Iterable[_A], most: int) -> list[_T]:
    """The results of a function for each item, from at most so many threads.  Ctrl-C ends the wait,
    which a pool of `concurrent.futures` does not allow: calls to a store that have not ended go on,
    and the end of the program does not wait for them."""
    from concurrent.futures import Future

    futures: list[tuple[_A, Future[_T]]] = [(item, Future()) for item in items]
    todo = deque(futures)

    def work() -> None:
        while todo:
            try:
                item, future = todo.popleft()
            except IndexError:
                return  # another thread took the last one
            try:
                future.set_result(function(item))
            except BaseException as failure:
                future.set_exception(failure)

    for _ in futures[:most]:
        threading.Thread(target=work, name="pyflowdata look", daemon=True).start()
    try:
        return [future.result() for _, future in futures]
    finally:
        todo.clear()


def _made(call: Callable[[], _T]) -> _T:
    """The result of a call to a store, for which the main thread waits where Ctrl-C is seen."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    return in_threads(lambda _: call(), [None], 1)[0]


@dataclass
class Attempts:
    """How many attempts of a request have failed, and when the first one began, in seconds of
    time.monotonic()."""

    failed: int = 0
    since: float = field(default_factory=time.monotonic)


class RetryLater(Exception):
    """An attempt failed in a way that may pass: a further one is due after a pause, in seconds."""

    def __init__(self, pause: float) -> None:
        super().__init__(pause)
        self.pause = pause


def _try(call: Callable[[], _T], url: str, pauses: tuple[float, ...], attempts: Attempts) -> _T:
    """One attempt. Raises RetryLater if a further one is due later; else the error of the call, or
    that of a store that has given no answer for `sum(pauses)` seconds. This time counts for all
    requests together, so that waiting for several requests takes no longer.
    """
    global retries
    limit = sum(pauses)
    if not attempts.failed and _is_given_up(url, limit):
        raise _failed(url, limit, None)
    try:
        result = _made(call)
    except Exception as failure:
        error, last = _as_error(failure, url), failure
    else:
        _note_answer(url)
        return result
    if error is not None:
        _note_answer(url)
        raise error from last
    since, now = _note_failure(url, attempts.since), time.monotonic()
    left = since + limit - now
    if left <= 0:
        raise _failed(url, now - since, last) from last
    with _lock:
        retries += 1
    pause = pauses[min(attempts.failed, len(pauses) - 1)]
    pause *= random.uniform(0.5, 1.5)  # noqa: S311  (no secret)
    raise RetryLater(min(pause, left)) from last


def _tried(call: Callable[[], _T], url: str, pauses: tuple[float, ...]) -> _T:
    """The result of a call. A failure that may pass is tried again after these pauses, in seconds,
    the last one again and again; this thread waits in them. Raises as `_try()` otherwise."""
    attempts = Attempts()
    while True:
        try:
            return _try(call, url, pauses, attempts)
        except RetryLater as later:
            pause = later.pause
        time.sleep(pause)
        attempts.failed += 1


# ---- The calls ----------------------------------------------------------------------------------

_SEEN_SECONDS = 10.0  # how long an opening takes the facts of an object to be true
_LOOKERS = 32
_PAGE = 1000  # objects that a store lists for one request
_lock = threading.Lock()
_opening = threading.Lock()  # of stores: one client, with one login, however many threads ask first
_seen: dict[str, tuple[float, Facts]] = {}
_looking: dict[str, threading.Lock] = {}  # of objects that threads look at
_lists: dict[str, tuple[float, list[str]]] = {}  # of folders
_listings: dict[str, _Listing] = {}  # of folders whose objects are looked at a few at a time


def _begin_child() -> None:
    """In a forked child: a thread of the parent may have held the lock."""
    global _lock, _opening, _is_lost
    _lock, _opening, _is_lost = threading.Lock(), threading.Lock(), _has_asked
    _looking.clear()


os.register_at_fork(after_in_child=_begin_child)


def _note(url: str, facts: Facts) -> Facts:
    with _lock:
        _seen[url] = (time.monotonic(), facts)
    return facts


def _note_all(listed: Mapping[str, Facts | None]) -> set[str]:
    """Notes the facts that a list told; which objects have them."""
    told = {url: facts for url, facts in listed.items() if facts is not None}
    now = time.monotonic()
    with _lock:
        _seen.update((url, (now, facts)) for url, facts in told.items())
    return {*told}


def forget_facts() -> None:
    """All facts are asked for again."""
    with _lock:
        _seen.clear()
        _lists.clear()
        _listings.clear()


def folder_facts(url: str) -> tuple[Facts, list[str]]:
    """What tells whether other objects are in a folder, and the folders in it.

    Raises:
        FileError: The store cannot be read.
    """
    names = names_in(url.rstrip("/") + "/")
    objects = [name for name in names if not name.endswith("/")]
    tags = zip(objects, look_at(objects), strict=True)
    said = "".join(f"{name}\n{facts.tag}\n{facts.size}\n" for name, facts in tags)
    inside = [name for name in names if name.endswith("/")]
    tag = hashlib.sha256((said + "".join(inside)).encode()).hexdigest()
    return Facts(len(names), 0.0, tag), inside


def _known(url: str, is_kept: bool = False) -> Facts | None:
    """What is known of an object, and still true, or kept since the last opening."""
    with _lock:
        since, facts = _seen.get(url, (0.0, None))
    return facts if is_kept or time.monotonic() - since < _SEEN_SECONDS else None


def known_facts(urls: list[str]) -> list[Facts]:
    """The facts that objects had when they were first looked at since the last opening; a size of
    -1: they were not.
    """
    return [_known(url, True) or Facts(-1, 0.0, "") for url in urls]


@contextlib.contextmanager
def _one_look(url: str) -> Iterator[None]:
    """One thread looks at an object, and others wait for what it finds."""
    with _lock:
        one_at_a_time = _looking.setdefault(url, threading.Lock())
    try:
        with one_at_a_time:
            yield
    finally:
        with _lock:
            _looking.pop(url, None)


def _look(url: str, is_kept: bool = False, attempts: Attempts | None = None) -> Facts:
    def look() -> Facts:
        return _store_of(url).look(url)

    with _one_look(url):
        if (known := _known(url, is_kept)) is not None:
            return known
        pauses = _FETCH_PAUSES if is_kept else _LOOK_PAUSES  # a loader runs, or opens
        if attempts is not None:
            return _note(url, _try(look, url, pauses, attempts))
        return _note(url, _tried(look, url, pauses))


def look_and_fetch(url: str, size: int, attempts: Attempts) -> tuple[Facts, Any]:
    """The facts that an object had when it was first looked at since the last opening, and its
    first bytes, where they come with the answer: at most `size`, as a buffer.

    Raises:
        RetryLater: A further attempt is due later.
        FileError: It cannot be read.
        UnsupportedError: Its store cannot be.
    """
    if size == 0 or urlsplit(url).scheme not in _WEB:  # others have lists, which tell of many
        _look_by_lists([url], is_kept=True)
        return _look(url, True, attempts), b""

    def get() -> tuple[Facts, Any]:
        facts, data = _store_of(url).get_first(url, size)
        if len(data) not in (0, min(size, facts.size)):
            raise EOFError(f"{len(data)} bytes came of {facts.size}")
        return facts, data

    with _one_look(url):
        if (known := _known(url, True)) is not None:
            return known, b""
        facts, data = _try(get, url, _FETCH_PAUSES, attempts)
        return _note(url, facts), data


def look_at(urls: list[str], *, is_kept: bool = False) -> list[Facts]:
    """The facts of objects, several at a time.

    Args:
        urls: Their addresses.
        is_kept: Whether the facts that an object had when it was first looked at since the last
            opening are right.

    Raises:
        FileError: One cannot be read.
        UnsupportedError: A store cannot be.
    """
    _look_by_lists(urls, is_kept)
    found = {url: _known(url, is_kept) for url in urls}
    missing = [url for url, facts in found.items() if facts is None]
    if len(missing) > 1:
        looks = in_threads(partial(_look, is_kept=is_kept), missing, _LOOKERS)
        found |= zip(missing, looks, strict=True)
    return [found[url] or _look(url, is_kept) for url in urls]


class _Listing:
    """The list of a folder, which is read on as more of its objects are looked at: as many requests
    as a quarter of the looks would be, since others may be in the folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._lock = threading.Lock()  # one thread reads on, and others wait for what it finds
        self._looks = self._taken = 0
        self._is_refused = False  # by stores in which one may read objects, and not list them
        self._objects: Iterator[tuple[str, Facts | None]] | None = None

    def look_for(self, wanted: set[str], is_kept: bool) -> None:
        """Notes what the list tells, until it has told of all that are wanted."""
        with self._lock:
            wanted = {url for url in wanted if _known(url, is_kept) is None}
            self._looks += len(wanted)
            if self._looks < _LOOKERS or self._is_refused:
                return
            try:
                _tried(partial(self._read_on, wanted), self._folder, ())
            except Error:
                self._is_refused = True

    def _read_on(self, wanted: set[str]) -> None:
        try:
            if self._objects is None:
                self._objects, self._taken = _store_of(self._folder).list(self._folder, True), 0
            while wanted and self._taken < self._looks * _PAGE // 4:
                page = dict(islice(self._objects, _PAGE))
                if not page:
                    return
                self._taken += len(page)
                wanted -= _note_all(page)
        except BaseException:
            self._objects = None
            raise


def _look_by_lists(urls: list[str], is_kept: bool) -> None:
    """Notes the facts of objects of one folder from its list, where that takes fewer requests."""
    folders: dict[str, set[str]] = {}
    for url in urls:
        if urlsplit(url).scheme not in _WEB and _known(url, is_kept) is None:
            folders.setdefault(url[: url.rindex("/") + 1], set()).add(url)
    for folder, wanted in folders.items():
        listing = _Listing(folder)
        if is_kept:
            with _lock:
                listing = _listings.setdefault(folder, listing)
        listing.look_for(wanted, is_kept)


def is_folder(url: str) -> bool:
    """Whether an address is a prefix of others; one of a web server is by its slash."""
    if urlsplit(url).scheme in _WEB:
        return url.endswith("/")
    below = url.rstrip("/") + "/"
    return _tried(
        lambda: any(True for _ in _store_of(url).list(below, True)), url, _LOOK_PAUSES
    )


def is_object(url: str) -> bool:
    """Whether there is such an object."""
    if url.endswith("/"):
        return False
    try:
        _look(url)
    except FileError as failure:
        if isinstance(failure.__cause__, FileNotFoundError):
            return False
        raise
    return True


def listed(pattern: str) -> list[str]:
    """The addresses that a pattern stands for, sorted; ** stands for any folders.

    A folder, which ends with a slash, stands for the names in it, as `names_in()` gives them.

    Raises:
        FileError: The store cannot be read.
        UnsupportedError: It cannot be listed.
    """
    if pattern.endswith("/"):
        return names_in(pattern)
    if urlsplit(pattern).scheme in _WEB:
        raise UnsupportedError(
            "a web server lists no files, so that an address of one can be no pattern; give each "
            "address", file=pattern,
        )
    magic = _MAGIC.search(pattern)
    folder = pattern[: pattern.rindex("/", 0, magic.start() if magic else None) + 1]
    patterns = pattern[len(folder) :].split("/")

    def is_wanted(url: str) -> bool:
        return _matches(url[len(folder) :].split("/"), patterns)

    if len(patterns) == 1 and patterns != ["**"]:
        return [url for url in names_in(folder) if not url.endswith("/") and is_wanted(url)]
    return _noted(pattern, lambda: {
        url: facts for url, facts in _store_of(pattern).list(folder, True) if is_wanted(url)
    })  # fmt: skip


def _noted(url: str, find: Callable[[], dict[str, Facts | None]]) -> list[str]:
    """The addresses of a list, sorted, whose facts are known from now on."""
    found = _tried(find, url, _LOOK_PAUSES)
    _note_all(found)
    return sorted(found)


def names_in(folder: str) -> list[str]:
    """The addresses in a folder, which ends with a slash, as do those of the folders in it; sorted.

    Raises:
        FileError: The store cannot be read.
        UnsupportedError: It cannot be listed.
    """
    if urlsplit(folder).scheme in _WEB:
        raise UnsupportedError(
            "a web server lists no files, so that what is in a folder of one is not known; give "
            "the address of each file", file=folder,
        )
    with _lock:
        since, names = _lists.get(folder, (0.0, []))
    if since and time.monotonic() - since < _SEEN_SECONDS:
        return names
    names = _noted(folder, lambda: dict(_store_of(folder).list(folder, False)))
    with _lock:
        _lists[folder] = (time.monotonic(), names)
    return names


def fetch(url: str, tag: str, offset: int, size: int, attempts: Attempts | None = None) -> Any:
    """A range of an object in a version, as a buffer of `size` bytes.

    Raises:
        RetryLater: A further attempt is due later, where the earlier ones are given; else this
            thread waits, and makes it.
        FileError: It cannot be read, also after several attempts; or it is another version now.
    """

    def get() -> Any:
        data = _store_of(url).get(url, tag, offset, size)
        if len(data) != size:
            raise EOFError(f"{len(data)} bytes came, and {size} were asked for")
        return data

    # The facts stay known: another thread may still read an earlier batch, of the same version.
    if attempts is not None:
        return _try(get, url, _FETCH_PAUSES, attempts)
    return _tried(get, url, _FETCH_PAUSES)


# ---- Writing ------------------------------------------------------------------------------------


def check_takes(url: str) -> None:
    """Refuses an address of a store that takes no files.

    Raises:
        UnsupportedError: It is one of a web server, or its store cannot be opened.
    """
    if urlsplit(url).scheme in _WEB:
        raise UnsupportedError(
            "a web server takes no files; write to the store itself, as s3://, or to a local disk",
            file=url.partition("?")[0],
        )
    _store_of(url)


def _forget(url: str) -> None:
    with _lock:
        _seen.pop(url, None)
        _lists.clear()


def put(path: str | os.PathLike[str], url: str) -> None:
    """Makes an object of a local file, in parts where it is large; nobody sees a part of it.

    Raises:
        FileError: It cannot be written, also after several attempts.
    """
    _forget(url)
    _tried(lambda: _store_of(url).put(os.fspath(path), url), url, _LOOK_PAUSES)


def remove_objects(urls: list[str]) -> None:
    """Removes objects, as far as that is possible."""
    for url in urls:
        _forget(url)
        with contextlib.suppress(Error):
            _tried(partial(_remove, url), url, _LOOK_PAUSES[:1])


def _remove(url: str) -> None:
    _store_of(url).remove(url)
