"""Where an iterator over batches is, and the state of a DataLoader that says so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....errors import shown
from ....loader.state import as_state, malformed, refuse, whole
from .fetching import StreamPlace


@dataclass
class Progress:
    """Where an iterator is; the DataLoader has it for its state.

    Attributes:
        epoch: The epoch of the iterator.
        position: Batches delivered; with in_order=False all before this one were.
        ahead: Batches from `position` on that were delivered, with in_order=False.
        start, sampler: Those of the program's sampler, see SamplerIterator.
        after: As start, of the next epoch; None as long as the sampler is not at its end.
        streams: Where each worker is in an iterable dataset.
        worker: Which worker has the next batch of an iterable dataset.
        has_started: A batch was asked for.
        is_over: The epoch is at its end.
        after_streams: As streams, of the epoch that begins next, where workers keep their datasets.
        length: Batches of the epoch; None as long as the order is not at its end.
        delivered: Number of the batch that was delivered last, of this iterator.
        look_ahead: Takes the sampler's next indices, from which `length` may be known; None: they
            are taken ahead, or nothing is.
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

    def copy(self) -> Progress:
        """As it was before an iterator began here."""
        return Progress(
            self.epoch, self.position, list(self.ahead), self.start, None, self.sampler,
            list(self.streams) if self.streams is not None else None, self.worker,
            after_streams=self.after_streams,
        )  # fmt: skip

    def snapshot(self) -> Progress:
        """As it is now, in a Progress that does not change with this one."""
        streams = None if self.streams is None else [*self.streams]
        return dataclasses.replace(self, ahead=[*self.ahead], streams=streams)

    def next(self, epoch: int) -> Progress:
        """The start of an epoch that comes after this one."""
        return Progress(epoch, after_streams=self.after_streams)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "look_ahead": None}

    def become(self, other: Progress) -> None:
        """Takes over all that the other says, for whom holds this one."""
        for one in dataclasses.fields(self):
            setattr(self, one.name, getattr(other, one.name))


# ---- States -------------------------------------------------------------------------------------
# What a state says, and how a saved one is read.

_VERSION = 1


def write_state(progress: Progress, facts: Mapping[str, Any]) -> dict[str, Any]:
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


def read_state(state: object, facts: Mapping[str, Any]) -> Progress:
    """Where a state says that its loader was.

    Args:
        state: What write_state() gave.
        facts: Those of the loader that takes it; "seed" may differ.

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
