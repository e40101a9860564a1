"""Measures ops part by part: the costs of finding, reading, parsing and decoding a record.

C code does the measuring, without Python in between.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .binding import ffi, lib, new_struct
from .spec import output_of, spec_of
from pyflowdata.errors import InvalidArgumentError
from pyflowdata.native import CData, check, new_error, text
from pyflowdata.nodes import Blob, Node
from pyflowdata.words.plain_text import number, percent, short_count, size


@dataclass(frozen=True)
class Part:
    """One part of the work, or a limit of the machine.

    Attributes:
        name: "locate", "read", "parse", "decode"; as limits "memcpy" and "sum".
        op: The op whose function is measured; None for the host's work.
        ns: Nanoseconds per record, in the order of the files.
        shuffled_ns: Nanoseconds per record in random order; None for a stream.
        gb_per_s: Record data per second, in 10**9 bytes; None for records without bytes.
        of_memcpy: gb_per_s as a share of memcpy() of the same records.
        mallocs, malloc_bytes: Allocations per record from the C library; None if they cannot be
            counted.
        allocs, alloc_bytes: Allocations per record from the host's scratch, which cost almost
            nothing.
    """

    name: str
    op: str | None
    ns: float
    shuffled_ns: float | None
    gb_per_s: float | None
    of_memcpy: float | None
    mallocs: float | None
    malloc_bytes: float | None
    allocs: float
    alloc_bytes: float


@dataclass(frozen=True)
class Scaling:
    """A loader with `threads` threads on as many cores, and its speedup over the first loader."""

    threads: int
    records_per_s: float
    speedup: float


@dataclass(frozen=True)
class Bench:
    """The results of a benchmark.

    Attributes:
        op: The last op, which is the subject of the benchmark.
        reader: The reader upstream of `op`; `op` itself if that is a reader.
        origin: Where the op comes from: "built in", or the path of a plugin.
        records: Records in the data set; None for a stream.
        files, file_bytes: The number of files, and the sum of their sizes.
        measured_records, measured_bytes: The window over which the parts were measured.
        measured_sum: The sum of its bytes as 64-bit words, modulo 2**64; zeros fill up each record.
        batch_size: Records of a loader's batch.
        rows_per_call: Rows that a loader passes to one call of compute().
        open_ms: Milliseconds to open everything, with an index for random access if there is one.
        parts: The parts of the work, in order.
        limits: The costs of memcpy() and of a sum of the same records.
        scaling: The speeds of whole loaders.
        load: The load of the machine before the measurement, as in `uptime`: threads that want a
            core.
    """

    op: str
    reader: str
    origin: str
    records: int | None
    files: int
    file_bytes: int
    measured_records: int
    measured_bytes: int
    measured_sum: int
    batch_size: int
    rows_per_call: int
    open_ms: float
    parts: tuple[Part, ...]
    limits: tuple[Part, ...]
    scaling: tuple[Scaling, ...]
    load: float


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0))


def _blobs(blobs: Sequence[Blob]) -> CData:
    array = ffi.new("pfd_blob[]", len(blobs))
    for slot, blob in zip(array, blobs, strict=True):
        blob.fill(slot)
    return array


class _Graph:
    """Makes a graph again, with other attrs for its readers."""

    def __init__(self, **attrs: object) -> None:
        self._attrs = attrs
        self._made: dict[Node, Node] = {}

    def _again(self, node: Node) -> Node:
        if node not in self._made:
            attrs = dict(spec_of(node).attrs)
            if node.op.is_reader:
                attrs |= {name: value for name, value in self._attrs.items() if node.op.attr(name)}
            self._made[node] = Node(node.op, node.name, self.blobs(node.inputs), attrs)
        return self._made[node]

    def blobs(self, blobs: Sequence[Blob]) -> list[Blob]:
        """The outputs of the new nodes in place of these."""
        return [
            output_of(self._again(blob.node), blob.node.op.outputs[blob.index].name)
            for blob in blobs
        ]


def _in_order(blobs: Sequence[Blob]) -> list[Blob]:
    return _Graph(random_shuffle=False, shuffle="none", index_dir="none").blobs(blobs)


def _shuffled(blobs: Sequence[Blob]) -> list[Blob]:
    return _Graph(random_shuffle=True, shuffle="auto", index_dir="none").blobs(blobs)


def _measure_ops(blobs: Sequence[Blob], options: CData) -> CData:
    result, err = new_struct("pfd_bench_result"), new_error()
    check(lib.pfd_bench_ops(_blobs(blobs), len(blobs), options, result, err), err)
    return result


@dataclass(frozen=True)
class _Costs:
    """Results from C: in the order of the files, and in random order unless this is a stream."""

    in_order: CData
    shuffled: CData | None

    def part(self, name: str, field: str, index: int | None = None, op: str | None = None) -> Part:
        """One field of both results; of a list of ops, the field of one op."""
        both = [getattr(one, field) for one in (self.in_order, self.shuffled) if one is not None]
        cost, *other = both if index is None else [costs[index] for costs in both]
        record_bytes = self.in_order.window_bytes / self.in_order.window_records
        known = record_bytes > 0 and cost.ns > 0
        return Part(
            name=name,
            op=op,
            ns=cost.ns,
            shuffled_ns=other[0].ns if other else None,
            gb_per_s=record_bytes / cost.ns if known else None,
            of_memcpy=self.in_order.copy.ns / cost.ns if known else None,
            mallocs=cost.mallocs if cost.mallocs >= 0 else None,
            malloc_bytes=cost.malloc_bytes if cost.mallocs >= 0 else None,
            allocs=cost.allocs,
            alloc_bytes=cost.alloc_bytes,
        )

    def ops(self) -> list[str]:
        """The names of reader and decoders, in the order of the work."""
        return [text(self.in_order.op_names[i]) for i in range(self.in_order.num_ops)]

    def parts(self) -> tuple[Part, ...]:
        """The costs of the host's work and of each op, in the order of the work."""
        host = (self.part("locate", "locate"), self.part("read", "read"))
        ops = (
            self.part("decode" if i else "parse", "ops", i, op) for i, op in enumerate(self.ops())
        )
        return (*host, *ops)

    def limits(self) -> tuple[Part, ...]:
        """The costs of copying and of summing the same bytes, to compare with."""
        return (self.part("memcpy", "copy"), self.part("sum", "sum"))


def _measure_costs(blobs: Sequence[Blob], options: CData) -> _Costs:
    """Measures both orders over the same window, and sets this in the options."""
    in_order = _measure_ops(_in_order(blobs), options)
    if in_order.num_records < 0:
        return _Costs(in_order, None)
    options.shuffled, options.window = 1, in_order.window_records
    return _Costs(in_order, _measure_ops(_shuffled(blobs), options))


def _measure_loader(blobs: Sequence[Blob], options: CData, threads: int) -> float:
    """Measures records per second, with as many cores as threads: the waiting thread helps, so one
    thread on many cores would count as two.
    """
    chosen, rate, err = new_struct("pfd_loader_options"), ffi.new("double *"), new_error()
    chosen.num_threads = threads
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, sorted(allowed)[:threads])
        status = lib.pfd_bench_loader(_blobs(blobs), len(blobs), chosen, options, rate, err)
    finally:
        os.sched_setaffinity(0, allowed)
    check(status, err)
    return float(rate[0])


def _scaling(
    blobs: Sequence[Blob], options: CData, threads: Sequence[int]
) -> tuple[Scaling, ...]:
    rates = [_measure_loader(blobs, options, count) for count in threads]
    return tuple(
        Scaling(count, rate, rate / rates[0]) for count, rate in zip(threads, rates, strict=True)
    )


def thread_counts(most: int) -> list[int]:
    """1, 2, 4, ... and `most`."""
    counts = [2**power for power in range(most.bit_length()) if 2**power < most]
    return [*counts, most]


def _check_arguments(
    blobs: Sequence[Blob], threads: Sequence[int], rounds: int, seconds: float
) -> None:
    if not blobs:
        raise InvalidArgumentError("no blobs were given; there is nothing to measure")
    if not 0 < seconds <= 3600 or not 1 <= rounds <= 1000:
        raise InvalidArgumentError(
            f"rounds = {rounds}, seconds = {seconds}; they must be 1 to 1000, and above 0 and at "
            "most 3600"
        )
    for count in threads:
        if not 1 <= count <= cores():
            raise InvalidArgumentError(
                f"threads = {count}; it must be 1 to {cores()}, the cores of this process"
            )


def measure(
    blobs: Sequence[Blob],
    *,
    threads: Sequence[int] | None = None,
    rounds: int = 3,
    seconds: float = 0.2,
) -> Bench:
    """Measures the ops of some blobs over the first records of their reader.

    Takes about (6 + number of `threads`) * rounds * seconds, with the GIL released; signals are
    handled between the steps. Changes the affinity of the calling thread meanwhile. Measures parts
    in both orders, whatever the reader's attrs say, and without an index on disk; the loaders load
    the given blobs.

    Args:
        blobs: Outputs of one op; one reader is upstream of them.
        threads: How many threads the loaders have; None: 1, 2, 4 and so on up to all cores.
        rounds: The number of rounds; the best round counts.
        seconds: The time of a round.

    Raises:
        InvalidArgumentError: An argument is out of range, or no blob is given.
        UnsupportedError: Several readers are upstream of the blobs.
        CorruptDataError: A record is damaged, or there is none.
        FileError: The reader's files cannot be opened or read.
    """
    counts = thread_counts(cores()) if threads is None else list(threads)
    _check_arguments(blobs, counts, rounds, seconds)
    load = os.getloadavg()[0]
    options = new_struct("pfd_bench_options")
    options.rounds, options.round_ns = rounds, max(1, int(seconds * 1e9))
    costs = _measure_costs(blobs, options)
    result, last = costs.in_order, costs.shuffled or costs.in_order
    return Bench(
        op=blobs[0].node.op.name,
        reader=costs.ops()[0],
        origin=blobs[0].node.op.origin,
        records=result.num_records if result.num_records >= 0 else None,
        files=result.num_files,
        file_bytes=result.num_bytes,
        measured_records=result.window_records,
        measured_bytes=result.window_bytes,
        measured_sum=result.window_sum,
        batch_size=blobs[0].batch_size,
        rows_per_call=result.range_rows,
        open_ms=last.open_ns / 1e6,
        parts=costs.parts(),
        limits=costs.limits(),
        scaling=_scaling(blobs, options, counts),
        load=load,
    )


# ---- The report: a table, one line of advice, or JSON -------------------------------------------

_MOST_DECODERS = 4  # lines of the table; the fastest decoders share the last line
_WHAT = {
    "locate": "locate",
    "read": "read: touch cache lines",
    "parse": "parse: {op}",
    "decode": "decode: {op}",
    "memcpy": "limit: memcpy",
    "sum": "limit: sum in place",
}


def _figure(value: float | None) -> str:
    return "-" if value is None else number(value)


def _share(of_memcpy: float | None) -> str:
    """The share of memcpy in percent, or as a factor from ten times on."""
    if of_memcpy is None:
        return "-"
    return percent(of_memcpy) if of_memcpy < 10 else f"{of_memcpy:.0f} x"


def _title(bench: Bench) -> str:
    after = "" if bench.op == bench.reader else f" after {bench.reader}"
    count = "a stream" if bench.records is None else f"{bench.records:,} records"
    files = f" in {bench.files} files of {size(bench.file_bytes)}" if bench.files else ""
    return (
        f"{bench.op}{after} ({bench.origin}): {count}{files}; {bench.measured_records:,} "
        f"measured, {bench.rows_per_call} a call"
    )


def _joined(decoders: list[Part]) -> Part:
    """Joins several parts to one; shares of memcpy follow from the time."""
    first = decoders[0]
    ns = sum(part.ns for part in decoders)
    shuffled = [part.shuffled_ns for part in decoders if part.shuffled_ns is not None]
    mallocs = [part.mallocs for part in decoders if part.mallocs is not None]
    ratio = first.ns / ns if ns > 0 else 0.0
    return dataclasses.replace(
        first,
        op=f"{len(decoders)} others",
        ns=ns,
        shuffled_ns=sum(shuffled) if shuffled else None,
        gb_per_s=None if first.gb_per_s is None else first.gb_per_s * ratio,
        of_memcpy=None if first.of_memcpy is None else first.of_memcpy * ratio,
        mallocs=sum(mallocs) if mallocs else None,
    )


def _shown_parts(bench: Bench) -> list[Part]:
    decoders = [part for part in bench.parts if part.name == "decode"]
    if len(decoders) <= _MOST_DECODERS:
        return [*bench.parts, *bench.limits]
    slowest = sorted(decoders, key=lambda part: part.ns, reverse=True)[: _MOST_DECODERS - 1]
    others = _joined([part for part in decoders if part not in slowest])
    kept = [part for part in bench.parts if part.name != "decode" or part in slowest]
    return [*kept, others, *bench.limits]


def _row(part: Part) -> list[str]:
    return [
        _WHAT[part.name].format(op=part.op),
        _figure(part.ns),
        _figure(part.shuffled_ns),
        _figure(part.gb_per_s),
        _share(part.of_memcpy),
        "-" if part.name in ("memcpy", "sum") else _figure(part.mallocs),
    ]


def _open_row(bench: Bench) -> list[str]:
    ns = None if bench.records is None else 1e6 * bench.open_ms / bench.records
    return [f"open, index: {_figure(bench.open_ms)} ms", _figure(ns), "-", "-", "-", "-"]


def _aligned(rows: Iterable[list[str]]) -> list[str]:
    table = list(rows)
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)]
    return [
        "  ".join(
            [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))]
        )
        for cells in table
    ]


def _scaling_words(bench: Bench) -> str:
    parts = [
        f"{one.threads}: {short_count(one.records_per_s)}/s"
        + (f" ({one.speedup:.1f}x)" if one.threads > 1 else "")
        for one in bench.scaling
    ]
    return f"loader, batch {bench.batch_size}, threads  " + "   ".join(parts)


def _where(part: Part) -> str:
    return f"{part.name} of {part.op}" if part.name == "decode" else part.name


def _is_busy(bench: Bench) -> bool:
    return bench.load > 0.5 * cores()


def _does_not_scale(bench: Bench) -> bool:
    last = bench.scaling[-1]
    return last.speedup < 0.6 * last.threads and not _memory_bound(bench, last.records_per_s)


def _loader_advice(bench: Bench, total: float) -> str | None:
    """Advice from the speeds of whole loaders, if there is any; on a busy machine the speeds mean
    nothing.
    """
    if _is_busy(bench):
        return None
    added = 1e9 / bench.scaling[0].records_per_s - total
    if added > total + 20:
        if bench.records is not None and bench.records < 10 * bench.batch_size:
            return "there are too few records to judge a loader by"
        if bench.batch_size < 4096 and total < 1000:
            return f"a loader adds {_figure(added)} ns a record: use larger batches"
    if _does_not_scale(bench):
        return "threads do not scale: look for a lock or memory that all of them write"
    return None


def _advice(bench: Bench, slowest: Part, total: float) -> str:
    """Advice, the most useful first."""
    allocating = [part for part in bench.parts if (part.mallocs or 0) >= 0.01]
    if allocating:
        places = ", ".join(_where(part) for part in allocating)
        return f"take the memory in {places} from host->alloc(), which costs next to nothing"
    loader_advice = _loader_advice(bench, total) if bench.scaling else None
    if loader_advice:
        return loader_advice
    if slowest.name == "read":
        return "the memory is the limit: store fewer bytes"
    if (slowest.of_memcpy or 0) > 0.5:
        return "nothing is left to gain: it is about as fast as memcpy"
    if slowest.name == "locate":
        return (
            "have next() do less" if bench.records is None else "have at() do less"
        ) + "; the host's own sources (open_lines(), open_frames(), open_fixed()) do little"
    return f"make compute() of {slowest.op} faster; `perf record` shows where it spends its time"


def _memory_bound(bench: Bench, records_per_s: float) -> bool:
    copy = bench.limits[0].gb_per_s
    rate = records_per_s * bench.measured_bytes / bench.measured_records / 1e9
    return copy is not None and rate > 0.5 * copy


def verdict(bench: Bench) -> str:
    """One line that says where the time goes, and what to do."""
    total = sum(part.ns for part in bench.parts)
    slowest = max(bench.parts, key=lambda part: part.ns)
    share = slowest.ns / total if total > 0 else 0.0
    said = f"{_where(slowest)} takes {percent(share)} of the time: "
    said += f"{_figure(slowest.ns)} ns a record"
    if slowest.gb_per_s is not None:
        said += f", {_figure(slowest.gb_per_s)} GB/s, {_share(slowest.of_memcpy)} of memcpy"
    if len(bench.scaling) > 1:
        last = bench.scaling[-1]
        said += f"; {last.threads} threads scale {last.speedup:.1f}x"
    counted = [part.mallocs for part in bench.parts if part.mallocs is not None]
    said += (
        f"; {_figure(sum(counted))} allocations a record"
        if counted
        else "; allocations cannot be counted here"
    )
    said += f": {_advice(bench, slowest, total)}"
    if _is_busy(bench):
        said += f" (the machine is busy, load {bench.load:.1f}: measure again when it is quiet)"
    return said


def as_table(bench: Bench) -> str:
    """At most 15 lines."""
    header = ["", "ns/record", "shuffled", "GB/s", "of memcpy", "mallocs/record"]
    rows = [header, _open_row(bench), *(_row(part) for part in _shown_parts(bench))]
    lines = [_title(bench), *_aligned(rows)]
    if bench.scaling:
        lines.append(_scaling_words(bench))
    return "\n".join([*lines, f"verdict: {verdict(bench)}"])


def as_dict(bench: Bench) -> dict[str, object]:
    """For JSON: the fields of Bench, and the verdict."""
    return {**dataclasses.asdict(bench), "verdict": verdict(bench)}
