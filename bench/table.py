"""Tables of results: a column is a title and a function that shows a contender's rounds in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from bench.contender import ONE_CORE

Measures = dict[str, Any]
Results = dict[str, list[Measures | None]]  # contender -> its rounds; None: it failed
Value = Callable[[Measures], float]


def rate(measures: Measures) -> float:
    """MB/s of the files."""
    return float(measures["bytes"] / measures["seconds"] / 1e6)


@dataclasses.dataclass(frozen=True)
class Column:
    title: str
    show: Callable[[Results, str], str]  # of a contender
    value: Value = rate  # of a round, where the column shows its median


@dataclasses.dataclass(frozen=True)
class Table:
    """Of a workload with several: contenders whose names begin with a prefix."""

    title: str
    prefix: str
    columns: Sequence[Column]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _values(rounds: Iterable[Measures | None], value: Value) -> list[float | None]:
    """None: the round failed, or has no such value."""
    values: list[float | None] = []
    for measures in rounds:
        try:
            values.append(value(measures) if measures else None)
        except (KeyError, ZeroDivisionError):
            values.append(None)
    return values


def _median(title: str, value: Value) -> Column:
    def show(results: Results, name: str) -> str:
        values = [each for each in _values(results[name], value) if each is not None]
        return _number(median(values)) if values else "-"

    return Column(title, show, value)


def _range(value: Value) -> Column:
    def show(results: Results, name: str) -> str:
        values = [value(measures) for measures in results[name] if measures]
        return f"{_number(min(values))}..{_number(max(values))}" if values else "-"

    return Column("min..max", show)


def _checks(results: Results, *names: str) -> str:
    rounds = (measures for name in names for measures in results[name])
    return ", ".join(sorted({measures["check"] if measures else "failed" for measures in rounds}))


MB = 1e6
RATE = _median("MB/s", rate)
RANGE = _range(rate)
MICROSECONDS = _median("us/batch", lambda m: 1e6 * m["seconds"] / m["batches"])
CPU_MICROSECONDS = _median("CPU us/batch", lambda m: 1e6 * m["cpu"] / m["batches"])
NS = _median("ns/record", lambda m: 1e9 * m["seconds"] / m["records"])
CPU_NS = _median("CPU ns/record", lambda m: 1e9 * m["cpu"] / m["records"])
WINDOWS = _median("k windows/s", lambda m: 16e-3 * m["batches"] / m["seconds"])  # of W5
IMAGES = _median("M images/s", lambda m: 1e-6 * m["rows"] / m["seconds"])  # of W3
PICTURES = _median("images/s", lambda m: m["records"] / m["seconds"])  # of W4
CPU_PICTURE = _median("CPU us/image", lambda m: 1e6 * m["cpu"] / m["records"])
CPU = _median("CPU s/M rows", lambda m: 1e6 * m["cpu"] / m["rows"])
CPU_RATE = _median("MB/CPU s", lambda m: m["bytes"] / m["cpu"] / 1e6)
CORES = _median("cores busy", lambda m: m["cpu"] / m["seconds"])
OPEN = _median("open ms", lambda m: 1e3 * m["open_seconds"])
FIRST = _median("first batch ms", lambda m: 1e3 * m["first_seconds"])
OPEN_MEMORY = _median("MB when open", lambda m: (m["open_anon"] - m["base_anon"]) / MB)
TOKENS = _median("M tokens/s", lambda m: 1e-6 * m["rows"] / m["seconds"])  # of W15
CPU_TOKENS = _median("CPU ns/token", lambda m: 1e9 * m["cpu"] / m["rows"])
MEMORY = _median("peak MB", lambda m: max(0, m["peak_anon"] - m["base_anon"]) / MB)
RSS = _median("max RSS MB", lambda m: m["max_rss"] / MB)
SIZE = _median("MB of data", lambda m: m["bytes"] / MB)
P50 = _median("p50 us", lambda m: 1e6 * m["p50"])
P99 = _median("p99 us", lambda m: 1e6 * m["p99"])
CHECK = Column("check", _checks)

# Of workloads in which both the bytes and the batches count.
RATE_AND_BATCH = [RATE, RANGE, MICROSECONDS, CPU_MICROSECONDS, CORES, MEMORY, CHECK]
THROUGHPUT = [RATE, RANGE, CPU, CORES, MEMORY, RSS, FIRST, P50, P99, CHECK]
PICTURES_AND_COST = [PICTURES, _range(PICTURES.value), CPU_PICTURE, CORES, MEMORY, RSS, CHECK]
SPEEDS = (RATE, MICROSECONDS, WINDOWS, IMAGES, PICTURES, TOKENS)
_COSTS = (CPU, CPU_MICROSECONDS, CPU_PICTURE, CPU_NS)


def ratio(results: Results, name: str, base: str, value: Value) -> float | None:
    """The median of the rounds' ratios of a value; None where no round has both."""
    pairs = zip(_values(results.get(name, []), value), _values(results.get(base, []), value))
    ratios = [mine / other for mine, other in pairs if mine is not None and other]
    return median(ratios) if ratios else None


def _ratio_column(title: str, names: Callable[[str], tuple[str, str]], value: Value) -> Column:
    def show(results: Results, name: str) -> str:
        found = ratio(results, *names(name), value)
        return "-" if found is None else f"{found:.3g}"

    return Column(title, show)


def compared(title: str, base: str, value: Value = rate) -> Column:
    """The ratio of each contender to one of them."""
    return _ratio_column(title, lambda name: (name, base), value)


def one_core(columns: Sequence[Column]) -> list[Column]:
    """For contenders that have a twin on one core: speed and CPU of it beside their own."""

    def of_twin(column: Column) -> Column:
        return Column(
            f"{column.title}, one core", lambda results, name: column.show(results, name + ONE_CORE)
        )

    speed = next(column for column in columns if column in SPEEDS)
    found = [of_twin(speed), dataclasses.replace(speed, title="all cores")]
    found.append(_ratio_column("speed-up", lambda name: (name, name + ONE_CORE), rate))
    for cost in columns:
        if cost in _COSTS:
            found += [of_twin(cost), dataclasses.replace(cost, title="all cores")]
            found.append(_ratio_column("times", lambda name: (name, name + ONE_CORE), cost.value))
    both = Column("check", lambda results, name: _checks(results, name, name + ONE_CORE))
    return [*found, both]


def best(results: Results, names: Iterable[str]) -> str | None:
    """The contender with the highest median rate."""
    rates = {
        name: median(rate(measures) for measures in results[name] if measures)
        for name in names
        if any(results[name])
    }
    return max(rates, key=lambda name: rates[name]) if rates else None


def render(results: Results, names: Sequence[str], columns: Sequence[Column]) -> str:
    """A table in Markdown."""
    titles = ["contender", *(column.title for column in columns)]
    lines = [titles, ["---"] * len(titles)]
    lines += [[name, *(column.show(results, name) for column in columns)] for name in names]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
