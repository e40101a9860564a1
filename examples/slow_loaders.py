"""Loaders that are slow for one reason each, and the same loaders with what their reports advise.

    python examples/slow_loaders.py                  lists them
    python examples/slow_loaders.py slow_op          the report, then the steps with the remedy

docs/speed/slow.md is the guide to them.  Each is a function that runs steps and returns the report
and the steps per second; `folder` is for files.  A training step that does not matter sleeps, as
one does that waits for a device.  The op `Spin`, which takes a given time, is compiled at first
use.
"""

from __future__ import annotations

import collections
import gzip
import itertools
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.io import CSVWriter, TFRecordWriter

# An op in C that computes for a time: rows of float32, passed on.
SPIN = r"""
#define _GNU_SOURCE
#include "pyflowdata/op.h"
#include <string.h>
#include <time.h>

typedef struct spin { int64_t micros; } spin;

static const pfd_attr attrs[] = {
    PFD_ATTR_ROW(spin, micros, PFD_ATTR_INT64, "100", 0, 1000000, NULL, "CPU time of a row."),
};
static const pfd_port inputs[] = {{"in", "Rows of float32."}};
static const pfd_port outputs[] = {{"out", "The same."}};

static pfd_status spin_infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = args->inputs[0];
    return PFD_OK;
}

static int64_t cpu_ns(void)
{
    struct timespec used;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static pfd_status spin_compute(const pfd_compute_args *args, pfd_error *err)
{
    (void)err;
    const spin *attr = (const spin *)args->attrs;
    int64_t end = cpu_ns() + args->num_rows * attr->micros * 1000;
    while (cpu_ns() < end) {}
    memcpy(args->outputs[0]->data, args->inputs[0]->data,
           (size_t)(args->num_rows * args->inputs[0]->row_bytes));
    return PFD_OK;
}

static const pfd_op pfd_op_spin = {
    PFD_OP_SIZES,
    .name = "Spin",
    .doc = "Computes for a time.",
    .attrs = attrs,
    .num_attrs = PFD_COUNT(attrs),
    .attrs_struct_size = sizeof(spin),
    .inputs = inputs,
    .num_inputs = PFD_COUNT(inputs),
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = spin_infer,
    .compute = spin_compute,
};

PFD_PLUGIN("spin", "1", &pfd_op_spin)
"""

BATCH = 32
HERE = Path(__file__).resolve().parent


def spin() -> Any:
    """The op function of SPIN."""
    if not hasattr(flow.ops, "Spin"):
        flow.compile(SPIN)
    return getattr(flow.ops, "Spin")


@dataclass(frozen=True)
class Run:
    """The measurement: a report of the steps after the first ones, and their rate."""

    report: flow.Report
    steps_per_second: float


def measure(
    loader: Any, step: Callable[[Any], None], *, steps: int, warm_up: int = 10
) -> Run:
    """Runs steps of a loader, and closes it."""
    with loader:
        batches = loader.repeat()
        for batch in itertools.islice(batches, warm_up):
            step(batch)
        before, begin = loader.report(), time.perf_counter()
        for batch in itertools.islice(batches, steps):
            step(batch)
        seconds = time.perf_counter() - begin
        return Run(loader.report(since=before), steps / seconds)


def sleeping(seconds: float) -> Callable[[Any], None]:
    """A training step on a device."""
    return lambda _batch: time.sleep(seconds)


def bursts(every: int, seconds: float) -> Callable[[Any], None]:
    """Steps; one in `every` takes long, as with an evaluation, a log or a checkpoint."""
    numbers = itertools.count()

    def step(_batch: Any) -> None:
        if next(numbers) % every == 0:
            time.sleep(seconds)

    return step


def records(count: int = 512, width: int = 64) -> flow.Dataset:
    """Numbers in memory."""
    values = np.arange(count * width, dtype=np.float32).reshape(count, width)
    return flow.from_arrays({"x": values})


def spinning(micros: int, **options: Any) -> Any:
    """A loader with an op that computes for this time for each row."""
    data = records().map(spin(), "x", micros=micros)
    return flow.DataLoader(data.batch(BATCH).blobs, **options)


# ---- One cause each: (the loader as it is, and with the remedy) ---------------------------------


def slow_op(_folder: Path, *, remedied: bool) -> Run:
    """An op in C that takes all threads; the remedy keeps its results."""
    data = records().map(spin(), "x", micros=150)
    data = data.cache() if remedied else data
    loader = flow.DataLoader(data.batch(BATCH).blobs)
    return measure(loader, sleeping(0.0005), steps=120)


def python_work(x: Any) -> Any:
    """About 200 us under the interpreter's lock."""
    total = 0
    for i in range(4000):
        total += i
    return x + total


def python_op(_folder: Path, *, remedied: bool) -> Run:
    """A function in Python; the remedy runs it in processes."""
    processes = 2 if remedied else 0
    data = records().map(python_work, "x", outputs={"x": "float32[64]"}, processes=processes)
    loader = flow.DataLoader(data.batch(BATCH).blobs, prefetch=4)
    return measure(loader, sleeping(0), steps=150)


def python_records() -> Iterator[dict[str, Any]]:
    """A generator with some work for each record."""
    for i in range(512):
        yield {"x": python_work(np.full(64, i, np.float32)).astype(np.float32)}


def python_source(_folder: Path, *, remedied: bool) -> Run:
    """Records from a generator; the remedy keeps them."""
    data = flow.Dataset(flow.GeneratorReader(python_records, fields=["x:float32[64]"]))
    data = data.cache(version="1") if remedied else data
    loader = flow.DataLoader(data.batch(8).blobs, prefetch=4)
    return measure(loader, sleeping(0), steps=200)


def one_thread(_folder: Path, *, remedied: bool) -> Run:
    """Too few threads; the remedy is the default number."""
    loader = spinning(100, num_threads=None if remedied else 1)
    return measure(loader, sleeping(0.0015), steps=300)


def no_prefetch(_folder: Path, *, remedied: bool) -> Run:
    """Batches are made while a long step runs, if there is room for them."""
    loader = spinning(40, prefetch=16 if remedied else 1)
    return measure(loader, bursts(8, 0.012), steps=240, warm_up=16)


def tight_budget(_folder: Path, *, remedied: bool) -> Run:
    """The same, with room that memory_budget refuses."""
    budget = None if remedied else 3 * BATCH * 64 * 4 + 1000
    loader = spinning(40, prefetch=16, memory_budget=budget)
    return measure(loader, bursts(8, 0.012), steps=240, warm_up=16)


def held_batches(_folder: Path, *, remedied: bool) -> Run:
    """The same, with the budget spent on batches that the program holds."""
    loader = spinning(40, prefetch=16, memory_budget=19 * BATCH * 64 * 4)
    held: collections.deque[Any] = collections.deque(maxlen=17)
    burst = bursts(8, 0.012)

    def step(batch: Any) -> None:
        x = batch["x"]
        held.append(x[:1].copy() if remedied else x[:1])
        del x, batch
        burst(None)

    return measure(loader, step, steps=240, warm_up=32)


def slow_training(_folder: Path, *, remedied: bool) -> Run:
    """A training step that takes longer than its batch; only a faster step helps."""
    return measure(spinning(20), sleeping(0.002 if remedied else 0.006), steps=100)


def slow_copy(_folder: Path, *, remedied: bool) -> Run:
    """Batches are copied to where they are used in the program's thread, at 100 MB/s; the remedy
    hands over uint8 in place of float32."""
    data = records(128, 4096)
    if remedied:
        x = flow.Cast(data.batch(BATCH)["x"], dtype="uint8", overflow="saturate")
    else:
        x = data.batch(BATCH)["x"]
    loader = flow.DataLoader(x)

    def step(batch: Any) -> None:
        begin = time.perf_counter()
        time.sleep(batch.nbytes / 100e6)
        loader.count_copy(time.perf_counter() - begin, batch.nbytes, "a device")
        time.sleep(0.002)

    return measure(loader, step, steps=60)


def compressed(folder: Path, lines: int, columns: int) -> Path:
    """A file of random numbers, made once."""
    path = folder / f"numbers-{lines}.csv.gz"
    if not path.exists():
        rng = np.random.default_rng(0)
        plain = path.with_suffix("")
        with CSVWriter(plain) as writer:
            writer.write_batch({f"c{i}": rng.normal(size=lines) for i in range(columns)})
        path.write_bytes(gzip.compress(plain.read_bytes(), 1))
    return path


def compressed_stream(folder: Path, *, remedied: bool) -> Run:
    """A compressed file, which one thread decompresses and splits; the remedy keeps its records."""
    data = flow.open(compressed(folder, 4096, 48))
    data = data.cache() if remedied else data
    loader = flow.DataLoader(data.batch(256).blobs)
    return measure(loader, sleeping(0.0001), steps=80)


# A file system that takes 0.3 ms for each read.
SLOW_READS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!real) real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    usleep(300);
    return real(fd, to, size, at);
}

ssize_t pread64(int fd, void *to, size_t size, off_t at)
{
    return pread(fd, to, size, at);
}
"""


def slow_storage(folder: Path, *, remedied: bool) -> Run:
    """Shuffled records on such a file system, which only a process can have that is started with
    it; the remedy keeps the records."""
    script = f"""
import pickle, sys
from pathlib import Path
import slow_loaders
run = slow_loaders.read_slowly(Path({str(folder)!r}), remedied={remedied})
sys.stdout.buffer.write(pickle.dumps(run))
"""
    path = os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, check=True,
        env={**os.environ, "PYTHONPATH": path, "LD_PRELOAD": slow_reads(folder)},
    )  # fmt: skip
    run: Run = pickle.loads(done.stdout)
    return run


def read_slowly(folder: Path, *, remedied: bool) -> Run:
    """Reads a file, not mapped, in a random order."""
    path = folder / "numbers.npy"
    np.save(path, np.zeros((512, 64), np.float32))
    x = flow.NpyReader(files=str(path), file_access="read")
    data = flow.Dataset({"x": x})
    data = data.cache() if remedied else data
    loader = flow.DataLoader(data.shuffle(seed=1).batch(BATCH).blobs)
    return measure(loader, sleeping(0.0005), steps=60)


def slow_reads(folder: Path) -> str:
    """The library that slows reads down, for LD_PRELOAD."""
    source, library = folder / "slow_reads.c", folder / "slow_reads.so"
    source.write_text(SLOW_READS)
    compiler = os.environ.get("CC", "cc").split()
    command = [*compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return str(library)


# ---- Files --------------------------------------------------------------------------------------


def images(folder: Path, count: int, size: int) -> list[Path]:
    """JPEG files, made once."""
    rng = np.random.default_rng(0)
    paths = [folder / f"images-{size}" / "a" / f"{i}.jpg" for i in range(count)]
    if not paths[0].exists():
        paths[0].parent.mkdir(parents=True)
        rough = rng.integers(0, 255, (4, 4, 3), np.uint8)
        smooth = flow.Resize(rough, size=(size, size))
        encoded = bytes(flow.ImageEncoder(smooth, format="jpeg"))
        for path in paths:
            path.write_bytes(encoded)
    return paths


def small_files(folder: Path, *, remedied: bool) -> Run:
    """A file for each tiny record; the remedy puts the records into one file."""
    paths = images(folder, 3000, 8)
    packed = folder / "small.tfrecord"
    if remedied:
        with TFRecordWriter(packed, overwrite=True) as writer:
            for path in paths:
                writer.write({"image": path.read_bytes()})
        data = flow.open(packed)
    else:
        data = flow.open(paths[0].parent.parent)
    loader = flow.DataLoader(data.shuffle(seed=1).batch(256)["image"])
    return measure(loader, sleeping(0), steps=150)


def decoding(folder: Path, *, remedied: bool) -> Run:
    """Large images are decoded and made small; the remedy stores them small."""
    images(folder, 64, 64 if remedied else 512)
    data = flow.open(folder / f"images-{64 if remedied else 512}")
    image = flow.ImageDecoder(data.batch(16)["image"])
    loader = flow.DataLoader(flow.Resize(image, size=(64, 64)))
    return measure(loader, sleeping(0.0005), steps=60)


def shuffle_buffer(folder: Path, *, remedied: bool) -> Run:
    """A stream fills its shuffle buffer before the first batch; the remedy shuffles by number."""
    data = flow.open(compressed(folder, 300_000, 6))
    if remedied:
        data = data.cache()
        list(flow.DataLoader(data.batch(18_750).blobs))  # which makes the cache
    data = data.shuffle(seed=1) if remedied else data.shuffle(seed=1, buffer_size=300_000)
    begin = time.perf_counter()
    with flow.DataLoader(data.batch(18_750).blobs) as loader:
        for _ in loader:
            time.sleep(0.01)
        return Run(loader.report(), 15 / (time.perf_counter() - begin))


def logging(_folder: Path, *, remedied: bool) -> Run:
    """Each 20th step does something that takes long; the remedy does it less often."""
    quick = sleeping(0.001)
    burst = bursts(200 if remedied else 20, 0.03)

    def step(batch: Any) -> None:
        quick(batch)
        burst(batch)

    return measure(spinning(5), step, steps=200)


# ---- Ranks --------------------------------------------------------------------------------------


def ranks(*, remedied: bool) -> flow.RankReport:
    """Two ranks that take each step together; one has a slow op, which the remedy makes fast."""
    together, reports = threading.Barrier(2), {}

    def train(rank: int) -> None:
        blobs = records().map(spin(), "x", micros=200 if rank == 1 and not remedied else 5)
        batch = blobs.batch(BATCH, rank=rank, world_size=2)
        with flow.DataLoader(batch.blobs, num_threads=1) as loader:
            for _ in itertools.islice(loader.repeat(), 100):
                together.wait()  # as for the gradients of all ranks
                time.sleep(0.0005)
            reports[rank] = loader.report()

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return flow.RankReport(list(reports.values()))


# ---- The command --------------------------------------------------------------------------------

LOADERS = (
    slow_op, python_op, python_source, one_thread, no_prefetch, tight_budget, held_batches,
    compressed_stream, slow_storage, small_files, decoding, shuffle_buffer, slow_training, logging,
    slow_copy,
)  # fmt: skip


def main(names: list[str]) -> None:
    """Runs the loaders of these names."""
    found = {one.__name__: one for one in LOADERS}
    if not names:
        for name, one in found.items():
            print(f"{name:18} {(one.__doc__ or '').strip()}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            slow = found[name](Path(folder), remedied=False)
            better = found[name](Path(folder), remedied=True)
            print(slow.report)
            gain = better.steps_per_second / slow.steps_per_second
            print(f"\nWith the remedy: {gain:.1f} times the steps a second")


if __name__ == "__main__":
    main(sys.argv[1:])
