"""The state of a DataLoader: what it says, and how a saved one is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....errors import shown
from ....loader.state import as_state, malformed, refuse, whole
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
        InvalidArgumentError: The state is not of this loader.
    """
    state = as_state(state, _VERSION, "order")
    epoch, position = whole(state, "epoch"), whole(state, "position")
    whole(state, "seed")
    differences = [
        f"{name} = {shown(facts[name])}, in the state {shown(state.get(name))}"
        for name in facts
        if name not in ("seed", "global_batch_size") and state.get(name) != facts[name]
    ]
    batch, own = state.get("global_batch_size"), facts.get("global_batch_size")
    if position and batch != own:
        differences.append(
            f"{own} samples in a step of all ranks, in the state {batch}: batch_size times "
            f"world_size must stay the same in the middle of an epoch; global_batch_size={batch} "
            "keeps it for any world size that divides it"
        )
    refuse(differences)
    streams = None
    if "streams" in state:
        streams = [_stream(one) for one in state["streams"]]
    return Progress(
        epoch, position, list(state.get("ahead", ())), state.get("start"), None,
        state.get("sampler"), streams, int(state.get("worker", 0)),
    )  # fmt: skip


def _stream(saved: Mapping[str, Any]) -> StreamPlace:
    if not isinstance(saved, Mapping) or ("of" in saved) != ("state" in saved):
        raise malformed(f"streams has {shown(saved)}")
    own = (saved["of"], saved["state"]) if "of" in saved else None
    return StreamPlace(whole(saved, "batches", "streams.", -1), own, bool(saved.get("has_ended")))
