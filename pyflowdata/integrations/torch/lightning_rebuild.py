"""How Lightning makes a TorchLoader again, as it does to predict: by the arguments of the first."""

from __future__ import annotations

from typing import Any

from .rows import EpochSampler


def saved_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    """The attributes in which Lightning finds the arguments to make a loader again with."""
    return {
        "__pl_saved_args": (),
        "__pl_saved_arg_names": (),
        "__pl_saved_kwargs": arguments,
        "__dataset": None,
    }


def take_batch_sampler(arguments: dict[str, Any]) -> Any:
    """Takes torch's arguments out of those that a loader is made again with, as Lightning does to
    predict: its batch_sampler is around one of ours, to see the positions.  Returns it, or None.
    """
    batch_sampler = arguments.get("batch_sampler")
    sampler = getattr(batch_sampler, "sampler", arguments.get("sampler"))
    if not isinstance(sampler, EpochSampler):
        return None
    for name in ("sampler", "shuffle", "batch_sampler", "batch_size", "drop_last"):
        arguments.pop(name, None)
    return batch_sampler
