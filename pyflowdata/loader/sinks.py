"""Sink mode: a thread fills a bounded queue ahead, and a call runs many steps from it.

    run = flow.sink(loader, step, sink_size=100)
    losses = run()                     # what 100 calls of step(batch) returned

Between two steps the calling thread takes a batch from the queue, and does nothing else for the
loader.  A Transfer brings batches to a device, or leaves them as NumPy arrays.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from ..errors import CancelledError, InvalidArgumentError, UnsupportedError, WrongUseError, shown
from ..insight.counters import StepTimes
from ..native.calling_line import warn_program_once
from ..nodes.argument_hints import takes_own_arguments
from ..words.plain_text import seconds as seconds_text
from .data_loader import ConvertingLoader, DataLoader
from .epochs import CLOSED, Cursor, Lease
from .loader_arguments import not_a_loader
from .open_loader import open_loader_of

if TYPE_CHECKING:
    from ..insight.report import Report

BatchT = TypeVar("BatchT")
ResultT = TypeVar("ResultT")

_clock = time.perf_counter
_BATCH, _EPOCH_END, _FAILURE, _LOST = range(4)  # kinds of what is in the queue
_RECENT = 10
_ENOUGH_STEPS = 1000  # to tell whether a loop would be faster
_SHORT_STEP = 100e-6  # seconds: handing over a batch costs a longer one little
_SIGNALS_SECONDS = 0.05  # the longest wait for the thread's end without a check for signals


class Transfer(Protocol):
    """Brings batches to where steps use them.  str() says where that is."""

    def send(self, batch: Any) -> Any:
        """Called in the filling thread: starts to bring a batch to its place; the returned value
        waits in the queue.
        """

    def receive(self, made: Any) -> Any:
        """Called before a step, in the thread of the step: returns the batch for the step."""


class OnHost:
    """Batches stay as they are."""

    def send(self, batch: Any) -> Any:
        return batch

    def receive(self, made: Any) -> Any:
        return made

    def __str__(self) -> str:
        return "on the host: arrays are the loader's own, without a copy"


class _Counters:
    """What a sink's threads count, as Sink.stats(); each field has one thread that writes it."""

    def __init__(self, queue: int) -> None:
        self.batches_sent = self.steps = 0
        self.fetch_seconds = self.copy_seconds = self.push_wait_seconds = 0.0
        self.pop_wait_seconds = self.step_seconds = 0.0
        self.depths = [0] * (queue + 1)
        self.recent_depths: deque[int] = deque(maxlen=_RECENT)
        self.push_starts: deque[float] = deque(maxlen=_RECENT)
        self.push_ends: deque[float] = deque(maxlen=_RECENT)


class _Filler:
    """The thread that takes batches of a loader and puts them into the queue.

    It has no reference to the Sink, so a dropped Sink can end it.

    Attributes:
        ready: Items (kind, batch or failure, the loader's place after it): up to `queue` items, and
            one more that ends a wait for an item.
        room: A None for each item that may be put into `ready`.
        batches: The iterator over the loader; None: not made yet.
        is_stopped: Whether the thread takes no more batches.
    """

    def __init__(
        self, loader: DataLoader[Any], begin: Callable[[], Iterator[Any]], hand_over: Transfer,
        counters: _Counters, queue: int, lease: Lease, turn: threading.Lock,
        batches: Iterator[Any] | None,
    ) -> None:  # fmt: skip
        """Args:
        turn: Held while the thread runs: the next thread of the sink waits for its end.
        batches: The iterator to go on with; None: seek.
        """
        self.ready: SimpleQueue[tuple[int, Any, tuple[int, int]]] = SimpleQueue()
        self.room: SimpleQueue[None] = SimpleQueue()
        for _ in range(queue):
            self.room.put(None)
        self._loader, self._opened = loader, open_loader_of(loader)
        self._begin, self._hand_over = begin, hand_over
        self._counters = counters
        self._lease, self._turn, self.batches = lease, turn, batches
        self.is_stopped = self._is_at_start = False
        self._thread = threading.Thread(target=self._run, name="pyflowdata sink", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread soon, and a wait for a batch of it; returns at once.  Twice is allowed,
        and needed if a signal comes in between."""
        self.is_stopped = True
        self.room.put(None)
        self.ready.put((_LOST, None, self._lease.place))

    def wait(self) -> None:
        """Waits until the thread has ended; its wait for a batch of the loader must end first."""
        while self._thread.is_alive():
            self._thread.join(_SIGNALS_SECONDS)

    def _run(self) -> None:
        try:
            with self._turn:
                while self._push():
                    pass
        except BaseException as failure:  # noqa: BLE001  (raised in the thread that takes)
            self.ready.put((_LOST, failure, self._lease.place))

    def _push(self) -> bool:
        """Puts one batch, or a failure in its place, into the queue; False: the thread should end.
        """
        counters = self._counters
        begin = _clock()
        with self._opened.lent() as cursor:
            if self._lease.over is not None:
                self.stop()  # the end came before this thread was known
            if self.is_stopped:
                return False  # the loader may be in other hands
            kind, batch = self._fetch(cursor)
            place = cursor.next()
        fetched = _clock()
        counters.fetch_seconds += fetched - begin
        counters.push_starts.append(time.time())
        self.room.get()
        if self.is_stopped:
            return False
        waited = _clock()
        counters.push_wait_seconds += waited - fetched
        with self._opened.observation.shows("hand over"):
            made = self._hand_over.send(batch) if kind == _BATCH else batch
        counters.copy_seconds += _clock() - waited
        self.ready.put((kind, made, place))
        counters.push_ends.append(time.time())
        counters.batches_sent += kind == _BATCH
        return kind != _FAILURE

    def _fetch(self, cursor: Cursor) -> tuple[int, Any]:
        if self.batches is None:
            self.batches = self._iterate(cursor, self._lease.place)
        try:
            batch = next(self.batches)
        except StopIteration:
            if self._is_at_start:
                raise InvalidArgumentError(
                    "a sink of an epoch without batches would never end; is last_batch='drop' "
                    "with fewer records than batch_size meant?"
                ) from None
            self._is_at_start = True
            self.batches = self._iterate(cursor)
            return _EPOCH_END, None
        except Exception as failure:  # noqa: BLE001  (in its turn)
            return _FAILURE, failure
        self._is_at_start = False
        return _BATCH, batch

    def _iterate(self, cursor: Cursor, place: tuple[int, int] | None = None) -> Iterator[Any]:
        """An iterator from this place, or from the place of the loader."""
        try:
            cursor.lease = None  # who else moves the loader ends the sink
            if place is not None:
                self._opened.take_back(*place)
                self._loader.seek(place[1], epoch=place[0])
            return self._begin()
        finally:
            cursor.lease = self._lease


class Sink(Generic[ResultT]):
    """Runs a step many times per call, with batches that a thread has prepared ahead.

    A call of it is one call of MindSpore's data sink.  The sink takes the loader over until the
    sink is closed or dropped, or until something newer takes the loader: another sink, iter(),
    seek() and so on.  These begin after the last consumed batch, and the old sink raises
    CancelledError.  Used by one thread at a time; close() may be called by a step, a signal handler
    or another thread as well.

    A batch is consumed when `step` has returned.  After an exception of `step`, or Ctrl-C, the next
    call goes on with the first batch that was not, made again.  An exception of the loader comes
    in the place of its batch, and the next call goes on as next() of the loader does.

    Attributes:
        results: What the steps of the last call returned; after an exception, of those before it.
    """

    results: list[ResultT]

    def __init__(
        self,
        loader: DataLoader[Any],
        step: Callable[[Any], ResultT],
        sink_size: int,
        queue: int,
        hand_over: Transfer,
        begin: Callable[[], Iterator[Any]] | None = None,
        stacked: int = 1,
    ) -> None:
        """As sink().

        Args:
            hand_over: Brings batches to a device.
            begin: Makes an iterator over batches; None: iter(loader).
            stacked: How many batches of the loader each batch of `begin` contains.
        """
        if not isinstance(loader, DataLoader):
            kind = type(loader)
            if not isinstance(loader, ConvertingLoader):
                raise not_a_loader("sink", loader)
            raise WrongUseError(
                f"sink() takes a pyflowdata.DataLoader, and a {kind.__name__} was given: give it "
                f"to {kind.__module__}.sink()"
            )
        if not callable(step):
            raise InvalidArgumentError(
                f"step = {shown(step)}; it must be a function that trains with a batch"
            )
        if type(sink_size) is not int or (sink_size != -1 and sink_size < 1):
            raise InvalidArgumentError(
                f"sink_size = {shown(sink_size)}; it must be -1, for the rest of the epoch, or a "
                "number of steps above 0"
            )
        if type(queue) is not int or queue < 1:
            raise InvalidArgumentError(f"queue = {shown(queue)}; it must be an int above 0")
        self._loader, self._opened = loader, open_loader_of(loader)
        self._step, self._hand_over = step, hand_over
        self._sink_size, self._queue = sink_size, queue
        self._begin = begin or loader.__iter__
        self._counters = _Counters(queue)
        self._times, self._before = StepTimes(stacked), loader.report()
        with self._opened.lent() as cursor:
            self._lease = cursor.lend()
        self._turn = threading.Lock()
        self._finalizer = weakref.finalize(self, self._lease.stop)
        self._is_inside = self._goes_on = False  # _goes_on: with the next of the queue
        self._is_judged = False  # whether it is slower than a loop
        self._has_failed = False  # the last of the queue is a failure of the loader
        self._is_first = True  # the next step is the first one of the thread, or of an epoch
        self.results = []
        self._start(None)
        self._goes_on = True

    # ---- Steps --------------------------------------------------------------------------------

    def __call__(self) -> list[ResultT]:
        """Runs `sink_size` steps, across ends of epochs; with -1 the rest of the epoch.

        Returns:
            The result of each step.

        Raises:
            CancelledError: The sink or the loader is closed.
            UnsupportedError: A step calls its sink, or the process was forked.
        """
        if self._is_inside:
            raise UnsupportedError("a call of this sink is running already")
        self._check_over()
        self._opened.check_process()
        try:
            self._is_inside = True
            # A signal may come at any time, also where another one is dealt with: unless a call
            # comes to an end that says otherwise, the next one begins with a new queue.
            goes_on, self._goes_on = self._goes_on, False
            if not goes_on or self._has_failed:
                self._start(self._filler.batches if goes_on else None)
            self._run(self._filler)
            self._goes_on = True
            if not self._is_judged and self._counters.steps >= _ENOUGH_STEPS:
                self._is_judged = True
                self._judge()
            return self.results
        except BaseException:
            if not self._goes_on:
                self._lease.stop()  # batches in the queue are made again
            raise
        finally:
            self._is_inside = False
            if self._lease.over is not None:
                self._end()

    def __iter__(self) -> Iterator[list[ResultT]]:
        """Calls without end, epoch after epoch."""
        while True:
            yield self()

    def _run(self, filler: _Filler) -> None:
        ready, room, counters = filler.ready, filler.room, self._counters
        step, receive = self._step, self._hand_over.receive
        self.results = results = []
        left = self._sink_size
        done = _clock()
        while left:
            depth = ready.qsize()
            kind, made, place = ready.get()
            room.put(None)
            got = _clock()
            waited = got - done
            counters.pop_wait_seconds += waited
            if filler.is_stopped:
                raise self._cancelled()
            if kind != _BATCH:
                if kind != _EPOCH_END:
                    self._has_failed = self._goes_on = kind == _FAILURE
                    raise made
                self._lease.place, self._is_first = place, True
                if left < 0:
                    return
                done = _clock()
                continue
            counters.depths[depth] += 1
            counters.recent_depths.append(depth)
            result = step(receive(made))
            self._lease.place = place  # no signal comes between the two lines
            results.append(result)
            made = None  # the memory is free while the next one is awaited
            left -= 1
            counters.steps += 1
            done = _clock()
            counters.step_seconds += done - got
            if self._is_first:
                self._times.add_start(waited)
                self._is_first = False
            else:
                self._times.add(waited, done - got, has_waited=not depth)

    def _judge(self) -> None:
        """Warns if steps wait longer for the turns of threads than a step takes, and neither for
        the loader nor for a device.
        """
        counters, before, now = self._counters, self._before.counters.stats, self._loader.stats()
        waited = sum(now[key] - before[key] for key in ("wait_seconds", "help_seconds"))
        step, loader = counters.step_seconds / counters.steps, waited / counters.steps
        turns = counters.pop_wait_seconds / counters.steps - loader
        is_on_host = isinstance(self._hand_over, OnHost)
        if not is_on_host or step > _SHORT_STEP or turns < max(step, loader):
            return
        warn_program_once("sink", UserWarning(
            f"the steps of this sink take {seconds_text(step)}, and handing batches from its "
            f"thread to them {seconds_text(turns)} more: a loop is faster, `for batch in loader:`; "
            "so are larger batches.  A sink is for steps on a device"
        ))  # fmt: skip

    # ---- The thread ---------------------------------------------------------------------------

    def _start(self, batches: Iterator[Any] | None) -> None:
        """Starts a new queue and thread in place of the earlier ones; batches: as in _Filler."""
        self._lease.stop()
        self._has_failed, self._is_first = False, True
        self._filler = self._lease.thread = filler = _Filler(
            self._loader, self._begin, self._hand_over, self._counters, self._queue, self._lease,
            self._turn, batches,
        )  # fmt: skip
        filler.start()  # the lease knows it before: a signal leaves no thread that nobody can end

    def _cancelled(self) -> CancelledError:
        return CancelledError(self._lease.over or CLOSED)

    def _check_over(self) -> None:
        if self._lease.over is not None:
            raise self._cancelled()

    def close(self) -> None:
        """Stops the thread, as soon as the loader has made the batch that the thread waits for, and
        drops the batches in the queue.  If a call runs, it ends after its step with a
        CancelledError, and close() returns at once.  The loader stays open: its next iter() goes on
        after the last consumed batch. State and counters can still be read.  A sink may be closed
        twice.
        """
        self._lease.end(CLOSED)
        if not self._is_inside:
            self._end()

    def _end(self) -> None:
        """Waits for the end of the thread, and gives the loader back; without this call the loader
        takes itself back.
        """
        if self._opened.must_not_wait():
            return
        self._filler.wait()
        if self._loader.is_open:
            with self._opened.lent() as cursor:
                if cursor.lease is self._lease:
                    cursor.take_back()

    def __enter__(self) -> Sink[ResultT]:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # ---- State and facts ----------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """As DataLoader.state_dict(): consumed batches count, batches in the queue do not."""
        return self._opened.state_at(*self._lease.place)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """As DataLoader.load_state_dict(): the next call goes on at the place of the state."""
        if self._is_inside:
            raise UnsupportedError("a call of this sink is running")
        self._check_over()
        self._goes_on = False
        self._lease.stop()
        with self._opened.lent() as cursor:
            self._check_over()  # by another thread
            try:
                cursor.lease = None  # this sink goes on
                self._loader.load_state_dict(state)
                self._lease.place = cursor.next()
            finally:
                cursor.lease = self._lease

    def stats(self) -> dict[str, Any]:
        """Counters since the sink was made; they cost almost nothing.

        Keys:
            batches_sent: Batches that were put into the queue.
            steps: Steps that were run.
            fetch_seconds: The thread waited for the loader.
            copy_seconds: The thread brought batches to the device, or started to.
            push_wait_seconds: The thread waited because the queue was full.
            pop_wait_seconds: Calls waited for a batch.
            step_seconds: Calls were inside of steps.
            depths: How many steps found 0, 1, ... batches in the queue.
            recent_depths: How many batches each of the last 10 steps found there.
            push_starts, push_ends: When the last 10 batches were ready to be put into the queue,
                and were there, as time.time(); one more start than ends is a push that waits.
        """
        return {
            name: list(count) if isinstance(count, (list, deque)) else count
            for name, count in vars(self._counters).items()
        }

    def report(self, *, since: Report | None = None) -> Report:
        """As DataLoader.report(), for the steps of this sink since it was made: what they waited
        for, and the copies that its thread made ahead.  loader.report() is about the thread of the
        sink, which waits for batches in place of the steps.

        Args:
            since: An earlier report of this sink.
        """
        report = self._loader.report(since=self._before)
        report = report.with_counters(self._times.put_into(report.counters))
        return report if since is None else report.since(since)

    def __repr__(self) -> str:
        closed = ", closed" if self._lease.over is not None else ""
        return (
            f"Sink({self._loader!r}, sink_size={self._sink_size}, queue={self._queue}; "
            f"{self._hand_over}{closed})"
        )


@takes_own_arguments
def sink(
    loader: DataLoader[BatchT],
    step: Callable[[BatchT], ResultT],
    *,
    sink_size: int = -1,
    queue: int = 2,
) -> Sink[ResultT]:
    """Runs `step(batch)` many times per call, with NumPy arrays that a thread takes ahead.  The
    sinks for torch and jax bring the batches to a device, see docs/speed/sink.md.  With NumPy
    arrays and steps of less than 100 us a loop is faster; one UserWarning says so.

    Args:
        loader: The sink goes on at its position.
        step: A function that trains with a batch.
        sink_size: Steps of a call; calls go on across ends of epochs.  -1: a call ends with its
            epoch.
        queue: The most batches that wait for steps.

    Returns:
        `run`: run() makes a call and returns the results of its steps; `for results in run` makes
        calls without end.

    Raises:
        InvalidArgumentError: A number is out of range, or the loader is not a DataLoader.
    """
    return Sink(loader, step, sink_size, queue, OnHost())
