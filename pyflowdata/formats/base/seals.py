"""Seals: the files NAME.pfdseal, which have checksums of all bytes of a file or folder NAME.

The C library makes and compares seals (csrc/files/seal.h); this module writes and finds them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ...errors import UnsupportedError
from ...native import check, encode, ffi, lib, new_error, text
from ...remote import is_remote
from .damage import Damage
from .output import OutputFile, put_in_place

SUFFIX: str = text(lib.pfd_seal_suffix())


class Seal(NamedTuple):
    """The content of the seal of a file or folder.

    Attributes:
        path: The file or folder.
        records: The number of its records; None: it was not counted.
        files: How many files a folder has; 1 for a file.
        bytes: The stored bytes of all of them.
        root: A digest of all that is in the seal, 32 hexadecimal digits: equal roots, equal data.
    """

    path: str
    records: int | None
    files: int
    bytes: int
    root: str


def seal_path(path: str | os.PathLike[str]) -> Path:
    """The path of the seal of a file or folder."""
    plain = os.fspath(path)
    return Path((plain.rstrip(os.sep) or plain) + SUFFIX)


def _facts(path: str, handle: Any) -> Seal:
    facts = ffi.new("pfd_seal_facts *")
    lib.pfd_seal_facts_of(handle, facts)
    records = int(facts.records)
    root = ffi.buffer(facts.root)[:].hex()
    return Seal(path, None if records < 0 else records, int(facts.files), int(facts.bytes), root)


def _members(folder: str) -> list[bytes]:
    """The files below a folder, sorted by the bytes of their names; empty for a file."""
    start = os.fsencode(folder)
    found = []
    for place, _, names in os.walk(start):
        found += [os.path.relpath(os.path.join(place, name), start) for name in names]
    return sorted(found)


def write_seal(path: str | os.PathLike[str], records: int | None = None) -> Seal:
    """Makes the seal of a file, or of all files below a folder, in place of a former one.

    Args:
        path: The file or folder; all its bytes are read.
        records: The number of its records, if it is known.

    Raises:
        FileError: A file cannot be read, a folder has no files, or the seal cannot be written.
    """
    where = os.fspath(path)
    if is_remote(where):
        raise UnsupportedError(
            "remote files are sealed where they are written: with seal=True of a writer, or "
            "`pyflowdata convert --seal`", file=where,
        )
    members = _members(where) if os.path.isdir(where) else []
    names = [ffi.new("char[]", name) for name in members]
    out, err = ffi.new("pfd_seal **"), new_error()
    count = -1 if records is None else records
    listed = ffi.new("const char *[]", names)
    check(lib.pfd_seal_make(encode(where, "path"), listed, len(names), count, out, err), err)
    handle = ffi.gc(out[0], lib.pfd_seal_release)
    size = ffi.new("int64_t *")
    image = lib.pfd_seal_image(handle, size)
    file = OutputFile(seal_path(where))
    try:
        file.write(ffi.buffer(image, size[0]))
        file.complete()
        put_in_place(file.path, file.target)
    except BaseException:
        file.discard()
        raise
    return _facts(where, handle)


def remove_seal(path: str | os.PathLike[str]) -> None:
    """Removes the seal of data that will be replaced, if there is one."""
    seal = seal_path(path)
    if os.path.lexists(seal):  # false for a name that is too long, which unlink() would refuse
        seal.unlink(missing_ok=True)


def _open(path: str) -> Any:
    out, err = ffi.new("pfd_seal **"), new_error()
    check(lib.pfd_seal_open(encode(path, "path"), out, err), err)
    return ffi.gc(out[0], lib.pfd_seal_release)


def read_seal(path: str | os.PathLike[str]) -> Seal | None:
    """The content of the seal of a file or folder; None: there is no seal.

    Raises:
        CorruptDataError: The seal itself is damaged.
    """
    where = os.fspath(path)
    return _facts(where, _open(where)) if os.path.lexists(seal_path(where)) else None


def _differences(handle: Any, path: str, place: int, name: bytes) -> Iterator[Damage]:
    where = os.path.join(path, os.fsdecode(name)) if name else path
    begin, end, err = ffi.new("int64_t *"), ffi.new("int64_t *"), new_error()
    if not os.path.exists(where):
        yield Damage(where, None, None, "the file is missing, and the seal has it")
        return
    at = 0
    while True:
        status = lib.pfd_seal_find_damage(handle, encode(path, "path"), place, at, begin, end, err)
        if status == lib.PFD_END:
            return
        check(status, err)
        at = int(end[0])
        said = f"bytes {begin[0]} to {at - 1} differ from the seal {seal_path(path)}"
        yield Damage(where, None, int(begin[0]), said)


def seal_damage(path: str | os.PathLike[str]) -> list[Damage]:
    """All places where a file, or the files of a folder, differ from the seal.

    Raises:
        FileError: There is no seal, or a file cannot be read.
        CorruptDataError: The seal itself is damaged.
    """
    where = os.fspath(path)
    handle = _open(where)
    found: list[Damage] = []
    sealed: list[bytes] = []
    while name := lib.pfd_seal_file_name(handle, len(sealed)):
        sealed.append(ffi.string(name))
        found += _differences(handle, where, len(sealed) - 1, sealed[-1])
    if sealed != [b""]:
        others = set(_members(where)) - set(sealed)
        found += [
            Damage(os.path.join(where, os.fsdecode(one)), None, None, "the seal has no such file")
            for one in sorted(others)
        ]
    return found
