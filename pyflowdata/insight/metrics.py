"""The numbers of a loader for systems that watch programs: names, units and labels, in one table.

Prometheus, OpenTelemetry, TensorBoard and the board for Grafana all have the names of this table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .counters import Counters
from .stats import TIMES
from .verdict import Verdict

Labels = tuple[tuple[str, str], ...]
Values = Iterable[tuple[Labels, float]]

_SUFFIXES = {"s": "_seconds", "By": "_bytes"}


class Metric(NamedTuple):
    """One of the numbers.

    Attributes:
        base: The name without its unit.
        unit: "s", "By", or what is counted, as "{record}".
        is_sum: Whether the number only grows; otherwise it is a current level.
        doc: A sentence.
        read: Returns its values, one for each set of labels.
    """

    base: str
    unit: str
    is_sum: bool
    doc: str
    read: Callable[[Counters], Values]

    @property
    def name(self) -> str:
        """The name in Prometheus: pyflowdata_loop_seconds_total."""
        suffix = _SUFFIXES.get(self.unit, "")
        return f"pyflowdata_{self.base}{suffix}{'_total' if self.is_sum else ''}"


class Sample(NamedTuple):
    """A value of a metric."""

    metric: Metric
    labels: Labels
    value: float


# ---- The table ----------------------------------------------------------------------------------


def _stat(name: str) -> Callable[[Counters], Values]:
    return lambda counters: [((), counters.stats[name])]


def _loop(counters: Counters) -> Values:
    return [((("state", name),), counters.stats[f"{name}_seconds"]) for name in TIMES]


def _threads(counters: Counters) -> Values:
    stats = counters.stats
    return [
        ((("state", "busy"),), stats["thread_seconds"] - stats["idle_seconds"]),
        ((("state", "idle"),), stats["idle_seconds"]),
    ]


def _of_ops(read: Callable[[Counters], Iterable[tuple[str, Labels, float]]]) -> Callable[
    [Counters], Values
]:
    """Values of ops: work with the same title is summed up, since a set of labels has one value."""

    def values(counters: Counters) -> Values:
        sums: dict[Labels, float] = {}
        for title, labels, value in read(counters):
            key = (("op", title), *labels)
            sums[key] = sums.get(key, 0.0) + value
        return sums.items()

    return values


def _op_seconds(counters: Counters) -> Iterator[tuple[str, Labels, float]]:
    for one in counters.work:
        cpu = min(one.cpu_seconds, one.wall_seconds)
        yield one.title, (("state", "compute"),), cpu
        yield one.title, (("state", "wait"),), one.wall_seconds - cpu


def _op_rows(counters: Counters) -> Iterator[tuple[str, Labels, float]]:
    return ((one.title, (), one.rows) for one in counters.work)


def _copies(name: str) -> Callable[[Counters], Values]:
    def values(counters: Counters) -> Values:
        for by, copies in (("loop", counters.hand_over), ("thread", counters.ahead)):
            if copies is not None:
                yield (("by", by), ("device", copies.device)), getattr(copies, name)

    return values


def _about(counters: Counters) -> Values:
    names = ", ".join(counters.blobs[:8]) + (", ..." if len(counters.blobs) > 8 else "")
    said = {"blobs": names, "script": counters.script, "version": counters.version}
    return [(tuple(said.items()), 1.0)]


METRICS = (
    Metric("about", "", False, "1; the labels say which loader this is", _about),
    Metric("records", "{record}", True, "records delivered, on this rank", _stat("records")),
    Metric("batches", "{batch}", True, "batches delivered", _stat("batches")),
    Metric("batches_made", "{batch}", True, "batches complete, also those not delivered",
           _stat("batches_made")),
    Metric("parsed", "By", True, "bytes of records that were parsed", _stat("bytes")),
    Metric("read", "By", True, "bytes read from files that are not mapped", _stat("read_bytes")),
    Metric("skipped", "{record}", True, "records left out or padded after an error",
           _stat("skipped")),
    Metric("retries", "{call}", True, "calls of the system that failed for a moment",
           _stat("retries")),
    Metric("epochs", "{epoch}", True, "first batches of epochs, and after a seek",
           _stat("starts")),
    Metric("steps", "{step}", True, "the other batches", _stat("steps")),
    Metric("waited_steps", "{step}", True, "steps whose batch was not complete when asked for",
           _stat("waited_steps")),
    Metric("loop", "s", True, "the thread that calls next(): time in it, by what it did, outside "
           "of it (training) and between epochs", _loop),
    Metric("threads", "s", True, "lifetime of the loader's threads, with and without work",
           _threads),
    Metric("threads_cpu", "s", True, "the loader's threads computed", _stat("cpu_seconds")),
    Metric("threads_runnable", "s", True, "the loader's threads waited for a processor",
           _stat("runnable_seconds")),
    Metric("op", "s", True, "threads in an op or stage, estimated from row ranges",
           _of_ops(_op_seconds)),
    Metric("op_rows", "{row}", True, "rows that an op or stage did", _of_ops(_op_rows)),
    Metric("copied", "By", True, "batches copied to a device, by the loop or another thread",
           _copies("bytes")),
    Metric("copy", "s", True, "time of these copies", _copies("seconds")),
    Metric("no_memory", "s", True, "memory_budget let no further batch start",
           _stat("no_memory_seconds")),
    Metric("batches_ready", "{batch}", False, "complete batches that wait for next()",
           _stat("slots_ready")),
    Metric("batches_held", "{batch}", False, "batches in the program's hands",
           _stat("slots_held")),
    Metric("memory", "By", False, "memory of batches", _stat("slot_bytes")),
    Metric("memory_budget", "By", False, "the most that it may be",
           lambda counters: [((), counters.memory_budget)]),
    Metric("num_threads", "{thread}", False, "threads of the loader",
           lambda counters: [((), counters.num_threads)]),
    Metric("prefetch", "{batch}", False, "batches that are made ahead",
           lambda counters: [((), counters.prefetch)]),
)  # fmt: skip


def _verdict_of(verdict: Verdict) -> Metric:
    labels = (("limit", verdict.limit), ("cause", verdict.cause))
    doc = "1; the labels say what limits the training loop, and the cause in the loader"
    return Metric("verdict", "", False, doc, lambda _: [(labels, 1.0)])


NAMES = (*(one.name for one in METRICS), "pyflowdata_verdict")  # all that there are


class Meter:
    """Reads the numbers.  Sums never decrease, although times of ops are estimates: systems take a
    decrease for a restart of the program.
    """

    def __init__(self) -> None:
        self._most: dict[tuple[str, Labels], float] = {}

    def read(self, counters: Counters, verdict: Verdict | None = None) -> list[Sample]:
        """All numbers, with the rank as a label of each.

        Args:
            counters: The counters of a loader, the same loader in each call.
            verdict: The current verdict, which becomes the last number; None: no such number.
        """
        rank: Labels = (("rank", str(counters.rank)),)
        last = () if verdict is None else (_verdict_of(verdict),)
        return [
            Sample(metric, rank + labels, self._grown(metric, labels, float(value)))
            for metric in (*METRICS, *last)
            for labels, value in metric.read(counters)
        ]

    def _grown(self, metric: Metric, labels: Labels, value: float) -> float:
        if not metric.is_sum:
            return value
        key = metric.name, labels
        self._most[key] = max(value, self._most.get(key, 0.0))
        return self._most[key]


# ---- Prometheus ---------------------------------------------------------------------------------


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def as_prometheus(samples: Iterable[Sample]) -> str:
    """The text format of Prometheus, version 0.0.4; samples of one metric follow each other."""
    lines: list[str] = []
    named = ""
    for metric, labels, value in samples:
        name = metric.name
        if name != named:
            kind = "counter" if metric.is_sum else "gauge"
            lines += [f"# HELP {name} {metric.doc}", f"# TYPE {name} {kind}"]
            named = name
        said = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
        lines.append(f"{name}{{{said}}} {value!r}")
    return "\n".join(lines) + "\n"
