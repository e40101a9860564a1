"""Ragged batches as nested tensors of layout torch.jagged, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from ... import Blob, InvalidArgumentError, Ragged, UnsupportedError


class Jagged(NamedTuple):
    """What a nested tensor is made of.

    Attributes:
        values: The elements of all rows, one row after another: (n, *fixed dimensions).
        offsets: int64 of shape (rows + 1,): where each row begins, and n.
        shortest, longest: Of the rows; None without rows.  torch would ask the device for them.
    """

    values: torch.Tensor
    offsets: torch.Tensor
    shortest: int | None
    longest: int | None

    def nested(self) -> torch.Tensor:
        """The nested tensor, over the same memory."""
        made: torch.Tensor = torch.nested.nested_tensor_from_jagged(
            self.values, self.offsets, min_seqlen=self.shortest, max_seqlen=self.longest
        )
        return made


class JaggedMaker:
    """Makes the parts of a nested tensor of a Ragged in which one dimension varies."""

    def __init__(self, make: Callable[[Any], torch.Tensor]) -> None:
        """Args: what makes a tensor of an array of the blob's dtype."""
        self._make = make

    def __call__(self, rows: Ragged) -> Jagged:
        lengths = rows.lengths
        shortest, longest = (int(lengths.min()), int(lengths.max())) if len(rows) else (None, None)
        return Jagged(
            self._make(rows.values), torch.from_numpy(rows.row_splits), shortest, longest
        )


def is_text(blob: Blob) -> bool:
    """Whether its rows are runs of bytes."""
    return blob.dtype == np.uint8 and blob.shape[1:] == (None,)


def texts_of(rows: Ragged) -> list[bytes]:
    """The rows as bytes."""
    return rows.to_bytes_list()


def check_jagged(blob: Blob) -> None:
    """Refuses rows of which another dimension than the first varies, and a torch that is too old.

    Raises:
        InvalidArgumentError, UnsupportedError: For these reasons.
    """
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


def shared_offsets(leaves: list[Any], jagged: Sequence[int]) -> list[Any]:
    """Leaves, of which those with equal offsets share one tensor of them.

    torch computes with two nested tensors only where their offsets are the same tensor.
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
