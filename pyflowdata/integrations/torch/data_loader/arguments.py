"""The arguments that torch's DataLoader does not have."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import torch

from .... import InvalidArgumentError
from ....errors import shown
from .orders import EpochOrder


def check_own(workers: Any, seed: Any, rank: Any, world_size: Any) -> None:
    """Refuses what these cannot be."""
    if workers not in ("processes", "threads"):
        raise InvalidArgumentError(
            f"workers = {shown(workers)}; it must be 'processes' or 'threads', and num_workers "
            "says how many"
        )
    if seed is not None and not 0 <= operator.index(seed) < 2**62:
        raise InvalidArgumentError(f"seed = {seed}; it must be in [0, 2**62)")
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("give both rank and world_size, or neither of them")
    if rank is not None and not 0 <= rank < world_size:
        raise InvalidArgumentError(
            f"rank = {rank} and world_size = {world_size}; rank must be in [0, world_size)"
        )


def check_replaced(batch_size: Any, is_ours: bool) -> None:
    """Refuses arguments whose place global_batch_size takes."""
    if batch_size not in (1, None) or not is_ours:
        raise InvalidArgumentError(
            "global_batch_size takes the place of batch_size, sampler and batch_sampler, and is "
            "for map-style datasets: leave the others out"
        )


def part_of(size: int, world_size: int) -> int:
    """The batch_size of a rank."""
    if size < 1 or size % world_size:
        raise InvalidArgumentError(
            f"global_batch_size = {size}; it must be a multiple of world_size = {world_size}"
        )
    return size // world_size


def find_seed(seed: int | None, generator: Any, *, needs_same: bool) -> int:
    """The seed in use; where none is given that of torch's generator, which torch.manual_seed()
    sets.

    Args:
        needs_same: Ranks divide an order, for which they need the same seed.
    """
    if seed is not None:
        return operator.index(seed)
    if generator is not None and hasattr(generator, "initial_seed"):
        initial: int = generator.initial_seed()
        return initial & (2**62 - 1)
    return 0 if needs_same else int(torch.initial_seed()) & (2**62 - 1)


def warn_of_left_out(order: EpochOrder) -> None:
    """Warns of samples that no rank gets."""
    warnings.warn(
        f"the last {order.steps.left_out} of {order.samples} samples of each epoch are left out, "
        f"as they are fewer than the {order.num_replicas} ranks",
        stacklevel=4,
    )
