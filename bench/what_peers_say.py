"""What other libraries say of eight bottlenecks: the text of their own profilers and statistics.

    python -m bench.what_peers_say PEER [CASE...]    torch, tf, ray, spdl, dali or pyflowdata, in
                                                     its environment; --write puts it into the page

The bottlenecks are those of examples/slow_loaders.py, each written as a program of the peer would
be: records are read, an op works on each, batches of 32 go to a training step.  The page
docs/speed/peers_say.md has the output.  Needs: torch; tensorflow-cpu, xprof and, without what it
depends on, tensorboard-plugin-profile 2.19; ray[data]; spdl; nvidia-dali-cuda120 and a C compiler.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import glob
import hashlib
import io
import itertools
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings
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
    """About 60 us of CPU time, without the interpreter's lock."""
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 250)
    return x


def computes_in_python(x: Any) -> Any:
    """About 95 us of CPU time, under the interpreter's lock."""
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
    """The profiler's input pipeline analyzer, its conclusions and the ops of the most time; and its
    bottleneck analysis, which xprof no longer has."""
    import tensorflow as tf
    from tensorboard_plugin_profile.convert import raw_to_tool_data as older_tool_data
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
        more, _ = older_tool_data.xspace_to_tool_data(paths, "tf_data_bottleneck_analysis^", {})
    tables = json.loads(found)
    facts = {name: said for table in tables for name, said in table.get("p", {}).items()}
    names = ("input_conclusion", "all_other_bottleneck")
    lines = [facts[name] for name in names if facts.get(name)]
    for table in tables:
        if table["cols"] and table["cols"][0]["id"] == "opName":
            rows = [[cell["v"] for cell in row["c"]] for row in table["rows"]]
            rows.sort(key=lambda row: -row[4])
            lines += [f"{row[0]:60} {row[4]:10.1f} ms of its own" for row in rows[:2]]
    bottlenecks = json.loads(more)[2]
    lines.append(bottlenecks["p"]["summary_message"])
    for row in bottlenecks["rows"]:
        said = " | ".join(cell["v"] for cell in row["c"][3:]).replace("<br/>", " | ")
        lines.append(re.sub("<.*?>", "", said))
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
    batches = data.streaming_split(1)[0]  # as Ray Train does: the text of others has no iterator
    for number, _batch in enumerate(
        batches.iter_batches(batch_size=BATCH, prefetch_batches=case.prefetch)
    ):
        case.step(number)
    lines = (re.sub(r": .*, (?=\S+ total)", ": ", line) for line in batches.stats().split("\n"))
    return "\n".join(re.sub(r"^[ *]+", "  ", line) for line in lines if _OF_RAY.match(line))


_OF_RAY = re.compile(
    r"Operator.*tasks|\* Remote (wall|cpu) time|Dataset iterator"
    r"|    \* Total (time user|time spent|execution)"
)


def spdl_says(case: Case) -> str:
    """What its stages and queues log, its profile of each stage, and the gain with kept batches."""
    from spdl.pipeline import PipelineBuilder, cache_iterator, profile_pipeline

    def build() -> Any:
        builder = PipelineBuilder()
        if case.is_stream:
            builder.add_source(read(case, number) for number in range(ROWS)).aggregate(BATCH)
        else:
            builder.add_source([range(first, first + BATCH) for first in range(0, ROWS, BATCH)])
            builder.pipe(
                lambda rows: [read(case, number) for number in rows],
                concurrency=case.workers, name="read",
            )  # fmt: skip
        builder.pipe(lambda rows: [case.op(x) for x in rows], concurrency=case.workers, name="op")
        return builder.pipe(np.stack, name="stack").add_sink(case.prefetch)

    def seconds(wrapped: Callable[[Any], Any]) -> float:
        pipeline = build().build(num_threads=case.workers + 1, report_stats_interval=600)
        with pipeline.auto_stop():
            begin = time.perf_counter()
            for number, _batch in enumerate(wrapped(pipeline)):
                case.step(number)
            return time.perf_counter() - begin

    log = io.StringIO()
    logging.basicConfig(stream=log, level=logging.INFO, format="%(message)s", force=True)
    making = seconds(iter)
    lines = [
        f"{name}: {what} {value}{'%' if unit == '%' else ' ' + unit}"
        for name, what, value, unit in _OF_SPDL.findall(log.getvalue())
    ]
    keeping = seconds(
        lambda batches: cache_iterator(batches, 1, return_caches_after=1, stop_after=ROWS // BATCH)
    )
    for stage in profile_pipeline(build().get_config(), ROWS if case.is_stream else ROWS // BATCH):
        rates = ", ".join(f"{one.qps:.0f} with {one.concurrency}" for one in stage.stats[::-1])
        lines.append(f"profile_pipeline(): {stage.name}, items a second: {rates}")
    lines.append(f"cache_iterator(): {making:.2f} s, and {keeping:.2f} s with one batch again")
    return "\n".join(lines)


_OF_SPDL = re.compile(
    r"\[\d+:\d+:(.+?)\]\t.*?(Ave task time|Occupancy rate): *([\d.]+)[ \[]*([a-z]+|%)"
)


def dali_says(case: Case) -> str:
    """Its warnings, the time in its NVTX ranges, and statistics, which need another executor."""
    take_ranges = ranges()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        pipeline = run_dali(case, exec_dynamic=False, enable_memory_stats=True)
        sizes = [
            f"{op.removeprefix('CPU___')} {of['real_memory_size']}"
            for op, of in pipeline.executor_statistics().items()
        ]
        shared = pipeline.external_source_shm_statistics()["capacities"]
        del pipeline
        take_ranges()
        run_dali(case)
    lines = [f"{one.category.__name__}: {one.message}" for one in warned] or ["no warning"]
    lines += [line for line in take_ranges() if _OF_DALI.search(line)]
    lines.append(f"executor_statistics(), real_memory_size: {', '.join(sizes)}")
    lines.append(f"external_source_shm_statistics(), capacities: {shared}")
    return "\n".join(lines)


_OF_DALI = re.compile(r"\[CPU op\] Run|Launch|PopOutputs")


def run_dali(case: Case, **options: Any) -> Any:
    """The pipeline after an epoch.  `computes` is an op of DALI: its Python ops hold the lock."""
    from nvidia.dali import Pipeline, fn

    def one(sample: Any) -> Any:
        if sample.idx_in_epoch >= ROWS:
            raise StopIteration
        return read(case, sample.idx_in_epoch)

    def stream() -> Iterator[list[Any]]:
        for first in range(0, ROWS, BATCH):
            yield [read(case, number) for number in range(first, first + BATCH)]

    pipeline = Pipeline(
        BATCH, case.workers, None, prefetch_queue_depth=case.prefetch,
        py_num_workers=1 if case.is_stream else case.workers, **options,
    )  # fmt: skip
    with pipeline:
        source = stream if case.is_stream else one
        x = fn.external_source(source=source, batch=case.is_stream, parallel=True)
        if case.op is computes:
            x = fn.gaussian_blur(x, window_size=501, sigma=60.0)  # takes as long
        elif case.op is not plain:
            x = fn.python_function(x, function=case.op)
        pipeline.set_outputs(x)
    for number in range(ROWS // BATCH):
        pipeline.run()
        case.step(number)
    return pipeline


# The time in NVTX ranges of each name, which is what `nsys stats` prints as nvtx_sum.  NVTX loads
# this library, and calls its functions in place of those that do nothing.
NVTX_SUM = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct { uint32_t parts[6]; uint64_t payload; int32_t kind; const char *name; } attributes;
typedef struct { size_t size; int (*of)(int module, void ****functions, unsigned *count); } tables;
enum { CALLBACKS = 1, CORE2 = 5, PUSH = 4, POP = 5, ASCII = 1, DEEPEST = 64, MOST = 256 };

struct { char name[104]; double seconds; int64_t count; } sums[MOST];
int num_sums;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread struct { int sum; double begin; } open_ranges[DEEPEST];
static __thread int depth; /* ranges deeper than DEEPEST are not summed */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int push(void *domain, const attributes *range)
{
    int i = 0;
    const char *name = range->kind == ASCII && range->name ? range->name : "?";
    (void)domain;
    if (depth >= DEEPEST) return depth++;
    pthread_mutex_lock(&lock);
    while (i < num_sums && strncmp(sums[i].name, name, sizeof sums[i].name - 1)) i++;
    if (i == num_sums && i < MOST - 1) {
        memset(&sums[i], 0, sizeof sums[i]);
        snprintf(sums[num_sums++].name, sizeof sums[i].name, "%s", name);
    }
    pthread_mutex_unlock(&lock);
    open_ranges[depth].sum = i;
    open_ranges[depth].begin = now();
    return depth++;
}

static int pop(void *domain)
{
    double end = now();
    (void)domain;
    if (depth == 0) return -1; /* as NVTX says of a pop without a push */
    if (--depth >= DEEPEST) return depth;
    pthread_mutex_lock(&lock);
    sums[open_ranges[depth].sum].seconds += end - open_ranges[depth].begin;
    sums[open_ranges[depth].sum].count++;
    pthread_mutex_unlock(&lock);
    return depth;
}

int InitializeInjectionNvtx2(const tables *(*table)(uint32_t))
{
    void ***functions;
    unsigned count;
    if (!table(CALLBACKS)->of(CORE2, &functions, &count)) return 0;
    *functions[PUSH] = (void *)push;
    *functions[POP] = (void *)pop;
    return 1;
}
"""


class Sum(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 104), ("seconds", ctypes.c_double), ("count", ctypes.c_int64)
    ]  # fmt: skip


@functools.cache
def ranges() -> Callable[[], list[str]]:
    """A function that takes the ranges until now.  DALI must not be imported yet."""
    folder = pathlib.Path(tempfile.mkdtemp())
    source, library = folder / "sum.c", folder / "sum.so"
    source.write_text(NVTX_SUM)
    subprocess.run(["cc", "-shared", "-fPIC", "-pthread", source, "-o", library], check=True)
    os.environ["NVTX_INJECTION64_PATH"] = str(library)
    loaded = ctypes.CDLL(str(library))
    sums, length = (Sum * 256).in_dll(loaded, "sums"), ctypes.c_int.in_dll(loaded, "num_sums")

    def take() -> list[str]:
        rows = [
            (one.seconds * 1e3, one.count, one.name.decode()) for one in sums[: length.value]
        ]
        length.value = 0
        return [f"{name:50} {ms:10.1f} ms {n:6} ranges" for ms, n, name in sorted(rows)[::-1]]

    return take


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


# Each with its title on the page.
PEERS = {
    "torch": ("torch", torch_says), "tf": ("tf.data", tf_says), "ray": ("Ray Data", ray_says),
    "spdl": ("SPDL", spdl_says), "dali": ("DALI", dali_says),
    "pyflowdata": ("pyflowdata", pyflowdata_says),
}  # fmt: skip


# ---- The page -----------------------------------------------------------------------------------

PAGE = pathlib.Path(__file__).parents[1] / "docs" / "speed" / "peers_say.md"


def write(title: str, name: str, said: str) -> None:
    """Replaces the text of a peer in the section of a case."""
    page = PAGE.read_text()
    begin = page.index(f"\n{title}:\n", page.index(f"\n## {name}\n"))
    begin = page.index("```text\n", begin) + len("```text\n")
    PAGE.write_text(page[:begin] + said.rstrip() + page[page.index("\n```", begin) :])


def main(peer: str, names: list[str]) -> None:
    is_written = "--write" in names
    names = [name for name in names if name != "--write"]
    title, says = PEERS[peer]
    for name in names or CASES:
        begin = time.perf_counter()
        with contextlib.redirect_stdout(sys.stderr):
            said = says(CASES[name])
        print(f"==== {name}: {time.perf_counter() - begin:.1f} s\n{said}\n", flush=True)
        if is_written:
            write(title, name, said)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
