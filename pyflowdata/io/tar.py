"""Tar files of samples, as WebDataset has them."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, shown
from .columns import as_bytes, check_name, columns, is_bytes_like
from .lossless import refuse_masked
from .writer import Shard, Sizes, Writer

_BLOCK = 512
_END = 10240  # a tar file is a multiple of this, with two blocks of zeros at its end
_KEY = "__key__"


class TarWriter(Writer):
    """Writes tar files of samples: a file KEY.EXTENSION for each field of a sample.

    A sample is a dict of extensions and contents, with its key under `__key__`: without one it is
    the number of the sample in nine digits.  Bytes, text and arrays of uint8 are stored as they
    are, numbers as text under `cls`, `id`, `index` and `txt`, anything that JSON has under `json`,
    and arrays as NumPy's files under `npy`.  Shards are named alike whatever the keys are.
    """

    compressions = ("gzip", "zlib", "zstd")

    def write(self, sample: Any) -> None:
        """Writes one sample.

        Raises:
            InvalidArgumentError: Its key or an extension would be read as another, or a content is
                of a type that its extension has not.
            FileError: It cannot be written.
        """
        with self._naming():
            if not isinstance(sample, Mapping):
                raise InvalidArgumentError(f"a sample is a dict of fields; this is {shown(sample)}")
            data = self._members(sample, self.records)
        self._emit(data, np.array([len(data)], np.int64))

    def write_batch(self, batch: Any) -> None:
        """Writes a sample for each row of the columns; as `write`."""
        with self._naming():
            found, count = columns(batch)
            samples = []
            for row in range(count):
                sample = {name: one[row] for name, one in found.items()}
                try:
                    samples.append(self._members(sample, self.records + row))
                except InvalidArgumentError as failure:
                    raise InvalidArgumentError(failure.message, ordinal=row) from None
        sizes: Sizes = np.fromiter(map(len, samples), np.int64, len(samples))
        self._emit(b"".join(samples), sizes)

    def _finish(self, shard: Shard) -> None:
        size = shard.main.size + 2 * _BLOCK
        shard.main.write(bytes(2 * _BLOCK + -size % _END))

    def _members(self, sample: Mapping[str, Any], number: int) -> bytes:
        key = _key(sample[_KEY]) if _KEY in sample else f"{number:09d}"
        pieces: list[bytes] = []
        for extension, value in sample.items():
            check_name(extension)
            if extension.startswith("__"):
                continue
            if not extension or set("/\0") & set(extension) or extension != extension.lower():
                raise InvalidArgumentError(
                    f"the extension {shown(extension)} would be read as another: it must be lower "
                    "case, without a slash or NUL"
                )
            pieces += _member(f"{key}.{extension}", _content(extension, value))
        if not pieces:
            raise InvalidArgumentError(f"the sample {shown(key)} has no fields, and would be lost")
        return b"".join(pieces)


def _key(given: Any) -> str:
    """A key that is read back as it is: WebDataset cuts names at the first dot of the last part."""
    if not is_bytes_like(given):
        raise InvalidArgumentError(f"{_KEY} = {shown(given)}; it must be text")
    key = as_bytes(given, _KEY).decode("utf-8", "surrogateescape")
    base = key.rpartition("/")[2]
    if not base or "." in base or "\0" in key or key.startswith(("/", "__")):
        raise InvalidArgumentError(
            f"{_KEY} = {shown(key)}; a key must not be empty, have a dot in its last part, hold "
            "NUL, or begin with a slash or __: it would be read as another"
        )
    return key


def _content(extension: str, value: Any) -> bytes:
    kind = extension.rpartition(".")[2]
    refuse_masked(extension, value)
    if kind == "npy" and isinstance(value, (np.ndarray, np.generic)):
        out = io.BytesIO()
        np.save(out, value, allow_pickle=False)
        return out.getvalue()
    if is_bytes_like(value):
        return as_bytes(value, extension)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if kind in ("cls", "cls2", "id", "index", "inx", "txt", "text"):
        if isinstance(value, (int, float)):
            return str(int(value) if isinstance(value, bool) else value).encode()
    if kind in ("json", "jsn"):
        value = value.tolist() if isinstance(value, np.ndarray) else value
        try:
            return json.dumps(value, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as failure:
            raise InvalidArgumentError(f"{extension} = {shown(value)}: {failure}") from None
    raise InvalidArgumentError(
        f"{extension} = {shown(value)}; contents are bytes, text or arrays of uint8, numbers under "
        "cls and txt, arrays under npy, anything of JSON under json"
    )


def _member(name: str, data: bytes) -> tuple[bytes, bytes, bytes]:
    """A file of the archive; equal contents give equal bytes whenever and wherever it is made."""
    about = tarfile.TarInfo(name)
    about.size, about.mode, about.mtime = len(data), 0o444, 0
    try:
        head = about.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"the name {shown(name)} is no valid Unicode text") from None
    return head, data, bytes(-len(data) % _BLOCK)
