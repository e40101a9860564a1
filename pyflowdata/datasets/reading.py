"""Records of a data set by number, one after another, and as files; how many there are."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from ..errors import (
    CorruptDataError,
    InvalidArgumentError,
    UnsupportedError,
    WrongUseError,
    shown,
)
from ..formats import (
    Format,
    Source,
    Target,
    Writer,
    arrow_table,
    attrs_of_classes,
    fields_in_files,
    format_of_name,
    rows_of_batch,
    written_formats,
)
from ..insight.progress import Bar
from ..nodes import Blob
from ..nodes.file_states import FileState, refuse_changed
from ..nodes.python_ops import nothing_in_use
from ..nodes.node import reader_nodes
from ..loader import DataLoader
from ..loader.reader_advice import warn_of_left_out
from ..loader.state import ENDLESS
from ..remote import one_opening
from ..nodes.tables import array_of, is_array
from ..words.plain_text import no_field
from ..words.remedies import did_you_mean
from ..pyops.records import Row, joined, records_of, row_of, rows_of
from ..ragged import Ragged
from .base import DatasetBase, batch_node, is_several, whole
from .columns import files_state, naming, refuse_endless

_NO_END = "repeat() has no end; take(n) after it, or repeat(n), has one"
_AT_ONCE = 64  # records that are read in one call
_SEEN = 64  # records among which a sample is looked for
_BYTES_AT_ONCE = 16 << 20  # the same, of records that are large


def _own(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a batch, copied, so that its arrays do not keep the batch alive."""
    found = Row(record)
    for name, value in record.items():
        if isinstance(value, np.ndarray):
            found[name] = value.copy()
    return found


def _rows_at_once(blobs: Iterable[Blob]) -> int:
    """How many records are read at once: few enough for little memory."""
    bytes_of_row = sum(
        blob.dtype.itemsize * math.prod(blob.dense_row_shape)
        for blob in blobs
        if not blob.is_ragged
    )
    return max(1, min(_AT_ONCE, _BYTES_AT_ONCE // max(1, bytes_of_row)))


def _listed(indexes: Iterable[SupportsIndex]) -> Iterable[SupportsIndex]:
    """The numbers of records that were given, as a list."""
    if not is_several(indexes):
        raise WrongUseError(
            f"rows({shown(indexes)}): give a list of numbers of records; record(i) and data[i] "
            "are those of one number"
        )
    return indexes


class _Opened(NamedTuple):
    """An open loader of the records of a data set.

    Attributes:
        loader: In batches of up to `most` records.
        size: Records of an epoch; -1: the source is read in sequence.
        most: Records that are read at once.
        process: The id of the process that opened the loader.
        files: The state of the files before it was opened.
    """

    loader: DataLoader[dict[str, Any]]
    size: int
    most: int
    process: int
    files: tuple[FileState, ...]


class Reading(DatasetBase):
    """The methods of `Dataset` that read records."""

    _opened: _Opened | None = None
    _field_blobs: Mapping[str, FieldBlob] = {}
    _has_told = False  # what is left out of its records

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_opened"}

    def _reader(self) -> _Opened:
        """The loader of single records, kept open; a forked child opens its own.

        Raises:
            CorruptDataError: With the reason "no-records" where there are none.
        """
        opened = self._opened
        if opened is None or opened.process != os.getpid():
            most = _rows_at_once(self._fields.values())
            with one_opening(is_last=True):
                files = files_state(self)
                loader = self._loader(most, num_threads=1, prefetch=1)
                refuse_changed(files, files_state(self))
            size = loader.readers[0].records
            # A batch has no room for more rows than there are, and these may be asked for again.
            most = max(1, min([most, *(one.records for one in loader.readers if one.records >= 0)]))
            opened = _Opened(loader, size, most, os.getpid(), files)
            self._opened = opened  # if threads open at the same time, one stays
        return opened

    def _alone(self, batch_size: int, **attrs: Any) -> dict[str, Blob]:
        """The fields in batches of one rank; a seed that was left open is 0."""
        lanes = 1 if self._shuffle is None else self._shuffle.attrs.get("shuffle_lanes", 1)
        if isinstance(lanes, int) and 1 < lanes <= 65536:  # a batch has as many records of each
            batch_size += -batch_size % lanes
        own = {"batch_size": batch_size, "rank": 0, "world_size": 1, **attrs}
        if self._shuffle is None or self._shuffle.seed is None:
            own["seed"] = 0
        node = batch_node(self._fields, self, own)
        return dict(zip(self._fields, node.outputs, strict=False))

    def first_batch(self, count: int) -> Mapping[str, Blob]:
        """The fields in batches of the first records, as `flow.show` takes them."""
        return self._alone(count)

    def _loader(
        self, batch_size: int, attrs: Mapping[str, Any] | None = None, **options: Any
    ) -> DataLoader[dict[str, Any]]:
        with nothing_in_use():
            return DataLoader(self._alone(batch_size, **(attrs or {})), ledger="", **options)

    def _tell_left_out(self) -> None:
        if not self._has_told:
            self._has_told = True
            warn_of_left_out(self._fields.values(), is_asked=True)

    def _whole_records(self, count: int) -> list[dict[str, Any]]:
        """The first records, without damaged ones; raises like a loop if all of `_SEEN` are
        damaged.
        """
        attrs = {"on_error": "skip", "max_skipped": -1}
        found: list[dict[str, Any]] = []
        with self._loader(count, attrs, num_threads=1, prefetch=1) as loader:
            for batch in itertools.islice(loader, max(1, _SEEN // count)):
                found += map(_own, records_of(batch))
                if len(found) >= count:
                    break
        return found[:count] or list(itertools.islice(self, count))

    def _size(self) -> int:
        """Records of an epoch; -1: the source is read in sequence."""
        try:
            return self._reader().size
        except CorruptDataError as failure:
            if self._is_empty(failure):
                return 0
            raise

    def _seen(self) -> tuple[FileState, ...]:
        return () if self._opened is None else self._opened.files

    def _is_empty(self, failure: CorruptDataError) -> bool:
        """Whether the error says that this data set, and not just one of its sources, has no
        records.
        """
        readers = reader_nodes(list(self._fields.values()))
        return failure.reason == "no-records" and len(readers) == 1

    def __len__(self) -> int:
        """Records of an epoch.

        Raises:
            TypeError: The source can only be read in sequence, or is repeated without end.
            FileError: A file changed since the records were first counted or read by number.
        """
        self._check_files()
        size = self._size()
        if size >= ENDLESS:
            raise TypeError(f"this data set has no len(): {_NO_END}")
        if size < 0:
            raise TypeError(
                "this data set has no len(): its source is a stream, which is read in sequence; "
                "count its records by sum(1 for _ in data), or give it a length and numbers: "
                "decompress or convert the files, or cache() the data set"
            )
        return size

    def __length_hint__(self) -> int:
        """The answer for list() and similar functions if there is no len().

        Raises:
            InvalidArgumentError: The list would have no end.
        """
        if self._size() >= ENDLESS:
            raise InvalidArgumentError(f"a list of all records: {_NO_END}")
        return 0

    def __bool__(self) -> bool:
        """Whether there is a record; for a stream this reads the first record."""
        size = self._size()
        return size > 0 if size >= 0 else any(True for _ in self)

    def record(self, index: SupportsIndex) -> dict[str, Any]:
        """A record of the first epoch, by number; negative ones count from the end.

        Raises:
            IndexError: There is no such record.
            TypeError: The source can only be read in sequence.
        """
        place = whole(index, "record") if type(index) is not int else index
        opened = self._opened
        if opened is None or opened.process != os.getpid() or not 0 <= place < opened.size:
            (place,) = self._places((place,))
            opened = self._reader()
        self._tell_left_out()
        batch = opened.loader.read((place,))
        return _own({name: row_of(values, 0) for name, values in batch.items()})

    def rows(self, indexes: Iterable[SupportsIndex]) -> dict[str, Any]:
        """Records of the first epoch, in this order, as one batch: an array for each field, or a
        `Ragged` where rows differ in size.

        Args:
            indexes: Numbers of records, also repeated; negative ones count from the end.

        Raises:
            IndexError: There is no such record.
            TypeError: The source can only be read in sequence.
        """
        places = self._places(indexes)
        if not places and not self._size():
            raise IndexError("there are no records")
        loader, _, most, *_ = self._reader()
        self._tell_left_out()
        pieces = [places[at : at + most] for at in range(0, len(places), most)] or [places]
        batches = [loader.read(piece) for piece in pieces]
        columns = {name: joined([batch[name] for batch in batches]) for name in self._fields}
        return Row(columns)

    def __getitems__(self, indexes: Iterable[SupportsIndex]) -> list[dict[str, Any]]:
        """Records as `data[i]` gives them; PyTorch's DataLoader calls this for the records of a
        batch.
        """
        places = list(indexes)
        return list(map(_own, records_of(self.rows(places)))) if places else []

    def _places(self, indexes: Iterable[SupportsIndex]) -> list[int]:
        """Numbers of records, checked, and counted from the beginning."""
        size = self._size()
        if size < 0:
            raise TypeError(
                "records of this data set have no numbers: its source is a stream, which is read "
                "in sequence; iterate over it, use head(), or cache() it"
            )
        numbers = [whole(index, "a record's number") for index in _listed(indexes)]
        for number in numbers:
            if number < 0 and size >= ENDLESS:
                raise TypeError(f"record {number} counts from the end: {_NO_END}")
            if not -size <= number < size:
                raise IndexError(f"record {number} of {size} records")
        return [number + size if number < 0 else number for number in numbers]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The records of the first epoch, in order."""
        self._check_files()
        try:
            loader = self._loader(_rows_at_once(self._fields.values()))
        except CorruptDataError as failure:
            if self._is_empty(failure):
                return
            raise
        self._tell_left_out()
        with loader:
            for batch in loader:
                yield from map(_own, records_of(batch))

    def head(self, count: int = 5) -> list[dict[str, Any]]:
        """The first records."""
        return list(itertools.islice(self, min(whole(count, "count", 0), sys.maxsize)))

    def _field_blob(self, name: str) -> FieldBlob:
        """The blob of a field, always the same one, as blobs are compared by identity."""
        if name not in self._field_blobs:
            of = self.blob(name)
            blob = FieldBlob(of.name, of.shape, of.dtype, of.node, of.index)
            self._field_blobs = {**self._field_blobs, name: blob}
        return self._field_blobs[name]

    # ---- Other forms --------------------------------------------------------------------------

    def to_numpy(self, count: int | None = None) -> dict[str, Any]:
        """The first records of the first epoch as an array for each field; a `Ragged` where rows
        differ in size, as texts do.

        Args:
            count: How many; None: all, also where that takes much memory.

        Raises:
            TypeError: The source can only be read in sequence, or is repeated without end and count
                is None.
        """
        if count is None:
            return self.rows(range(len(self)))
        return self.rows(range(min(whole(count, "count", 0), self._size())))

    def to_arrow(self, count: int | None = None) -> Any:
        """The first records as a table of pyarrow, which must be installed; as `to_numpy()`."""
        return arrow_table(self.to_numpy(count))

    def to_pandas(self, count: int | None = None) -> Any:
        """The first records as a DataFrame of pandas, which must be installed; as `to_numpy()`.

        If the rows of a field are not numbers, the column has an array in each row, or bytes for
        texts.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise UnsupportedError(
                "to_pandas() needs the package pandas: pip install pandas"
            ) from None
        columns = {}
        for name, values in self.to_numpy(count).items():
            is_flat = not isinstance(values, Ragged) and values.ndim == 1
            columns[name] = values if is_flat else rows_of(values)
        return pandas.DataFrame(columns)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        **options: Any,
    ) -> tuple[Path | str, ...]:
        """Writes all records of one epoch to files of a format, in the order of a loop over the
        data set; a seed that was left open is 0.  Each process that calls it writes all records:
        with several ranks, call it in one.

            flow.open("raw/*.jsonl").where("score > 0.5").shuffle(seed=1).write("train.parquet")

        The files get their names when all of them are complete; an error or Ctrl-C leaves none.
        In Arrow, Parquet, MDS and MindRecord, what is text in CSV, text, JSON lines, Arrow and
        Parquet files stays text, and other bytes are bytes, unless `columns` says otherwise.
        `pyflowdata convert` writes the records of files in several processes, and resumes.

        Args:
            path: The file, the folder, or an address as s3://bucket/train.tfrecord.  With shards,
                `train.x` becomes `train-00000-of-00003.x`; `part-{shard:05d}` is a pattern.
            format: The format, as "tfrecord"; None: as the name of the file says.
            **options: Of the writer of the format, in `pyflowdata.io`: overwrite, shard_records,
                shard_bytes, compression, level, seal; columns={"name": "str"} of tables ...

        Returns:
            The files; texts where they are addresses.

        Raises:
            InvalidArgumentError: The format cannot hold a field, an argument is wrong, or the data
                set has no end.
            FileError: A file is there already, or cannot be written.
            CorruptDataError: A record is damaged; `skip_damaged()` leaves such records out.
            UserFunctionError: A function of the data set raised an exception.
            UnsupportedError: The writer needs a package that is not installed.
        """
        target = _target(path, format)
        if set(options) - _options_of(Writer):
            target = dataclasses.replace(target, is_plain=True)
        fields = tuple(fields_in_files(self._fields))
        classes = () if "classes" in options else attrs_of_classes(self._fields)
        source = _Written(_NO_FORMAT, None, (), fields, classes, data=self)
        target.check(source)
        self._tell_left_out()
        made = _writer_options(target, source, options)
        size = self._size()
        refuse_endless(size, "write")
        said = f"writing {os.fspath(path)}"
        with target.writer(path, **made) as writer, Bar(said, size) as bar, naming():
            for batch in self._batches_to_write(source, target) if size else ():
                target.write(writer, batch, source)
                bar.update(writer.records)
        return writer.paths

    def _batches_to_write(self, source: Source, target: Target) -> Iterator[dict[str, Any]]:
        readers = self._reader().loader.readers
        rows = rows_of_batch(readers[0].records, sum(one.bytes for one in readers), None)
        change = functools.partial(target.columns, source)
        return source.batches(batch_size=max(rows, _AT_ONCE), change=change)


# ---- Files that are written ----------------------------------------------------------------------

_NO_FORMAT = Format(
    name="", title="a data set", doc="", suffixes=(), reader="", decoders=(), checks="",
    folder_file="", reads_folders=False, origin="",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class _Written(Source):
    """The records of a data set, in the place of those of files."""

    data: Reading = dataclasses.field(kw_only=True)

    def blobs(self, **attrs: Any) -> dict[str, Blob]:
        return self.data._alone(**attrs)


def _target(path: str | os.PathLike[str], format: str | None) -> Target:
    known = ", ".join(written_formats())
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(f"write({shown(path)}): give the name of the file to make")
    if format is not None and not (isinstance(format, str) and format in written_formats()):
        raise InvalidArgumentError(f"format = {shown(format)}; it must be one of {known}")
    try:
        return Target(os.fspath(path), format or format_of_name(path))
    except InvalidArgumentError as failure:
        raise InvalidArgumentError(f"{failure.message}; say format=, one of {known}") from None


def _options_of(*writers: type) -> set[str]:
    """The options of classes of writers; an argument without a default is no option."""
    makers = filter(None, (vars(one).get("__init__") for one in writers))
    taken = itertools.chain(*(inspect.signature(one).parameters.values() for one in makers))
    return {one.name for one in taken
            if one.kind is one.KEYWORD_ONLY and one.default is not one.empty}  # fmt: skip


def _writer_options(target: Target, source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the writer: those that the fields need, and those that were given."""
    known = _options_of(*target.writer.__mro__[:-1])
    if not target.writer.is_sharded:
        known -= {"shard_records", "shard_bytes"}
    for name in given:
        if name not in known:
            listed = f"; there are {', '.join(sorted(known))}"
            raise InvalidArgumentError(
                f"write: the writer of {target.kind.title} has no option {name!r}"
                f"{did_you_mean(name, known) or listed}"
            )
    options, columns = target.options(source), given.get("columns")
    own = options.get("columns")
    if not isinstance(columns, Mapping) or not isinstance(own, Mapping):
        return {**options, **given}
    named = {target.kind.name_in_file(name): kind for name, kind in columns.items()}
    for name in named:
        if name not in own:
            raise InvalidArgumentError(f"write: columns: {no_field(name, own)}")
    return {**options, **given, "columns": {**own, **named}}


# ---- Fields --------------------------------------------------------------------------------------


class FieldBlob(Blob):
    """A field of a data set: a blob for ops, whose values can be read by number.

        data["x"][3], data["x"][:5], data["x"][[7, 1]]
    """

    def __getitem__(self, key: Any) -> Any:
        """The value of a record, by number; for a slice or list of numbers an array or `Ragged` of
        values.

        Raises:
            IndexError: There is no such record.
            TypeError: The source can only be read in sequence.
        """
        data = Reading({"x": self})
        if isinstance(key, slice):
            return data.rows(range(len(data))[key])["x"]
        if isinstance(key, (list, tuple)) or is_array(key):
            return data.rows(array_of(key, self.name).tolist())["x"]
        return data.record(key)["x"]
