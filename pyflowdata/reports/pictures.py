"""The pictures of the report page: charts of a report's numbers, with what they show in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..html_text import Html, element, strung
from ..plain_text import clipped, counted, number, percent, seconds, short_count, size
from .charts import Axis, Bar, Panel, Part, histogram, scatter, stacked, strips, timeline
from .counters import Counters, History
from .rates_over_time import Course
from .measures import Measures
from .ticks import edge_text, moment_text, ticks, time_ticks, whole_ticks

Numbers = Mapping[str, Any]

_MOST_BARS = 12
_STATES = (("a", "computes"), ("d", "waits for a processor"), ("b", "waits for a file or a lock"))


def figure(chart: Html, caption: object) -> Html:
    """A chart and what it shows."""
    return element("figure", chart, element("figcaption", caption))


def legend(parts: Sequence[tuple[str, str]]) -> Html:
    """Colours and what they stand for."""
    items = []
    for color, said in parts:
        box = element("rect", class_=color, width=12, height=12)
        items.append(element("li", element("svg", box, aria_hidden="true"), said))
    return element("ul", *items, class_="legend")


def _counts(most: float, title: str, count: int = 4) -> Axis:
    """An axis of whole numbers whose last tick is at its end, or above the largest value."""
    marks = whole_ticks(most, count)
    step = marks[1] if len(marks) > 1 else max(most, 1.0)
    end = marks[-1] if marks[-1] >= most else marks[-1] + step
    return Axis(end, [(one, short_count(one)) for one in whole_ticks(end, count + 1)], title)


# ---- Over time ----------------------------------------------------------------------------------


def course_picture(periods: Sequence[Course], prefetch: int) -> Html:
    """Throughput, waiting and ready batches over time."""
    whole = periods[-1].end
    rates = [one.rate for one in periods]
    ready = [one.ready or 0.0 for one in periods]
    rate = ticks(max(rates), 3)
    step = rate[1] if len(rate) > 1 else 1.0
    top = rate[-1] if rate[-1] >= max(rates) else rate[-1] + step
    panels = [
        Panel(Axis(top, [(one, short_count(one)) for one in ticks(top, 4)],
                   "delivered, records a second"), rates, "a"),
        Panel(Axis(1.0, [(0, "0 %"), (0.5, "50 %"), (1, "100 %")],
                   "share of the time that training waits"),
              [one.waiting for one in periods], "b"),
        Panel(_counts(max(max(ready), min(prefetch, 4), 1), "complete batches in front", 3),
              ready, "c"),
    ]  # fmt: skip
    hovers = [
        f"{seconds(one.begin)} to {seconds(one.end)}: "
        f"{number(one.rate)} records/s, waits {percent(one.waiting)}, "
        + ("no batch" if one.ready is None else f"{one.ready:.1f} batches ready")
        for one in periods
    ]
    across = Axis(
        whole, [(one, moment_text(one)) for one in time_ticks(whole)],
        "since the first batch was asked for",
    )  # fmt: skip
    said = f"Throughput, waiting and ready batches over {seconds(whole)}"
    return figure(
        timeline(panels, [one.end for one in periods], across, hovers, said),
        f"{counted(len(periods), 'period')} of {seconds(periods[0].end)}. Where training waits, "
        f"no complete batch is in front of it. At most {prefetch} are made ahead.",
    )


# ---- Histograms ---------------------------------------------------------------------------------


def _range(history: History) -> tuple[int, int]:
    """The powers of two that waits or steps have; of eight at least."""
    used = [
        power
        for counts in (history.waits, history.trains)
        for power, count in enumerate(counts)
        if count
    ]
    least, most = min(used, default=20), max(used, default=20)
    while most - least < 7:
        least, most = max(0, least - 1), most + 1
    return least, most


def _durations(history: History, kind: str, title: str, color: str, said: str) -> Html:
    least, most = _range(history)
    counts = getattr(history, kind)[least : most + 1]
    every = -(-len(counts) // 4)
    marks = [
        (place, edge_text(least + place)) for place in range(0, len(counts), every)
    ]
    bars = [
        Bar(count, f"{count:,}: {edge_text(power)} to {edge_text(power + 1)}")
        for power, count in enumerate(counts, least)
    ]
    up = _counts(max(max(counts), 1), title)
    return histogram(bars, up, Axis(len(counts), marks), said, color=color)


def waits_picture(counters: Counters) -> Html:
    """How long the steps waited that did."""
    steps, waited = int(counters.stats["steps"]), int(counters.stats["waited_steps"])
    if not waited:
        return figure(Html(""), f"None of {counted(steps, 'step')} waited: a batch was ready.")
    chart = _durations(
        counters.history, "waits", "steps that waited, by duration", "b", "Histogram of waits"
    )
    return figure(
        chart,
        f"{waited:,} of {counted(steps, 'step')} waited; for the others a batch was ready. Each "
        "bar counts waits from its left edge to twice as long.",
    )


def steps_picture(history: History) -> Html:
    """How long the program took between batches."""
    chart = _durations(
        history, "trains", "training steps, by duration", "a", "Histogram of training steps"
    )
    return figure(
        chart, "The time from a batch to the question for the next one, on the same scale as waits."
    )


# ---- Shares -------------------------------------------------------------------------------------


def work_picture(counters: Counters) -> Html:
    """A bar for each op and stage: computing and waiting; the longest first."""
    m = Measures(counters)
    work = sorted((one for one in counters.work if one.rows), key=lambda one: -one.wall_seconds)
    if m.wall_seconds <= 0:
        return Html("")
    lines = []
    for one in work[:_MOST_BARS]:
        held = m.waiting_share(one) * one.wall_seconds
        cpu = min(one.cpu_seconds, one.wall_seconds)
        took = (cpu, one.wall_seconds - cpu - held, held)
        named = [(*state, each) for state, each in zip(_STATES, took, strict=True)]
        share = percent(m.wall_share(one))
        bar = stacked(_parts(named, m.wall_seconds), f"{one.title}: {share} of the threads' work")
        lines.append(element("li", element("span", one.title), bar, element("span", share)))
    rest = work[_MOST_BARS:]
    if rest:
        share = percent(sum(map(m.wall_share, rest)))
        spans = (f"{len(rest)} others", "", share)
        lines.append(element("li", *(element("span", one) for one in spans)))
    return strung((element("ul", *lines, class_="shares"), legend(_STATES)))


def _parts(named: Sequence[tuple[str, str, float]], whole: float) -> list[Part]:
    """Of a bar: colours, what they stand for, and seconds."""
    return [Part(took / whole, color, f"{said}: {seconds(took)}") for color, said, took in named]


def threads_picture(counters: Counters) -> Html:
    """What the loader's threads did with their time."""
    stats = counters.stats
    elapsed = stats["now_seconds"] - stats["opened_seconds"]
    idle, cpu, runnable = (stats[f"{one}_seconds"] for one in ("idle", "cpu", "runnable"))
    total = max(stats["thread_seconds"], idle + cpu + runnable)
    if total <= 0:
        return Html("")
    named = [
        ("a", "compute", cpu), ("d", "wait for a processor", runnable),
        ("b", "wait for a file or a lock", total - idle - cpu - runnable),
        ("e", "have no work", idle),
    ]  # fmt: skip
    marks = legend([(color, f"{said} {percent(one / total)}") for color, said, one in named])
    parts = _parts(named, total)
    said = f"{counted(counters.num_threads, 'thread')} in {seconds(elapsed)}"
    return figure(Html(stacked(parts, said) + marks), f"{said}, from open to close or to now.")


def memory_picture(counters: Counters) -> Html:
    """The memory of batches, and what of the budget is left."""
    stats = counters.stats
    slots = max(1, int(stats["slots"]))
    one = stats["slot_bytes"] / slots
    held, ready = int(stats["slots_held"]), int(stats["slots_ready"])
    named = [
        ("b", "held by the program", held), ("c", "complete", ready),
        ("a", "being made, or free", max(0, slots - held - ready)),
    ]  # fmt: skip
    whole = max(counters.memory_budget, stats["slot_bytes"], 1)
    parts = [
        Part(count * one / whole, color, f"{said}: {size(count * one)}")
        for color, said, count in named
    ]
    marks = legend([(color, f"{count:,} {said}") for color, said, count in named])
    short = stats["no_memory_seconds"]
    lacking = (
        f" For {seconds(short)} no batch could be started: the budget was used up."
        if short else ""
    )  # fmt: skip
    said = f"{size(stats['slot_bytes'])} of a memory_budget of {size(counters.memory_budget)}"
    return figure(
        Html(stacked(parts, said) + marks),
        f"Room for {slots:,} batches of {size(one)} each: {said}.{lacking}",
    )


# ---- Order --------------------------------------------------------------------------------------


def order_picture(order: Numbers) -> Html:
    """Where the records of the first batches lie in the files."""
    rows, files = sum(order["rows"]), order["files"]
    starts = [one["first"] for one in files[1:]] if len(files) <= 60 else []
    extent = max(order["extent"], 1)
    up = Axis(extent, [(one, short_count(one)) for one in whole_ticks(extent, 5)],
              "place in the files, records")  # fmt: skip
    across = Axis(max(rows, 1), [(one, short_count(one)) for one in whole_ticks(rows, 5)],
                  f"position in epoch {order['epoch']}, records")  # fmt: skip
    points = zip(order["positions"], order["places"], strict=True)
    said = f"Order of the first {counted(rows, 'record')} of epoch {order['epoch']}"
    every = f"one of {-(-rows // len(order['places']))}" if order["places"] else "none"
    dots = "Each dot is a record" if len(order["places"]) == rows else f"A dot is {every} records"
    lines = f"; lines are where files begin ({len(files):,} files)" if starts else ""
    return figure(
        scatter(points, up, across, said, lines=starts, radius=1.5 if rows > 1500 else 2.5),
        f"{dots} of the first {len(order['rows'])} batches of all ranks{lines}. A line from "
        "corner to corner is the order of the files, an even cloud a good shuffle; bands or steps "
        "mean that only near records are mixed.",
    )


def labels_picture(order: Numbers) -> Html:
    """Which labels the first batches have."""
    labels = order["labels"]
    sizes = [max(1, sum(one)) for one in labels["counts"]]
    shares = [
        [one[place] / size for one, size in zip(labels["counts"], sizes, strict=True)]
        for place in range(len(labels["values"]))
    ]
    most = max(max(row) for row in shares)
    batches = len(labels["counts"])
    across = Axis(
        batches, [(one, short_count(one)) for one in whole_ticks(batches, 5)],
        f"batch of epoch {order['epoch']}",
    )  # fmt: skip
    names = [clipped(str(one), 12) for one in labels["values"]]
    scaled = [[share / most for share in row] for row in shares]
    seen = sum(sum(1 for one in counts if one) for counts in labels["counts"]) / batches
    said = f"Shares of the values of {labels['name']} in each batch"
    return figure(
        strips(names, scaled, across, said),
        f"Values of {labels['name']}; the darker, the larger the share of the batch: "
        f"{percent(most)} at most. A batch has {number(round(seen, 1))} of the "
        f"{len(names)} values on average. Well mixed batches are alike.",
    )
