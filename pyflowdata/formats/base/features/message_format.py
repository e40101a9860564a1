"""Formats whose records are messages of features: fields are those of the first records."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import ClassVar

from ....errors import Error, InvalidArgumentError, shown
from ....nodes import Blob, Node, Op
from ....nodes.node_files import files_of
from ..detection import Detected, head_of
from ..fields import BYTES, Field, specs
from ..format import Format
from ..open_source import open_source
from ..reader_values import reader_of, reading_in
from ..source import RECORD, Source, make_node
from .decode import Feature
from .message_writer import MessageWriter
from .wanted import Wanted, refuse_unknown

_LOOKED_AT = 256  # records, to find the fields
_CHECKED = 16  # records, in which features that are asked for must be
_MOST_BYTES = 1 << 20  # of a file, for the first one of these
_MISSING = -1  # a count, where a record has no such feature


class MessageFormat(Format):
    """Records are messages of features, or bytes of something else, which stay whole."""

    holds_records: ClassVar[bool] = True
    encoder: ClassVar[str]  # the op that encodes fields as a message

    def encoded(self, fields: Sequence[Field], blobs: Sequence[Blob]) -> Blob | None:
        """The records as the file has them."""
        assert self.writer is not None and issubclass(self.writer, MessageWriter)
        (message, *others), names = blobs, [field.name for field in fields]
        if any("\0" in name for name in names):
            return None
        if names:
            message = make_node(self.encoder, [message, *others], names=names).outputs[0]
        return make_node(self.writer.frame, [message]).outputs[0]

    @staticmethod
    @abstractmethod
    def features(record: bytes) -> dict[str, Feature | None]:
        """The features of a record.

        Raises:
            ValueError: It is not a message of features.
        """

    @staticmethod
    @abstractmethod
    def frames(data: bytes) -> Iterator[bytes]:
        """The whole records at the beginning of the bytes of a file."""

    @abstractmethod
    def wanted(self, op: Op, values: Mapping[str, object]) -> Iterable[Wanted]:
        """The features that a decoder with these attrs reads."""

    def found_by_decoder(
        self, op: Op, record: Blob, values: Mapping[str, object]
    ) -> Mapping[str, object]:
        """All features of the first records, in the order of their names; where features were
        given, the first records must have them."""
        reader = reader_of(record)
        listed = op.outputs_attr
        if reader is None or reader.op.name != self.reader:
            return {}
        attr = op.attr(listed)
        if attr is None or not attr.is_found or listed in values:
            refuse_unknown(self.wanted(op, values), lambda: self._first_features(reader))
            return {}
        own = reading_in(reader.values)
        source = open_source(files_of(reader), self.name, values=own)
        found = specs(source.fields)
        if source.left_out:
            advice = (
                f"give it, as {listed}={shown(found)}"
                if found
                else "no feature of the first records can be one; decode the bytes of the records "
                "by a function of your own, which flow.register_decoder makes an op"
            )
            raise InvalidArgumentError(
                f"{listed} was left out, and {source.left_out[0]}, cannot be an output: {advice}",
                attr=listed,
            )
        if not found:
            raise InvalidArgumentError(
                f"{listed} was left out, and the first records have no features: give it",
                attr=listed, file=source.files[0],
            )  # fmt: skip
        return {listed: found}

    def _first_features(self, reader: Node) -> list[dict[str, Feature | None]]:
        """Of the first records of the first file, where they can be seen without a loader."""
        try:
            path = files_of(reader)[0]
            head = head_of(path)
            data = head.data
            if head.compression is None and next(self.frames(data), None) is None:
                with open(path, "rb") as file:
                    data = file.read(_MOST_BYTES)
            return list(map(self.features, islice(self.frames(data), _CHECKED)))
        except (Error, OSError, ValueError):  # the loader says so
            return []

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the features of the first records of a file."""
        looked = dataclasses.replace(source, files=(one.path,), fields=())
        with looked.loader([RECORD], batch_size=_LOOKED_AT, on_error="skip") as loader:
            batch = next(iter(loader), None)
        records: list[bytes] = batch[RECORD].to_bytes_list() if batch else []
        try:
            fields, left_out = feature_fields(list(map(self.features, records)))
        except ValueError as failure:
            if isinstance(failure, Error):
                raise
            return source  # records of something else: they stay whole
        return dataclasses.replace(source, fields=tuple(fields), left_out=tuple(left_out))


def feature_fields(records: Sequence[dict[str, Feature | None]]) -> tuple[list[Field], list[str]]:
    """The fields of messages, sorted by name, and what is said of features that are not fields."""
    found, left_out = [], []
    for name in sorted({name for record in records for name in record}):
        features = [one for record in records if (one := record.get(name)) is not None]
        counts = {feature.count for feature in features}
        dtypes = {feature.dtype for feature in features}
        if len(features) < len(records):
            counts.add(_MISSING)
        if not name:
            left_out.append("a feature without a name")
        elif len(dtypes) > 1:
            left_out.append(f"{name}, which is {' and '.join(sorted(dtypes))}")
        elif dtypes == {BYTES} and max(counts) > 1:
            left_out.append(f"{name}, which has {max(counts)} byte strings in a record")
        elif dtypes == {BYTES} and 0 in counts:
            left_out.append(f"{name}, which has 0 byte strings in a record")
        elif dtypes:
            found.append(_field(name, dtypes.pop(), counts))
    return found, left_out


def _field(name: str, dtype: str, counts: Iterable[int]) -> Field:
    if dtype == BYTES:
        return Field(name, BYTES, default=None if min(counts) == 1 else "")
    count, *others = counts
    if others:
        return Field(name, dtype, (None,))
    return Field(name, dtype, () if count == 1 else (count,))
