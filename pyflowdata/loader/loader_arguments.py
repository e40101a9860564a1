"""The blobs that are given to a DataLoader; errors for other values say how to make blobs of them.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, WrongUseError, shown
from ..words.remedies import FROM_ARRAYS
from ..nodes import Blob
from ..nodes.node import Records, hint_of
from .batches import Batch
from .loader import Loader

_READER = 'flow.GeneratorReader({}, fields=["x:float32[3]", "y:int64"], batch_size=32)'
_ARRAYS = f"{FROM_ARRAYS}.batch(32)"


def _is_array(value: object) -> bool:
    return isinstance(value, np.ndarray) or hasattr(type(value), "__array__")


def _is_blobs(value: object) -> bool:
    parts: Iterable[object] = value.values() if isinstance(value, Mapping) else ()
    if isinstance(value, (tuple, list, set, frozenset)):
        parts = value
    several = list(parts)
    return bool(several) and all(isinstance(one, Blob) for one in several)


def _of_module(value: object) -> str:
    return next((kind.__module__ for kind in type(value).__mro__
                 if kind.__module__.partition(".")[0] in ("torch", "torchvision")), "")  # fmt: skip


def _of_function(function: Callable[..., Any]) -> str:
    name = getattr(function, "op_name", "")
    if name:
        return f"call it and give the blobs that it returns, {name}(...)"
    said = getattr(function, "__name__", "function")
    return f"a function that yields samples is read by {_READER.format(said)}"


def _instead_of(value: Any) -> str:
    """How to make blobs from a value that is not a blob."""
    if isinstance(value, (str, os.PathLike)):
        return f"open the files, flow.open({shown(os.fspath(value))}).batch(32)"
    if isinstance(value, Loader):
        return "it is a loader already: iterate over it"
    if _is_blobs(value):
        return "give blobs side by side, DataLoader(x, y), or all of them in one tuple or dict"
    if hasattr(value, "dataset") and _of_module(value):
        return f"take its data set, {_READER.format('loader.dataset')}"
    parts = list(value.values()) if isinstance(value, Mapping) else value
    if _is_array(value) or isinstance(value, Mapping) or (
        isinstance(parts, (tuple, list)) and parts and all(map(_is_array, parts))
    ):  # fmt: skip
        return f"arrays in memory are {_ARRAYS}"
    if isinstance(value, (list, tuple)):
        return f"samples in memory are read by {_READER.format('samples')}, and arrays by {_ARRAYS}"
    if isinstance(value, Iterator):
        return f"give the function that makes it, {_READER.format('function')}"
    if isinstance(value, type) or not (hasattr(value, "__getitem__") or hasattr(value, "__iter__")):
        if callable(value) and not isinstance(value, type):
            return _of_function(value)
        return "give what ops and readers return, or a data set's .batch(n)"
    return f"an object with samples is read by {_READER.format('dataset')}"


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiounAEIOU' else 'a'} {name}"


def _check_blobs(given: tuple[Any, ...], blobs: Iterable[Any]) -> None:
    """Refuses values that are not blobs; the error says how to make blobs from them.

    Args:
        given: The arguments of the DataLoader.
        blobs: The elements of the tuple or dict that was given, or the arguments.
    """
    for blob in blobs:
        if isinstance(blob, Records):
            raise InvalidArgumentError(hint_of(blob))
        if not isinstance(blob, Blob):
            whole = blob if len(given) > 1 or isinstance(blob, (list, tuple, Mapping)) else given[0]
            raise WrongUseError(
                f"DataLoader() takes blobs, and {_kind(whole)} was given: {_instead_of(whole)}"
            )


def arrange(given: tuple[Any, ...]) -> tuple[list[Blob], Callable[[list[Batch]], Any]]:
    """The blobs in the arguments of a DataLoader, and a function that makes a batch from their
    arrays.
    """
    form: Callable[[list[Batch]], Any] = tuple
    blobs: list[Any] = list(given)
    if len(given) == 1:
        if isinstance(given[0], Mapping):
            keys = list(given[0])
            blobs = list(given[0].values())
            form = _dict_form(keys)
        elif isinstance(given[0], (tuple, list)):
            blobs = list(given[0])
        else:
            form = operator.itemgetter(0)
    if not blobs:
        raise WrongUseError(
            "DataLoader() needs a blob at least, and none is given: flow.DataLoader(x, y), or "
            "flow.DataLoader(flow.open(path).batch(n))"
        )
    _check_blobs(given, blobs)
    return blobs, form


def _dict_form(keys: list[Any]) -> Callable[[list[Batch]], dict[Any, Batch]]:
    return lambda arrays: dict(zip(keys, arrays, strict=True))


def not_a_loader(function: str, given: Any) -> WrongUseError:
    """The error of a function whose first argument, `given`, should be a DataLoader."""
    said = f"{function}() takes a pyflowdata.DataLoader, and {_kind(given)} was given"
    if isinstance(given, Records):
        return WrongUseError(f"{said}: {function}(flow.DataLoader(data.batch(n)))")
    if isinstance(given, Blob) or _is_blobs(given):
        return WrongUseError(f"{said}: {function}(flow.DataLoader(x, y))")
    if isinstance(given, Loader):
        return WrongUseError(f"{said}: give the DataLoader that it was made of")
    return WrongUseError(f"{said}: {_instead_of(given)}; then flow.DataLoader(blobs)")
