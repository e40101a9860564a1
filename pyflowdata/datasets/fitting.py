"""Values that a pass over a data set fits: the words of a field of text, the statistics of numbers.

A pass reads one field, in batches that all threads make.  The batches have the same rows in the
same order at any number of threads, and are counted one after another: so the results are the same.
"""

from __future__ import annotations

import codecs
import collections
import functools
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import (
    CorruptDataError,
    InvalidArgumentError,
    OutOfMemoryError,
    WrongUseError,
    shown,
)
from ..loader import DataLoader
from ..native import ffi, lib, xxh64
from ..nodes import widened
from ..nodes.objects import Identity
from ..nodes.tables import Table
from ..ragged import Ragged
from .base import DatasetBase, check_sources, is_several, no_field_of, node_alone, whole
from .cache_files import new_file
from .columns import pass_over, refuse_changing, refuse_changing_order

_ROWS = 8192  # of a batch
_KIND = "pyflowdata vocabulary"


def _batches(data: DatasetBase, field: str, said: str) -> Iterator[Any]:
    """The values of a field, in the order of the records before a last shuffle.

    Raises:
        WrongUseError: Several fields are named.
        InvalidArgumentError: There is no such field; a random op computes it; or a view draws other
            records in each epoch, or has no end.
    """
    check_sources("fit", [data])
    if is_several(field):
        one = next(iter(field), "x")
        raise WrongUseError(
            f"fit: field = {shown(field)}; one field at a time: fit(data, {shown(one)})"
        )
    if not isinstance(field, str) or field not in data._fields:
        raise InvalidArgumentError(no_field_of(field, data._fields))
    blob = data._fields[field]
    refuse_changing_order(data, f"use records before it for the {said}")
    refuse_changing({field: blob}, said)
    with DataLoader(node_alone([blob], _ROWS).outputs[0], ledger="") as loader:
        yield from pass_over(loader, said)


# ---- Files --------------------------------------------------------------------------------------
# A file is a JSON object: "sha256", the digest of the rest; "kind", which tells what it is; and the
# values.  Python writes the shortest text that reads back as the same float64.


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, indent=0).encode()).hexdigest()


def _is_json(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith(".json")


def _write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Writes a whole file, in place of a former one."""
    where, own = Path(path), {"sha256": _digest(content), **content}
    temporary = where.with_name(f"{where.name}.tmp-{os.getpid()}-{time.time_ns():x}")
    try:
        with new_file(where, temporary) as file:
            file.write(f"{json.dumps(own, indent=0)}\n".encode())
    except OSError as failure:
        failure.filename = os.fspath(path)
        raise


_Made = TypeVar("_Made")


def _read(
    path: str | os.PathLike[str], kind: str, make: Callable[[dict[str, Any]], _Made],
    digest_of: Callable[[_Made], str], who: str, more: str = "",
) -> _Made:  # fmt: skip
    """What a file of `_write()` holds.

    Args:
        kind: The "kind" that it must have.
        make: Makes the object of the content.
        digest_of: Gives the digest of the object's content.
        who: What wrote the file, for messages.
        more: A further sentence for a file of another kind.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        if found["kind"] != kind:
            raise ValueError
        made = make(found)
        is_whole = found.get("sha256", digest_of(made)) == digest_of(made)
    except (ValueError, LookupError, TypeError, AttributeError, InvalidArgumentError):
        raise CorruptDataError(
            f"the file holds no {kind.split()[-1]} that {who} wrote{more}", file=os.fspath(path)
        ) from None
    if not is_whole:
        raise CorruptDataError(
            f"the content is not what {who} wrote: its checksum is another; save it again",
            file=os.fspath(path),
        )
    return made


# ---- Vocabularies -------------------------------------------------------------------------------


def _encoded(word: str | bytes) -> bytes:
    if isinstance(word, str):
        return word.encode("utf-8", "surrogateescape")
    if isinstance(word, (bytes, bytearray)):
        return bytes(word)
    raise InvalidArgumentError(f"{shown(word)} is no word of a vocabulary; it must be a str")


def _decoded(word: bytes) -> str:
    return word.decode("utf-8", "surrogateescape")


def _counted(rows: Ragged) -> Mapping[bytes, int]:
    """How often each different row of bytes is there."""
    splits, firsts, counts = rows.row_splits, *np.empty((2, len(rows)), np.int64)
    own = (ffi.from_buffer("int64_t[]", one) for one in (splits, firsts, counts))
    values = ffi.from_buffer("uint8_t[]", rows.values)
    own_splits, own_firsts, own_counts = own
    found = lib.pfd_count_distinct(values, own_splits, len(rows), own_firsts, own_counts)
    if found < 0:
        raise OutOfMemoryError("no memory to count the words of a batch")
    if 2 * found > len(rows):
        return collections.Counter(rows.to_bytes_list())
    first = firsts[:found]
    bounds = zip(splits[first].tolist(), splits[first + 1].tolist(), strict=True)
    words = (rows.values[begin:end].tobytes() for begin, end in bounds)
    return dict(zip(words, counts[:found].tolist(), strict=True))


class Vocabulary(Table):
    """Words with numbers from 0, for `flow.Lookup`.  Immutable; it pickles, and equals another one
    with the same words.

        cities = flow.Vocabulary.fit(data, "city", min_count=5, unknown="<unknown>")
        data = data.map(flow.Lookup, "city", vocabulary=cities)

    A state of a loader contains a digest of the words, and is refused if the words have changed.

    Attributes:
        words: The words in the order of their numbers.  Bytes that are not UTF-8 are surrogates, as
            with `surrogateescape`.
        unknown: The word whose number all other texts get; None: other texts are errors.
        digest: A hash of the words and of `unknown`.
    """

    def __init__(
        self, words: Iterable[str | bytes], *, unknown: str | bytes | None = None
    ) -> None:
        """Args:
        words: The words, each once; their numbers are 0, 1, ...
        unknown: The word for all other texts; if it is not among the words, it becomes the first
            word.

        Raises:
            InvalidArgumentError: A word is there twice, or is not a text; or `words` is one text.
        """
        if isinstance(words, (str, bytes)):
            raise InvalidArgumentError(
                f"Vocabulary({shown(words)}): give a list of words; Vocabulary.load() reads a file"
            )
        own = [_encoded(word) for word in words]
        numbers = {word: number for number, word in enumerate(own)}
        if len(numbers) < len(own):
            twice, _ = collections.Counter(own).most_common(1)[0]
            raise InvalidArgumentError(f"the vocabulary has {shown(_decoded(twice))} twice")
        rest = None if unknown is None else _encoded(unknown)
        if rest is not None and rest not in numbers:
            own.insert(0, rest)
            numbers = {word: number for number, word in enumerate(own)}
        self.words = tuple(map(_decoded, own))
        self.unknown = None if rest is None else _decoded(rest)
        self._numbers = numbers
        self._rest = -1 if rest is None else numbers[rest]
        self.digest = _digest(self._content())
        words_said, key = f"{len(own):,} words", ("words", self.digest)
        super().__init__(self._laid_out(own), said=f"Lookup({words_said})", key=key)
        said = f"{words_said}, sha256 {self.digest[:12]}"
        #: By which a state tells whether the words are the same.
        self.object_identity = Identity(lambda: self.digest, said, what="the vocabulary was")

    def _laid_out(self, words: Sequence[bytes]) -> npt.NDArray[np.int64]:
        """The hash table that csrc/ops/lookup.c describes."""
        buckets = 1 << max(len(words) - 1, 0).bit_length()
        own = np.fromiter(map(xxh64, words), np.uint64, len(words)) % np.uint64(buckets)
        order = np.argsort(own, kind="stable")
        begins = np.searchsorted(own[order], np.arange(buckets + 1, dtype=np.uint64))
        sizes = np.fromiter(map(len, words), np.int64, len(words))
        places = np.cumsum(sizes) - sizes
        entries = np.stack([np.arange(len(words)), places, sizes], 1)[order]
        text = b"".join(words)
        stored = np.frombuffer(text + bytes(-len(text) % 8), np.int64)
        head = [len(words), self._rest, buckets]
        return np.concatenate([head, begins, entries.reshape(-1), stored]).astype(np.int64)

    @classmethod
    def fit(
        cls, data: DatasetBase, field: str, *, max_size: int | None = None, min_count: int = 1,
        unknown: str | None = None,
    ) -> Vocabulary:  # fmt: skip
        """A vocabulary of the texts of a field: the most frequent text comes first, and equally
        frequent texts are in the order of their bytes.  One pass reads the field and counts each
        different text.

        Args:
            data: The records.
            field: A field of text.
            max_size: The most words, `unknown` included; None: no limit.
            min_count: Only texts that occur in at least this many records.
            unknown: As in `Vocabulary()`; if it is also a text of the field, its count decides its
                place.

        Raises:
            InvalidArgumentError: There is no such field, or it is not a field of text.
        """
        whole(min_count, "min_count", 1)
        if max_size is not None:
            whole(max_size, "max_size", 1)
        counts: collections.Counter[bytes] = collections.Counter()
        for batch in _batches(data, field, f"words of {shown(field)}"):
            values = batch.values if isinstance(batch, Ragged) else batch
            if values.dtype != np.uint8 or len(getattr(batch, "row_shape", batch.shape[1:])) != 1:
                raise InvalidArgumentError(
                    f"the field {shown(field)} is no text; a vocabulary has texts, and "
                    "HashBucket and Bucketize number integers and floats"
                )
            rows = batch if isinstance(batch, Ragged) else Ragged(
                batch.reshape(-1), np.arange(len(batch) + 1) * batch.shape[1]
            )
            counts.update(_counted(rows))
        frequent = [word for word, count in counts.items() if count >= min_count]
        words = sorted(frequent, key=lambda word: (-counts[word], word))
        is_added = unknown is not None and _encoded(unknown) not in words[:max_size]
        most = None if max_size is None else max_size - is_added
        return cls(words[:most], unknown=unknown)

    def _content(self) -> dict[str, Any]:
        return {"kind": _KIND, "unknown": self.unknown, "words": self.words}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file with a checksum, which `load()` reads.

        Raises:
            OSError: The file cannot be written.
            InvalidArgumentError: The path does not end in ".json".
        """
        if not _is_json(path):
            raise InvalidArgumentError(
                f"Vocabulary.save({shown(os.fspath(path))}): give a path that ends in .json; other "
                "files have a word in each line for load()"
            )
        _write(path, self._content())

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, unknown: str | None = None
    ) -> Vocabulary:
        """The words of a file that `save()` wrote, or of a text file with a word in each line.

        Args:
            path: The file; a path that ends in ".json" is a file of `save()`.
            unknown: As in `Vocabulary()`, for a text file.

        Raises:
            OSError: The file cannot be read.
            CorruptDataError: The JSON file is no vocabulary, or has changed since it was saved.
        """
        if not _is_json(path):
            lines = Path(path).read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()
            return cls(lines, unknown=unknown)
        return _read(
            path, _KIND, lambda own: cls(own["words"], unknown=own["unknown"]),
            lambda made: made.digest, "Vocabulary.save()",
            "; a file with a word in each line has another suffix than .json",
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, (str, bytes)) and _encoded(word) in self._numbers

    def __getitem__(self, number: int) -> str:
        """The word with a number, as `Lookup` gives it; `index()` is the other way."""
        if isinstance(number, (str, bytes)):
            raise WrongUseError(
                f"a vocabulary has a word for each number: the number of {shown(number)} is "
                f"vocabulary.index({shown(number)})"
            )
        return self.words[number]

    def index(self, word: str | bytes) -> int:
        """The number of a word, as `Lookup` gives it: the number of `unknown` for other words.

        Raises:
            InvalidArgumentError: The word is not in the vocabulary, and there is no `unknown`.
        """
        number = self._numbers.get(_encoded(word), self._rest)
        if number < 0:
            raise InvalidArgumentError(
                f"there is no word {shown(word)} in the vocabulary, which has no unknown= either; "
                f"it has {shown(list(self.words))}"
            )
        return number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_vocabulary, (self.words, self.unknown)

    def __repr__(self) -> str:
        unknown = "" if self.unknown is None else f", unknown={shown(self.unknown)}"
        return f"Vocabulary({shown(list(self.words))}{unknown})"


def _make_vocabulary(words: Sequence[str], unknown: str | None) -> Vocabulary:
    return Vocabulary(words, unknown=unknown)


# ---- Statistics ---------------------------------------------------------------------------------


_NAT = np.iinfo(np.int64).min  # a date that is missing, as ParseDate and NumPy have it


class Numbers:
    """Counts and moments of numbers that come in arrays, without those that are NaN.

    The moments of arrays are joined in the order in which they come (Chan, Golub, LeVeque:
    Updating formulae and a pairwise algorithm for computing sample variances, 1979).
    """

    def __init__(self) -> None:
        self.count = self.nans = 0
        self.total: float = 0
        self.squares: float = 0  # squared differences from the mean
        self.smallest: Any = None
        self.largest: Any = None

    def add(self, values: Any) -> None:
        """All elements of an array."""
        if not values.size:
            return
        low, high = values.min().item(), values.max().item()
        if low != low:  # there are NaNs
            is_number = ~np.isnan(values)
            self.nans += values.size - int(is_number.sum())
            values = values[is_number]
            if not values.size:
                return
            low, high = values.min().item(), values.max().item()
        self.smallest = low if self.smallest is None else min(self.smallest, low)
        self.largest = high if self.largest is None else max(self.largest, high)
        count = values.size
        with np.errstate(all="ignore"):  # infinite numbers have NaN
            total = float(values.sum(dtype=np.float64))
            self.squares += float(values.var(dtype=np.float64)) * count
            if self.count:
                apart = np.float64(total) / count - self.total / self.count
                self.squares += float(apart**2) * count * self.count / (count + self.count)
        self.total += total
        self.count += count

    @property
    def mean(self) -> float:
        return self.total / self.count

    @property
    def std(self) -> float:
        return math.sqrt(self.squares / self.count)

    def about(self) -> dict[str, Any]:
        """As a dict for JSON."""
        found: dict[str, Any] = {"count": self.count, "min": self.smallest, "max": self.largest}
        found["mean"] = self.mean if self.count else None
        found["std"] = self.std if self.count else None
        return {**found, **({"nan": self.nans} if self.nans else {})}


_KIND_OF_STATISTICS = "pyflowdata statistics"
_ARRAYS = ("count", "missing", "mean", "std", "min", "max")


def _frozen(given: npt.ArrayLike, dtype: Any = np.float64) -> npt.NDArray[Any]:
    """A copy that is read-only."""
    made = np.array(given, dtype)
    made.flags.writeable = False
    return made


class Statistics:
    """The statistics of a field of numbers, for `FillMissing`, `Affine` and `Bucketize`.

        ages = flow.Statistics.fit(data, "age", quantiles=[0.5])
        data = data.map(flow.FillMissing, "age", value=ages.median)
        data = data.map(flow.Affine, "age", **ages.standardize())

    NaN stands for a missing number, and NaT (the least int64) for a missing date of `ParseDate`;
    both count only in `missing`.  The arrays have an element for each element of the last dimension
    of a row, and one element if a row is one number; they are read-only.  A `Statistics` pickles,
    and equals another one with the same values.

    Attributes:
        count: Numbers that are not missing, int64.
        missing: Numbers that are NaN or NaT, int64.
        mean: float64.
        std: The standard deviation of these numbers (divided by count), float64.
        min, max: float64.
        quantiles: The quantiles that were asked for, interpolated as by `numpy.quantile`.
    """

    def __init__(
        self,
        *,
        count: npt.ArrayLike,
        missing: npt.ArrayLike,
        mean: npt.ArrayLike,
        std: npt.ArrayLike,
        min: npt.ArrayLike,  # noqa: A002
        max: npt.ArrayLike,  # noqa: A002
        quantiles: Mapping[float, npt.ArrayLike] = MappingProxyType({}),
    ) -> None:
        """Args: as the attributes; `fit()` and `load()` make them.

        Raises:
            InvalidArgumentError: The arrays differ in size.
        """
        self.count = _frozen(count, np.int64)
        self.missing = _frozen(missing, np.int64)
        self.mean, self.std = _frozen(mean), _frozen(std)
        self.min, self.max = _frozen(min), _frozen(max)
        self.quantiles = MappingProxyType(
            {float(at): _frozen(values) for at, values in quantiles.items()}
        )
        own = [getattr(self, name) for name in _ARRAYS] + list(self.quantiles.values())
        if any(one.shape != self.count.shape or one.ndim != 1 for one in own):
            raise InvalidArgumentError(
                f"Statistics of arrays of the shapes {', '.join(str(one.shape) for one in own)}; "
                "each has an element for each element of a row"
            )

    @classmethod
    def fit(
        cls, data: DatasetBase, field: str, *, quantiles: Sequence[float] = ()
    ) -> Statistics:
        """One pass over a field of numbers.

        Args:
            data: The records.
            field: A field of numbers.
            quantiles: A list of fractions from 0 to 1, such as 0.5 for the median.  Quantiles are
                exact, and need all numbers of the field in memory.

        Raises:
            InvalidArgumentError: There is no such field; or it has texts, no numbers, an infinite
                number, or numbers so large that their squares overflow float64.
        """
        fractions: list[Any] = list(quantiles) if isinstance(quantiles, Iterable) else [None]
        if not all(isinstance(one, Real) and 0 <= float(one) <= 1 for one in fractions):
            raise InvalidArgumentError(
                f"quantiles = {shown(quantiles)}; give a list of fractions from 0 to 1, as [0.5]"
            )
        parts: list[Numbers] = []
        kept: list[list[Any]] = []
        for batch in _batches(data, field, f"statistics of {shown(field)}"):
            values = widened(batch.values if isinstance(batch, Ragged) else batch)
            if isinstance(batch, Ragged) and batch.dtype == np.uint8 and len(batch.row_shape) == 1:
                raise InvalidArgumentError(
                    f"the field {shown(field)} has bytes; statistics are those of numbers: take "
                    "ToNumber or ParseDate before"
                )
            if values.dtype == np.int64 and (values == _NAT).any():
                values = np.where(values == _NAT, np.nan, values)
            columns = values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1).T
            parts = parts or [Numbers() for _ in columns]
            kept = kept or [[] for _ in columns]
            for part, own, column in zip(parts, kept, columns, strict=True):
                part.add(column)
                if fractions:
                    own.append(column[~np.isnan(column)].copy())
        if not parts or any(not part.count for part in parts):
            gone = max((part.nans for part in parts), default=0)
            why = f": all {gone} are missing (NaN or NaT); is the format right?" if gone else ""
            raise InvalidArgumentError(
                f"the field {shown(field)} has no number in any record, so that it has no mean{why}"
            )
        if not all(math.isfinite(part.smallest) and math.isfinite(part.largest) for part in parts):
            raise InvalidArgumentError(
                f"the field {shown(field)} has infinite numbers, which have no mean: turn them "
                f"into NaN before, as missing numbers, or leave them out with where()"
            )
        if not all(math.isfinite(part.mean) and math.isfinite(part.squares) for part in parts):
            raise InvalidArgumentError(
                f"the field {shown(field)} has numbers whose sum or squares overflow float64; "
                f"divide them by a constant before"
            )
        sorted_ones = [np.concatenate(own) for own in kept] if fractions else []
        found = {at: np.array([np.quantile(one, at) for one in sorted_ones]) for at in fractions}
        return cls(
            count=[one.count for one in parts], missing=[one.nans for one in parts],
            mean=[one.mean for one in parts], std=[one.std for one in parts],
            min=[one.smallest for one in parts], max=[one.largest for one in parts],
            quantiles=found,
        )  # fmt: skip

    def _content(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        quantiles = [[at, values.tolist()] for at, values in self.quantiles.items()]
        return {"kind": _KIND_OF_STATISTICS, **arrays, "quantiles": quantiles}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file with a checksum, which `load()` reads; all numbers stay exact.

        Raises:
            OSError: The file cannot be written.
        """
        _write(path, self._content())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """The statistics of a file that `save()` wrote.

        Raises:
            OSError: The file cannot be read.
            CorruptDataError: The file has no statistics, or has changed since it was saved.
        """

        def make(found: dict[str, Any]) -> Statistics:
            return cls(**{name: found[name] for name in _ARRAYS},
                       quantiles=dict(found["quantiles"]))  # fmt: skip

        return _read(path, _KIND_OF_STATISTICS, make, Statistics._digest,
                     "Statistics.save()")  # fmt: skip

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Statistics) and self._digest() == other._digest()

    def __hash__(self) -> int:
        return hash(self._digest())

    def _digest(self) -> str:
        """The same for the same bits, as of a NaN, which equals nothing."""
        return _digest(self._content())

    def __reduce__(self) -> tuple[Any, ...]:
        own = {name: getattr(self, name) for name in _ARRAYS}
        return functools.partial(Statistics, **own, quantiles=dict(self.quantiles)), ()

    @property
    def median(self) -> npt.NDArray[np.float64]:
        """The quantile 0.5; it needs quantiles=[0.5] in `fit`."""
        if 0.5 not in self.quantiles:
            raise InvalidArgumentError(
                "the median was not asked for: Statistics.fit(data, field, quantiles=[0.5])"
            )
        found: npt.NDArray[np.float64] = self.quantiles[0.5]
        return found

    def standardize(self) -> dict[str, Any]:
        """The attrs of `Affine` that scale the numbers to mean 0 and standard deviation 1, float32.
        If all numbers are equal, they become 0.
        """
        return self._scaled(self.mean, np.where(self.std > 0, self.std, 1))

    def min_max(self) -> dict[str, Any]:
        """The attrs of `Affine` that scale the numbers to the range 0 to 1, float32.  If all
        numbers are equal, they become 0.
        """
        return self._scaled(self.min, np.where(self.max > self.min, self.max - self.min, 1))

    @staticmethod
    def _scaled(center: Any, width: Any) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            scale, shift = 1 / width, -center / width
        if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
            raise InvalidArgumentError(
                "the numbers differ by so little that 1 / width overflows float64; multiply them "
                "by a constant before Statistics.fit()"
            )
        return {"scale": scale.tolist(), "shift": shift.tolist(), "dtype": "float32"}

    def __repr__(self) -> str:
        return f"Statistics({', '.join(f'{one}={getattr(self, one).tolist()}' for one in _ARRAYS)})"
