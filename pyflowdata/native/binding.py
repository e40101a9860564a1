"""The C library: its declarations, how it is found and loaded, and its errors as exceptions.

The declarations are read from the C headers themselves, so nothing is written twice.  cffi has no
types: `ffi`, `lib` and everything made from them are `Any`, and stay inside the package.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import cffi

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
    shown,
)
from .calls import is_interrupt, kept, raised

CData = Any  # an object of cffi

LIBRARY_VARIABLE = "PYFLOWDATA_LIBRARY"  # path of a library to load instead of the package's own
_HEADERS = ("op.h", "pyflowdata.h")
_PACKAGE = Path(__file__).resolve().parent.parent
_ABI_STRUCTS = (
    "pfd_error pfd_row_type pfd_attr pfd_port pfd_op pfd_format pfd_attr_value pfd_blob "
    "pfd_loader_options pfd_loader_info pfd_reader_info pfd_batch pfd_ragged_batch pfd_stats "
    "pfd_kit_options pfd_kit_result"
).split()
# What ffi.new() is called with, besides pointers to these structs.
_TYPES = (
    "const pfd_op **, const pfd_format **, const pfd_plugin **, pfd_node **, pfd_loader **, "
    "pfd_blob[], pfd_attr_value[], char[], char *[], double[], int64_t[], int64_t *"
).split(", ")
_BUILD_HINT = "run `make` in the checkout, or `pip install .` for an installed package"


def include_dir() -> str:
    """The folder to give to a C compiler as -I for `#include "pyflowdata/op.h"`."""
    candidates = [_PACKAGE / "include", _PACKAGE.parent / "csrc" / "include"]
    for folder in candidates:
        if all((folder / "pyflowdata" / name).is_file() for name in _HEADERS):
            return str(folder)
    raise ImportError(
        f"the headers {' and '.join(_HEADERS)} are in neither of "
        f"{', '.join(str(folder / 'pyflowdata') for folder in candidates)}; "
        "the package is incomplete, install it again"
    )


def _declarations() -> str:
    folder = Path(include_dir()) / "pyflowdata"
    blocks = []
    for name in _HEADERS:
        text = (folder / name).read_text(encoding="utf-8")
        found = re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.DOTALL)
        if found is None:
            raise ImportError(f"{folder / name} has no cdef-begin and cdef-end marks")
        blocks.append(found[1])
    return "\n".join(blocks)


def library_path() -> Path:
    """The shared library of this package, or the one that PYFLOWDATA_LIBRARY names."""
    chosen = os.environ.get(LIBRARY_VARIABLE)
    path = Path(chosen) if chosen else _PACKAGE / "libpyflowdata.so"
    if not path.is_file():
        hint = f"{LIBRARY_VARIABLE} names it" if chosen else _BUILD_HINT
        raise ImportError(f"the library {path} does not exist; {hint}")
    return path.resolve()


def expected_abi_version() -> int:
    """What `pfd_abi_version()` returns for a library made from the headers that were read."""
    value = 1
    for struct in _ABI_STRUCTS:
        value = (value * 31 + ffi.sizeof(struct)) % 2**32
    return value


def _load() -> CData:
    path = library_path()
    try:
        # NODELETE: arrays may give their memory back after the interpreter dropped this module.
        library = ffi.dlopen(str(path), ffi.RTLD_NOW | ffi.RTLD_NODELETE)
    except OSError as failure:
        raise ImportError(f"{path} cannot be loaded: {failure}; {_BUILD_HINT}") from None
    try:
        found = library.pfd_abi_version()
    except AttributeError:
        raise ImportError(f"{path} is no pyflowdata library; {_BUILD_HINT}") from None
    expected = expected_abi_version()
    if found != expected:
        raise ImportError(
            f"{path} has ABI {found:#010x}, the headers in {include_dir()} have {expected:#010x}: "
            f"they are of different builds; {_BUILD_HINT}"
        )
    return library


def _resolve(library: CData) -> None:
    """Looks up all that is used later.  cffi does so under a lock which a thread that holds it
    cannot take again: a signal handler that closes a loader would wait for ever."""
    for name in dir(library):
        getattr(library, name)
    for struct in _ABI_STRUCTS:
        ffi.typeof(struct)
        ffi.typeof(f"{struct} *")
    for name in _TYPES:
        ffi.typeof(name)


ffi: Any = cffi.FFI()
ffi.cdef(_declarations())
lib: Any = _load()
_resolve(lib)

EXCEPTIONS: dict[int, type[Error]] = {  # by status
    lib.PFD_INVALID_ARGUMENT: InvalidArgumentError,
    lib.PFD_CORRUPT_DATA: CorruptDataError,
    lib.PFD_IO: FileError,
    lib.PFD_UNSUPPORTED: UnsupportedError,
    lib.PFD_OUT_OF_MEMORY: OutOfMemoryError,
    lib.PFD_CANCELLED: CancelledError,
    lib.PFD_INTERNAL: InternalError,
}

_REASONS: dict[int, Reason] = {
    lib.PFD_REASON_NO_RECORDS: "no-records",
    lib.PFD_REASON_REST_UNREADABLE: "rest-unreadable",
    lib.PFD_REASON_WORLD_SIZE: "world-size",
}


def text(pointer: CData) -> str:
    """The string at a `char *` or in a `char[]`; empty for NULL."""
    if pointer == ffi.NULL:
        return ""
    found: bytes = ffi.string(pointer)
    return found.decode("utf-8", "replace")


def encode(value: str, what: str) -> bytes:
    """UTF-8 as C takes it.  Bytes of file names that are no UTF-8 go through as they are."""
    if "\0" in value:
        raise InvalidArgumentError(f"{what} = {shown(value)}; it must not contain a NUL character")
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"{what} = {shown(value)}; it is no valid Unicode text"
        ) from None


def new_struct(name: str) -> CData:
    """A zeroed struct that starts with struct_size, with that set."""
    struct = ffi.new(f"{name} *")
    struct.struct_size = ffi.sizeof(name)
    return struct


def new_error() -> CData:
    """A `pfd_error *` for a call to write into."""
    err = new_struct("pfd_error")
    err.row = err.byte = err.line = err.ordinal = err.records = -1
    return err


def exception(status: int, err: CData) -> Error:
    """The exception for a failed call's status and error; its cause, where Python failed in C."""
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


def check(status: int, err: CData) -> None:
    """Raises if `status` is a failure."""
    if status < 0:
        failure = exception(status, err)
        if failure.__cause__ is not None and is_interrupt(failure.__cause__):
            raise failure.__cause__
        raise raised(failure)


def _check_registry() -> None:
    err = new_error()
    status = lib.pfd_registry_check(err)
    if status < 0:
        raise ImportError(f"{library_path()}: {exception(status, err)}")


_check_registry()


def version() -> str:
    """The version of the loaded library, which is that of the package."""
    return text(lib.pfd_version())
