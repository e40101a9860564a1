"""Trials of remedies: each change of a loader is compared with the unchanged loader, for some
seconds.

Separate loaders run the same graph from the same place, in turns, one at a time; the loader itself
rests meanwhile.  Between batches a trial sleeps as long as the training loop took for its steps, so
the gain is a gain in steps.  A gain is the quotient of two rates of the same turn, since other
programs slow down both.
"""

from __future__ import annotations

import contextlib
import random
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import CancelledError, Error, UnsupportedError
from ..nodes.batch_forms import rows_of
from ..nodes.node import Blob, Node, nodes_of, rebuilt
from ..nodes.python_ops import (
    InUse,
    first_line_again,
    in_processes,
    language_of,
    processes_of,
)
from ..words.plain_text import number, percent
from .counters import Counters, takes_turns
from .measures import Measures, ratio
from .speed import Usage, check_seconds, notes_of, other_programs, wait_until_idle
from .report_text import aligned, times


# ---- Results ------------------------------------------------------------------------------------

_WORTH = 1.05  # a smaller gain may be noise


@dataclass(frozen=True)
class Trial:
    """A change of a loader, and its gain.

    Attributes:
        change: The change, as it is written in a program.
        gains: The factor in records per second, compared with the unchanged loader, for each turn.
        records_per_second: The median of the turns.
        failure: Why the change could not be tried; "": it was tried.
    """

    change: str
    gains: tuple[float, ...] = ()
    records_per_second: float = 0.0
    failure: str = ""

    @property
    def gain(self) -> float:
        """The median of the gains; 0: it could not be tried."""
        return statistics.median(self.gains) if self.gains else 0.0

    @property
    def spread(self) -> tuple[float, float]:
        """The lowest and the highest of the gains; zeros: it could not be tried."""
        return (min(self.gains), max(self.gains)) if self.gains else (0.0, 0.0)

    @property
    def helps(self) -> bool:
        """Whether each turn was faster with the change than without."""
        return self.spread[0] >= _WORTH

    def __str__(self) -> str:
        low, high = self.spread
        return f"{self.change}, {times(low)[2:]}x to {times(high)[2:]}x measured"


@dataclass(frozen=True)
class Trials:
    """The gains of remedies for a loader, which were tried.  `str()` is a sentence and a table.

    Attributes:
        trials: The trials, the largest gain first; changes that could not be tried come last.
        records_per_second: The rate of the unchanged loader: the median of all turns.
        step_seconds: How long a trial slept for each step, on average; 0: it did not sleep.
        notes: Reasons for doubt in the numbers, such as other programs on the processors.
    """

    trials: tuple[Trial, ...]
    records_per_second: float
    step_seconds: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Trial | None:
        """The change with the largest gain among those that help in each turn; None: there is none.
        """
        return next((one for one in self.trials if one.helps), None)

    @property
    def sentence(self) -> str:
        """The best change, and its gains."""
        if self.best is not None:
            return f"best: {self.best}"
        tried = [one for one in self.trials if one.gains]
        if not tried:
            return "none of the remedies can be tried by a change of the loader"
        return f"no change helps in each turn; the most promising: {tried[0]}"

    def to_dict(self) -> dict[str, Any]:
        """All numbers, for JSON."""
        return {
            "sentence": self.sentence,
            "records_per_second": self.records_per_second,
            "step_seconds": self.step_seconds,
            "trials": [
                {"change": one.change, "gain": one.gain, "gains": list(one.gains),
                 "records_per_second": one.records_per_second, "failure": one.failure}
                for one in self.trials
            ],
            "notes": list(self.notes),
        }  # fmt: skip

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("change", "gain", "lowest", "highest", "records/s"),
            ("as it is", "x 1.00", "", "", number(self.records_per_second)),
        ]
        rows += [
            (one.change, times(one.gain), *map(times, one.spread), number(one.records_per_second))
            for one in self.trials
            if one.gains
        ]
        lines = [self.sentence, "", *aligned(rows)]
        lines += [f"not tried: {one.change}: {one.failure}" for one in self.trials if one.failure]
        return "\n".join([*lines, *(f"doubtful: {note}" for note in self.notes)])


# ---- Candidates ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Candidate:
    """A change to try.

    Attributes:
        change: As it is written in a program.
        options: Arguments of DataLoader that differ.
        blobs: Makes the changed graph; None: it is the same.
    """

    change: str
    options: Mapping[str, Any] = field(default_factory=dict)
    blobs: Callable[[Sequence[Blob]], Sequence[Blob]] | None = None


_MOST_THREADS = 128
_NO_MEMORY = 0.05  # share of the loop's time


def _threads(m: Measures, _blobs: Sequence[Blob]) -> Iterator[_Candidate]:
    """Candidates for threads: fewer; as many as processors; and more, for work that waits."""
    counts = {max(1, m.threads // 2), m.processors, 2 * m.threads, m.further_threads}
    for count in sorted(counts - {m.threads}):
        if count <= _MOST_THREADS:
            options = _with_threads(m, count)
            yield _Candidate(_written(options), options)


def _with_threads(m: Measures, count: int) -> dict[str, int]:
    """A candidate with this number of threads, and a batch for each."""
    options = {"num_threads": count}
    if count > max(m.counters.prefetch, m.threads):
        options["prefetch"] = count
    return options


def _written(options: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _prefetch(m: Measures, _blobs: Sequence[Blob]) -> Iterator[_Candidate]:
    ahead = m.further_prefetch
    yield _Candidate(f"prefetch={ahead}", {"prefetch": ahead})


def _memory(m: Measures, _blobs: Sequence[Blob]) -> Iterator[_Candidate]:
    if m.no_memory_share >= _NO_MEMORY:
        room = 8 * m.counters.memory_budget
        yield _Candidate(f"memory_budget={room}", {"memory_budget": room})


def _sources(m: Measures, blobs: Sequence[Blob]) -> Iterator[_Candidate]:
    """Candidates with overlapping calls of Python objects."""
    if not any(takes_turns(node) for node in nodes_of(blobs)):
        return

    def overlapping(given: Sequence[Blob]) -> Sequence[Blob]:
        return rebuilt(
            given, lambda node: {"thread_safe": True} if takes_turns(node) else {},
            enters_readers=True,
        )  # fmt: skip

    yield _Candidate("thread_safe=True", {}, overlapping)
    options = _with_threads(m, m.further_threads)
    yield _Candidate(f"thread_safe=True, {_written(options)}", options, overlapping)


def _processes(m: Measures, blobs: Sequence[Blob]) -> Iterator[_Candidate]:
    """Candidates with all Python ops in another number of processes, and in threads."""
    now = {processes_of(node) for node in nodes_of(blobs) if language_of(node) != "C"}
    for count in sorted({0, max(2, m.processors)}):
        if now - {count}:
            yield _Candidate(f"processes={count}", {}, _in_processes(count))


def _in_processes(count: int) -> Callable[[Sequence[Blob]], Sequence[Blob]]:
    def changed(node: Node) -> Any:
        is_it = language_of(node) != "C" and processes_of(node) != count
        return in_processes(node, count) if is_it else node.op

    return lambda blobs: rebuilt(blobs, op=changed, enters_readers=True)


_RULES: tuple[Callable[[Measures, Sequence[Blob]], Iterator[_Candidate]], ...] = (
    _threads,
    _prefetch,
    _memory,
    _sources,
    _processes,
)


# ---- Trying -------------------------------------------------------------------------------------

_clock = time.perf_counter
_TURNS = 4
_START_SECONDS = 10  # in which processes have to import the program's module
_WARM_UP = 0.5  # share of a turn's time for batches that were made while the first was awaited
_LONGEST = 0.125  # share of a turn's time that a step sleeps at most
_SHORTEST = 0.0005  # seconds: shorter sleeps are joined


class _Training:
    """Sleeps as the steps of a training loop took, by their histogram.

    Attributes:
        mean: Seconds of a step, on average.
    """

    def __init__(self, trains: Sequence[int], longest: float) -> None:
        self._times = [min(1.5 * 2**power / 1e9, longest) for power in range(len(trains))]
        self._counts = trains
        total = sum(trains)
        self.mean = ratio(sum(map(float.__mul__, self._times, map(float, trains))), total)
        self._draws, self._debt = random.Random(1), 0.0

    def step(self) -> None:
        if self.mean <= 0:
            return
        self._debt += self._draws.choices(self._times, self._counts)[0]
        if self._debt >= _SHORTEST:
            begin = _clock()
            time.sleep(self._debt)
            self._debt -= _clock() - begin


class _Runner:
    """Opens a loader of a candidate in each turn, and measures it."""

    def __init__(self, loader: Any, training: Callable[[], None], seconds: float) -> None:
        self._class: Callable[..., Any] = type(loader)
        self._opened = loader._opened
        self._state = loader.state_dict()
        self._train, self._seconds = training, seconds
        self._options = self._opened.options

    def rate(self, candidate: _Candidate, blobs: Sequence[Blob]) -> float:
        """Records a second, from a moment on at which its threads have been at work."""
        options = {**self._options, **candidate.options, "ledger": ""}
        with self._class(list(blobs), **options) as loader:
            loader._opened.observation.hide()
            self._go(loader)
            batches = loader.repeat()
            next(batches)
            self._take(batches, self._seconds * _WARM_UP, loader.prefetch)
            records, elapsed = self._take(batches, self._seconds, None)
        return ratio(records, elapsed)

    def _go(self, loader: Any) -> None:
        """Goes to the place of the loader; with another graph, to the same batch."""
        try:
            loader.load_state_dict(self._state)
        except Error:
            epoch, position = self._opened.place
            with contextlib.suppress(Error):  # it may have fewer batches
                loader.seek(position, epoch=epoch)

    def _take(self, batches: Iterator[Any], seconds: float, most: int | None) -> tuple[int, float]:
        records = taken = 0
        begin = _clock()
        while (elapsed := _clock() - begin) < seconds and taken != most:
            self._train()
            records += rows_of(next(batches))
            taken += 1
        return records, elapsed


def try_remedies(loader: Any, counters: Counters, seconds: float) -> Trials:
    """Tries changes that may make a loader faster.

    Args:
        loader: A DataLoader, open.
        counters: What it did: the steps of training are as long as these were.
        seconds: The measured time of each change.
    """
    turn = check_seconds(seconds) / _TURNS
    if loader._opened.life == "closed":
        raise CancelledError(
            "the DataLoader is closed; try_remedies() runs its batches: call it before close(), "
            "within the `with` block"
        )
    loader._opened.check_life()
    measures, blobs = Measures(counters), loader.blobs
    training = _Training(counters.history.trains if measures.steps else (), _LONGEST * turn)
    usage = Usage.now()
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        wait_until_idle(loader)
        stack.enter_context(loader.keep_place())
        runner = _Runner(loader, training.step, turn)
        candidates = [one for rule in _RULES for one in rule(measures, blobs)]
        base, trials = _run(runner, candidates, blobs, stack)
    found = sorted(trials, key=lambda one: -one.gain)
    return Trials(
        tuple(found), statistics.median(base), training.mean,
        notes_of(other_programs(usage), _is_not_as_it_was(measures, statistics.median(base))),
    )  # fmt: skip


def _run(
    runner: _Runner, candidates: Sequence[_Candidate], blobs: Sequence[Blob],
    stack: contextlib.ExitStack,
) -> tuple[list[float], list[Trial]]:  # fmt: skip
    """The rates of the unchanged loader, and the results of each candidate."""
    as_it_is = _Candidate("")
    rates: dict[str, list[float]] = {one.change: [] for one in candidates}
    failures: dict[str, str] = {}
    graphs: dict[str, Sequence[Blob]] = {}
    for one in candidates:
        try:
            graphs[one.change] = one.blobs(blobs) if one.blobs else blobs
            _start_processes(graphs[one.change], blobs, stack)
        except Error as failure:
            failures[one.change] = str(failure)
    base = []
    for turn in range(_TURNS):
        base.append(runner.rate(as_it_is, blobs))
        for one in candidates if turn % 2 else candidates[::-1]:
            if one.change not in failures:
                try:
                    rates[one.change].append(runner.rate(one, graphs[one.change]))
                except Error as failure:
                    failures[one.change] = str(failure)
    return base, [_trial(one.change, rates[one.change], base, failures) for one in candidates]


def _start_processes(
    graph: Sequence[Blob], blobs: Sequence[Blob], stack: contextlib.ExitStack
) -> None:
    """Starts the processes of a candidate's graph, which live over all turns.

    Raises:
        Error: They would run the program itself, which uses none; or they do not start in time.
    """
    uses_processes = any(map(processes_of, nodes_of(blobs)))
    if not uses_processes and (line := first_line_again(graph)):
        raise UnsupportedError(
            f"the program's main module would run again in worker processes, from {line} on; put "
            'what it does under if __name__ == "__main__":'
        )
    in_use = InUse(graph)
    stack.callback(in_use.release)
    if not in_use.has_started(_START_SECONDS):
        in_use.release()
        raise UnsupportedError(f"its processes had not started after {_START_SECONDS} s")


def _trial(
    change: str, rates: Sequence[float], base: Sequence[float], failures: Mapping[str, str]
) -> Trial:
    if change in failures:
        return Trial(change, failure=failures[change].partition("\n")[0])
    gains = tuple(ratio(rate, before) for rate, before in zip(rates, base, strict=True))
    return Trial(change, gains, statistics.median(rates))


_FASTER = 1.5  # than in the program


def _is_not_as_it_was(m: Measures, rate: float) -> str | None:
    """Says that the program does what a trial does not, such as holding batches."""
    before = ratio(m.counters.stats["records"], m.loop_seconds)
    if m.steps < 10 or rate <= _FASTER * before:
        return None
    return (
        f"the loader gave {percent(rate / before - 1)} more records a second than in the program, "
        "which slows it down by something that a trial does not do"
    )
