"""What a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..loader import DataLoader
from ..native import build_parts
from ..nodes import Blob

Check = Callable[[Path], None]  # is given an empty folder; raises what it finds


class Skipped(Exception):
    """A check that this machine or this build has not what it needs for."""


def need(library: str) -> None:
    """Skips the check where the build lacks the library."""
    if dict(build_parts())[library] is None:
        raise Skipped(f"{library} is not in this build")


def same(found: Any, wanted: Any) -> None:
    """Raises AssertionError, with both, where two arrays or lists differ; also in their dtypes."""
    if isinstance(wanted, np.ndarray):
        is_same = found.dtype == wanted.dtype and np.array_equal(found, wanted)
    else:
        is_same = found == wanted
    if not is_same:
        raise AssertionError(f"found {found!r}, not {wanted!r}")


def rows(*blobs: Blob, **options: Any) -> list[list[Any]]:
    """One epoch: for each blob its rows as Python values."""
    with DataLoader(*blobs, **options) as loader:
        batches = [batch if len(blobs) > 1 else (batch,) for batch in loader]
    return [[row for batch in batches for row in in_python(batch[i])] for i in range(len(blobs))]


def in_python(batch: Iterable[Any]) -> list[Any]:
    """The rows of a batch; rows of bytes of varying length as bytes."""
    if isinstance(batch, np.ndarray):
        return list(batch.tolist())
    return [row.tobytes() for row in batch]
