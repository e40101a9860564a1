"""What a JaxLoader asks of a DataLoader: blobs that jax can hold, and rows that fit a sharding."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np

from ... import Blob, DataLoader, InvalidArgumentError
from ...errors import shown
from ...loader.batches import Array
from ...loader.state import Reader
from ..equal_rows import skips_rows, why_short

__all__ = [
    "can_spread",
    "check_sharding",
    "device_dtype",
    "narrowed",
    "rank_and_world_size",
]

# ---- 64 bits ------------------------------------------------------------------------------------


def device_dtype(blob: Blob, narrow: bool) -> np.dtype[Any]:
    """What jax makes of a blob's dtype with its present settings."""
    dtype: np.dtype[Any] = np.dtype(jax.dtypes.canonicalize_dtype(blob.dtype))
    if dtype != blob.dtype and not narrow:
        raise InvalidArgumentError(
            f"blob '{blob.name}' is {blob.dtype}, and jax has no 64-bit numbers while "
            "jax_enable_x64 is off: set jax.config.update('jax_enable_x64', True), give the blob "
            f"another dtype in the graph, or give narrow=True to get {dtype}"
        )
    return dtype


def narrowed(blob: Blob, array: Array, dtype: np.dtype[Any]) -> Array:
    """The array with this dtype; itself, if it has it."""
    if array.dtype == dtype:
        return array
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            narrow = array.astype(dtype)
        lost = np.isinf(narrow) & np.isfinite(array)
    else:
        narrow = array.astype(dtype)
        lost = narrow != array
    if lost.any():
        raise InvalidArgumentError(
            f"blob '{blob.name}' has the value {array[lost][0]} in row {np.argwhere(lost)[0][0]} "
            f"of a batch, which {dtype} does not hold; set "
            "jax.config.update('jax_enable_x64', True)"
        )
    return narrow


# ---- Shardings ----------------------------------------------------------------------------------


def rank_and_world_size(sharding: jax.sharding.Sharding, batch_size: int) -> tuple[int, int]:
    """Which part of every batch the devices of this process need, for a reader's attrs.

    Processes whose devices need the same rows, as with a model that is spread over processes, get
    the same rank.

    Args:
        sharding: Over all devices of the job; its first dimension is the rows.
        batch_size: Rows of the whole batch.

    Raises:
        InvalidArgumentError: The rows of this process are not contiguous, the rows do not
            divide, or the run is not one of equal parts: order the mesh by process.
    """
    begin, end = _rows_of_process(sharding, batch_size)
    size = end - begin
    if batch_size % size or begin % size:
        raise InvalidArgumentError(
            f"this process has rows {begin} to {end - 1} of {batch_size} under {sharding}; that is "
            "none of several equal parts"
        )
    return begin // size, batch_size // size


def _of_rows(sharding: jax.sharding.Sharding) -> jax.sharding.Sharding:
    """The sharding of the first dimension alone."""
    if isinstance(sharding, jax.sharding.NamedSharding):
        return jax.sharding.NamedSharding(
            sharding.mesh, jax.sharding.PartitionSpec(*sharding.spec[:1])
        )
    return sharding


def can_spread(sharding: jax.sharding.Sharding, num_rows: int) -> bool:
    """Whether so many rows can be divided evenly over the devices of a sharding."""
    try:
        _of_rows(sharding).shard_shape((num_rows,))
    except ValueError:
        return False
    return True


def _rows_of_process(sharding: jax.sharding.Sharding, num_rows: int) -> tuple[int, int]:
    """The range of rows that the devices of this process hold together."""
    if type(num_rows) is not int or num_rows < 1:
        raise InvalidArgumentError(f"batch_size = {shown(num_rows)}; it must be an int above 0")
    if not can_spread(sharding, num_rows):
        raise InvalidArgumentError(
            f"batch_size = {num_rows}; {sharding} cannot spread that evenly over its devices"
        )
    indices = _of_rows(sharding).addressable_devices_indices_map((num_rows,))
    parts = sorted({rows[0].indices(num_rows)[:2] for rows in indices.values() if rows})
    if not parts:
        raise InvalidArgumentError(f"no device of this process is in {sharding}")
    for (_, end), (begin, _) in itertools.pairwise(parts):
        if begin > end:
            raise InvalidArgumentError(
                f"the devices of this process have rows up to {end - 1} and from {begin} on under "
                f"{sharding}; a reader yields one run of rows: order the mesh by process"
            )
    return parts[0][0], max(end for _, end in parts)


def check_sharding(loader: DataLoader[Any], sharding: jax.sharding.Sharding) -> None:
    """Raises where the rows of this process, or of a short batch, do not fit a sharding."""
    skips = skips_rows(loader)
    for reader in loader.readers:
        size = reader.batch_size // reader.world_size
        expected = (reader.rank * size, (reader.rank + 1) * size)
        found = _rows_of_process(sharding, reader.batch_size)
        if found != expected:
            raise InvalidArgumentError(
                f"{reader.name}: rank {reader.rank} of {reader.world_size} reads rows "
                f"{expected[0]} to {expected[1] - 1} of {reader.batch_size}, but the devices of "
                f"this process need rows {found[0]} to {found[1] - 1} under {sharding}; give the "
                "reader the rank and world_size that rank_and_world_size() returns"
            )
        if sharding.is_fully_addressable:
            _check_last_batch(reader, sharding)
            continue
        why = why_short(reader, skips)
        if why:
            raise InvalidArgumentError(
                f"{reader.name}: {why}; every process needs all its rows of every batch, or the "
                "others wait for it for ever"
            )


def _check_last_batch(reader: Reader, sharding: jax.sharding.Sharding) -> None:
    """Says at once what would come up at the end of the epoch."""
    rest = max(reader.records, 0) % reader.batch_size
    if reader.spec["last_batch"] in ("short", "even") and not can_spread(sharding, rest):
        raise InvalidArgumentError(
            f"{reader.name}: the last batch of an epoch has {rest} rows, which {sharding} cannot "
            "spread evenly; give the reader last_batch='pad', 'wrap' or 'drop'"
        )
