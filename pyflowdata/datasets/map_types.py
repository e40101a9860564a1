"""Names and types of what a function makes of rows: as given, or found by calling it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Error, InvalidArgumentError, shown
from ..nodes import Blob
from ..nodes.in_use import nothing_in_use
from ..nodes.row_types import RowType, row_type
from ..loader import DataLoader
from ..pyops.callbacks import user_failure
from ..pyops.op import name_of
from ..pyops.row_function import RowFunction
from ..ragged import Ragged
from .reading import Reading

Outputs = str | Sequence[str] | Mapping[str, Any]

_RECORDS = 4  # that are looked at where the types of outputs are left out


class SampleRows:
    """The first records, where the function has to be called to know what it returns."""

    per = "row"

    def __init__(self, data: Reading, names: Sequence[str]) -> None:
        self._data = data
        self._names = names

    def read(self) -> list[list[Any]]:
        """What the function is called with, some times."""
        data = self._data._with_blobs({name: self._data._fields[name] for name in self._names})
        return [
            [record[name] for name in self._names]
            for record in itertools.islice(data, _RECORDS)
        ]

    def shape(self, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
        """Of a row of an output."""
        found: tuple[int, ...] = array.shape
        return found


class SampleBatch:
    """The same of a batch."""

    per = "batch"

    def __init__(self, blobs: Sequence[Blob]) -> None:
        self._blobs = list(blobs)

    def read(self) -> list[list[Any]]:
        """What the function is called with, once."""
        with nothing_in_use():
            loader = DataLoader(tuple(self._blobs), num_threads=1, prefetch=1)
        with loader:
            return [list(batch) for batch in itertools.islice(loader, 1)]

    def shape(self, array: np.ndarray[Any, Any]) -> tuple[int, ...]:
        """Of a row of an output."""
        found: tuple[int, ...] = array.shape[1:]
        return found


def named(names: Sequence[str], outputs: Outputs | None, count: int) -> list[str]:
    """The names of so many results."""
    if outputs is None and count == len(names):
        return list(names)
    given = [] if outputs is None else [outputs] if isinstance(outputs, str) else list(outputs)
    if len(given) != count or len(set(given)) != count:
        raise InvalidArgumentError(
            f"map: the function gives {count} {'result' if count == 1 else 'results'}; outputs "
            f"must have a name for each, and {', '.join(given) or 'no name'} "
            f"{'is' if len(given) < 2 else 'are'} given"
        )
    return given


def types_of(
    function: RowFunction,
    names: Sequence[str],
    outputs: Outputs | None,
    samples: SampleRows | SampleBatch,
) -> dict[str, RowType]:
    """The types of the outputs: as given, or those of what the function returns."""
    given: dict[str, Any] = dict(outputs) if isinstance(outputs, Mapping) else {}
    if given and all(one is not None for one in given.values()):
        return {key: row_type(f"outputs['{key}']", one) for key, one in given.items()}
    found: dict[str, RowType] = {}
    for inputs in samples.read():
        said = _called(function, inputs)
        if isinstance(said, Mapping):
            results = dict(said)
            if outputs is not None:
                results = {key: results[key] for key in named(names, outputs, len(results))}
        else:
            several = said if isinstance(said, tuple) else (said,)
            results = dict(zip(named(names, outputs, len(several)), several, strict=True))
        for key, value in results.items():
            found[key] = _joined(key, found.get(key), _type_of(key, value, samples))
    if not found:
        raise InvalidArgumentError(
            "map: there is no record to see what the function returns; give the types, as "
            'outputs={"x": "float32[3]"}'
        )
    return {
        key: one if given.get(key) is None else row_type(f"outputs['{key}']", given[key])
        for key, one in found.items()
    }


def _called(function: RowFunction, inputs: Sequence[Any]) -> Any:
    taken = function.__signature__.parameters
    keywords: dict[str, Any] = {}
    if "rng" in taken:
        keywords["rng"] = np.random.default_rng(0)
    if "ids" in taken:
        keywords["ids"] = np.zeros((2,), np.int64)
    try:
        return function.function(*inputs, **function.keywords, **keywords)
    except Error:
        raise
    except Exception as failure:
        raise user_failure(failure, f"{name_of(function.function)}()") from failure


def _type_of(key: str, value: Any, samples: SampleRows | SampleBatch) -> RowType:
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        return row_type(key, "bytes")
    if isinstance(value, Ragged):
        return RowType(value.dtype, value.row_shape)
    try:
        array = np.asarray(value)
        return row_type(key, (array.dtype, samples.shape(array)))
    except ValueError as failure:
        raise InvalidArgumentError(
            f"map: the result '{key}' is {shown(value)}, which is not an array of numbers, nor "
            "bytes or a text: give its type in outputs"
        ) from failure


def _joined(key: str, one: RowType | None, other: RowType) -> RowType:
    """The type of both; None for a dimension in which they differ."""
    if one is None or one == other:
        return other
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        raise InvalidArgumentError(
            f"map: the result '{key}' is {one} for one record and {other} for another; give its "
            "type in outputs"
        )
    shape = tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True))
    return RowType(one.dtype, shape)
