"""`split()` and `folds()`, which put each record into a subset, and `flow.leaks`, which finds what
two data sets share.

A hash decides the subset of a record.  It is made of the seed and of what identifies the record:
the values of some fields, or its file and its number in the file.  It does not depend on other
records, so appended records and files move nothing.
"""

from __future__ import annotations

import operator
import os
import sys
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..loader import DataLoader
from ..loader.open_loader import open_loader_of
from ..native.calling_line import calling_frame, warn_at
from ..nodes.argument_hints import says_how
from ..nodes.attr_words import prepared_of
from ..nodes.node import reader_nodes
from ..nodes.tables import Table
from ..pyops.records import records_of
from ..ragged import Ragged
from .base import DatasetBase, check_sources, is_several, named_view, names_of, truth
from .columns import (
    ID,
    Columns,
    Computation,
    evaluate,
    files_state,
    refuse_changing_order,
    words_of,
)
from .reading import Reading


# ---- Hashes of values ---------------------------------------------------------------------------

# 64 bits for each row, the same on every machine.  A value has the same hash in every dtype that
# holds it: 3 as int8, int64 and float64.

Array = npt.NDArray[Any]
Hashes = npt.NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _hash_words(hashes: Hashes, words: Hashes) -> Hashes:
    """Adds a word to each hash, like `pfd_hash_word()` of csrc/core/hash.h."""
    with np.errstate(over="ignore"):
        x: Hashes = (hashes ^ words) + _GOLDEN
        x = (x ^ (x >> np.uint64(30))) * _FIRST
        x = (x ^ (x >> np.uint64(27))) * _SECOND
        x ^= x >> np.uint64(31)
    return x


def _hash_bytes(text: bytes) -> int:
    """The hash of bytes, with 0 as the start."""
    rows = Ragged(np.frombuffer(text, np.uint8), np.array([0, len(text)], np.int64))
    return int(hash_column(np.zeros(1, np.uint64), rows)[0])


def hash_column(hashes: Hashes, column: Array | Ragged) -> Hashes:
    """Adds to each hash the value of its row: a number, an array or a text."""
    if isinstance(column, Ragged):
        if len(column.row_shape) != 1:
            raise InvalidArgumentError(
                f"rows of shape {column.row_shape} were given; one dimension can vary"
            )
        if column.dtype == np.uint8:
            return _hash_texts(hashes, column)
        return _hash_ragged(hashes, column)
    for element in _words_of(column).reshape(len(column), -1).T:
        hashes = _hash_words(hashes, element)
    return hashes


def _words_of(values: Array) -> Hashes:
    """Numbers as words: whole ones as integers, others as the bits of a float64."""
    if values.dtype.kind != "f":
        wide = values if values.dtype == np.uint64 else values.astype(np.int64)
        return np.ascontiguousarray(wide).view(np.uint64)
    wide = values.astype(np.float64)
    is_whole = (np.abs(wide) < 2.0**63) & (np.floor(wide) == wide)
    words = np.where(np.isnan(wide), np.nan, wide).view(np.uint64)
    whole = np.where(is_whole, wide, 0).astype(np.int64).view(np.uint64)
    return np.where(is_whole, whole, words)


def _hash_ragged(hashes: Hashes, column: Ragged) -> Hashes:
    words = _words_of(np.asarray(column.values))
    hashes, lengths, rows = hashes.copy(), column.lengths, np.arange(len(column))
    for place in range(int(lengths.max(initial=0))):
        rows = rows[lengths[rows] > place]
        hashes[rows] = _hash_words(hashes[rows], words[column.row_splits[rows] + place])
    return _hash_words(hashes, lengths.astype(np.uint64))


def _hash_texts(hashes: Hashes, column: Ragged) -> Hashes:
    """Eight bytes at a time, the last ones filled up with zeros; then the size."""
    padded = np.zeros(len(column.values) + 8, np.uint8)
    padded[:-8] = column.values
    words = np.ndarray(len(column.values) + 1, "<u8", padded.data, strides=(1,))  # at any byte
    hashes, lengths, rows = hashes.copy(), column.lengths, np.arange(len(column))
    for begin in range(0, int(lengths.max(initial=0)), 8):
        rows = rows[lengths[rows] > begin]
        left = np.minimum(lengths[rows] - begin, 8)
        found = words[column.row_splits[rows] + begin].astype(np.uint64)
        kept = np.uint64(2**64 - 1) >> ((8 - left) * 8).astype(np.uint64)
        hashes[rows] = _hash_words(hashes[rows], found & kept)
    return _hash_words(hashes, lengths.astype(np.uint64))


# ---- Subsets ------------------------------------------------------------------------------------

OwnT = TypeVar("OwnT", bound="Splitting")

RULE = 2  # the version of what decides a subset by fractions, which a state has
_BITS = 53  # of a hash, which give a place by rule 1
_MOST_SUBSETS = 65536
_CLASS = "class"  # in a batch: the value of the field `stratify`, which may be called as ID is


class Splitting(Reading):
    """The methods of `Dataset` that split it into subsets."""

    @overload
    def split(
        self: OwnT,
        parts: Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        stratify: str | None = None,
        in_order: bool = False,
        seed: int = 0,
        rule: int = RULE,
    ) -> dict[str, OwnT]: ...

    @overload
    def split(
        self: OwnT,
        parts: Sequence[float],
        *,
        by: str | Sequence[str] | None = None,
        stratify: str | None = None,
        in_order: bool = False,
        seed: int = 0,
        rule: int = RULE,
    ) -> tuple[OwnT, ...]: ...

    @says_how(
        'data.split([0.9, 0.1]) or data.split({"train": 0.9, "test": 0.1}), each record in a '
        "subset by a hash; subsets keep the order of the data, unless subset.shuffle()"
    )
    def split(
        self: OwnT,
        parts: Sequence[float] | Mapping[str, float],
        *,
        by: str | Sequence[str] | None = None,
        stratify: str | None = None,
        in_order: bool = False,
        seed: int = 0,
        rule: int = RULE,
    ) -> tuple[OwnT, ...] | dict[str, OwnT]:
        """Subsets of the data set: each record is in exactly one subset, and a subset keeps the
        order of its records.

        With fractions, a hash of the seed and of what identifies a record decides its subset: the
        name of its file and its number in the file, or the values of `by`.  So appended records and
        files move no other records, and the sizes of the subsets are close to the fractions, not
        exact.  If the fractions change, hardly more records move than must.  With counts, sizes are
        exact, and appended records may move others.

        Args:
            parts: The sizes of the subsets: fractions that sum to 1, as [0.9, 0.1], or counts that
                sum to all records, as [1000, 200]; or a dict of sizes, which gives a dict of data
                sets.
            by: A field or several: records with the same values are in the same subset.
            stratify: A field: each subset has its share of the records of each value, to a record
                or two.  Sizes are then exact, and appended records may move others.
            in_order: Whether subsets are runs of consecutive records, of exactly these sizes:
                fractions are rounded by largest remainders.  A shuffle before `split()` orders each
                subset, but does not decide which records it has.
            seed: Another seed makes other subsets.
            rule: The version of the rule by which a hash decides a subset.  1: the rule of versions
                without this argument, for states that were saved with its subsets.

        Raises:
            InvalidArgumentError: There is no such field, or the subsets do not add up to all
                records.
        """
        if not is_several(parts):
            raise InvalidArgumentError(
                f"split({shown(parts)}): give fractions of all subsets, as [0.9, 0.1], or counts"
            )
        if isinstance(parts, Mapping):
            found = self._subsets(_Sizes(list(parts.values()), rule), by, stratify, in_order, seed)
            return dict(zip(parts, found, strict=True))
        return tuple(self._subsets(_Sizes(list(parts), rule), by, stratify, in_order, seed))

    def _subsets(
        self: OwnT,
        sizes: _Sizes,
        by: str | Sequence[str] | None,
        stratify: str | None,
        in_order: bool,
        seed: int,
    ) -> list[OwnT]:
        if not truth(in_order, "in_order"):
            if sizes.counts and not by:
                sizes.check(len(self))
            split = _Split(self, sizes, by, stratify, seed)
            return [self._selected(split.table(subset)) for subset in range(len(sizes))]
        _check_seed(seed)
        for name, fields in (("by", by), ("stratify", stratify)):
            if fields:
                raise InvalidArgumentError(
                    f"{name} = {shown(fields)}: subsets in order are cut wherever their sizes say; "
                    f"leave in_order or {name} out"
                )
        refuse_changing_order(self)
        if self._shuffle is not None:
            said = UserWarning(
                "split(in_order=True) after shuffle() cuts the records in the order that they have "
                "without it, and each subset shuffles its own: put shuffle() after it, or leave "
                "in_order out for subsets of records from anywhere"
            )
            warn_at(calling_frame(sys._getframe()) or sys._getframe(), said)
        given = {"counts": sizes.counts} if sizes.counts else {"fractions": sizes.fractions}
        found = [
            self._with_blobs(named_view("SplitDataset", self._fields, {**given, "part": subset}))
            for subset in range(len(sizes))
        ]
        if sizes.counts:
            len(found[0])  # compares them with the records
        return found

    def folds(
        self: OwnT,
        count: int,
        *,
        by: str | Sequence[str] | None = None,
        stratify: str | None = None,
        seed: int = 0,
    ) -> Sequence[tuple[OwnT, OwnT]]:
        """Pairs of data sets (train, val) for cross-validation: each record is in the val of one
        pair, and in the train of all other pairs.  A pair is made when it is asked for.

        Args:
            count: How many pairs; each val has about 1 / count of the records.
            by, stratify, seed: As in `split()`; the vals are its subsets.

        Raises:
            InvalidArgumentError: There is no such field, or count is below 2.
        """
        if type(count) is not int or not 2 <= count <= _MOST_SUBSETS:
            raise InvalidArgumentError(f"folds({shown(count)}): give a number from 2 to 65536")
        split = _Split(self, _Sizes([1 / count] * count, RULE), by, stratify, seed)
        return _Folds(self, split, range(count))


class _Folds(Sequence[tuple[OwnT, OwnT]]):
    """The pairs of `folds()`, each made when it is asked for: a data set takes half a millisecond,
    and there may be tens of thousands."""

    def __init__(self, data: OwnT, split: _Split, subsets: range) -> None:
        self._data, self._split, self._subsets = data, split, subsets

    def __len__(self) -> int:
        return len(self._subsets)

    @overload
    def __getitem__(self, key: int) -> tuple[OwnT, OwnT]: ...

    @overload
    def __getitem__(self, key: slice) -> _Folds[OwnT]: ...

    def __getitem__(self, key: int | slice) -> tuple[OwnT, OwnT] | _Folds[OwnT]:
        if isinstance(key, slice):
            return _Folds(self._data, self._split, self._subsets[key])
        if not -len(self) <= key < len(self):
            raise IndexError(f"folds: there is no pair {key}; there are {len(self)} pairs, from 0")
        subset, select = self._subsets[key], self._data._selected
        return select(self._split.table(subset, is_rest=True)), select(self._split.table(subset))

    def __repr__(self) -> str:
        return f"<{len(self)} pairs (train, val) of {self._data!r}>"


def _check_seed(seed: int) -> None:
    if type(seed) is not int or not 0 <= seed < 2**63:
        raise InvalidArgumentError(f"seed = {shown(seed)}; it must be an int of at least 0")


def _exponentials(hashes: Hashes) -> Array:
    """-ln(u), to ten digits, for a number u in (0, 1) that each hash gives.  The function uses only
    operations that IEEE 754 defines to the bit, so that results are the same everywhere.
    """
    u = ((hashes >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    mantissas, exponents = np.frexp(u)  # 1/2 <= mantissa < 1
    s = (1 - mantissas) / (1 + mantissas)
    square, series = s * s, np.zeros(len(s))
    for odd in range(17, 0, -2):  # atanh(s) = s + s^3 / 3 + s^5 / 5 ...; -ln(m) = 2 atanh(s)
        series = series * square + 1 / odd
    found: Array = 2 * s * series - exponents * 0.6931471805599453
    return found


class _Sizes:
    """The sizes of subsets, and the rule by which a hash decides a subset.

    Attributes:
        fractions: The share of each subset; empty where counts were given.
        counts: The records of each subset; empty where fractions were given.
        rule: The version of the rule that decides the subset of a hash by fractions.
    """

    def __init__(self, sizes: Sequence[Any], rule: int) -> None:
        """Takes fractions (floats that sum to 1) or counts (integers)."""
        self.fractions: list[float] = []
        self.counts: list[int] = []
        self.rule = rule
        if type(rule) is not int or rule not in (1, RULE):
            raise InvalidArgumentError(f"rule = {shown(rule)}; the rules are 1 and {RULE}")
        if not 1 <= len(sizes) <= _MOST_SUBSETS:
            raise InvalidArgumentError(
                f"split() into {len(sizes)} subsets; there can be 1 to {_MOST_SUBSETS}"
            )
        whole = [isinstance(size, (int, np.integer)) and not isinstance(size, bool)
                 for size in sizes]  # fmt: skip
        if all(whole):
            self.counts = [operator.index(size) for size in sizes]
        elif any(whole) or not all(isinstance(size, (float, np.floating)) for size in sizes):
            raise InvalidArgumentError(
                f"split({shown(list(sizes))}): give fractions, as [0.9, 0.1], or counts, as "
                "[1000, 200]"
            )
        else:
            self.fractions = [float(size) for size in sizes]
        given = self.counts or self.fractions
        if not all(0 <= size for size in given):
            raise InvalidArgumentError(f"split({shown(given)}): no subset can be below 0")
        if self.fractions and not abs(sum(self.fractions) - 1) <= 1e-6:
            raise InvalidArgumentError(
                f"split({shown(given)}): the fractions sum to {sum(self.fractions):.9g}; the sum "
                "must be 1"
            )

    def __len__(self) -> int:
        return len(self.counts or self.fractions)

    def of_hashes(self, hashes: Hashes) -> Array:
        """The subset of each record, by fractions.

        By rule 2 the subsets race for a record.  The record and the number of the subset draw the
        time of each subset, divided by the fraction of the subset; the subset with the shortest
        time gets the record. A subset with a larger fraction than before is faster, and only gains
        records.
        """
        if self.rule == 1:
            return self._of_places(hashes)
        found = np.zeros(len(hashes), self.dtype)
        least = np.full(len(hashes), np.inf)
        for subset, fraction in enumerate(self.fractions):
            if fraction > 0:
                times = _exponentials(_hash_words(hashes, np.uint64(subset))) / fraction
                found[times < least] = subset
                least = np.minimum(least, times)
        return found

    def _of_places(self, hashes: Hashes) -> Array:
        """The subset of each record by rule 1: a hash is a place in [0, 1), and each subset is an
        interval as long as its fraction.
        """
        from fractions import Fraction  # few programs split by hash

        total, sums, bounds = sum(map(Fraction, self.fractions)), Fraction(0), []
        for fraction in self.fractions[:-1]:
            sums += Fraction(fraction)
            bounds.append(int(sums / total * 2**_BITS))
        places = hashes >> np.uint64(64 - _BITS)
        found: Array = np.searchsorted(np.array(bounds, np.uint64), places, side="right")
        return found.astype(self.dtype)

    def of_all_hashes(self, hashes: Array) -> Array:
        """The subset of each record, by counts: the records with the smallest hashes are in the
        first subset.
        """
        subsets = np.empty(len(hashes), self.dtype)
        subsets[np.argsort(hashes, kind="stable")] = np.repeat(np.arange(len(self)), self.counts)
        return subsets

    def of_classes(self, values: Array) -> Array:
        """The subset of each record, from its hash and that of its class.

        Records are dealt class by class, in the order of their hashes.  After m of T records, a
        subset of c records has m * c / T of them, rounded down, so that a subset has its share of
        each run of records, and of each class.
        """
        left, total = np.lexsort((values[:, 0], values[:, 1])), len(values)
        ends = np.cumsum(self.counts or self.fractions)
        ends = np.rint(ends / ends[-1] * total).astype(np.int64)
        subsets = np.empty(total, self.dtype)
        for subset, count in enumerate(np.diff(ends, prepend=0).tolist()):
            dealt = np.arange(len(left) + 1) * count // max(1, len(left))
            is_own = dealt[1:] > dealt[:-1]
            subsets[left[is_own]] = subset
            left = left[~is_own]
        return subsets

    def check(self, records: int) -> None:
        """Refuses counts whose sum is not the number of records."""
        if self.counts and sum(self.counts) != records:
            raise InvalidArgumentError(
                f"split({shown(self.counts)}): the subsets have {sum(self.counts)} records "
                f"together, and the data set has {records}"
            )

    @property
    def dtype(self) -> type[np.unsignedinteger[Any]]:
        return np.uint8 if len(self) <= 256 else np.uint16


class _Split:
    """The subset of each record of a data set, computed when first needed."""

    def __init__(
        self,
        data: DatasetBase,
        sizes: _Sizes,
        by: str | Sequence[str] | None,
        stratify: str | None,
        seed: int,
    ) -> None:
        """Checks that hashes can split the records: by the values of some fields or, with None, by
        file and number.
        """
        refuse_changing_order(data)
        _check_seed(seed)
        names = names_of(by, "by") if by is not None else []
        fields = data._fields
        for name in names:
            check_hashed(data, name, "by")
        if stratify is not None:
            if not isinstance(stratify, str):
                raise InvalidArgumentError(
                    f"stratify = {shown(stratify)}; give the name of one field: map() makes one of "
                    "several"
                )
            check_hashed(data, stratify, "stratify")
        if names and sizes.counts:
            raise InvalidArgumentError(
                f"split({shown(sizes.counts)}, by={shown(names)}): records with the same value "
                f"stay together, so counts cannot be exact; give fractions"
            )
        if names and stratify is not None:
            raise InvalidArgumentError(
                f"stratify = {shown(stratify)}, by={shown(names)}: records with the same value "
                f"stay together, so a class cannot have its share of each subset; leave one of the "
                f"two out"
            )
        if not names and any(map(prepared_of, reader_nodes(list(fields.values())))):
            raise InvalidArgumentError(
                "split() after cache(): file and number identify a record, and the files of a "
                "cache change with the data; split before cache(), or give by or in_order=True"
            )
        self._data, self._sizes, self._by, self._seed = data, sizes, names, seed
        self._stratify = stratify
        self._key = tuple(sizes.counts or sizes.fractions), tuple(names), stratify, seed
        of = f", by={', '.join(names)}" if names else ""
        of += f", stratify={stratify}" if stratify else ""
        self._said = f"split({shown([*self._key[0]])}{of}, seed={seed})"
        self._is_by_rule = stratify is None and bool(sizes.fractions)
        self._found: tuple[Hashable, Array] | None = None

    def table(self, subset: int, *, is_rest: bool = False) -> Table:
        """The records of a subset, or of all other subsets, as a bitmap."""
        rule = RULE if self._is_by_rule and self._sizes.rule == RULE else 0  # rule 1 had no name
        return Table(
            lambda: words_of((self._subsets() == subset) != is_rest),
            said=f"{self._said} but [{subset}]" if is_rest else f"{self._said}[{subset}]",
            key=("split", *self._key, subset, is_rest, rule),
            state=lambda: files_state(self._data), rule=rule,
        )  # fmt: skip

    def _subsets(self) -> Array:
        state = files_state(self._data)
        if self._found is None or self._found[0] != state:
            self._found = state, evaluate(self._computation(), self._data._fields)
        return self._found[1]

    def _computation(self) -> Computation:
        sizes, stratify = self._sizes, self._stratify
        given = (f"split {self._seed} {sizes.fractions} {sizes.counts} {self._by} {stratify} "
                 f"{sizes.rule}")  # fmt: skip
        records = _Records(self._seed, sizes)
        of = self._data._fields
        fields = {name: of[name] for name in self._by}
        if stratify is not None:
            fields = {_CLASS: of[stratify]}

        def of_batch(batch: Columns) -> Array:
            hashes = hashes_of(batch, self._seed) if self._by else records.hashes(batch[ID])
            if stratify is not None:
                return np.stack([hashes, hashes_of({_CLASS: batch[_CLASS]}, self._seed)], axis=1)
            return sizes.of_hashes(hashes) if sizes.fractions else hashes

        of_all = sizes.of_classes if stratify is not None else sizes.of_all_hashes
        return Computation(
            fields, of_batch, given, "split", attrs={} if self._by else {"with_id": True},
            prepare=None if self._by else records.prepare,
            of_all=None if self._is_by_rule else of_all,
        )  # fmt: skip


def check_hashed(data: DatasetBase, name: str, what: str) -> None:
    """Refuses a name that is no field, and fields that have no hashes."""
    fields = data._fields
    if name not in fields:
        raise InvalidArgumentError(
            f"{what} = {shown(name)}: there is no such field; there are {', '.join(fields)}"
        )
    if fields[name].shape[1:].count(None) > 1 or None in fields[name].shape[2:]:
        raise InvalidArgumentError(
            f"{what} = {shown(name)}: its rows are of shape {fields[name].shape[1:]}; only "
            "their first dimension can vary"
        )


def _start(seed: int, rows: int) -> Hashes:
    start = np.array([seed], np.int64).view(np.uint64)
    return np.repeat(_hash_words(np.zeros(1, np.uint64), start), rows)


def hashes_of(batch: Columns, seed: int) -> Hashes:
    """A hash of each row of some fields."""
    hashes = _start(seed, len(next(iter(batch.values()))))
    for column in batch.values():
        hashes = hash_column(hashes, column)
    return hashes


class _Records:
    """Hashes of the records themselves: of the name of their file, and their number in it."""

    def __init__(self, seed: int, sizes: _Sizes) -> None:
        self._seed, self._sizes = seed, sizes

    def prepare(self, loader: DataLoader[Columns]) -> None:
        """Looks at the files.  The number of a file is the count of earlier files with the same
        name.
        """
        self._sizes.check(loader.readers[0].records)
        self._open_loader = open_loader_of(loader)
        self._paths = self._open_loader.files()
        self._are_folders = bool(self._paths) and os.path.isdir(self._paths[0])
        before: Counter[str] = Counter()
        names = []
        for path in self._paths:
            name = os.path.basename(os.path.normpath(path))
            names.append(_hash_bytes(os.fsencode(f"{name}\0{before[name]}")))
            before[name] += 1
        count = len(names)
        firsts = [0] * count if self._are_folders else self._open_loader.first_records(count)
        self._names = np.array([*names, 0], np.uint64)  # the last one: records without a file
        self._firsts = np.array([*firsts, 0], np.int64)

    def hashes(self, ids: Array) -> Hashes:
        """The hashes of the records with these files and numbers."""
        files, numbers = ids[:, 0], ids[:, 1]
        hashes = _hash_words(_start(self._seed, len(ids)), self._names[files])
        if self._are_folders:
            own = [self._name_in_folder(*record) for record in ids.tolist()]
            return _hash_words(hashes, np.array(own, np.uint64))
        return _hash_words(hashes, (numbers - self._firsts[files]).view(np.uint64))

    def _name_in_folder(self, file: int, number: int) -> int:
        """The hash of a file's path in the folder of its data set."""
        path = self._open_loader.file_of_record(file, number)
        return _hash_bytes(os.fsencode(os.path.relpath(path, self._paths[file])))


# ---- Leaks --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Leaks:
    """What two data sets have in common; false if they have nothing in common.

    Attributes:
        keys: The keys that are in both, in the order of the first data set: values of the field,
            tuples of the values of several, or hashes of whole records, in hex digits.
        first: The numbers of the records of the first data set that have these keys: int64.
        second: The same, of the second data set.
    """

    keys: list[Any]
    first: npt.NDArray[np.int64]
    second: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        if not self.keys:
            return "no leaks: nothing is in both"
        some = ", ".join(shown(key) for key in self.keys[:5])
        return (
            f"{len(self.keys):,} in both: {some}{' ...' if len(self.keys) > 5 else ''} "
            f"({len(self.first):,} records of the first, {len(self.second):,} of the second)"
        )


def leaks(first: Reading, second: Reading, key: str | Sequence[str] | None = None) -> Leaks:
    """Finds what two data sets have in common that should have nothing in common, such as train and
    test.

        train, test = data.split([0.9, 0.1])
        assert not flow.leaks(train, test, key="user")

    All threads read both data sets once; values are compared by hashes of 64 bits.

    Args:
        first, second: The data sets; records are numbered as before a shuffle at the end.
        key: A field, or several fields that make a key together.  None: all fields, which finds
            records that are in both.

    Raises:
        InvalidArgumentError: There is no such field, or an order changes from epoch to epoch.
    """
    check_sources("leaks", (first, second))
    names = sorted(first._fields) if key is None else names_of(key, "key")
    if key is None and first._fields.keys() != second._fields.keys():
        raise InvalidArgumentError(
            f"leaks(): the data sets have the fields {', '.join(first._fields)}, and "
            f"{', '.join(second._fields)}: give key, the fields to compare"
        )
    if not names:
        raise InvalidArgumentError(f"leaks(key={shown(key)}): give a field or several")
    hashes = [_hashes_of_records(data, names) for data in (first, second)]
    in_both = np.intersect1d(hashes[0], hashes[1])
    numbers = [np.flatnonzero(np.isin(own, in_both)) for own in hashes]
    _, places = np.unique(hashes[0][numbers[0]], return_index=True)
    ones = numbers[0][np.sort(places)]
    if key is None:
        return Leaks([f"{one:016x}" for one in hashes[0][ones].tolist()], *numbers)
    rows = type(first)({name: first._fields[name] for name in names}).rows(ones)
    found = [
        tuple(one.item() if isinstance(one, np.generic) else one for one in record.values())
        for record in records_of(rows)
    ]
    return Leaks([one[0] for one in found] if len(names) == 1 else found, *numbers)


def _hashes_of_records(data: DatasetBase, names: Sequence[str]) -> Hashes:
    """The hash of the values of each record."""
    refuse_changing_order(data, "use leaks() before it")
    for name in names:
        check_hashed(data, name, "key")
    wanted = Computation(
        {name: data._fields[name] for name in names}, lambda batch: hashes_of(batch, 0),
        "hash 0", "leaks()",
    )  # fmt: skip
    return evaluate(wanted, data._fields).view(np.uint64)
