"""Fetches samples of a dataset and makes batches of them, as torch's workers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence
from typing import Any, NamedTuple

from .randomness import Watch, mixed, note_key, number_of, seed_all

_QUIET = 2  # batches in a row without a draw
_COLLATE = 1 << 62  # in place of an index, in the key of what collate_fn draws


_SEEDS: dict[str, Callable[[int], None]] = {
    "all": seed_all, "own": note_key, "none": lambda _: None,
}  # fmt: skip


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
            of sample_generator(); "none": nothing is.
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
        return _SEEDS[self.seeds]


class Fetcher:
    """Makes batches of a map-style dataset, in one thread.

    Where samples draw random numbers, the generators are seeded before each.  Where they did not in
    the batches before, they are seeded once for a batch; a batch in which one draws after all is
    fetched once more, with each sample seeded.
    """

    def __init__(self, how: Fetching, at: MutableSequence[int] | None = None) -> None:
        """Args:
        how: What makes batches.
        at: [0] says which sample of a batch is being fetched; -1: none.
        """
        self.how = how
        self._at = [-1] if at is None else at
        self._draws = how.seeds == "all"
        self._quiet = 0  # batches in which no sample drew
        self._watch: Watch | None = None

    def fetch(self, indices: Any, key: int) -> Any:
        """A batch.

        Args:
            indices: Of its samples; one index, if samples are not batched.
            key: Of the random numbers of these samples.
        """
        how = self.how
        if not how.batches:
            how.seed(mixed(key, number_of(indices)))
            return how.collate(how.dataset[indices])
        samples = self._samples(indices, key)
        if how.seeds != "none" and len(indices):
            how.seed(mixed(key, number_of(indices[0]), _COLLATE))
        return how.collate(samples)

    def _samples(self, indices: Any, key: int) -> Any:
        how = self.how
        get_many = getattr(how.dataset, "__getitems__", None)
        if get_many:
            if len(indices) and how.seeds != "none":
                how.seed(mixed(key, number_of(indices[0])))
            return get_many(indices)
        if how.seeds == "none":
            return self._each(indices)
        if how.seeds == "own" or self._draws and self._quiet < _QUIET:
            return self._seeded(indices, key)
        watch = self._watch = self._watch or Watch()
        watch.seed(mixed(key, _COLLATE))
        failure = None
        try:
            samples = self._each(indices)
        except Exception as raised:  # noqa: BLE001  (what user code raises)
            failure = raised
        if not watch.is_used():
            if failure is not None:
                raise failure
            return samples
        self._quiet = -(2**62)  # each sample is seeded from here on
        return self._seeded(indices, key)

    def _each(self, indices: Any) -> list[Any]:
        dataset, at, samples = self.how.dataset, self._at, []
        for at[0], index in enumerate(indices):  # noqa: B020
            samples.append(dataset[index])
        at[0] = -1
        return samples

    def _seeded(self, indices: Any, key: int) -> list[Any]:
        how, at, samples = self.how, self._at, []
        dataset, seed, watch = how.dataset, how.seed, None
        if how.seeds == "all":
            watch = self._watch = self._watch or Watch()
        has_drawn = False
        for position, index in enumerate(indices):
            at[0] = position
            number = number_of(index)
            sample = mixed(key, position, number) if how.by_position else mixed(key, number)
            if watch is not None and not has_drawn and self._quiet >= 0:
                watch.seed(sample)
                samples.append(dataset[index])
                has_drawn = watch.is_used()
            else:
                seed(sample)
                samples.append(dataset[index])
        at[0] = -1
        self._quiet = 0 if has_drawn and self._quiet >= 0 else self._quiet + 1
        return samples


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
        how.seed(mixed(key, 0))
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
