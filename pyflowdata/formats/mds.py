"""MDS datasets: comparison of shards with what index.json says of them."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..errors import FileError, InvalidArgumentError, shown
from ..native import ffi, lib
from .base.damage import Damage, Scan
from .base.detection import head_of
from .base.format import Format
from .base.source import Source

_PIECE = 1 << 20
_WORD = 4  # bytes of the number of samples, and of each of the offsets, one more than samples
_COLUMN_FACTS = ("column_names", "column_encodings", "column_sizes")


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _crc32(path: str) -> str:
    value = 0
    for piece in _pieces(path):
        value = zlib.crc32(piece, value)
    return f"{value:08x}"


def _xxh64(path: str) -> str:
    size = os.stat(path).st_size
    if size == 0:
        return f"{lib.pfd_xxh64(ffi.NULL, 0):016x}"
    with (
        open(path, "rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
        ffi.from_buffer("uint8_t[]", data) as bytes_,
    ):
        return f"{lib.pfd_xxh64(bytes_, len(data)):016x}"


def _digest(kind: str) -> Callable[[str], str] | None:
    """A function that computes a kind of hash, in hexadecimal; None: the kind is not supported."""
    if kind in ("xxh64", "crc32"):
        return _xxh64 if kind == "xxh64" else _crc32
    try:
        if hashlib.new(kind).digest_size == 0:  # a kind that gives any number of bytes
            return None
    except (ValueError, TypeError):
        return None

    def compute(path: str) -> str:
        state = hashlib.new(kind)
        for piece in _pieces(path):
            state.update(piece)
        return state.hexdigest()

    return compute


def _shards_of(index: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(Path(index).read_bytes())
    except ValueError as failure:
        raise InvalidArgumentError(f"it is not JSON: {failure}", file=index) from None
    shards = found.get("shards") if isinstance(found, dict) else None
    return [one for one in shards if isinstance(one, dict)] if isinstance(shards, list) else []


def _file_of(index: str, shard: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The file of a shard that readers take, and its hashes: the decompressed file if it exists."""
    for part in ("raw_data", "zip_data"):
        about = shard.get(part)
        if isinstance(about, dict) and isinstance(name := about.get("basename"), str):
            path = os.path.join(os.path.dirname(index), name)
            if os.path.isfile(path):
                hashes = about.get("hashes")
                return path, hashes if isinstance(hashes, dict) else {}
    return "", {}


def _check_hashes(index: str, scan: Scan) -> Iterator[Damage]:
    """The shards of an index.json whose hashes differ from the index.

    Each file is compared with the hashes of its own entry: a compressed shard with those of
    ``zip_data``, a plain one with those of ``raw_data``.  The scan gets a note of each kind of hash
    that cannot be computed.

    Raises:
        FileError: A shard cannot be read.
    """
    unknown: dict[str, int] = {}
    known = 0
    for shard in _shards_of(index):
        path, hashes = _file_of(index, shard)
        for kind, said in sorted(hashes.items()):
            digest = _digest(kind)
            if digest is None:
                unknown[kind] = unknown.get(kind, 0) + 1
                continue
            known += 1
            try:
                value = digest(path)
            except OSError as failure:
                raise FileError(failure.strerror or str(failure), file=path) from None
            if value != str(said).lower():
                yield Damage(path, None, None, f"its {kind} is {value}, and {index} says {said}")
    scan.is_unchecked = bool(unknown) and not known
    scan.notes += [
        f"{kind} of {count} shards not checked: it cannot be computed here"
        for kind, count in sorted(unknown.items())
    ]


def _header_of(path: str) -> dict[str, Any] | None:
    """The JSON of a shard, before its samples; None: the first bytes do not hold it."""
    head = head_of(path)
    data = head.data
    if head.compression is None:
        with open(path, "rb") as file:
            count = int.from_bytes(file.read(_WORD), "little")
            file.seek(_WORD * (count + 2))
            offset = int.from_bytes(data[_WORD : 2 * _WORD], "little")
            text = file.read(max(offset - _WORD * (count + 2), 0))
    else:
        count, offset = (int.from_bytes(data[at : at + _WORD], "little") for at in (0, _WORD))
        text = data[_WORD * (count + 2) : offset]
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _check_headers(index: str, scan: Scan) -> Iterator[Damage]:
    """The shards whose headers have other columns than the index.

    Raises:
        FileError: A shard cannot be read.
    """
    unseen = 0
    for shard in _shards_of(index):
        path, _ = _file_of(index, shard)
        if not path:
            continue
        try:
            header = _header_of(path)
        except OSError as failure:
            raise FileError(failure.strerror or str(failure), file=path) from None
        if header is None:
            unseen += 1
            continue
        for name in _COLUMN_FACTS:
            if header.get(name) != shard.get(name):
                yield Damage(
                    path, None, None, f"its {name} are {shown(header.get(name))}, and {index} says "
                    f"{shown(shard.get(name))}"
                )  # fmt: skip
    if unseen:
        scan.notes.append(f"the columns of {unseen} shards were not compared with the index")


class MDS(Format):
    """Shards are compared with an index.json that is given as the file: columns and hashes."""

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        found = super().damage(source, scan)
        (path,) = source.files
        if not path.endswith(".json"):
            return found
        return [*found, *_check_headers(path, scan), *_check_hashes(path, scan)]


FORMAT = MDS
