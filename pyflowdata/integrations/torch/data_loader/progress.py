"""The place of an iterator over batches, and the state of a DataLoader with that place."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....errors import shown
from ....loader.state import (
    VERSION,
    as_state,
    check_sum,
    malformed,
    refuse,
    whole,
    with_sum,
)
from .fetching import StreamPlace


@dataclass
class EpochProgress:
    """The place of an iterator; the DataLoader has it for its state.

    Attributes:
        epoch: The epoch of the iterator.
        position: The number of delivered batches; with in_order=False all batches before it were
            delivered.
        ahead: Delivered batches after `position`, with in_order=False.
        start, sampler: `start` and `state` of SamplerIterator.
        after: As start, for the next epoch; None while the sampler is not at its end.
        streams: The place of each worker in an iterable dataset.
        worker: The worker that has the next batch of an iterable dataset.
        has_started: Whether a batch was asked for.
        is_over: Whether the epoch is at its end.
        after_streams: As streams, for the next epoch, if workers keep their datasets.
        length: The batches of the epoch; None while the order is not at its end.
        delivered: The number of the last batch that this iterator delivered.
        look_ahead: Takes the sampler's next indices, which may show `length`; None: indices are
            taken ahead, or there is no sampler.
    """

    epoch: int = 0
    position: int = 0
    ahead: list[int] = field(default_factory=list)
    start: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    sampler: Any = None
    streams: list[StreamPlace] | None = None
    worker: int = 0
    has_started: bool = False
    is_over: bool = False
    after_streams: list[StreamPlace] | None = None
    length: int | None = None
    delivered: int | None = None
    look_ahead: Callable[[], None] | None = None

    def unstarted(self) -> EpochProgress:
        """The progress before an iterator began here."""
        return EpochProgress(
            self.epoch, self.position, list(self.ahead), self.start, None, self.sampler,
            list(self.streams) if self.streams is not None else None, self.worker,
            after_streams=self.after_streams,
        )  # fmt: skip

    def snapshot(self) -> EpochProgress:
        """The progress now, in an object that does not change with this one."""
        streams = None if self.streams is None else [*self.streams]
        return dataclasses.replace(self, ahead=[*self.ahead], streams=streams)

    def next(self, epoch: int) -> EpochProgress:
        """The start of an epoch after this one."""
        return EpochProgress(epoch, after_streams=self.after_streams)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "look_ahead": None}

    def become(self, other: EpochProgress) -> None:
        """Takes over the values of another progress, for all holders of this one."""
        for one in dataclasses.fields(self):
            setattr(self, one.name, getattr(other, one.name))


# ---- States -------------------------------------------------------------------------------------


def write_state(progress: EpochProgress, facts: Mapping[str, Any]) -> dict[str, Any]:
    """A state: a dict of numbers and texts, and the program's own states."""
    state = {
        "version": VERSION,
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
    return with_sum(state)


def read_state(state: object, facts: Mapping[str, Any]) -> EpochProgress:
    """The progress in a state.

    Args:
        state: The result of write_state().
        facts: The facts of the loader that takes it; "seed" may differ.

    Raises:
        InvalidArgumentError: The state is not of this loader.
    """
    state = as_state(state, "order")
    epoch, position = whole(state, "epoch"), whole(state, "position")
    whole(state, "seed")
    check_sum(state)
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
    streams = [_stream(one) for one in state["streams"]] if "streams" in state else None
    return EpochProgress(
        epoch, position, list(state.get("ahead", ())), state.get("start"), None,
        state.get("sampler"), streams, int(state.get("worker", 0)),
    )  # fmt: skip


def _stream(saved: Mapping[str, Any]) -> StreamPlace:
    if not isinstance(saved, Mapping) or ("of" in saved) != ("state" in saved):
        raise malformed(f"streams has {shown(saved)}")
    own = (saved["of"], saved["state"]) if "of" in saved else None
    return StreamPlace(whole(saved, "batches", "streams.", -1), own, bool(saved.get("has_ended")))
