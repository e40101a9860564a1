"""What other libraries say of eight bottlenecks: the text of their own profilers and statistics.

    python -m bench.what_peers_say PEER [CASE...]    torch, tf, ray, spdl or pyflowdata, in its
                                                     environment; --write puts it into the page

The bottlenecks are those of examples/slow_loaders.py, each written as a program of the peer would
be: records are read, an op works on each, batches of 32 go to a training step.  The page
docs/speed/peers_say.md has the output.  Needs: torch; tensorflow-cpu and xprof; ray[data]; spdl.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import io
import itertools
import json
import logging
import pathlib
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

ROWS, BATCH, WIDTH = 3200, 32, 64
Step = Callable[[int], None]


# ---- The bottlenecks ----------------------------------------------------------------------------


def plain(x: Any) -> Any:
    return x


def computes(x: Any) -> Any:
    """About 150 us without the interpreter's lock."""
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 250)
    return x


def computes_in_python(x: Any) -> Any:
    """About 200 us under the interpreter's lock."""
    total = 0
    for i in range(4000):
        total += i
    return x + np.float32(total % 2)


def waits(x: Any) -> Any:
    """A read of a slow disk, 0.3 ms."""
    time.sleep(0.0003)
    return x


def every_step(seconds: float) -> Step:
    return lambda _number: time.sleep(seconds)


def some_steps(every: int, seconds: float, others: float = 0.0) -> Step:
    return lambda number: time.sleep(seconds if number % every == 0 else others)


@dataclass(frozen=True)
class Case:
    """A loader: `read` makes the record, in one thread or process if it is a stream; `op` works on
    it in so many."""

    read: Callable[[Any], Any] = plain
    op: Callable[[Any], Any] = plain
    is_stream: bool = False
    workers: int = 2
    prefetch: int = 2
    step: Step = every_step(0.0005)


CASES = {
    "slow_op": Case(op=computes),
    "python_op": Case(op=computes_in_python),
    "python_source": Case(read=computes_in_python, is_stream=True),
    "one_thread": Case(op=computes, workers=1, step=every_step(0.0015)),
    "slow_storage": Case(read=waits),
    "no_prefetch": Case(op=computes, prefetch=1, step=some_steps(8, 0.03)),
    "slow_training": Case(step=every_step(0.006)),
    "logging": Case(step=some_steps(20, 0.03, 0.001)),
}


def record(number: int) -> Any:
    return np.full(WIDTH, number, np.float32)


def read(case: Case, number: int) -> Any:
    return case.read(record(number))


# ---- The peers ----------------------------------------------------------------------------------


def torch_says(case: Case) -> str:
    """The profiler's table of what took the most time in the program's process."""
    import torch

    class Records(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return ROWS

        def __getitem__(self, number: int) -> Any:
            return case.op(read(case, number))

    class Stream(torch.utils.data.IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            return (case.op(read(case, number)) for number in range(ROWS))

    data = Stream() if case.is_stream else Records()
    workers = 1 if case.is_stream else case.workers
    loader = torch.utils.data.DataLoader(
        data, batch_size=BATCH, num_workers=workers, prefetch_factor=case.prefetch
    )
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
        for number, _batch in enumerate(loader):
            with torch.profiler.record_function("step"):
                case.step(number)
    lines = []
    for one in sorted(profiler.key_averages(), key=lambda each: -each.cpu_time_total)[:4]:
        lines.append(f"{one.key:70} {one.cpu_time_total / 1e3:10.1f} ms {one.count:6} calls")
    return "\n".join(lines)


def tf_says(case: Case) -> str:
    """The profiler's input pipeline analyzer: its conclusions, and the ops of the most time."""
    import tensorflow as tf
    from xprof.convert import raw_to_tool_data

    def called(function: Callable[[Any], Any], x: Any) -> Any:
        y = tf.numpy_function(function, [x], tf.float32)
        y.set_shape([WIDTH])
        return y

    if case.is_stream:
        data = tf.data.Dataset.from_generator(
            lambda: (read(case, number) for number in range(ROWS)),
            output_signature=tf.TensorSpec([WIDTH], tf.float32),
        )
    else:
        data = tf.data.Dataset.range(ROWS).map(lambda i: tf.fill([WIDTH], tf.cast(i, tf.float32)))
        if case.read is not plain:
            data = data.map(lambda x: called(case.read, x), num_parallel_calls=case.workers)
    if case.op is not plain:
        data = data.map(lambda x: called(case.op, x), num_parallel_calls=case.workers)
    data = data.batch(BATCH).prefetch(case.prefetch)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        batches = iter(data)
        for number in range(ROWS // BATCH):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                next(batches)
                case.step(number)
        tf.profiler.experimental.stop()
        paths = glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)
        found, _ = raw_to_tool_data.xspace_to_tool_data(paths, "input_pipeline_analyzer", {})
    tables = json.loads(found)
    facts = {name: said for table in tables for name, said in table.get("p", {}).items()}
    names = ("input_conclusion", "all_other_bottleneck", "summary_nextstep")
    lines = [facts[name] for name in names if facts.get(name)]
    for table in tables:
        if table["cols"] and table["cols"][0]["id"] == "opName":
            rows = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
            rows.sort(key=lambda row: -row[4])
            lines += [f"{row[0]:60} {row[4]:10.1f} ms of its own" for row in rows[:4]]
    return "\n".join(lines)


def ray_says(case: Case) -> str:
    """ds.stats() after an epoch."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    ray.data.DataContext.get_current().enable_progress_bars = False

    def reads(row: Any) -> Any:
        return {"x": read(case, row["id"])}

    def works(row: Any) -> Any:
        return {"x": case.op(row["x"])}

    reading = ray.data.TaskPoolStrategy(size=1 if case.is_stream else case.workers)
    data = ray.data.range(ROWS).map(reads, compute=reading)
    if case.op is not plain:
        data = data.map(works, compute=ray.data.TaskPoolStrategy(size=case.workers))
    batches = data.iterator()
    for number, _batch in enumerate(
        batches.iter_batches(batch_size=BATCH, prefetch_batches=case.prefetch)
    ):
        case.step(number)
    lines = str(batches.stats()).split("\n")
    return "\n".join(line for line in lines if _OF_RAY.search(line))


_OF_RAY = re.compile(r"^Operator|Remote (wall|cpu) time|breakdown|[Tt]otal time|^\tRay Data|user")


def spdl_says(case: Case) -> str:
    """What its stages and queues log."""
    from spdl.pipeline import PipelineBuilder

    log = io.StringIO()
    logging.basicConfig(stream=log, level=logging.INFO, format="%(message)s", force=True)
    places = [range(first, first + BATCH) for first in range(0, ROWS, BATCH)]
    if case.is_stream:
        builder = PipelineBuilder().add_source(read(case, number) for number in range(ROWS))
        builder = builder.aggregate(BATCH)
    else:
        builder = PipelineBuilder().add_source(places)
        builder = builder.pipe(
            lambda rows: [read(case, number) for number in rows],
            concurrency=case.workers, name="read",
        )  # fmt: skip
    pipeline = (
        builder.pipe(lambda rows: [case.op(x) for x in rows], concurrency=case.workers, name="op")
        .pipe(np.stack, name="stack")
        .add_sink(case.prefetch)
        .build(num_threads=case.workers + 1, report_stats_interval=600)
    )
    with pipeline.auto_stop():
        for number, _batch in enumerate(pipeline):
            case.step(number)
    return re.sub(r" P90:.*?(?= Occupancy|\n)", "", log.getvalue())


def pyflowdata_says(case: Case) -> str:
    """The sentence of the report, and the bound of what is expected."""
    import pyflowdata as flow

    if case.is_stream:
        rows = ({"x": read(case, number)} for number in itertools.count())
        data = flow.Dataset(flow.GeneratorReader(lambda: itertools.islice(rows, ROWS),
                                                 fields=[f"x:float32[{WIDTH}]"]))  # fmt: skip
    else:
        data = flow.from_arrays({"x": np.stack([record(number) for number in range(ROWS)])})
    for function in (case.read, case.op):
        if function is not plain and not (case.is_stream and function is case.read):
            data = data.map(function, "x", outputs={"x": f"float32[{WIDTH}]"})
    loader = flow.DataLoader(
        data.batch(BATCH).blobs, num_threads=case.workers, prefetch=case.prefetch
    )
    with loader:
        for number, _batch in enumerate(loader):
            case.step(number)
        return str(loader.report()).partition("\n\n")[0]


PEERS = {
    "torch": torch_says, "tf": tf_says, "ray": ray_says, "spdl": spdl_says,
    "pyflowdata": pyflowdata_says,
}  # fmt: skip


PAGE = pathlib.Path(__file__).parents[1] / "docs" / "speed" / "peers_say.md"
TITLES = {"torch": "torch", "tf": "tf.data", "ray": "Ray Data", "spdl": "SPDL"}


def write(peer: str, name: str, said: str) -> None:
    """Replaces the text of a peer in the section of a case."""
    page = PAGE.read_text()
    begin = page.index(f"\n{TITLES.get(peer, peer)}:\n", page.index(f"\n## {name}\n"))
    begin = page.index("```text\n", begin) + len("```text\n")
    PAGE.write_text(page[:begin] + said.rstrip() + page[page.index("\n```", begin) :])


def main(peer: str, names: list[str]) -> None:
    is_written = "--write" in names
    names = [name for name in names if name != "--write"]
    for name in names or CASES:
        begin = time.perf_counter()
        with contextlib.redirect_stdout(sys.stderr):
            said = PEERS[peer](CASES[name])
        print(f"==== {name}: {time.perf_counter() - begin:.1f} s\n{said}\n", flush=True)
        if is_written:
            write(peer, name, said)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
