"""Samples to a batch: torch's default_collate, whose arrays are copied once, to where they go.

In a worker process that is memory which the program shares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_convert
from torch.utils.data._utils.collate import collate as torch_collate
from torch.utils.data._utils.collate import (
    collate_numpy_array_fn,
    collate_tensor_fn,
    default_collate_fn_map,
)

_LEAST = 1024  # bytes; smaller arrays go with the message
_FEW = 1 << 16  # bytes; NumPy makes smaller arrays faster than torch

Allocate = Callable[[int], memoryview]
_allocate: Allocate | None = None  # in a worker process
_dtypes: dict[np.dtype[Any], torch.dtype] = {}
# As long as torch's has these entries, plain values are collated here.  The loader passes this one
# for a batch of its own, and only what is collated with it may be in memory that is used again.
_known = dict(default_collate_fn_map)
_NUMBERS = {int: np.dtype(np.int64), float: np.dtype(np.float64)}  # what torch makes of them


def use_in_worker(allocate: Allocate) -> None:
    """Has collate() of this process place arrays and tensors in memory of this function.

    default_collate() of the program's code, which may keep what it gets, allocates as ever.
    """
    global _allocate
    _allocate = allocate
    for kind, torchs, ours in (
        (torch.Tensor, collate_tensor_fn, _tensors), (np.ndarray, collate_numpy_array_fn, _arrays),
    ):  # fmt: skip
        if default_collate_fn_map.get(kind) is torchs:  # the program has not replaced it
            default_collate_fn_map[kind] = ours
            _known[kind] = ours


def collate(samples: Any) -> Any:
    """As default_collate(): the same values, types and dtypes.

    A dataset's `__getitems__` gives a list of samples; anything else is a batch already, whose
    arrays become tensors.
    """
    if type(samples) is not list:
        return _as_tensors(samples)
    if default_collate_fn_map == _known:
        return _samples(samples)
    return torch_collate(samples, collate_fn_map=default_collate_fn_map)


def _samples(samples: list[Any]) -> Any:
    """Samples of one kind field by field; torch's way for any others."""
    kinds = set(map(type, samples))
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind in (tuple, list) and len(set(map(len, samples))) == 1:
        return [_field(values) for values in zip(*samples, strict=True)]
    if kind is dict and len(set(map(len, samples))) == 1:
        first = samples[0]
        if all(first.keys() == sample.keys() for sample in samples):
            return {key: _field([sample[key] for sample in samples]) for key in first}
    return _field(samples)


def _field(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    (kind,) = kinds if len(kinds) == 1 else (None,)
    if kind is np.ndarray:
        return _joined(values, _known)
    if kind in _NUMBERS:
        array = np.array(values)
        if array.dtype == _NUMBERS[kind]:
            return torch.from_numpy(array)
    return torch_collate(values, collate_fn_map=_known)


def _as_tensors(batch: Any) -> Any:
    if type(batch) is dict:
        return {key: _as_tensors(value) for key, value in batch.items()}
    if type(batch) in (tuple, list):
        return type(batch)(map(_as_tensors, batch))
    return default_convert(batch)


def _empty(shape: Sequence[int], dtype: torch.dtype, collate_fn_map: Any) -> torch.Tensor:
    size = dtype.itemsize
    for length in shape:
        size *= length
    if _allocate is None or collate_fn_map is not _known or size < _LEAST:
        return torch.empty(tuple(shape), dtype=dtype)
    return torch.frombuffer(_allocate(size), dtype=dtype).view(tuple(shape))


def _arrays(samples: Any, *, collate_fn_map: Any = None) -> Any:
    if set(map(type, samples)) != {np.ndarray}:
        return _as_torch(samples, collate_fn_map)
    return _joined(samples, collate_fn_map)


def _as_torch(samples: Sequence[Any], collate_fn_map: Any) -> Any:
    return collate_numpy_array_fn(samples, collate_fn_map=collate_fn_map or default_collate_fn_map)


def _joined(samples: Sequence[Any], collate_fn_map: Any) -> Any:
    """Arrays of no subclass."""
    first = samples[0]
    shape, dtype = first.shape, first.dtype
    known = _dtypes.get(dtype)
    if known is None and dtype.kind in "biufc" and dtype.isnative:
        known = _dtypes[dtype] = torch.from_numpy(np.empty(0, dtype)).dtype
    if known is None or not shape:
        return _as_torch(samples, collate_fn_map)
    count = len(samples)
    try:  # arrays of one dtype and shape: NumPy compares all lengths but the first
        if len(set(map(len, samples))) > 1:
            raise ValueError
        if _allocate is not None or count * first.nbytes > _FEW:
            made = _empty((count, *shape), known, collate_fn_map)
            joined = made.numpy()
        else:
            joined = np.empty((count, *shape), dtype)
            made = torch.from_numpy(joined)
        rows = joined.reshape(count * shape[0], *shape[1:])
        np.concatenate(samples, out=rows, casting="no")
        return made
    except (TypeError, ValueError):
        return _as_torch(samples, collate_fn_map)


def _tensors(samples: Any, *, collate_fn_map: Any = None) -> Any:
    first = samples[0]
    if first.is_nested:  # and has no shape
        return collate_tensor_fn(samples, collate_fn_map=collate_fn_map)
    shape, dtype = first.shape, first.dtype
    if any(
        type(one) is not torch.Tensor or one.is_nested or one.shape != shape or one.dtype != dtype
        or one.requires_grad or one.device.type != "cpu" or one.layout is not torch.strided
        or one.is_quantized
        for one in samples
    ):  # fmt: skip
        return collate_tensor_fn(samples, collate_fn_map=collate_fn_map)
    made = _empty((len(samples), *shape), dtype, collate_fn_map)
    return torch.stack(tuple(samples), out=made)
