"""The C library as Python calls it: declarations, loading, errors, and calls back into Python.

cffi has no types: `ffi`, `lib` and objects made from them are `Any`, and stay inside the package.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from . import starting as starting  # first: what ends a command while the rest is imported
from ..errors import (
    CancelledError,
    CorruptDataError,
    Error,
    FileError,
    InternalError,
    InvalidArgumentError,
    OutOfMemoryError,
    Reason,
    UnsupportedError,
    UserFunctionError,
    shown,
)
from .calls import (
    end_pause, is_interrupt, kept, look_for_signals, raised, take_interrupt,
)  # fmt: skip

# ---- A shared library, and the declarations of what is in it ------------------------------------

# `make` writes the declarations, in `declared.py`, from the headers.  In a checkout the library and
# the declarations can be older than the sources, for example after a switch of the branch: errors
# then say so.

PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_ROOT = os.path.dirname(PACKAGE)  # of a checkout
BUILD_HINT = "run `make` in the checkout, or `pip install .` for an installed package"
_HEADERS = ("op.h", "pyflowdata.h")


def include_dir() -> str:
    """The folder to give to a C compiler as -I for `#include "pyflowdata/op.h"`."""
    candidates = [os.path.join(PACKAGE, "include"), os.path.join(_ROOT, "csrc", "include")]
    places = [os.path.join(folder, "pyflowdata") for folder in candidates]
    for folder, place in zip(candidates, places, strict=True):
        if all(os.path.isfile(os.path.join(place, name)) for name in _HEADERS):
            return folder
    raise ImportError(
        f"the headers {' and '.join(_HEADERS)} are in neither of "
        f"{', '.join(places)}; "
        "the package is incomplete, install it again"
    )


def declarations(module: str) -> Any:
    """The FFI of a `declared.py`, by the name of the module.

    Raises:
        ImportError: The module was not made, or was made from other sources than those of this
            checkout.
    """
    try:
        made = importlib.import_module(module)
        checksums = made.SOURCES
    except (ModuleNotFoundError, AttributeError):
        raise ImportError(f"{module} was not made of this version; {BUILD_HINT}") from None
    _check_sources(checksums)
    return made.ffi


def has_lock() -> bool:
    """Whether one thread at a time runs Python code; without the lock, all of them do."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def _check_cffi() -> None:
    """Refuses an interpreter without its lock where cffi needs the lock: it would crash."""
    version = importlib.import_module("_cffi_backend").__version__
    if not has_lock() and int(version.partition(".")[0]) < 2:
        raise ImportError(
            f"cffi {version} cannot work without the interpreter's lock: start Python without "
            "PYTHON_GIL=0 and -X gil=0, or take Python 3.14 or newer with cffi 2"
        )


def _check_sources(checksums: Mapping[str, int]) -> None:
    if not os.path.isdir(os.path.join(_ROOT, "csrc")):
        return  # an installed package
    for name, checksum in checksums.items():
        path = os.path.join(_ROOT, name)
        if not os.path.isfile(path) or _checksum(path) != checksum:
            raise ImportError(f"{path} is not what the library was made of; {BUILD_HINT}")


def _checksum(path: str) -> int:
    with open(path, "rb") as file:
        return zlib.crc32(file.read())


@functools.cache  # a look at all sources takes milliseconds
def newer_source_hint(library: str) -> str:
    """The end of the message that the library lacks a name: "", unless a source is newer than the
    library.
    """
    made = os.stat(library).st_mtime
    sources = (
        os.path.join(folder, name)
        for folder, _, names in os.walk(os.path.join(_ROOT, "csrc"))
        for name in names
        if name.endswith((".c", ".h"))
    )
    for path in sorted(sources):
        if os.stat(path).st_mtime > made:
            return f"; {path} is newer than the library: {BUILD_HINT}"
    return ""


class Interface:
    """The declarations of a library, and the check that a library was made from the same ones."""

    def __init__(self, ffi: Any, *, abi_function: str, structs: Sequence[str]) -> None:
        """
        Args:
            ffi: The FFI of a `declared.py`.
            abi_function: The function of the library that returns a hash of the structs' sizes, or
                0 if the library uses another library of a different build.
            structs: The structs in that hash, in the order of the hash.
        """
        self._ffi, self._abi_function, self._structs = ffi, abi_function, structs
        self._kinds: dict[str, tuple[Any, tuple[int]]] = {}  # what ffi.new() takes, by names

    def expected_abi_version(self) -> int:
        """The expected hash: that of a library made from the headers of the declarations."""
        value = 1
        for struct in self._structs:
            value = (value * 31 + self._ffi.sizeof(struct)) % 2**32
        return value

    def new_struct(self, name: str) -> Any:
        """A zeroed struct that starts with struct_size, which is set."""
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = self._ffi.typeof(f"{name} *"), (self._ffi.sizeof(name),)
        return self._ffi.new(*kind)

    def load(self, path: str) -> Any:
        """The library at `path`.

        Raises:
            ImportError: The library cannot be loaded, or was made from other headers.
        """
        try:
            # NODELETE: arrays may release memory after the interpreter has dropped this module.
            library = self._ffi.dlopen(path, self._ffi.RTLD_NOW | self._ffi.RTLD_NODELETE)
        except OSError as failure:
            raise ImportError(f"{path} cannot be loaded: {failure}; {BUILD_HINT}") from None
        try:
            found = getattr(library, self._abi_function)()
        except (AttributeError, self._ffi.error):
            raise ImportError(f"{path} is not a pyflowdata library; {BUILD_HINT}") from None
        expected = self.expected_abi_version()
        if found == 0:
            raise ImportError(
                f"{path} and the libpyflowdata.so that it runs on are of different builds; "
                f"{BUILD_HINT}"
            )
        if found != expected:
            raise ImportError(
                f"{path} has ABI {found:#010x}, the package's declarations have {expected:#010x}: "
                f"they are of different builds; {BUILD_HINT}"
            )
        return library


# ---- The library of this package ----------------------------------------------------------------

CData = Any  # an object of cffi

_LIBRARY_VARIABLE = "PYFLOWDATA_LIBRARY"  # path of a library to load instead of the package's own

ffi: Any = declarations("pyflowdata.native.declared")
_check_cffi()
_interface = Interface(
    ffi,
    abi_function="pfd_abi_version",
    structs=(
        "pfd_error pfd_row_type pfd_attr pfd_port pfd_op pfd_format pfd_attr_value pfd_blob "
        "pfd_loader_options pfd_loader_info pfd_reader_info pfd_batch pfd_ragged_batch pfd_stats "
        "pfd_work_stats pfd_thread_now pfd_history pfd_trace_event pfd_trace_info"
    ).split(),
)


def library_path() -> str:
    """The shared library of this package, or the one that PYFLOWDATA_LIBRARY names."""
    chosen = os.environ.get(_LIBRARY_VARIABLE)
    path = chosen or os.path.join(PACKAGE, "libpyflowdata.so")
    if not os.path.isfile(path):
        hint = f"{_LIBRARY_VARIABLE} names it" if chosen else BUILD_HINT
        raise ImportError(f"the library {path} does not exist; {hint}")
    return os.path.realpath(path)


def expected_abi_version() -> int:
    """The expected result of `pfd_abi_version()`: that of a library made from the headers of
    `declared.py`.
    """
    return _interface.expected_abi_version()


lib: Any = _interface.load(library_path())

EXCEPTIONS: dict[int, type[Error]] = {  # by status
    lib.PFD_INVALID_ARGUMENT: InvalidArgumentError,
    lib.PFD_CORRUPT_DATA: CorruptDataError,
    lib.PFD_IO: FileError,
    lib.PFD_UNSUPPORTED: UnsupportedError,
    lib.PFD_OUT_OF_MEMORY: OutOfMemoryError,
    lib.PFD_CANCELLED: CancelledError,
    lib.PFD_INTERNAL: InternalError,
    lib.PFD_USER_FUNCTION: UserFunctionError,
}

_REASONS: dict[int, Reason] = {
    lib.PFD_REASON_NO_RECORDS: "no-records",
    lib.PFD_REASON_REST_UNREADABLE: "rest-unreadable",
    lib.PFD_REASON_WORLD_SIZE: "world-size",
    lib.PFD_REASON_TRANSIENT: "transient",
    lib.PFD_REASON_ENVIRONMENT: "environment",
}


def text(pointer: CData) -> str:
    """The string at a `char *` or in a `char[]`, for messages; empty for NULL."""
    return _bytes_at(pointer).decode("utf-8", "replace")


def risk_of(about: os.stat_result) -> str:
    """The reason why another user could change a file, or the files in a folder; "": nobody else
    can.
    """
    return text(lib.pfd_stat_risk(about.st_uid, about.st_gid, about.st_mode))


def address_of(pointer: CData) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def xxh64(data: Any) -> int:
    """XXH64 of the bytes of a contiguous buffer, with seed 0."""
    with ffi.from_buffer("uint8_t[]", data) as held:
        return int(lib.pfd_xxh64(held, len(held)))


def text_value(pointer: CData) -> str:
    """The string as a value: `encode()` makes the same bytes again, also of names of files."""
    return _bytes_at(pointer).decode("utf-8", "surrogateescape")


def _bytes_at(pointer: CData) -> bytes:
    found: bytes = b"" if pointer == ffi.NULL else ffi.string(pointer)
    return found


def encode(value: str, what: str) -> bytes:
    """UTF-8 as C takes it.  Bytes of file names that are not UTF-8 stay as they are."""
    if "\0" in value:
        raise InvalidArgumentError(f"{what} = {shown(value)}; it must not contain a NUL character")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"{what} = {shown(value)}; it is not valid Unicode text"
        ) from None


def new_struct(name: str) -> CData:
    """A zeroed struct that starts with struct_size, which is set."""
    return _interface.new_struct(name)


def new_error() -> CData:
    """A `pfd_error *` for a call to write into."""
    err = new_struct("pfd_error")
    err.row = err.byte = err.line = err.ordinal = err.records = -1
    return err


def exception(status: int, err: CData) -> Error:
    """The exception for a failed call; its `__cause__` is the exception of a Python function that C
    called.
    """
    cls = EXCEPTIONS.get(status, InternalError)
    failure = cls(
        text(err.message) or f"the call failed with status {status} and no message",
        op=text(err.op) or None,
        file=os.fsdecode(ffi.string(err.file)) or None,
        line=err.line if err.line > 0 else None,
        byte=err.byte if err.byte >= 0 else None,
        ordinal=err.ordinal if err.ordinal >= 0 else None,
        reason=_REASONS.get(err.reason),
        records=err.records if err.records >= 0 else None,
        attr=text(err.attr) or None,
    )
    cause = kept(err.cause)
    if cause is not None:
        failure.__cause__ = cause
    return failure


# For waits of C in the main thread, which ask it now and then.
IS_INTERRUPTED = ffi.callback("int32_t(void *)", look_for_signals, onerror=end_pause, error=1)


def check(status: int, err: CData) -> None:
    """Raises if `status` is a failure."""
    if status < 0:
        failure = exception(status, err)
        take_interrupt()
        if failure.__cause__ is not None and is_interrupt(failure.__cause__):
            raise failure.__cause__
        raise raised(failure)


def file_path(loader: CData, reader: int, file: int) -> str | None:
    """The path of a file, by the number of the reader of a `pfd_loader *` and the number of the
    file; None: there is no such file.

    Raises:
        CancelledError: The loader is closed, or another thread closes it.
        UnsupportedError: It was opened before a fork.
    """
    room, size, err = 4096, ffi.new("int64_t *"), new_error()
    while True:
        path = ffi.new("char[]", room)
        status = lib.pfd_loader_file(loader, reader, file, path, room, size, err)
        check(status, err)
        if status == lib.PFD_END:
            return None
        if size[0] <= room:
            return os.fsdecode(ffi.string(path))
        room = size[0]


def _check_registry() -> None:
    err = new_error()
    status = lib.pfd_registry_check(err)
    if status < 0:
        raise ImportError(f"{library_path()}: {exception(status, err)}")


_check_registry()


def _install_thread_states() -> None:
    """Gives the library the functions of CPython by which its threads free their thread states when
    they end; a free-threaded interpreter crashes otherwise.
    """
    import ctypes  # CPython's own functions: cffi has no names of them

    names = "GetThisThreadState", "Ensure", "Release"
    found, ensure, release = (getattr(ctypes.pythonapi, f"PyGILState_{one}") for one in names)
    lib.pfd_thread_states(*(
        ffi.cast(kind, ctypes.cast(one, ctypes.c_void_p).value)
        for kind, one in (
            ("void *(*)(void)", found), ("int32_t (*)(void)", ctypes.pythonapi.Py_IsFinalizing),
            ("int32_t (*)(void)", ensure), ("void (*)(int32_t)", release),
        )
    ))  # fmt: skip


if "t" in sys.abiflags:  # an interpreter that can run without its lock
    _install_thread_states()


def build_parts() -> list[tuple[str, str | None]]:
    """The parts that the library was built with, each with its version; None: not in this build."""
    parts: list[tuple[str, str | None]] = []
    stated = ffi.new("char const **")
    while name := text(lib.pfd_build_part(len(parts), stated)):
        parts.append((name, text(stated[0]) or None))
    return parts


def build_hint() -> str:
    """The end of the message that the library lacks an op or attr: "", unless the library is older
    than a source of this checkout.
    """
    return newer_source_hint(library_path())


def version() -> str:
    """The version of the loaded library, which is that of the package."""
    return text(lib.pfd_version())
