"""Fetches samples of a dataset and makes batches of them, as torch's workers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .collating import collates_plainly
from .randomness import Watch, mixed, note_key, note_samples, number_of, seed_all

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

    Where samples draw random numbers, the generators are seeded before each.  Where they did not
    so far, they are seeded once for a batch; a batch in which one draws after all is fetched once
    more, with each sample seeded.
    """

    def __init__(self, how: Fetching, at: Any = None) -> None:
        """Args:
        how: What makes batches.
        at: Its [0] says which sample of a batch is being fetched; -1: none.
        """
        self.how = how
        self._at = [-1] if at is None else at
        self._draws: bool | None = None  # whether samples draw; None: it is not known
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
        if how.seeds != "none" and len(indices) and not collates_plainly(how.collate):
            how.seed(mixed(key, number_of(indices[0]), _COLLATE))
        return how.collate(samples)

    def _samples(self, indices: Any, key: int) -> Any:
        how = self.how
        get_many = getattr(how.dataset, "__getitems__", None)
        if get_many:
            if len(indices) and how.seeds != "none":
                how.seed(mixed(key, number_of(indices[0])))
            return get_many(indices)
        samples: list[Any] = []
        if not isinstance(indices, (list, tuple)):  # a batch sampler may give any iterable
            indices = list(indices)
        if how.seeds == "none":
            self._take(samples, indices)
        elif how.seeds == "own" or self._draw_each(indices, key, samples):
            self._take_seeded(samples, indices, key)
        else:
            self._take_watched(samples, indices, key)
        self._at[0] = -1
        return samples

    def _draw_each(self, indices: Any, key: int, samples: list[Any]) -> bool:
        """Whether samples draw random numbers, as far as is known: the first one tells."""
        if self._draws is None and len(indices):
            self._watch = Watch()
            self._watch.seed(self._key_of(key, 0, indices[0]))
            self._take(samples, indices[:1])
            self._draws = self._watch.is_used()
        return bool(self._draws)

    def _take(self, samples: list[Any], indices: Any) -> None:
        """Fetches the samples from the first one on that is not there."""
        dataset, at = self.how.dataset, self._at
        for position in range(len(samples), len(indices)):
            at[0] = position
            samples.append(dataset[indices[position]])

    def _take_seeded(self, samples: list[Any], indices: Any, key: int) -> None:
        """As _take(); each sample has its own random numbers."""
        dataset, at, seed = self.how.dataset, self._at, self.how.seed
        for position in range(len(samples), len(indices)):
            at[0], index = position, indices[position]
            seed(self._key_of(key, position, index))
            samples.append(dataset[index])

    def _take_watched(self, samples: list[Any], indices: Any, key: int) -> None:
        """As _take_seeded(), of samples that seem not to draw."""
        watch, at, had = self._watch, self._at, len(samples)
        assert watch is not None
        watch.seed(mixed(key, _COLLATE))
        note_samples(lambda: self._key_of(key, at[0], indices[at[0]]))
        failure = None
        try:
            self._take(samples, indices)
        except Exception as raised:  # noqa: BLE001  (what user code raises)
            failure = raised
        if watch.is_used():
            self._draws = True
            del samples[had:]
            self._take_seeded(samples, indices, key)
        elif failure is not None:
            raise failure

    def _key_of(self, key: int, position: int, index: Any) -> int:
        """Of a sample's random numbers."""
        number = number_of(index)
        return mixed(key, position, number) if self.how.by_position else mixed(key, number)


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
