"""Report pages: made-up reports of long runs, and what a page has, read without a browser."""

from __future__ import annotations

import json
import math
import random
import threading
import time
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np

import pyflowdata as flow
from pyflowdata.insight.counters import Counters, DataFacts, History, Period, ReaderFacts, Work
from pyflowdata.insight.report import Report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&\x00\x1b]]>"


def _durations(first, last, middle, most):
    counts = [0] * 48
    for power in range(first, last):
        counts[power] = int(most * math.exp(-(((power - middle) / 2) ** 2)))
    return tuple(counts)


def long_counters(*, periods=256, ops=40, name="decoded", seed=1):
    """A loader that ran for hours, waited in between, and has many ops."""
    draw = random.Random(seed)
    length, course = 51.2, []
    for place in range(periods):
        is_slow = periods // 3 < place < periods // 2
        batches = draw.randint(100, 200) if is_slow else draw.randint(900, 1200)
        wait = length * draw.uniform(0.5, 0.8) if is_slow else draw.uniform(0, 0.02) * length
        ready = 0 if is_slow else batches * draw.randint(1, 4)
        course.append(Period(batches, 256 * batches, wait, ready))
    rows = sum(one.rows for one in course)
    waits, trains = _durations(14, 31, 22, 9000), _durations(19, 29, 24, 200_000)
    steps = sum(trains)
    work = [Work("records", "CSVReader", "rows", "", "C", "", 0, False, rows, 4, 4, 900.0, 700.0)]
    work += [
        Work("op", f"Op{place}", name if place == 0 else "", "", "C", "", 0, False, rows, 40, 4,
             wall := draw.uniform(1, 4000), wall * draw.uniform(0.3, 1.0))
        for place in range(ops - 1)
    ]  # fmt: skip
    elapsed = periods * length + 2.0
    cpu = sum(one.cpu_seconds for one in work)
    stats = {
        "slots": 12, "slots_held": 2, "slots_ready": 3, "batches": steps + 9, "records": rows,
        "bytes": 8 * 10**12, "skipped": 3, "left_out": 0,
        "wait_seconds": 900.0, "help_seconds": 30.0,
        "thread_seconds": 8 * elapsed, "idle_seconds": 1.6 * elapsed,
        "slot_bytes": 12 * 38_500_000, "read_bytes": 8 * 10**12,
        "cpu_seconds": min(cpu, 4 * elapsed), "runnable_seconds": 0.5 * elapsed,
        "major_faults": 1234, "now_seconds": 5000 + elapsed, "opened_seconds": 5000.0,
        "asked_seconds": 5000 + elapsed, "delivered_seconds": 5001 + periods * length - 3,
        "batches_made": steps + 12, "starts": 9, "start_seconds": 4.5, "steps": steps,
        "waited_steps": sum(waits), "step_wait_seconds": 900.0, "step_train_seconds": 9000.0,
        "no_memory_seconds": 0.4, "processors": 16, "process_cpu_seconds": cpu * 1.1,
        "throttled_seconds": 0.0,
    }  # fmt: skip
    return Counters(
        blobs=(f"{name}/image", "label"), num_threads=8, prefetch=8, memory_budget=12 * 10**9,
        rank=1, world_size=4, host="node-17", pid=4242,
        readers=(ReaderFacts("CSVReader", name, "global", 12, 8 * 10**9, 10**7, 0.02, False),),
        stats=stats, work=tuple(work),
        history=History(5001.0, length, tuple(course), waits, trains),
    )  # fmt: skip


def long_data(name="decoded", seed=1):
    """An order of many records, with labels that do not mix well."""
    draw = random.Random(seed)
    positions = list(range(4000))
    places = [draw.randrange(10**6) + one // 1000 * 10**6 for one in positions]
    files = [{"name": f"{name}-{one}", "first": one * 10**5} for one in range(40)]
    counts = [[draw.randrange(1, 9) if value != batch % 24 else 0 for value in range(24)]
              for batch in range(64)]  # fmt: skip
    order = {
        "reader": name, "epoch": 2, "missing": "", "rows": [64] * 62 + [32], "extent": 4 * 10**6,
        "positions": positions, "places": places, "files": files,
        "labels": {"missing": "", "name": f"{name}/label", "values": list(range(24)),
                   "counts": counts},
    }  # fmt: skip
    index = {"path": f"/cache/{name}.idx", "bytes": 9627296, "seconds": 0.02, "is_new": False}
    reader = {
        "name": name, "op": "CSVReader", "seed": 2**60 + 1, "seed_is_default": False, "files": 12,
        "spec": {"op": "CSVReader", "columns": name}, "bytes": 8 * 10**9, "records": 10**7,
        "data": "0123456789abcdef", "batch_size": 64, "rank": 1, "world_size": 4, "index": index,
        "shuffle": "window",
    }  # fmt: skip
    graph = '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="20"></svg>'
    return DataFacts([reader], order, graph)


def long_report(name="decoded"):
    """All that a page can show, as much of it as there can be."""
    return Report(long_counters(name=name), lambda: long_data(name))


# ---- Pages --------------------------------------------------------------------------------------

_VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a page has; parsing it fails where elements are not closed in turn.

    Attributes:
        elements: (tag, attrs) of all.
        numbers: The JSON in it.
        style: The text of all style elements.
        tables: Rows of cells of each table, as texts.
        paragraphs: Texts of the p elements.
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.tables, self.paragraphs, self.style = [], [], [], ""
        self._open, self._json = [], ""
        self.text = text
        self.feed(text)
        self.close()
        assert self._open == []
        self.numbers = json.loads(self._json)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        assert len(found) == len(attrs), f"an attr twice: {attrs}"
        self.elements.append((tag, found))
        if tag not in _VOID:
            self._open.append(tag)
        if tag == "p":
            self.paragraphs.append("")
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open and self._open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if self._open[-1:] == ["style"]:
            self.style += data
        elif self._open[-1:] == ["script"]:
            self._json += data
        elif "p" in self._open:
            self.paragraphs[-1] += data
        elif {"td", "th"} & set(self._open):
            self.tables[-1][-1][-1] += data

    def all(self, tag, kind=""):
        """Attrs of the elements with a tag and a class."""
        return [
            attrs for name, attrs in self.elements
            if name == tag and (not kind or kind in (attrs.get("class") or "").split())
        ]  # fmt: skip

    def charts(self):
        """The SVG elements, parsed as XML."""
        parts = self.text.split("<svg")[1:]
        found, depth, whole = [], 0, ""
        for part in parts:  # a chart may have others in it
            whole += "<svg" + part
            depth += 1 - part.count("</svg>")
            if depth == 0:
                found.append(ElementTree.fromstring(whole[: whole.rindex("</svg>") + 6]))
                whole = ""
        return found


# ---- Ranks that train together: three loaders of one job, which meet in each step ---------------

RANKS, STEPS = 3, 40


@flow.register_decoder(outputs={"out": "float64"}, per="row")
def late(x, *, seconds: float = 0.0):
    time.sleep(seconds)
    return x[()]


def reports(step_seconds, load_seconds, marks):
    """Reports of ranks that wait for each other at the end of each step, as an all-reduce does."""
    meet, found, failures = threading.Barrier(RANKS), [None] * RANKS, []

    def train(rank):
        x = flow.from_arrays({"x": np.arange(STEPS * RANKS * 2.0)}).batch(
            RANKS * 2, rank=rank, world_size=RANKS
        )["x"]
        if load_seconds[rank]:
            x = late(x, seconds=load_seconds[rank] / 2)  # of two rows a batch
        try:
            with flow.DataLoader(x, num_threads=1, prefetch=1) as loader:
                for _ in loader:
                    time.sleep(step_seconds[rank])
                    if marks:
                        with loader.collective():
                            meet.wait(20)
                    elif marks is not None:
                        meet.wait(20)
                found[rank] = loader.report()
        except BaseException as failure:
            failures.append(failure)
            meet.abort()

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    return found
