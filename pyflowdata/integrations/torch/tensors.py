"""Batches of a DataLoader as torch tensors that view its memory: what each blob becomes.

    dense blob                             a tensor
    bfloat16                               a tensor of torch.bfloat16, of the same bits
    ragged, rows of a batch of one shape   a tensor whose shape differs from batch to batch
    ragged otherwise, "jagged"             a nested tensor of layout torch.jagged
    rows of bytes, "jagged"                a list of bytes

A batch is split into leaves, one for each blob; the leaves can be copied, and form a batch again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ... import Blob, DataLoader, InvalidArgumentError, Ragged, UnsupportedError
from ...nodes.batch_forms import arrays_of
from ...errors import shown
from ...loader.loader_wrapper import WrappedLoader
from ...nodes import is_bfloat16

# ---- Ragged batches -----------------------------------------------------------------------------
# They become nested tensors of layout torch.jagged, without a copy.


class _Jagged(NamedTuple):
    """The parts of a nested tensor.

    Attributes:
        values: The elements of all rows, one row after another: (n, *fixed dimensions).
        offsets: int64 of shape (rows + 1,): the beginning of each row, and n.
        shortest, longest: Lengths of rows; None without rows. torch would ask the device for them.
    """

    values: torch.Tensor
    offsets: torch.Tensor
    shortest: int | None
    longest: int | None

    def nested(self) -> torch.Tensor:
        made: torch.Tensor = torch.nested.nested_tensor_from_jagged(
            self.values, self.offsets, min_seqlen=self.shortest, max_seqlen=self.longest
        )
        return made


class _JaggedMaker:
    """Makes the parts of a nested tensor from a Ragged in which one dimension varies."""

    def __init__(self, make: Callable[[Any], torch.Tensor]) -> None:
        self._make = make

    def __call__(self, rows: Ragged) -> _Jagged:
        lengths = rows.lengths
        shortest, longest = (int(lengths.min()), int(lengths.max())) if len(rows) else (None, None)
        return _Jagged(
            self._make(rows.values), torch.from_numpy(rows.row_splits), shortest, longest
        )


def _is_text(blob: Blob) -> bool:
    """Whether its rows are runs of bytes."""
    return blob.dtype == np.uint8 and blob.shape[1:] == (None,)


def _check_jagged(blob: Blob) -> None:
    """Refuses rows of which another dimension than the first varies, and a torch that is too
    old."""
    if blob.shape[1] is not None or None in blob.shape[2:]:
        raise InvalidArgumentError(
            f"{blob.name} has rows of shape {blob.shape[1:]}: in a nested tensor of layout "
            "torch.jagged the first dimension of a row varies, and no other; use Pad or PadBatch, "
            "or leave the blob out"
        )
    if not hasattr(torch.nested, "nested_tensor_from_jagged"):
        raise UnsupportedError(
            f"ragged='jagged', but torch {torch.__version__} makes no nested tensors of values "
            "and offsets; take torch 2.5 or newer, or PadBatch"
        )


def _shared_offsets(leaves: list[Any], jagged: Sequence[int]) -> list[Any]:
    """The leaves, with one tensor for equal offsets.

    torch computes with two nested tensors only if their offsets are the same tensor.
    """
    known: list[torch.Tensor] = []
    for index in jagged:
        leaf = leaves[index]
        for offsets in known:
            if torch.equal(offsets, leaf.offsets):
                leaves[index] = leaf._replace(offsets=offsets)
                break
        else:
            known.append(leaf.offsets)
    return leaves


# ---- Batches ------------------------------------------------------------------------------------

_Make = Callable[[Any], Any]  # makes the leaf of a blob's array
_RAGGED = (None, "dense", "jagged")


class HostTensors:
    """Makes the tensors of a loader's batches, in the loader's form.

    Attributes:
        convert: Makes a batch of tensors that view the loader's memory.
    """

    def __init__(self, loader: DataLoader[Any], ragged: str | None) -> None:
        """Takes the arguments of TorchLoader.

        Raises:
            InvalidArgumentError: A blob is ragged, and `ragged` does not say what it becomes.
            UnsupportedError: torch has no dtype or layout for a blob.
        """
        self._makers = [_maker_of(blob, ragged) for blob in loader.blobs]
        self._form = WrappedLoader(loader).form
        self._jagged = [i for i, make in enumerate(self._makers) if isinstance(make, _JaggedMaker)]
        is_plain = all(make is torch.from_numpy for make in self._makers)
        self.convert: _Make = _plain(self._form) if is_plain else self._convert

    def _convert(self, batch: Any) -> Any:
        return self.unflatten(self.flatten(batch))

    def flatten(self, batch: Any) -> list[Any]:
        """The leaves of a batch: tensors, _Jagged, and lists of bytes."""
        arrays = arrays_of(batch)
        leaves = [make(array) for make, array in zip(self._makers, arrays, strict=True)]
        return _shared_offsets(leaves, self._jagged) if self._jagged else leaves

    def unflatten(self, leaves: list[Any]) -> Any:
        """The batch of leaves, in the loader's form."""
        if self._jagged:
            leaves = [leaf.nested() if type(leaf) is _Jagged else leaf for leaf in leaves]
        return self._form(leaves)


def _plain(form: Callable[[list[Any]], Any]) -> _Make:
    """A function that converts batches of dense arrays in one step, which costs less than leaves
    do."""
    make: _Make = torch.from_numpy
    if form is tuple:
        return lambda batch: tuple(map(make, batch))
    if isinstance(form, operator.itemgetter):  # a blob alone
        return make
    return lambda batch: {key: make(array) for key, array in batch.items()}


def each_tensor(
    leaves: Sequence[Any], function: Callable[[torch.Tensor], torch.Tensor]
) -> list[Any]:
    """The leaves with the function applied to each tensor; to shared offsets once."""
    made: dict[int, torch.Tensor] = {}

    def once(tensor: torch.Tensor) -> torch.Tensor:
        found = made.get(id(tensor))
        if found is None:
            found = made[id(tensor)] = function(tensor)
        return found

    return [
        leaf._replace(values=once(leaf.values), offsets=once(leaf.offsets))
        if type(leaf) is _Jagged
        else leaf if type(leaf) is list else once(leaf)
        for leaf in leaves
    ]


def tensors_of(leaves: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors of leaves, each once."""
    found: dict[int, torch.Tensor] = {}
    for leaf in leaves:
        if type(leaf) is _Jagged:
            found[id(leaf.values)], found[id(leaf.offsets)] = leaf.values, leaf.offsets
        elif type(leaf) is not list:
            found[id(leaf)] = leaf
    return list(found.values())


# ---- Blobs --------------------------------------------------------------------------------------


def _maker_of(blob: Blob, ragged: str | None) -> _Make:
    if ragged not in _RAGGED:
        raise InvalidArgumentError(
            f"ragged = {shown(ragged)}; it must be None, 'dense' or 'jagged'"
        )
    _check_dtype(blob)
    make = _bits_as_bfloat16 if is_bfloat16(blob.dtype) else torch.from_numpy
    if not blob.is_ragged:
        return make
    if ragged == "dense" or has_equal_rows(blob):
        return _DenseMaker(blob, make)
    if ragged is None and _is_text(blob):
        raise InvalidArgumentError(
            f"{blob.name} has rows of bytes, and a tensor has rows of one shape: ragged='jagged' "
            "gives a list of bytes for each batch"
        )
    if ragged is None:
        raise InvalidArgumentError(
            f"{blob.name} is ragged, its rows are of shape {blob.shape[1:]}, and a tensor has rows "
            "of one shape: Pad makes them of one size, PadBatch as long as the longest of each "
            "batch, ragged='jagged' gives nested tensors without a copy, and ragged='dense' takes "
            "rows that have one shape in each batch"
        )
    if _is_text(blob):
        return Ragged.to_bytes_list
    _check_jagged(blob)
    return _JaggedMaker(make)


def _check_dtype(blob: Blob) -> None:
    """Refuses a dtype that torch lacks."""
    if is_bfloat16(blob.dtype):
        return
    try:
        torch.from_numpy(np.empty(0, blob.dtype))
    except TypeError:
        raise UnsupportedError(
            f"{blob.name} has dtype {blob.dtype}, for which torch {torch.__version__} has no "
            "tensors of NumPy's; leave the blob out, use an op that gives another dtype, or take "
            "a newer torch"
        ) from None


def has_equal_rows(blob: Blob) -> bool:
    """Whether the rows of each batch have one shape, by the ops that make them."""
    if not blob.is_ragged:
        return True
    op = blob.node.op
    return op.has_equal_rows or (
        op.keeps_equal_rows and all(map(has_equal_rows, blob.node.inputs))
    )


def _bits_as_bfloat16(array: Any) -> torch.Tensor:
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


class _DenseMaker:
    """A tensor of a Ragged whose rows have one shape."""

    def __init__(self, blob: Blob, make: Callable[[Any], torch.Tensor]) -> None:
        self._name = blob.name
        self._make = make

    def __call__(self, rows: Ragged) -> torch.Tensor:
        try:
            return self._make(rows.dense)
        except ValueError as failure:
            raise InvalidArgumentError(
                f"{self._name}: {failure}; of a damaged record on_error='pad' makes an empty row: "
                "take on_error='skip'"
            ) from None
