"""Whether all batches of a loader have the same number of rows, as fixed shapes need."""

from __future__ import annotations

from typing import Any

from .. import DataLoader, InvalidArgumentError
from ..loader.state import Reader
from ..nodes.node import reader_nodes


def skips_rows(loader: DataLoader[Any]) -> bool:
    """Whether a damaged record leaves its batch one row shorter."""
    return any(node.values.get("on_error") == "skip" for node in reader_nodes(loader.blobs))


def check_equal_rows(loader: DataLoader[Any]) -> None:
    """Refuses a loader whose batches may differ in their number of rows."""
    for reader in loader.readers:
        why = why_short(reader, skips_rows(loader))
        if why:
            raise InvalidArgumentError(f"{reader.name}: {why}; all batches need equal rows")


def why_short(reader: Reader, skips: bool) -> str:
    """Why the reader may yield batches with fewer rows; "" if it never does."""
    if skips:
        return "on_error='skip' leaves rows out; take 'pad', with with_mask=True"
    return reader.steps.why_batches_differ()
