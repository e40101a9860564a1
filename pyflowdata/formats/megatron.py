"""Megatron's token files: `.bin` with the tokens, `.idx` with their places."""

from __future__ import annotations

import dataclasses
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..ragged import Ragged
from .base.detection import Detected
from .base.fields import Field
from .base.format import Format
from .base.source import Source
from .base.columns import Array, RowShape, as_array, buffer_of, each_row, refuse_masked
from .base.writer import Shard, Sizes, Writer

_MAGIC = b"MMIDIDX\0\0"
_CODES = {
    "uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float64": 6, "float32": 7,
    "uint16": 8,
}  # fmt: skip


class MegatronWriter(Writer):
    """Writes Megatron's `.bin` and `.idx`, version 1: documents of tokens.

    A sample is a document: its tokens as one sequence, or a list of sequences.  A batch is a
    Ragged, a list of documents, or an array with a document in each row.  No token is added: where
    an end-of-document token is wanted, it must be the last token of the document.
    """

    compressions: ClassVar[tuple[str, ...]] = ()
    suffixes: ClassVar[tuple[str, ...]] = (".bin", ".idx")

    def __init__(
        self, path: str | os.PathLike[str], *, dtype: Any = "int32", **options: Any
    ) -> None:
        """Opens both files; raises as `Writer`.

        Args:
            path: The common part of both names, with or without `.bin` or `.idx`.
            dtype: The dtype of the tokens; uint16 where the vocabulary is small enough.
            **options: As for every `Writer`; shard_bytes counts the bytes of `.bin`.
        """
        try:
            self._dtype = np.dtype(dtype)
        except (TypeError, ValueError):
            self._dtype = np.dtype(object)
        if self._dtype.name not in _CODES:
            raise InvalidArgumentError(
                f"dtype = {shown(dtype)}; Megatron's files hold {', '.join(_CODES)}",
                op=type(self).__name__,
            )
        self._lengths: list[list[int]] = []  # sequences of each document in the shard
        self._given: list[list[int]] = []  # documents that are being written
        super().__init__(path, **options)

    def _base(self, path: Path) -> Path:
        return path.with_suffix("") if path.suffix in self.suffixes else path

    def write(self, sample: Any) -> None:
        """Writes one document.

        Raises:
            InvalidArgumentError: The sample is not a sequence of tokens, or the dtype cannot hold
                them.
            FileError: The file cannot be written.
        """
        with self._naming():
            documents = [self._document(sample)]
        self._put_documents(documents)

    def write_batch(self, batch: Any) -> None:
        """Writes a document for each row; raises as `write`."""
        with self._naming():
            documents = each_row(self._document, _only_rows(batch))
        self._put_documents(documents)

    def _document(self, given: Any) -> list[Array]:
        if isinstance(given, dict) and len(given) == 1:
            given = next(iter(given.values()))
        refuse_masked("the document", given)
        is_list = isinstance(given, (list, tuple, Ragged)) and len(given) > 0
        several = is_list and all(as_array("the document", one).ndim == 1 for one in given)
        return [self._tokens(one) for one in (given if several else [given])]

    def _tokens(self, given: Any) -> Array:
        array = as_array("the document", given)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "biuf"):
            raise InvalidArgumentError(
                f"{shown(given)} is not a sequence of tokens: it must be an array of one dimension"
            )
        if not array.size:
            return np.zeros(0, self._dtype)
        if array.size >= 2**31:
            raise InvalidArgumentError(f"a sequence of {array.size} tokens; at most 2^31 - 1 fit")
        found: Array = RowShape(self._dtype, array.shape).rows(array, is_batch=False)[0]
        return found

    def _put_documents(self, documents: list[list[Array]]) -> None:
        self._given = [[len(one) for one in document] for document in documents]
        sizes: Sizes = np.array([sum(one) for one in self._given], np.int64) * self._dtype.itemsize
        tokens = [one for document in documents for one in document]
        self._emit(buffer_of(np.concatenate(tokens), "<") if tokens else b"", sizes)

    def _begin(self, shard: Shard) -> None:
        self._lengths = []

    def _wrote(self, shard: Shard, begin: int, end: int) -> None:
        self._lengths += self._given[begin:end]

    def _finish(self, shard: Shard) -> None:
        lengths = np.array([one for document in self._lengths for one in document], np.int64)
        offsets = (np.cumsum(lengths) - lengths) * self._dtype.itemsize
        counts = np.array([len(document) for document in self._lengths], np.int64)
        documents = np.concatenate([[0], np.cumsum(counts)])
        code = _CODES[self._dtype.name]
        index = shard.file(1)
        index.write(_MAGIC + struct.pack("<QBQQ", 1, code, len(lengths), len(documents)))
        index.write(lengths.astype("<i4").tobytes())
        index.write(offsets.astype("<i8").tobytes())
        index.write(documents.astype("<i8").tobytes())


def _only_rows(batch: Any) -> Any:
    if isinstance(batch, dict) and len(batch) == 1:
        batch = next(iter(batch.values()))
    if not isinstance(batch, (Ragged, list, tuple, np.ndarray)):
        raise InvalidArgumentError(f"a batch is a list of documents; this is {shown(batch)}")
    return batch


class Megatron(Format):
    """Documents of tokens, in two files."""

    writer = MegatronWriter
    holds_one_field = True
    tokens = "documents"
    refuses_compressed = True

    def files_of(self, found: Sequence[Detected]) -> tuple[str, ...]:
        """The `.bin` of each pair, once: a folder has both files of a pair."""
        bins = (str(Path(one.path).with_suffix(".bin")) for one in found)
        return tuple(dict.fromkeys(bins))

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """Calls the only field "tokens"."""
        source = super().infer(source, one, as_stored=as_stored)
        (out,) = source.fields
        tokens = dataclasses.replace(out, name="tokens", key=out.name)
        return dataclasses.replace(source, fields=(tokens,))

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """The dtype of the tokens; int32 in place of a dtype that no vocabulary needs."""
        dtype = fields[0].dtype
        return {"dtype": dtype if dtype in ("uint8", "uint16", "int64") else "int32"}


FORMAT = Megatron
