"""The C library as Python calls it: declarations, loading, errors, and calls back into Python."""

from . import interrupt  # first: it handles Ctrl-C while the rest is imported
from .binding import (
    EXCEPTIONS,
    CData,
    build_hint,
    build_parts,
    check,
    encode,
    exception,
    expected_abi_version,
    ffi,
    lib,
    library_path,
    new_error,
    new_struct,
    text,
    text_value,
    version,
)
from .shared_library import include_dir

__all__ = [
    "EXCEPTIONS",
    "CData",
    "build_hint",
    "build_parts",
    "check",
    "encode",
    "exception",
    "expected_abi_version",
    "ffi",
    "include_dir",
    "interrupt",
    "lib",
    "library_path",
    "new_error",
    "new_struct",
    "text",
    "text_value",
    "version",
]
