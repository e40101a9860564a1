"""Fetches samples of a dataset and makes batches of them, as torch's workers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .randomness import mixed, note_key, number_of, seed_all

_COLLATE = 1 << 62  # in place of an index, in the key of what collate_fn draws


class Ended(Exception):
    """An iterable dataset has no further batch."""


class Fetching(NamedTuple):
    """What makes batches, in any process or thread.

    Attributes:
        dataset: Map-style or iterable.
        is_iterable: Which of the two.
        batches: Whether samples are collated to batches; else each is one.
        collate: Makes a batch of samples; or of one sample, if not `batches`.
        batch_size: Of an iterable dataset.
        drop_last: Of an iterable dataset.
        seeds: "all": the generators of the process are seeded for each sample; "own": only that
            of sample_generator().
        by_position: A sample may be in an epoch more than once, and each time draws other numbers.
    """

    dataset: Any
    is_iterable: bool
    batches: bool
    collate: Callable[[Any], Any]
    batch_size: int | None
    drop_last: bool
    seeds: str
    by_position: bool

    @property
    def seed(self) -> Callable[[int], None]:
        """Sets the generators to a key."""
        return seed_all if self.seeds == "all" else note_key


def _nowhere(_: int) -> None:
    pass


def fetch(
    how: Fetching, indices: Any, key: int, at: Callable[[int], None] = _nowhere
) -> Any:
    """A batch of a map-style dataset.

    Args:
        how: What makes it.
        indices: Of its samples; one index, if samples are not batched.
        key: Of the random numbers of these samples, see `SampleKeys`.
        at: Is told which of the samples is being fetched.
    """
    dataset, seed, by_position = how.dataset, how.seed, how.by_position
    if not how.batches:
        seed(mixed(key, number_of(indices)))
        return how.collate(dataset[indices])
    get_many = getattr(dataset, "__getitems__", None)
    if get_many:
        if len(indices):
            seed(mixed(key, number_of(indices[0])))
        samples = get_many(indices)
    else:
        samples = []
        for position, index in enumerate(indices):
            at(position)
            if by_position:
                seed(mixed(key, position, number_of(index)))
            else:
                seed(mixed(key, number_of(index)))
            samples.append(dataset[index])
        at(-1)
    if len(indices):
        seed(mixed(key, number_of(indices[0]), _COLLATE))
    return how.collate(samples)


class Stream:
    """The batches of an iterable dataset, in one worker.

    Attributes:
        batches: Given so far in this epoch.
    """

    def __init__(self, how: Fetching, key: int, place: StreamPlace | None) -> None:
        """Starts, or goes on at a place.

        Args:
            how: What makes batches.
            key: Of the random numbers of this worker and epoch.
            place: Where it was; None: at the start.
        """
        self._how, self._key = how, key
        self.batches = 0
        self._has_ended = False
        seed_all(mixed(key, 0))
        state = place.state if place is not None else None
        if state is not None and state[0] == "dataset":
            how.dataset.load_state_dict(state[1])
        self._samples: Iterator[Any] = iter(how.dataset)
        if state is not None and state[0] == "iterator":
            self._samples.load_state_dict(state[1])  # type: ignore[attr-defined]
        if place is None:
            return
        if state is not None:
            self.batches = place.batches
            self._has_ended = place.has_ended
            return
        while self.batches < place.batches:
            self._take()

    def _take(self) -> Any:
        how = self._how
        if self._has_ended:
            raise Ended
        self.batches += 1
        how.seed(mixed(self._key, self.batches))
        if not how.batches:
            try:
                return next(self._samples)
            except StopIteration:
                raise Ended from None
        samples: list[Any] = []
        assert how.batch_size is not None
        for _ in range(how.batch_size):
            try:
                samples.append(next(self._samples))
            except StopIteration:
                self._has_ended = True
                break
        if not samples or (how.drop_last and len(samples) < how.batch_size):
            raise Ended
        return samples

    def fetch(self) -> Any:
        """The next batch.

        Raises:
            Ended: There is none.
        """
        return self._how.collate(self._take())

    def place(self) -> StreamPlace:
        """Where it is, for a resume."""
        state = None
        for kind, one in (("iterator", self._samples), ("dataset", self._how.dataset)):
            if hasattr(one, "state_dict") and hasattr(one, "load_state_dict"):
                state = kind, one.state_dict()
                break
        return StreamPlace(self.batches, state, self._has_ended)


class StreamPlace(NamedTuple):
    """Where a worker is in its iterable dataset.

    Attributes:
        batches: Given.
        state: ("dataset" or "iterator", its state_dict()); None: it has none, and is read again.
        has_ended: Its iterator is at its end.
    """

    batches: int
    state: tuple[str, Any] | None
    has_ended: bool
