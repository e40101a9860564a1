"""Lets the n-th call of a kind fail, many times over: opens, reads, writes, memory and others.

    python tests/loader/fault_runs.py [--runs 20000] [--seed 0]

Each run is a fork of one process, in which a library for LD_PRELOAD (tests/loader/faults.c) makes
one call, or all from one on, fail with an errno.  The run reads a small data set to its end.  Right
outcomes: all rows as without a fault, or an error of the right class; never a skipped record, a
wrong row, an error that speaks of damage, a crash or a wait without an end.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import faulthandler
import gc
import gzip
import os
import random
import signal
import subprocess
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout works without being installed

from formats.megatron import token_files

import pyflowdata as flow

KINDS = ["open", "read", "map", "stat", "readdir", "malloc", "thread", "change", "write"]
TRANSIENT = [errno.EINTR, errno.EAGAIN, errno.ESTALE]
FULL = [errno.ENOSPC, errno.EROFS, errno.EIO, errno.ENOLCK]
REFUSED = [errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.EIO]
ALL = 1 << 40
SECONDS = 60  # that a run may take


class Fault(NamedTuple):
    """Which call fails, how often, with what."""

    kind: str
    number: int
    times: int
    errno: int
    is_remote: bool

    def __str__(self) -> str:
        times = "all" if self.times == ALL else self.times
        name = errno.errorcode.get(self.errno, "-")
        return f"{self.kind} {self.number} x{times} {name}{' remote' * self.is_remote}"


# ---- What is read -------------------------------------------------------------------------------


def write_samples(folder: Path) -> dict[str, Callable[..., Any]]:
    """Small data sets in a folder, and how the blobs of each are made."""
    rows = "".join(f"{i},{10 * i}\n" for i in range(200)).encode()
    (folder / "text").mkdir()
    for part in range(3):
        (folder / "text" / f"part-{part}").write_bytes(rows)
    for name, compression in [("gzip", ".gz"), ("zstd", ".zst"), ("zlib", ".zz")]:
        (folder / f"{name}.txt{compression}").write_bytes(_compressed(name, rows))
    np.save(folder / "rows.npy", np.arange(400.0).reshape(200, 2))
    with flow.io.TFRecordWriter(folder / "rows.tfrecord") as writer:
        for i in range(100):
            writer.write(flow.io.encode_example({"x": np.array([i, i], np.int64)}))
    images = write_images(folder / "images")
    manifest = folder / "images.json"
    manifest.write_text("".join(
        f'{{"source": "{path}", "usage": "TRAIN", "annotation": [{{"name": "a"}}]}}\n'
        for path in images
    ))
    text = {"batch_size": 20}
    samples: dict[str, Callable[..., Any]] = {
        "mapped lines": lambda **attrs: flow.MiniReader(
            str(folder / "text"), file_access="map", **text, **attrs),
        "read lines": lambda **attrs: flow.MiniReader(
            str(folder / "text"), file_access="read", random_shuffle=True, **text, **attrs),
        "cached index": lambda **attrs: flow.MiniReader(
            str(folder / "text"), index_dir=str(folder / "indexes"), random_shuffle=True, **text,
            **attrs),
        "new index": lambda **attrs: flow.MiniReader(
            str(folder / "text"), index_dir=str(folder / "new" / str(os.getpid())),
            random_shuffle=True, **text, **attrs),
        "pattern": lambda **attrs: flow.MiniReader(
            files=str(folder / "*" / "part-[0-2]"), **text, **attrs),
        "npy": lambda **attrs: flow.NpyReader(files=str(folder / "rows.npy"), **text, **attrs),
        "TFRecord": lambda **attrs: flow.ExampleDecoder(
            flow.TFRecordReader(files=str(folder / "rows.tfrecord"), **text, **attrs),
            features=["x:int64[2]"]),
        "image folder": lambda **attrs: _decoded(
            flow.ImageFolderReader(str(folder / "images"), batch_size=4, **attrs)[0]),
        "manifest": lambda **attrs: _decoded(
            flow.ManifestReader(files=str(manifest), batch_size=4, **attrs)[0]),
    }
    for path in sorted(folder.glob("*.txt.*")):
        samples[path.stem] = lambda path=path, **attrs: flow.MiniReader(
            files=str(path), **text, **attrs)
    return {**samples, **_records(folder / "records"), **_sets(folder / "sets")}


def _records(folder: Path) -> dict[str, Callable[..., Any]]:
    """Formats of one file, and a file with a seal."""
    folder.mkdir()
    x = np.arange(200)
    io = flow.io
    tar = {"txt": [f"text {i}".encode() for i in x], "cls": x}
    for writer, batch in [
        (io.TarWriter(folder / "a.tar"), tar),
        (io.CSVWriter(folder / "a.csv"), {"x": x}),
        (io.JSONLinesWriter(folder / "a.jsonl"), {"x": x}),
        (io.OFRecordWriter(folder / "a.ofrecord"), {"x": x}),
        (io.IDXWriter(folder / "a.idx"), x.astype(np.int32)[:, None]),
        (io.RawWriter(folder / "a.raw", seal=True), {"x": np.arange(60_000).reshape(200, 300)}),
    ]:
        with writer as opened:
            opened.write_batch(batch)
    raw = {"dtype": "int64", "shape": [300], "check": "seal"}
    makers: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "tar": (flow.TarReader, "a.tar", {"fields": ["txt:bytes"]}),
        "CSV": (flow.CSVReader, "a.csv", {"columns": ["x:int64"]}),
        "CSV, shuffled": (flow.CSVReader, "a.csv", {"columns": ["x:int64"], "shuffle": "global"}),
        "JSON lines": (flow.JSONLinesReader, "a.jsonl", {"fields": ["x:int64"]}),
        "OFRecord": (flow.OFRecordReader, "a.ofrecord", {}),
        "IDX": (flow.IDXReader, "a.idx", {}),
        "seal": (flow.RawReader, "a.raw", raw),
        "seal, read": (flow.RawReader, "a.raw", {**raw, "file_access": "read"}),
    }
    return {
        name: lambda reader=reader, file=file, own=own, **attrs: reader(
            files=str(folder / file), batch_size=20, **own, **attrs)
        for name, (reader, file, own) in makers.items()
    }


def _sets(folder: Path) -> dict[str, Callable[..., Any]]:
    """Formats whose files are found by others: folders with an index, shards of a set, halves."""
    x = np.arange(200)
    for made in (folder / "mind", folder / "m"):
        made.mkdir(parents=True)
    for writer in (
        flow.io.MDSWriter(folder / "mds"),
        flow.io.MDSWriter(folder / "mds-zstd", compression="zstd"),
        flow.io.MindRecordWriter(folder / "mind" / "a.mindrecord", shard_records=50),
    ):
        with writer as opened:
            opened.write_batch({"x": x})
    token_files.write(folder / "m" / "tokens", token_files.documents(1, 20))
    samples = {
        name: lambda name=name, **attrs: flow.MDSReader(str(folder / name), batch_size=20, **attrs)
        for name in ("mds", "mds-zstd")
    }
    first = min((folder / "mind").glob("*"))
    for name in ("types.arrow", "types-zstd.arrows", "types-lz4.feather"):
        copy = folder / name
        copy.write_bytes((ROOT / "tests" / "fixtures" / "arrow" / name).read_bytes())
        samples[name] = lambda copy=copy, **attrs: flow.ArrowReader(
            files=str(copy), batch_size=20, **attrs)
    samples["MindRecord"] = lambda **attrs: flow.MindRecordReader(
        files=str(first), batch_size=20, **attrs)
    samples["Megatron"] = lambda **attrs: flow.MegatronReader(
        files=str(folder / "m" / "tokens.bin"), batch_size=20, **attrs)
    return samples


def _compressed(name: str, data: bytes) -> bytes:
    if name == "zstd":
        return zstandard.ZstdCompressor().compress(data)
    return gzip.compress(data) if name == "gzip" else zlib.compress(data)


def write_images(folder: Path) -> list[Path]:
    (folder / "a").mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 255, (24, 20, 3), np.uint8)
    made = []
    # No lossless WebP: without memory libwebp 1.2 frees pointers that it has not set.
    for i, ending in enumerate(["png", "jpg", "webp"] * 4):
        made.append(folder / "a" / f"{i}.{ending}")
        Image.fromarray(np.roll(pixels, i)).save(made[-1])
    return made


def _decoded(image: Any) -> Any:
    return flow.ImageResizeToFixed(flow.ImageDecoder(image), target_width=16, target_height=16)[0]


def arm(fault: Fault) -> None:
    number, times = ctypes.c_long(fault.number), ctypes.c_long(fault.times)
    ctypes.CDLL(None).faults_arm(
        KINDS.index(fault.kind), number, times, fault.errno, int(fault.is_remote))


def read(make: Callable[..., Any], on_error: str, fault: Fault | None = None) -> Any:
    """All rows of an epoch, and how often a call was tried again.  Files change only while the
    loader has them open."""
    if fault and fault.kind != "change":
        arm(fault)
    made = make(on_error=on_error, max_skipped=-1, seed=1)
    if fault and fault.kind == "change":
        arm(fault)
    blobs = list(made) if isinstance(made, (tuple, list)) else [made]
    with flow.DataLoader(blobs, num_threads=2, prefetch=2) as loader:
        found = [part for batch in loader for one in batch for part in _parts(one)]
        assert loader.stats()["skipped"] == 0, f"{loader.skipped[0]!r} is taken for damage"
        return found, loader.stats()["retries"]


def _parts(batch: Any) -> list[bytes]:
    """The bytes of a batch of one blob."""
    if isinstance(batch, flow.Ragged):
        return [np.asarray(batch.values).tobytes(), np.asarray(batch.row_splits).tobytes()]
    return [np.asarray(batch).tobytes()]


# ---- A run --------------------------------------------------------------------------------------


def is_right(failure: Exception, fault: Fault) -> bool:
    """Whether the error is one that the fault may cause."""
    if fault.kind == "malloc" or fault.errno == errno.ENOMEM:
        return isinstance(failure, (flow.OutOfMemoryError, MemoryError)) or (
            isinstance(failure, flow.FileError) and fault.kind != "malloc")
    if fault.kind == "write":
        return False  # the index is made again next time
    if fault.kind == "thread":
        return isinstance(failure, (flow.OutOfMemoryError, RuntimeError))
    if fault.kind == "change":
        return isinstance(failure, flow.FileError) and failure.reason is None
    if not isinstance(failure, flow.FileError):
        return False
    if fault.errno == errno.EIO and fault.is_remote:
        return fault.times > 1  # one failure is tried again
    if fault.errno in TRANSIENT:
        return fault.times > 1 and failure.reason == "transient"
    return failure.reason == "environment"


def outcome(make: Callable[..., Any], expected: Any, on_error: str, fault: Fault) -> str:
    """ "rows", "rows, after a retry", "error", or what is wrong."""
    try:
        found, retries = read(make, on_error, fault)
    except AssertionError as wrong:
        return f"WRONG {wrong}"
    except Exception as failure:
        if is_right(failure, fault):
            return "error"
        return f"WRONG {type(failure).__name__} ({getattr(failure, 'reason', '')}): {failure}"
    said = "rows, after a retry" if retries else "rows"
    return said if found == expected else "WRONG rows"


def in_a_fork(run: Callable[[], str]) -> str:
    """What run() returns in a forked process; or how that ended."""
    from_child, to_parent = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.write(to_parent, run().encode()[:2000])
        os._exit(0)
    os.close(to_parent)
    with open(from_child, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    return said if status == 0 and said else f"WRONG end of the process, status {status}"


def draw(numbers: random.Random) -> Fault:
    """Early calls more often: most runs make few calls of a kind."""
    kind = numbers.choice([*KINDS, "malloc", "malloc", "read", "open"])
    number = int(numbers.expovariate(1 / (60 if kind == "malloc" else 8)))
    times = ALL if numbers.random() < 0.15 else 1
    reason = numbers.choice(TRANSIENT + REFUSED)
    if kind == "map":
        reason = errno.ENOMEM
    if kind == "write":
        reason = numbers.choice(FULL)
    if kind == "thread":
        reason = errno.EAGAIN
    return Fault(kind, number, times, reason, numbers.random() < 0.3)


def soak(folder: Path, runs: int, seed: int) -> Counter[str]:
    """How often each outcome came; "WRONG ..." ones with the run that had it."""
    samples = write_samples(folder)
    expected = {name: read(make, "raise")[0] for name, make in samples.items()}
    sizes = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    numbers, outcomes = random.Random(seed), Counter[str]()
    gc.collect()
    gc.freeze()  # a run that looks for garbage copies the pages of all objects
    for _ in range(runs):
        name, on_error = numbers.choice(list(samples)), numbers.choice(["raise", "skip", "pad"])
        fault = draw(numbers)
        found = in_a_fork(lambda: outcome(samples[name], expected[name], on_error, fault))
        if found.startswith("WRONG"):
            found = f"{found} -- {name}, {on_error}, {fault}"
        outcomes[found] += 1
        for path, size in sizes.items() if fault.kind == "change" else ():
            if path.stat().st_size != size:
                os.truncate(path, size)
    return outcomes


def build(folder: Path) -> Path:
    """Compiles the library."""
    library = folder / "libfaults.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library,
                    ROOT / "tests" / "loader" / "faults.c"], check=True)
    return library


def environment_with(library: Path) -> dict[str, str]:
    """The environment of a program with the library in place."""
    paths = f"{ROOT}:{ROOT / 'tests'}"
    return {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": paths}


def start(runs: int, seed: int) -> subprocess.CompletedProcess[str]:
    """This module as a program, with the library in place."""
    with tempfile.TemporaryDirectory() as folder:
        environment = environment_with(build(Path(folder)))
        command = [sys.executable, __file__, "--runs", str(runs), "--seed", str(seed), "--armed"]
        return subprocess.run(command, env=environment, capture_output=True, text=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--armed", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not arguments.armed:
        done = start(arguments.runs, arguments.seed)
        print(done.stdout, done.stderr, sep="", end="")
        return done.returncode
    faulthandler.enable()
    with tempfile.TemporaryDirectory() as folder:
        outcomes = soak(Path(folder), arguments.runs, arguments.seed)
    for found, times in sorted(outcomes.items()):
        print(f"{times:6} {found}")
    return int(any(found.startswith("WRONG") for found in outcomes))


if __name__ == "__main__":
    sys.exit(main())
