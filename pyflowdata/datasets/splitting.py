"""`Dataset.split()`: which part each record is in.

By hash: a record's place in [0, 1) is a hash of the seed and of what names it: the values of some
fields, or its file and its number there.  It does not depend on other records, so that appended
records and files move nothing.
"""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..nodes.node import Node, reader_nodes
from ..nodes.objects import Object
from ..nodes.argument_hints import says_how
from ..nodes.tables import Prepared, Table
from ..loader import DataLoader
from ..loader.open_loader import open_loader_of
from .base import DatasetBase, named_view
from .column_pass import ID, Columns, Computation, evaluate
from .columns import files_state, refuse_changing_order, words_of
from .hashes import Hashes, hash_bytes, hash_column, hash_words

Array = npt.NDArray[Any]
OwnT = TypeVar("OwnT", bound="Splitting")

_BITS = 53  # of a hash that say the place
_MOST_PARTS = 65536


class Splitting(DatasetBase):
    """The method of `Dataset` for parts."""

    @overload
    def split(
        self: OwnT,
        parts: Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> dict[str, OwnT]: ...

    @overload
    def split(
        self: OwnT,
        parts: Sequence[float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> tuple[OwnT, ...]: ...

    @says_how(
        'data.split([0.9, 0.1]) or data.split({"train": 0.9, "test": 0.1}), each record in a part '
        "by a hash; parts keep the order of the data, unless part.shuffle()"
    )
    def split(
        self: OwnT,
        parts: Sequence[float] | Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        in_order: bool = False,
        seed: int = 0,
    ) -> tuple[OwnT, ...] | dict[str, OwnT]:
        """Parts that have each record once; each part has its records in their order.

        A hash of the seed and of what names a record decides its part: its file's name and its
        number in the file, or the values of `by`.  So records and files that are appended move none
        of those before, and sizes are about, not exactly, the fractions.  Counts are exact, and
        appended records may move others.

        Args:
            parts: Fractions that sum to 1, as [0.9, 0.1], or counts of all records, as [1000, 200];
                or a dict of them, for a dict of data sets.
            by: A field or several: records with the same values are in the same part.
            in_order: Whether parts are runs of consecutive records, of exactly these sizes:
                fractions are rounded by largest remainders.
            seed: Another one makes other parts.

        Raises:
            InvalidArgumentError: There is no such field, or the parts are not all of the records.
        """
        if isinstance(parts, (str, bytes)) or not isinstance(parts, Iterable):
            raise InvalidArgumentError(
                f"split({shown(parts)}): give fractions of all parts, as [0.9, 0.1], or counts"
            )
        if isinstance(parts, Mapping):
            found = self._parts(list(parts.values()), by, in_order, seed)
            return dict(zip(parts, found, strict=True))
        return tuple(self._parts(list(parts), by, in_order, seed))

    def _parts(
        self: OwnT, parts: list[float], by: str | Sequence[str] | None, in_order: bool, seed: int
    ) -> list[OwnT]:
        sizes = Sizes(parts)
        if type(seed) is not int or not 0 <= seed < 2**63:
            raise InvalidArgumentError(f"seed = {shown(seed)}; it must be an int of at least 0")
        names = [by] if isinstance(by, str) else list(by) if by else None
        if not in_order:
            split = Split(self, sizes, names, seed)
            return [self._selected(split.table(part)) for part in range(len(sizes))]
        if names:
            raise InvalidArgumentError(
                f"by = {shown(by)}: parts in order may divide records with the same value; leave "
                "in_order or by out"
            )
        refuse_changing_order(self)
        given = {"counts": sizes.counts} if sizes.counts else {"fractions": sizes.fractions}
        return [
            self._with_blobs(named_view("SplitDataset", self._fields, {**given, "part": part}))
            for part in range(len(sizes))
        ]


class Sizes:
    """How large the parts are to be.

    Attributes:
        fractions: Of each part; empty where counts were given.
        counts: Of each part; empty where fractions were given.
    """

    def __init__(self, parts: Sequence[Any]) -> None:
        """Takes fractions, which are floats and sum to 1, or counts, which are integers."""
        self.fractions: list[float] = []
        self.counts: list[int] = []
        if not 1 <= len(parts) <= _MOST_PARTS:
            raise InvalidArgumentError(f"split() into {len(parts)} parts; there can be 1 to 65536")
        whole = [isinstance(part, (int, np.integer)) and not isinstance(part, bool)
                 for part in parts]  # fmt: skip
        if all(whole):
            self.counts = [operator.index(part) for part in parts]
        elif any(whole) or not all(isinstance(part, (float, np.floating)) for part in parts):
            raise InvalidArgumentError(
                f"split({shown(list(parts))}): give fractions, as [0.9, 0.1], or counts, as "
                "[1000, 200]"
            )
        else:
            self.fractions = [float(part) for part in parts]
        given = self.counts or self.fractions
        if not all(0 <= part for part in given):
            raise InvalidArgumentError(f"split({shown(given)}): no part can be below 0")
        if self.fractions and not abs(sum(self.fractions) - 1) <= 1e-6:
            raise InvalidArgumentError(
                f"split({shown(given)}): the fractions sum to {sum(self.fractions):.9g}; the sum "
                "must be 1"
            )

    def __len__(self) -> int:
        return len(self.counts or self.fractions)

    def of_hashes(self, hashes: Hashes) -> Array:
        """The part of each record, by fractions."""
        from fractions import Fraction  # few programs split by hash

        total, sums, bounds = sum(map(Fraction, self.fractions)), Fraction(0), []
        for fraction in self.fractions[:-1]:
            sums += Fraction(fraction)
            bounds.append(int(sums / total * 2**_BITS))
        places = hashes >> np.uint64(64 - _BITS)
        found: Array = np.searchsorted(np.array(bounds, np.uint64), places, side="right")
        return found.astype(self.dtype)

    def of_all_hashes(self, hashes: Array) -> Array:
        """The part of each record, by counts: those with the smallest hashes are in the first."""
        parts = np.empty(len(hashes), self.dtype)
        parts[np.argsort(hashes, kind="stable")] = np.repeat(np.arange(len(self)), self.counts)
        return parts

    def check(self, records: int) -> None:
        """Refuses counts that are not of all records."""
        if self.counts and sum(self.counts) != records:
            raise InvalidArgumentError(
                f"split({shown(self.counts)}): the parts have {sum(self.counts)} records together; "
                f"the data set has {records}"
            )

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        """Of the numbers of parts."""
        return np.uint8 if len(self) <= 256 else np.uint16


class Split:
    """The part of each record of a data set, found when first needed."""

    def __init__(
        self, data: DatasetBase, sizes: Sizes, by: Sequence[str] | None, seed: int
    ) -> None:
        """Args:
        data: The records.
        sizes: Of the parts.
        by: The fields whose values decide; None: the record itself.
        seed: Of the hashes.
        """
        refuse_changing_order(data)
        fields = data._fields
        for name in by or ():
            if name not in fields:
                raise InvalidArgumentError(
                    f"by = {shown(name)}: there is no such field; there are {', '.join(fields)}"
                )
            if fields[name].shape[1:].count(None) > 1 or None in fields[name].shape[2:]:
                raise InvalidArgumentError(
                    f"by = {shown(name)}: its rows are of shape {fields[name].shape[1:]}; only "
                    "their first dimension can vary"
                )
        if by is not None and sizes.counts:
            raise InvalidArgumentError(
                f"split({shown(sizes.counts)}, by={shown(list(by))}): records with the same value "
                "stay together, so that counts cannot be exact; give fractions"
            )
        if by is None and any(map(_is_made, reader_nodes(list(fields.values())))):
            raise InvalidArgumentError(
                "split() after cache(): records are told by their files, and those of a cache "
                "change with the data; split before cache(), or give by or in_order=True"
            )
        self._data, self._sizes, self._by, self._seed = data, sizes, by, seed
        self._found: tuple[Hashable, Array] | None = None

    def table(self, part: int) -> Table:
        """The records of a part, as a bitmap."""
        sizes, by = self._sizes.counts or self._sizes.fractions, self._by or ()
        key = ("split", tuple(sizes), tuple(by), self._seed, part)
        of = f", by={', '.join(by)}" if by else ""
        said = f"split({shown(list(sizes))}{of}, seed={self._seed})[{part}]"
        return Table(
            lambda: words_of(self._parts() == part),
            said=said, key=key, state=lambda: files_state(self._data),
        )  # fmt: skip

    def _parts(self) -> Array:
        state = files_state(self._data)
        if self._found is None or self._found[0] != state:
            self._found = state, evaluate(self._computation(), self._data)
        return self._found[1]

    def _computation(self) -> Computation:
        sizes = self._sizes
        given = f"split {self._seed} {sizes.fractions} {sizes.counts} {self._by}"
        records = _Records(self._seed, sizes)
        fields = {name: self._data._fields[name] for name in self._by or ()}

        def of_batch(batch: Columns) -> Array:
            hashes = _of_values(batch, self._seed) if self._by else records.hashes(batch[ID])
            return sizes.of_hashes(hashes) if sizes.fractions else hashes

        return Computation(
            fields, of_batch, given, "split", with_id=not self._by,
            prepare=None if self._by else records.prepare,
            of_all=None if sizes.fractions else sizes.of_all_hashes,
        )  # fmt: skip


def _is_made(reader: Node) -> bool:
    """Whether a reader's files are made of another data set, as a cache."""
    given = (value.value for value in reader.values.values() if isinstance(value, Object))
    return any(isinstance(value, Prepared) for value in given)


def _start(seed: int, rows: int) -> Hashes:
    start = np.array([seed], np.int64).view(np.uint64)
    return np.repeat(hash_words(np.zeros(1, np.uint64), start), rows)


def _of_values(batch: Columns, seed: int) -> Hashes:
    hashes = _start(seed, len(next(iter(batch.values()))))
    for column in batch.values():
        hashes = hash_column(hashes, column)
    return hashes


class _Records:
    """Hashes of the records themselves: of the name of their file, and their number in it."""

    def __init__(self, seed: int, sizes: Sizes) -> None:
        self._seed, self._sizes = seed, sizes

    def prepare(self, loader: DataLoader[Columns]) -> None:
        """Looks at the files.  Of files with the same name, each has the number of those before."""
        self._sizes.check(loader.readers[0].records)
        self._open_loader = open_loader_of(loader)
        self._paths = self._open_loader.files()
        self._are_folders = bool(self._paths) and os.path.isdir(self._paths[0])
        before: Counter[str] = Counter()
        names = []
        for path in self._paths:
            name = os.path.basename(os.path.normpath(path))
            names.append(hash_bytes(os.fsencode(f"{name}\0{before[name]}")))
            before[name] += 1
        count = len(names)
        firsts = [0] * count if self._are_folders else self._open_loader.first_records(count)
        self._names = np.array([*names, 0], np.uint64)  # the last one: records without a file
        self._firsts = np.array([*firsts, 0], np.int64)

    def hashes(self, ids: Array) -> Hashes:
        """Of the records with these files and numbers."""
        files, numbers = ids[:, 0], ids[:, 1]
        hashes = hash_words(_start(self._seed, len(ids)), self._names[files])
        if self._are_folders:
            own = [self._name_in_folder(*record) for record in ids.tolist()]
            return hash_words(hashes, np.array(own, np.uint64))
        return hash_words(hashes, (numbers - self._firsts[files]).view(np.uint64))

    def _name_in_folder(self, file: int, number: int) -> int:
        """The hash of a file's path in the folder of its data set."""
        path = self._open_loader.file_of_record(file, number)
        return hash_bytes(os.fsencode(os.path.relpath(path, self._paths[file])))
