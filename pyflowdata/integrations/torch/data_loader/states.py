"""The state of a DataLoader: what it says, and how a saved one is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .... import InvalidArgumentError
from ....errors import shown
from .fetching import StreamPlace
from .progress import Progress

_VERSION = 1


def write(progress: Progress, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A state: a dict of numbers and texts, and what the program's own states are."""
    state = {
        "version": _VERSION,
        "epoch": progress.epoch,
        "position": progress.position,
        **facts,
    }
    if progress.ahead:
        state["ahead"] = sorted(progress.ahead)
    if progress.start:
        state["start"] = dict(progress.start)
    if progress.sampler is not None:
        state["sampler"] = progress.sampler
    if progress.streams is not None:
        state["worker"] = progress.worker
        state["streams"] = [
            {"batches": one.batches, "has_ended": one.has_ended}
            | ({} if one.state is None else {"of": one.state[0], "state": one.state[1]})
            for one in progress.streams
        ]
    return state


def read(state: object, facts: Mapping[str, Any]) -> Progress:
    """Where a state says that its loader was.

    Args:
        state: Of `write`.
        facts: Of the loader that takes it; "seed" may differ.

    Raises:
        InvalidArgumentError: It is no such state, or that of another loader.
    """
    if not isinstance(state, Mapping) or "version" not in state or "facts" in state:
        raise InvalidArgumentError(
            f"{shown(state)} is no state of this DataLoader; give what state_dict() returned"
        )
    if state["version"] != _VERSION or "order" not in state:
        raise InvalidArgumentError(
            f"the state has version {shown(state['version'])} and the keys "
            f"{', '.join(map(str, state))}; give what state_dict() of this DataLoader returned, of "
            f"version {_VERSION}"
        )
    epoch, position = _whole(state, "epoch"), _whole(state, "position")
    found = [
        f"{name} = {shown(facts[name])}, in the state {shown(state.get(name))}"
        for name in facts
        if name not in ("seed", "global_batch_size") and state.get(name) != facts[name]
    ]
    batch, own = state.get("global_batch_size"), facts.get("global_batch_size")
    if position and batch != own:
        found.append(
            f"{own} samples in a step of all ranks, in the state {batch}: batch_size times "
            f"world_size must stay the same in the middle of an epoch; global_batch_size={batch} "
            "keeps it for any world size that divides it"
        )
    if found:
        raise InvalidArgumentError(
            "the state belongs to another DataLoader:" + "".join(f"\n  - {one}" for one in found)
        )
    streams = None
    if "streams" in state:
        streams = [
            StreamPlace(
                int(one["batches"]), (one["of"], one["state"]) if "of" in one else None,
                bool(one["has_ended"]),
            )
            for one in state["streams"]
        ]  # fmt: skip
    return Progress(
        epoch, position, list(state.get("ahead", ())), state.get("start"), None,
        state.get("sampler"), streams, int(state.get("worker", 0)),
    )  # fmt: skip


def _whole(state: Mapping[str, Any], key: str) -> int:
    value = state.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidArgumentError(
            f"the state is malformed: {key} = {shown(value)}; it must be an int from 0 on"
        )
    return value


