"""The report of a measured op: a table, one line of advice, or JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from pyflowdata.words.plain_text import number, percent, short_count, size
from .bench import Bench, Part, cores

_MOST_DECODERS = 4  # lines of the table; the fastest ones share the last of them
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
    """Of what memcpy does; from ten times as much on, how many times."""
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
    """Several as one; the shares of memcpy follow from the time."""
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


def _scaling(bench: Bench) -> str:
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
    """What to do about what whole loaders show, if they show anything; on a busy machine they do
    not."""
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
    """What to do, the most useful thing first."""
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
    """Where the time goes and what to do about it, in one line."""
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
        lines.append(_scaling(bench))
    return "\n".join([*lines, f"verdict: {verdict(bench)}"])


def as_dict(bench: Bench) -> dict[str, object]:
    """For JSON: the fields of Bench, and the verdict."""
    return {**dataclasses.asdict(bench), "verdict": verdict(bench)}
