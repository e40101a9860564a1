"""Small planted bottlenecks and healthy loaders, for planted_suite.py.

What takes long sleeps or waits for a lock, so that other programs change little.  A case is a
function of `remedied`; it returns a loader and a training step.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import functools
import itertools
import json
import logging
import random
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import pyflowdata as flow
from pyflowdata.io import ArrowWriter, CSVWriter

Made = tuple[Any, Callable[[Any], None]]


@dataclass(frozen=True)
class Planted:
    """A loader that is slow for one reason.

    Attributes:
        limit, cause: As a report must name them.
        remedy: Words of a remedy of the report, which is the one that is tried.
        factor: How many times as many records a second it gives, at least.
        steps: How many steps are measured.
        is_first: Counts from the opening of the loader, which the remedied one made before.
    """

    make: Callable[[bool], Made]
    limit: str
    cause: str
    remedy: str
    factor: float
    steps: int = 40
    is_first: bool = False


PLANTED: dict[str, Planted] = {}


def planted(
    limit: str, cause: str, remedy: str, factor: float, steps: int = 40, *, is_first: bool = False
) -> Any:
    def add(make: Callable[[bool], Made]) -> Callable[[bool], Made]:
        PLANTED[make.__name__] = Planted(make, limit, cause, remedy, factor, steps, is_first)
        return make

    return add


# ---- Parts --------------------------------------------------------------------------------------


def numbers(count: int = 4000, size: int = 4) -> flow.Dataset:
    return flow.from_arrays({"x": np.zeros((count, size), np.float32)})


def nothing(_batch: Any) -> None:
    pass


def sleep(seconds: float) -> Callable[[Any], None]:
    return lambda _batch: time.sleep(seconds)


def every(count: int, seconds: float) -> Callable[[Any], None]:
    steps = itertools.count()
    return lambda _batch: time.sleep(seconds if next(steps) % count == 0 else 0)


def sleeping(seconds: float) -> Callable[[Any], Any]:
    def fetch(x: Any) -> Any:
        time.sleep(seconds)
        return x

    return fetch


def load(data: flow.Dataset, size: int = 8, **options: Any) -> flow.DataLoader[Any]:
    return flow.DataLoader(data.batch(size).blobs, **options)


class Samples:
    """By number, each after a while."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, number: int) -> dict[str, Any]:
        time.sleep(self.seconds)
        return {"x": np.float32(number)}


class ManySamples(Samples):
    """Also those of a batch in one call."""

    def __getitems__(self, wanted: list[int]) -> list[dict[str, Any]]:
        time.sleep(self.seconds * len(wanted))
        return [{"x": np.float32(number)} for number in wanted]


def samples(source: Any, *, overlaps: bool, shuffle: bool = False) -> flow.Dataset:
    reader = flow.GeneratorReader(source, fields=["x:float32"], thread_safe=overlaps)
    data = flow.Dataset(reader)
    return data.shuffle(seed=1) if shuffle else data


def stream(count: int, seconds: float, start: float = 0.0) -> flow.Dataset:
    def rows() -> Any:
        time.sleep(start)
        for number in range(count):
            time.sleep(seconds)
            yield {"x": np.float32(number)}

    return flow.Dataset(flow.GeneratorReader(rows, fields=["x:float32"]))


class Locked:
    """A client that one thread uses at a time, or one of each thread."""

    def __init__(self, lock: Any, *, apart: bool, seconds: float = 0.001) -> None:
        self._kind, self._apart, self._seconds = lock, apart, seconds
        self._one, self._own = lock(), threading.local()

    def lock(self) -> Any:
        if not self._apart:
            return self._one
        if not hasattr(self._own, "lock"):
            self._own.lock = self._kind()
        return self._own.lock

    def __call__(self, x: Any) -> Any:
        with self.lock():
            time.sleep(self._seconds)
        return x

    def acquiring(self, x: Any) -> Any:
        lock = self.lock()
        lock.acquire()
        try:
            time.sleep(self._seconds)
        finally:
            lock.release()
        return x


class SlowHandler(logging.Handler):
    """Writes a line in a millisecond."""

    def emit(self, _record: logging.LogRecord) -> None:
        time.sleep(0.001)


# ---- Work that waits ----------------------------------------------------------------------------


@planted("loader", "python-op", "num_threads=", 1.5)
def sleeping_op(remedied: bool) -> Made:
    data = numbers().map(sleeping(0.001), "x")
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-op", "num_threads=", 1.5)
def sleeping_op_in_one_thread(remedied: bool) -> Made:
    data = numbers().map(sleeping(0.001), "x")
    return load(data, num_threads=4 if remedied else 1, prefetch=4), sleep(0.001)


@planted("loader", "python-op", "num_threads=", 1.5)
def two_sleeping_ops(remedied: bool) -> Made:
    data = numbers().map(sleeping(0.0005), "x").map(sleeping(0.001), "x")
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-op", "num_threads=", 1.5)
def sleeping_op_after_a_mix(remedied: bool) -> Made:
    data = flow.mix([numbers(), numbers()], seed=1).map(sleeping(0.001), "x")
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-source", "thread_safe=True", 2.0)
def sleeping_source(remedied: bool) -> Made:
    data = samples(Samples(0.001), overlaps=remedied)
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-source", "thread_safe=True", 2.0)
def sleeping_shuffled_source(remedied: bool) -> Made:
    data = samples(Samples(0.001), overlaps=remedied, shuffle=True)
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-source", "thread_safe=True", 2.0)
def sleeping_source_of_many(remedied: bool) -> Made:
    data = samples(ManySamples(0.001), overlaps=remedied)
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-source", "cache()", 2.0)
def sleeping_generator(remedied: bool) -> Made:
    data = stream(64, 0.002)
    return load(data.cache(version="1") if remedied else data, prefetch=4), nothing


@planted("loader", "python-source", "cache()", 2.0)
def sleeping_generator_beside_a_fast_op(remedied: bool) -> Made:
    data = stream(64, 0.002)
    data = (data.cache(version="1") if remedied else data).map(flow.Affine, "x", scale=2.0)
    return load(data, prefetch=4), sleep(0.001)


def computes(x: Any) -> Any:
    """A millisecond of a process."""
    end = time.process_time() + 0.001
    while time.process_time() < end:
        pass
    return x


@planted("loader", "processes", "cache()", 2.0)
def processes_that_compute(remedied: bool) -> Made:
    data = numbers(256).map(computes, "x", outputs={"x": "float32[4]"}, processes=2)
    return load(data.cache(version="1") if remedied else data, prefetch=4), nothing


# ---- Python that computes ------------------------------------------------------------------------

TEXT = "The price is 12.50 EUR, see https://example.org/a?b=c or ask me@example.org; thanks. " * 12
RULES = [
    (re.compile(pattern), by)
    for pattern, by in (
        (r"https?://\S+", "<url>"), (r"\S+@\S+\.\w+", "<mail>"), (r"\d+(\.\d+)?", "<number>"),
        (r"[^\w<> ]+", " "), (r"\s+", " "),
    )
]  # fmt: skip


def cleaned(text: bytes) -> str:
    words = text.decode()
    for pattern, by in RULES:
        words = pattern.sub(by, words)
    return words


@planted("loader", "python-op", "cache()", 1.3, 400)
def regular_expressions_over_texts(remedied: bool) -> Made:
    texts = [TEXT[i % 50 :].encode() for i in range(1000)]
    data = flow.from_arrays({"text": texts}).map(cleaned, "text", outputs=["text"])
    return load(data.cache(version="1") if remedied else data, 16), sleep(0.001)


@planted("loader", "python-op", "cache()", 2.0, 400)
def json_in_a_field(remedied: bool) -> Made:
    def parsed(meta: Any) -> Any:
        return np.array(json.loads(meta)["values"][:64], np.float32)

    rows = [json.dumps({"values": [*range(i, i + 300)]}).encode() for i in range(1000)]
    data = flow.from_arrays({"meta": rows}).map(parsed, "meta", outputs={"x": "float32[64]"})
    return load(data.cache(version="1") if remedied else data, 16), nothing


@planted("loader", "python-op", "once for a batch", 1.3, 400)
def random_generator_for_each_record(remedied: bool) -> Made:
    def noisy(x: Any) -> Any:
        return x + np.random.default_rng(int(x[0])).standard_normal(x.shape, np.float32)

    @flow.register_decoder(outputs={"out": "float32[16]"}, per="batch", replace=True)
    def noisy_batch(x: Any) -> Any:
        return x + np.random.default_rng(int(x[0, 0])).standard_normal(x.shape, np.float32)

    data = numbers(4000, 16)
    if remedied:
        return flow.DataLoader(noisy_batch(data.batch(64)["x"])), sleep(0.0005)
    return load(data.map(noisy, "x", outputs={"x": "float32[16]"}), 64), sleep(0.0005)


@planted("loader", "python-op", "ops of pyflowdata", 1.2, 400)
def collate_that_copies_rows(remedied: bool) -> Made:
    @flow.register_decoder(outputs={"out": "float32[1024]"}, per="batch", replace=True)
    def collate(x: Any) -> Any:
        return np.stack([np.array(row.tolist(), np.float32) for row in x])

    x = numbers(4000, 1024).batch(32)["x"]
    return flow.DataLoader(x if remedied else collate(x)), sleep(0.0005)


@planted("loader", "threads", "num_threads=", 1.15, 200)
def sort_in_one_thread(remedied: bool) -> Made:
    """NumPy, which lets go of the interpreter's lock."""
    unsorted = np.random.default_rng(1).random(10_000)

    def sorts(x: Any) -> Any:
        np.sort(unsorted)
        return x

    data = numbers().map(sorts, "x", outputs={"x": "float32[4]"})
    return load(data, num_threads=2 if remedied else 1), sleep(0.0015)


class Database:
    """Records of a table, each by a connection of its own."""

    def __len__(self) -> int:
        return 4000

    def __getitem__(self, number: int) -> dict[str, Any]:
        database = sqlite3.connect(_folder() / "records.db")
        found = database.execute("select value from record where number = ?", (number,))
        (value,) = found.fetchone()
        database.close()
        return {"x": np.frombuffer(value, np.float32)}


@functools.cache
def _folder() -> Path:
    """A folder that goes with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


@functools.cache
def _make_database() -> None:
    rows = [(number, np.full(64, number, np.float32).tobytes()) for number in range(4000)]
    database = sqlite3.connect(_folder() / "records.db")
    database.execute("create table record (number integer primary key, value blob)")
    database.executemany("insert into record values (?, ?)", rows)
    database.commit()
    database.close()


def objects(source: Any, fields: str, **options: Any) -> flow.Dataset:
    return flow.Dataset(flow.GeneratorReader(source, fields=[fields], **options))


@planted("loader", "python-source", "cache()", 1.5, 400)
def database_opened_for_each_record(remedied: bool) -> Made:
    _make_database()
    data = objects(Database(), "x:float32[64]")
    data = data.cache(version="1") if remedied else data
    return load(data.shuffle(seed=1), 16), sleep(0.0005)


class Shards:
    """Records in compressed files of 64, of which the last four are kept."""

    def __init__(self) -> None:
        self._shard = functools.lru_cache(maxsize=4)(self._read)

    def _read(self, number: int) -> Any:
        path = _folder() / f"{number}.npz"
        if not path.exists():
            values = np.random.default_rng(number).integers(0, 9, (64, 256))
            np.savez_compressed(path, x=values.astype(np.float32))
        with np.load(path) as file:
            return file["x"]

    def __len__(self) -> int:
        return 64 * 32

    def __getitem__(self, number: int) -> dict[str, Any]:
        return {"x": self._shard(number // 64)[number % 64]}


@planted("loader", "python-source", "cache()", 2.0, 400)
def kept_shards_that_are_too_few(remedied: bool) -> Made:
    data = objects(Shards(), "x:float32[256]")
    data = data.cache(version="1") if remedied else data
    return load(data.shuffle(seed=1), 16), sleep(0.0005)


@planted("loader", "python-source", "thread_safe=True", 2.0, 400)
def slow_source_in_a_mix(remedied: bool) -> Made:
    fast = flow.from_arrays({"x": np.zeros(4000, np.float32)})
    slow = samples(Samples(0.002), overlaps=remedied)
    data = flow.mix([fast, slow], weights=[3, 1], seed=1)
    return load(data, num_threads=8 if remedied else 2, prefetch=8), nothing


@planted("loader", "python-source", "cache()", 2.0, 400)
def generator_that_drops_most(remedied: bool) -> Made:
    def rows() -> Any:
        for number in range(20_000):
            if re.findall(r"\w+", TEXT[number % 40 :]) and number % 20 == 0:
                yield {"x": np.float32(number)}

    data = objects(rows, "x:float32")
    return load(data.cache(version="1") if remedied else data, prefetch=4), sleep(0.0005)


# ---- Processes -----------------------------------------------------------------------------------


def large(x: Any) -> Any:
    return np.full((1000, 1000, 3), x[0], np.uint8)


@planted("loader", "process-copies", "processes=0", 1.2, 100)
def processes_with_large_results(remedied: bool) -> Made:
    kept = {"x": "uint8[1000,1000,3]"}
    data = numbers().map(large, "x", outputs=kept, processes=0 if remedied else 2)
    return load(data, 4), nothing


@planted("starts", "processes-start", "processes=0", 1.5, 100, is_first=True)
def processes_for_a_short_run(remedied: bool) -> Made:
    data = numbers().map(large_sum, "x", outputs={"x": "float32"}, processes=0 if remedied else 2)
    return load(data), sleep(0.001)


def large_sum(x: Any) -> Any:
    return np.float32(x.sum())


# ---- Locks --------------------------------------------------------------------------------------


@planted("loader", "own-lock", "threading.local()", 1.5)
def lock_in_an_op(remedied: bool) -> Made:
    return load(numbers().map(Locked(threading.Lock, apart=remedied), "x"), num_threads=4,
                prefetch=8), nothing  # fmt: skip


@planted("loader", "own-lock", "threading.local()", 1.5)
def lock_of_many_threads(remedied: bool) -> Made:
    return load(numbers().map(Locked(threading.Lock, apart=remedied), "x"), num_threads=16,
                prefetch=8), nothing  # fmt: skip


@planted("loader", "own-lock", "threading.local()", 1.5)
def lock_that_is_acquired(remedied: bool) -> Made:
    client = Locked(threading.RLock, apart=remedied)
    return load(numbers().map(client.acquiring, "x"), num_threads=4, prefetch=8), nothing


@planted("loader", "own-lock", "threading.local()", 1.5)
def semaphore_in_an_op(remedied: bool) -> Made:
    return load(numbers().map(Locked(threading.Semaphore, apart=remedied), "x"), num_threads=4,
                prefetch=8), nothing  # fmt: skip


@planted("loader", "own-lock", "hold the lock for less", 1.5)
def log_lines_in_an_op(remedied: bool) -> Made:
    logger = logging.Logger("planted")
    if not remedied:
        logger.addHandler(SlowHandler())
    else:
        logger.addHandler(logging.NullHandler())

    def logs(x: Any) -> Any:
        logger.warning("a record")
        return x

    return load(numbers().map(logs, "x"), num_threads=4, prefetch=8), nothing


class Beside:
    """A loader, and a thread in a C call that keeps the interpreter's lock."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.is_over = loader, False
        self.thread = threading.Thread(target=self._compute)
        self.thread.start()

    def _compute(self) -> None:
        call = ctypes.PyDLL(None).usleep
        while not self.is_over:
            call(4000)
            time.sleep(0.0005)

    def __enter__(self) -> Any:
        return self.loader

    def __exit__(self, *_failure: object) -> None:
        self.is_over = True
        self.thread.join()
        self.loader.close()


@planted("loader", "lock", "other Python threads", 2.0, 400)
def thread_that_holds_the_lock(remedied: bool) -> Made:
    loader = load(numbers().map(lambda x: x + 1, "x", outputs={"x": "float32[4]"}), 4,
                  num_threads=2, prefetch=2)  # fmt: skip
    return loader if remedied else Beside(loader), nothing


# ---- Records for nothing ------------------------------------------------------------------------


@planted("loader", "skipped", "where()", 1.5)
def records_that_are_left_out(remedied: bool) -> Made:
    def check(x: Any) -> Any:
        time.sleep(0.001)
        if not remedied and x[0] % 4:
            raise flow.CorruptDataError("a bad record")
        return x

    rows = np.arange(16_000, dtype=np.float32).reshape(4000, 4) // 4
    data = flow.from_arrays({"x": rows}).map(check, "x", outputs={"x": "float32[4]"})
    blobs = data.batch(8, on_error="skip", max_skipped=-1).blobs
    return flow.DataLoader(blobs, num_threads=2, prefetch=4), nothing


# ---- Handing out --------------------------------------------------------------------------------


@planted("loader", "small-batches", "larger", 2.0, 20_000)
def batches_of_one(remedied: bool) -> Made:
    return load(numbers(), 64 if remedied else 1), nothing


@planted("loader", "fields", "fewer fields", 2.0, 300)
def many_columns(remedied: bool) -> Made:
    columns = {f"c{i}": np.zeros(4000, np.float32) for i in range(300)}
    data = numbers(size=300) if remedied else flow.from_arrays(columns)
    return load(data, 16), nothing


def _padded(data: flow.Dataset, size: int, by_length: bool) -> Made:
    """A training step that computes on each element."""
    batches = data.batch_by_length(size, field="tokens") if by_length else data.batch(size)

    def step(batch: Any) -> None:
        time.sleep(np.asarray(batch).size * 1e-6)

    return flow.DataLoader(flow.PadBatch(batches["tokens"]), prefetch=4), step


@planted("training", "padding", "batch_by_length", 1.5)
def padding_of_rows_of_all_lengths(remedied: bool) -> Made:
    lengths = random.Random(1).choices((20, 20, 20, 20, 20, 20, 20, 600), k=2048)
    rows = [np.ones(length, np.int64) for length in lengths]
    return _padded(flow.from_arrays({"tokens": rows}).shuffle(seed=1), 16, remedied)


# ---- Memory for batches -------------------------------------------------------------------------

ROW = 4 * 64


@planted("loader", "prefetch", "raise prefetch", 1.2, 64)
def no_room_ahead(remedied: bool) -> Made:
    data = numbers(size=64).map(sleeping(0.0005), "x")
    return load(data, num_threads=2, prefetch=16 if remedied else 1), every(8, 0.02)


@planted("loader", "prefetch", "raise prefetch", 1.3, 120)
def slow_record_in_a_hundred(remedied: bool) -> Made:
    def fetch(number: Any) -> Any:
        time.sleep(0.06 if number % 100 == 99 else 0.0005)
        return number

    data = flow.from_arrays({"n": np.arange(4000)}).map(fetch, "n")
    return load(data, num_threads=4, prefetch=32 if remedied else 2), sleep(0.003)


@planted("loader", "memory", "raise memory_budget", 1.2, 64)
def small_budget(remedied: bool) -> Made:
    data, budget = numbers(size=64).map(sleeping(0.0005), "x"), None if remedied else 3 * 8 * ROW
    return load(data, num_threads=2, prefetch=16, memory_budget=budget), every(8, 0.02)


@planted("loader", "held", ".copy()", 1.2, 64)
def batches_that_are_held(remedied: bool) -> Made:
    data = numbers(size=64).map(sleeping(0.0005), "x")
    held: collections.deque[Any] = collections.deque(maxlen=17)
    burst = every(8, 0.02)

    def step(batch: Any) -> None:
        rows = batch["x"][:1] if isinstance(batch, dict) else batch[0][:1]
        held.append(rows.copy() if remedied else rows)
        del rows, batch
        burst(None)

    return load(data, num_threads=2, prefetch=16, memory_budget=50_000), step


# ---- Formats ------------------------------------------------------------------------------------


@functools.cache
def _photos(form: str) -> Path:
    """Images of a form, in a folder that goes with the process."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    rough = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
    encoded = bytes(flow.ImageEncoder(flow.Resize(rough, size=(256, 256)), format=form))
    (Path(folder.name) / "a").mkdir()
    for number in range(64):
        (Path(folder.name) / "a" / f"{number}.{form}").write_bytes(encoded)
    return Path(folder.name)


@planted("loader", "format", "JPEG", 1.5)
def photos_as_png(remedied: bool) -> Made:
    data = flow.open(_photos("jpeg" if remedied else "png")).batch(8)
    return flow.DataLoader(flow.ImageDecoder(data["image"])), nothing


@functools.cache
def _large_photos() -> Path:
    rough = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
    encoded = bytes(flow.ImageEncoder(flow.Resize(rough, size=(600, 800)), format="jpeg"))
    folder = _folder() / "large"
    (folder / "a").mkdir(parents=True)
    for number in range(64):
        (folder / "a" / f"{number}.jpg").write_bytes(encoded)
    return folder


@planted("loader", "op", "let a crop take", 1.3, 60)
def small_crops_of_large_photos(remedied: bool) -> Made:
    crop = functools.partial(flow.RandomResizedCrop, size=(64, 64), area=(0.08, 0.3))
    image = flow.ImageDecoder(flow.open(_large_photos()).shuffle(seed=1).batch(8)["image"])
    return flow.DataLoader(crop(image if remedied else flow.RandomFlip(image))), nothing


@functools.cache
def _table(form: str) -> Path:
    path = _folder() / f"table.{form}"
    columns = {f"c{i}": np.random.default_rng(i).random(20_000) for i in range(40)}
    with (CSVWriter if form == "csv" else ArrowWriter)(path) as writer:
        writer.write_batch(columns)
    return path


@planted("loader", "format", "Arrow or Parquet", 1.3, 500)
def columns_of_numbers_as_text(remedied: bool) -> Made:
    return load(flow.open(_table("arrow" if remedied else "csv")), 2048), nothing


# ---- What is done once --------------------------------------------------------------------------


@planted("starts", "cache-fill", "for the next run", 2.0, is_first=True)
def cache_that_is_filled(remedied: bool) -> Made:
    version = "kept" if remedied else str(time.time())
    data = numbers(512).map(sleeping(0.001), "x").cache(version=version)
    return load(data), sleep(0.002)


def _good() -> flow.Dataset:
    def is_good(x: Any) -> Any:
        time.sleep(0.001 * len(x))
        return np.ones(len(x), np.bool_)

    return numbers(512).where(is_good)


_KEPT = _good()


@planted("starts", "pass", "before the job", 2.0, is_first=True)
def mask_of_a_slow_function(remedied: bool) -> Made:
    return load(_KEPT if remedied else _good()), sleep(0.002)


# ---- Starts, copies, and training ---------------------------------------------------------------


@planted("starts", "start", "index", 1.2, 60)
def stream_that_opens_slowly(remedied: bool) -> Made:
    data = stream(80, 0.0, start=0.05)
    return load(data.cache(version="1") if remedied else data, prefetch=1), sleep(0.001)


@planted("hand-over", "copy", "uint8", 1.3)
def copies_to_a_device(remedied: bool) -> Made:
    loader = load(numbers(size=1024), 8)

    def step(_batch: Any) -> None:
        took = 0.002 if remedied else 0.008
        time.sleep(took)
        loader.count_copy(took, 8 * 4096, "a device")
        time.sleep(0.002)

    return loader, step


@planted("hand-over", "copy", "fewer bytes", 1.3, 60)
def doubles_to_a_device(remedied: bool) -> Made:
    data = flow.from_arrays({"x": np.zeros((2000, 1024), np.float64)})
    data = data.map(flow.Cast, "x", dtype="float32") if remedied else data
    loader = flow.DataLoader(data.batch(8)["x"])

    def step(batch: Any) -> None:
        took = batch.nbytes / 8e6
        time.sleep(took)
        loader.count_copy(took, batch.nbytes, "a device")
        time.sleep(0.002)

    return loader, step


@planted("training", "long-steps", "less often", 1.5, 120)
def steps_that_log(remedied: bool) -> Made:
    burst = every(200 if remedied else 20, 0.03)

    def step(batch: Any) -> None:
        time.sleep(0.001)
        burst(batch)

    return load(numbers()), step


@planted("training", "", "", 1.5)
def slow_steps(remedied: bool) -> Made:
    return load(numbers()), sleep(0.002 if remedied else 0.008)


# ---- Healthy loaders ----------------------------------------------------------------------------


def _words() -> flow.Dataset:
    rows = [np.arange(i % 17, dtype=np.int64) for i in range(2000)]
    return flow.from_arrays({"tokens": rows})


def _quick(x: Any) -> Any:
    return x


DATA: dict[str, Callable[[], flow.Dataset]] = {
    "numbers": numbers,
    "wide rows": lambda: numbers(2000, 256),
    "shuffled": lambda: numbers().shuffle(seed=1),
    "window": lambda: numbers().shuffle(kind="window", window=500, seed=1),
    "views": lambda: numbers().skip(7).repeat(3),
    "mixed": lambda: flow.mix([numbers(), numbers()], seed=1),
    "an op in C": lambda: numbers().map(flow.Affine, "x", scale=2.0),
    "two ops in C": lambda: numbers().map(flow.Affine, "x", scale=2.0).map(flow.Affine, "x"),
    "a quick function": lambda: numbers().map(_quick, "x"),
    "a function that sleeps a little": lambda: numbers().map(sleeping(0.00005), "x"),
    "ragged": _words,
    "objects": lambda: samples(Samples(0.0), overlaps=False),
    "objects of many threads": lambda: samples(Samples(0.0001), overlaps=True),
    "a stream": lambda: stream(4000, 0.0),
    "several columns": lambda: flow.from_arrays(
        {f"c{i}": np.zeros(4000, np.float32) for i in range(8)}
    ),
}  # fmt: skip


def _varying() -> Callable[[Any], None]:
    draws = random.Random(1)
    return lambda _batch: time.sleep(draws.uniform(0.003, 0.009))


STEPS: dict[str, Callable[[], Callable[[Any], None]]] = {
    "steps of 6 ms": lambda: sleep(0.006), "steps of 3 to 9 ms": _varying,
}  # fmt: skip
HEALTHY = {f"{data}, {step}": (DATA[data], STEPS[step]) for data in DATA for step in STEPS}
