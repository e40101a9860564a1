"""Fetches samples of a dataset and makes batches of them, as torch's workers do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .... import InvalidArgumentError
from .randomness import Watch, mixed, note_key, note_samples, number_of, seed_all
from .samplers import is_stateful

_COLLATE = 1 << 62  # in place of an index, in the key of what collate_fn draws


_SEEDS: dict[str, Callable[[int], None]] = {
    "all": seed_all, "own": note_key, "none": lambda _: None,
}  # fmt: skip


_DRAWN = object()


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
    so far, nothing is seeded, and a batch in which one draws after all is fetched once more.
    """

    def __init__(self, how: Fetching, at: Any = None, keep: Any = None) -> None:
        """Args:
        how: What makes batches.
        at: Its [0] says which sample of a batch is being fetched; -1: none.
        keep: A context in which generators are seeded, which gives the program its own back.
        """
        self.how = how
        self._at = [-1] if at is None else at
        self._keep = contextlib.nullcontext() if keep is None else keep
        self._draws: bool | None = None if how.seeds == "all" else True
        self._watch = Watch() if how.seeds == "all" else None

    def fetch(self, indices: Any, key: int) -> Any:
        """A batch.

        Args:
            indices: Of its samples; one index, if samples are not batched.
            key: Of the random numbers of these samples.
        """
        how = self.how
        has_many = how.batches and getattr(how.dataset, "__getitems__", None)
        if how.batches and not has_many and not isinstance(indices, (list, tuple)):
            indices = list(indices)  # a batch sampler may give any iterable
        samples: list[Any] = []
        if how.seeds == "none":
            return self._make(indices, samples)
        if not self._draws and self._watch is not None:
            if self._draws is None and how.batches and not has_many and len(indices) > 1:
                self._try(indices, key, samples, 1)  # the first tells
            if not self._draws:
                batch = self._try(indices, key, samples)
                if batch is not _DRAWN:
                    return batch
            samples.clear()
        with self._keep:
            return self._make_seeded(indices, key)

    def _try(self, indices: Any, key: int, samples: list[Any], most: int | None = None) -> Any:
        """A batch, of these samples and those that follow; _DRAWN if a random number was drawn.

        Args:
            most: Fetches so many samples alone, and returns nothing.
        """
        watch = self._watch
        assert watch is not None
        note_samples(lambda: self._key_here(indices, key))
        failure = made = None
        watch.begin()
        if not watch.sees:
            return _DRAWN
        try:
            if most is None:
                made = self._make(indices, samples)
            else:
                self._take(samples, indices[:most])
        except Exception as raised:  # noqa: BLE001  (what user code raises)
            failure = raised
        finally:
            watch.end()
        self._draws = watch.is_used()
        if self._draws:
            watch.undo()
            return _DRAWN
        if failure is not None:
            raise failure
        return made

    def _make(self, indices: Any, samples: list[Any]) -> Any:
        """A batch, of these samples and those that follow."""
        how = self.how
        if not how.batches:
            return how.collate(how.dataset[indices])
        get_many = getattr(how.dataset, "__getitems__", None)
        if get_many:
            return how.collate(get_many(indices))
        self._take(samples, indices)
        self._at[0] = -1
        return how.collate(samples)

    def _take(self, samples: list[Any], indices: Any) -> None:
        """Fetches the samples from the first one on that is not there."""
        dataset, at = self.how.dataset, self._at
        first = len(samples)
        rest = indices[first:] if first else indices
        for at[0], index in enumerate(rest, first):
            samples.append(dataset[index])

    def _make_seeded(self, indices: Any, key: int) -> Any:
        """A batch; each sample has its own random numbers."""
        how, at, samples = self.how, self._at, []
        dataset, seed = how.dataset, how.seed
        if not how.batches:
            seed(self._key_of(key, 0, indices))
            return how.collate(dataset[indices])
        get_many = getattr(dataset, "__getitems__", None)
        if get_many:
            if len(indices):
                seed(self._key_of(key, 0, indices[0]))
            samples = get_many(indices)
        else:
            for position, index in enumerate(indices):
                at[0] = position
                seed(self._key_of(key, position, index))
                samples.append(dataset[index])
            at[0] = -1
        if len(indices):
            seed(mixed(key, number_of(indices[0]), _COLLATE))
        return how.collate(samples)

    def _key_here(self, indices: Any, key: int) -> int:
        """Of the sample that is being fetched."""
        if not self.how.batches:
            return self._key_of(key, 0, indices)
        position = self._at[0]
        if position < 0:  # all at once, or in collate_fn
            get_many = getattr(self.how.dataset, "__getitems__", None)
            first = indices[0]
            return self._key_of(key, 0, first) if get_many else mixed(
                key, number_of(first), _COLLATE
            )
        return self._key_of(key, position, indices[position])

    def _key_of(self, key: int, position: int, index: Any) -> int:
        """Of a sample's random numbers."""
        number = number_of(index)
        return mixed(key, position, number) if self.how.by_position else mixed(key, number)


class Stream:
    """The batches of an iterable dataset, in one worker.

    Attributes:
        batches: Given so far in this epoch.
    """

    def __init__(
        self, how: Fetching, key: int, place: StreamPlace | None, epoch: int | None = None
    ) -> None:
        """Starts, or goes on at a place.

        Args:
            how: What makes batches.
            key: Of the random numbers of this worker and epoch.
            place: Where it was; None: at the start.
            epoch: For the dataset's set_epoch(), if it has one; None: it is not called.
        """
        self._how, self._key = how, key
        self.batches = 0
        self._has_ended = False
        how.seed(mixed(key, 0))
        if epoch is not None and hasattr(how.dataset, "set_epoch"):
            how.dataset.set_epoch(epoch)
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
            self._skip(place.batches)

    def _skip(self, count: int) -> None:
        """Takes a batch that was delivered before the state, or raised then."""
        taken = self.batches
        try:
            self._take()
        except Ended:
            raise InvalidArgumentError(
                f"the state was taken after {count} batches of an IterableDataset, which now has "
                f"{taken}"
            ) from None
        except Exception:  # noqa: BLE001, S110  (what user code raised before)
            pass

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
        one: Any
        for kind, one in (("iterator", self._samples), ("dataset", self._how.dataset)):
            if is_stateful(one):
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
