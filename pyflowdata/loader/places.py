"""Where the records of an open loader lie."""

from __future__ import annotations

import os

from ..native import CData, check, ffi, lib, new_error


class Places:
    """Files and records of an open loader."""

    def __init__(self, handle: CData) -> None:
        self._handle = handle

    def files(self, reader: int = 0) -> list[str]:
        """The paths of a reader's files, as its blob "id" numbers them; of a view, all its
        readers'."""
        paths: list[str] = []
        while (path := lib.pfd_loader_file(self._handle, reader, len(paths))) != ffi.NULL:
            paths.append(os.fsdecode(ffi.string(path)))
        return paths

    def first_records(self, count: int, reader: int = 0) -> list[int]:
        """The number, as in "id", of the first record of each of `count` files, in the order of
        which the records are."""
        found, err = ffi.new("int64_t *"), new_error()
        firsts = []
        for index in range(count):
            check(lib.pfd_loader_first_record(self._handle, reader, index, found, err), err)
            firsts.append(int(found[0]))
        return firsts

    def file_of_record(self, file: int, ordinal: int, reader: int = 0) -> str:
        """The path of the file that has the record with an "id", of a folder one in it."""
        place = new_error()
        check(lib.pfd_loader_locate(self._handle, reader, file, ordinal, place), place)
        return os.fsdecode(ffi.string(place.file))
