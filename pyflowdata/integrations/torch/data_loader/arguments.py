"""The arguments that torch's DataLoader does not have."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any, Literal, SupportsIndex, get_args

import torch
from torch.utils.data import IterableDataset

from .... import InvalidArgumentError, UnsupportedError, world
from ....errors import shown
from .orders import EpochOrder, SequentialOrder, ShuffledOrder
from .randomness import note_hidden_draw

LastBatch = Literal["short", "even", "drop", "pad"]
SEEDS = 2**62 - 1  # the largest seed, and the bits that one has


def is_map_style(dataset: Any) -> bool:
    """Whether samples have indices; else it is an IterableDataset."""
    return not isinstance(dataset, IterableDataset)


def check_own(
    workers: Any, num_workers: Any, dataset: Any, seed: Any, rank: Any, world_size: Any
) -> None:
    """Refuses what these cannot be."""
    if workers not in ("processes", "threads"):
        raise InvalidArgumentError(
            f"workers = {shown(workers)}; it must be 'processes' or 'threads', and num_workers "
            "says how many"
        )
    if workers == "threads" and num_workers and not is_map_style(dataset):
        raise UnsupportedError(
            "workers='threads' with an IterableDataset: its iterator is read by one thread at "
            "a time; take processes, or num_workers=0"
        )
    if seed is not None and not 0 <= operator.index(seed) <= SEEDS:
        raise InvalidArgumentError(f"seed = {seed}; it must be in [0, 2**62)")
    if (rank is None) != (world_size is None):
        raise InvalidArgumentError("give both rank and world_size, or neither of them")
    if rank is not None and not 0 <= rank < world_size:
        raise InvalidArgumentError(
            f"rank = {rank} and world_size = {world_size}; rank must be in [0, world_size)"
        )


def check_torchs(num_workers: Any, timeout: Any, prefetch_factor: Any, generator: Any) -> None:
    """Refuses at once what torch refuses when an iterator is made."""
    if not isinstance(num_workers, SupportsIndex):
        raise InvalidArgumentError(f"num_workers = {shown(num_workers)}; it must be an int")
    if not 0 <= timeout < math.inf:
        raise InvalidArgumentError(f"timeout = {timeout}; it must be seconds, 0 for no limit")
    if timeout and not num_workers:
        raise InvalidArgumentError(
            f"timeout = {timeout} with num_workers=0: it limits the wait for workers, of which "
            "there are none; leave it out, or take workers"
        )
    is_count = isinstance(prefetch_factor, SupportsIndex) and operator.index(prefetch_factor) > 0
    if prefetch_factor is not None and not is_count:
        raise InvalidArgumentError(
            f"prefetch_factor = {shown(prefetch_factor)}; it must be an int from 1 on"
        )
    if generator is not None and not isinstance(generator, torch.Generator):
        raise InvalidArgumentError(f"generator = {shown(generator)}; it must be a torch.Generator")


def find_ranks(rank: Any, world_size: Any) -> tuple[int, int]:
    """Rank and world size of this process, where none are given those of the job."""
    if rank is None:
        job = world()
        return job.rank, job.world_size
    return operator.index(rank), operator.index(world_size)


def part_of(size: int, world_size: int, batch_size: Any, has_order: bool) -> int:
    """The batch_size of a rank, from a global_batch_size.

    Args:
        size: The global_batch_size.
        batch_size: The argument in whose place it is.
        has_order: The order of a map-style dataset is this package's.
    """
    if batch_size not in (1, None) or not has_order:
        raise InvalidArgumentError(
            "global_batch_size takes the place of batch_size, sampler and batch_sampler, and is "
            "for map-style datasets: leave the others out"
        )
    if size < 1 or size % world_size:
        raise InvalidArgumentError(
            f"global_batch_size = {size}; it must be a multiple of world_size = {world_size}"
        )
    return size // world_size


def last_batch_of(last: Any, drop_last: Any, has_order: bool) -> str:
    """What becomes of the short last batch of an epoch.

    Args:
        last, drop_last: As of the DataLoader.
        has_order: The order of a map-style dataset is this package's.
    """
    if last is None:
        return "drop" if drop_last else "short"
    if last not in get_args(LastBatch):
        raise InvalidArgumentError(
            f"last = {shown(last)}; it must be 'short', 'even', 'drop' or 'pad'"
        )
    if not has_order:
        raise InvalidArgumentError(
            f"last = '{last}' with a sampler, a batch_sampler or an IterableDataset, which decides "
            "itself what the last batch has: leave it out, or leave the sampler out"
        )
    if drop_last and last != "drop":
        raise InvalidArgumentError(f"drop_last = True and last = '{last}'; give one of the two")
    return str(last)


def make_order(
    dataset: Any, batch_size: Any, shuffle: Any, last: str, seed: int, rank: int, world_size: int
) -> EpochOrder:
    """The order of a dataset whose program gave no sampler."""
    kind = ShuffledOrder if shuffle else SequentialOrder
    is_size = isinstance(batch_size, int) and batch_size > 0
    return kind(
        dataset,
        batch_size=batch_size if is_size else 1,  # torch checks it
        seed=seed, shuffle=bool(shuffle), last=last, rank=rank, world_size=world_size,
    )  # fmt: skip


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
        return initial & SEEDS
    note_hidden_draw()  # a sample that makes a DataLoader depends on the generator
    return 0 if needs_same else int(torch.initial_seed()) & SEEDS


def warn_of_left_out(order: EpochOrder) -> None:
    """Warns of samples that no rank gets, if there are any."""
    if not order.steps.left_out:
        return
    warnings.warn(
        f"the last {order.steps.left_out} of {order.samples} samples of each epoch are left out, "
        f"as they are fewer than the {order.num_replicas} ranks; last='pad' fills the last batches "
        "instead, and real_rows says how many samples are no filling",
        stacklevel=3,
    )
