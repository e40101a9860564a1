"""Remote files under faults of the network, the server, the disk and the processes: every record is
held against how it was made, and every run is right or tells a clear error.

    python tests/remote/soak.py [--faults 2000] [--seed 0]

A run reads one data set through a cache that all runs share, with random views, ranks, threads and
budget, and goes on with its state in a new loader in the middle.  Meanwhile answers fail in every
way of server.FAULTS, the server goes away for a while, objects change, or a list of them is
out of date.  Between runs files of the cache are damaged, cut and removed, and processes that fetch
get SIGKILL.  Some runs may write only a part of a file.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]  # a checkout works without being installed

import pyflowdata as flow
from pyflowdata import io
from pyflowdata.remote import client
from remote.server import FAULTS, Server, serving

MB = 1 << 20
RECORDS = 12_000
WIDTH = 128
OPTIONS = {"raw": {"format": "raw", "shape": [WIDTH], "dtype": "int32"}}
FORMATS = ("raw", "tfrecord", "jsonl", "jsonl.gz")
# What a run may end with; anything else is a failure.
TOLD = (
    "changed while open", "the store failed for", "answers no ranges",
    "file of the cache cannot be", "there is no such object",
)  # fmt: skip
TOLD_OF_STATES = "the state belongs to another loader"  # where the objects changed since


# ---- The data, whose records are known by their first number ------------------------------------


def rows_of(ids: npt.NDArray[Any], version: int) -> npt.NDArray[Any]:
    """Record `id` has its id, and numbers that only it and its version have."""
    ids = ids.astype(np.uint64)[:, None]
    columns = np.arange(WIDTH, dtype=np.uint64)[None]
    mixed = (ids * 0x9E3779B97F4A7C15 + columns * 0xBF58476D1CE4E5B9) ^ (
        np.uint64(version) * np.uint64(0x94D049BB133111EB)
    )
    rows = ((mixed >> np.uint64(33)) & np.uint64(0x7FFFFFFF)).astype(np.int32)
    rows[:, 0] = ids[:, 0]
    return rows


def write_files(folder: Path, version: int) -> dict[str, bytes]:
    """Two files of each format; jsonl has a part of the numbers."""
    rows, half = rows_of(np.arange(RECORDS), version), RECORDS // 2
    for part, some in enumerate((rows[:half], rows[half:])):
        (folder / f"{part}.raw").write_bytes(some.tobytes())
        with io.TFRecordWriter(folder / f"{part}.tfrecord") as out:
            out.write_batch({"x": some.astype(np.int64)})
        text = "".join(f'{{"x": {row.tolist()}}}\n' for row in some[:, :16])
        (folder / f"{part}.jsonl").write_text(text)
        (folder / f"{part}.jsonl.gz").write_bytes(gzip.compress(text.encode(), 1))
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rows_in(batch: Any) -> npt.NDArray[Any]:
    one = batch[0]
    values = np.array(one.values if isinstance(one, flow.Ragged) else one)
    return values.reshape(len(one), -1)


def is_wrong(rows: npt.NDArray[Any], version: int) -> bool:
    if rows.size and (rows[:, 0].min() < 0 or rows[:, 0].max() >= RECORDS):
        return True
    return not np.array_equal(rows, rows_of(rows[:, 0], version)[:, : rows.shape[1]])


# ---- One run ------------------------------------------------------------------------------------


def open_data(urls: list[str], kind: str, seed: int) -> Any:
    """A data set under random views that have each record once."""
    choose = random.Random(seed)
    data = flow.open(urls, **OPTIONS.get(kind, {}))
    if choose.random() < 0.3 and kind != "jsonl.gz":
        data = data.take(RECORDS)
    view = choose.choice(["none", "window", "global", "lanes"])
    if kind != "jsonl.gz" and view != "none":
        lanes = {"lanes": 2} if view == "lanes" else {}
        data = data.shuffle(kind="global" if view == "global" else "window", seed=seed, **lanes)
    return data.batch(choose.choice([64, 256, 1024]))


def read_epoch(urls: list[str], kind: str, seed: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """The batches of an epoch, of all ranks, with the rank; each loader is left in the middle, and
    another one goes on with its state."""
    choose = random.Random(seed + 1)
    ranks, threads = choose.choice([1, 1, 2, 3]), choose.randint(1, 3)
    for rank in range(ranks):
        state, steps = None, choose.randint(1, 6)
        for is_last in (False, True):
            data = open_data(urls, kind, seed)
            with flow.DataLoader(data, num_threads=threads, share=(rank, ranks)) as loader:
                if is_last:
                    loader.load_state_dict(state)
                for number, batch in enumerate(loader, 1):
                    yield rank, rows_in(batch)
                    if number == steps and not is_last:
                        break
                else:
                    break  # the epoch has ended
                state = loader.state_dict()


# ---- The soak -----------------------------------------------------------------------------------


@dataclass
class Report:
    """What was seen."""

    runs: int = 0
    right: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.right} right, {sum(self.told.values())} told an error, "
            f"{sum(self.faults.values())} faults, {len(self.wrong)} wrong, {self.seconds:.0f} s\n"
            f"  faults: {dict(sorted(self.faults.items()))}\n  told: {dict(self.told)}\n"
            + "".join(f"  wrong: {one}\n" for one in self.wrong)
        )


class Soak:
    """A server, a cache, and what happens to them."""

    def __init__(self, folder: Path, server: Server, seed: int) -> None:
        self.server, self.cache, self.choose = server, folder / "cache", random.Random(seed)
        self.versions = []
        for version in (0, 1):
            (folder / str(version)).mkdir()
            self.versions.append(write_files(folder / str(version), version))
        self.report = Report()

    def serve(self, version: int) -> int:
        self.version, self.server.files, self.server.stale = version, self.versions[version], {}
        return version

    def run(self) -> None:
        """One run, right or told."""
        choose, server, report = self.choose, self.server, self.report
        seed, kind = choose.randrange(1 << 30), choose.choice(FORMATS)
        version = self.serve(choose.randrange(2))
        share = choose.choice([0.0, 0.3, 0.6])
        kinds = FAULTS if choose.random() < 0.1 else FAULTS[:-1]  # "whole" ends a run
        server.fault = lambda _: choose.choice(kinds) if choose.random() < share else None
        urls = [f"{server.url}/{part}.{kind}" for part in (0, 1)]
        flow.remote.configure(
            cache_dir=self.cache, budget=choose.choice([16 * MB, 64 * MB]), requests=8, options={}
        )
        events = [self.go_away, self.change, self.be_out_of_date, self.fill_disk, self.kill]
        event = choose.choice(events) if choose.random() < 0.4 else None
        report.runs += 1
        name = event.__name__ if event else "network"
        seen: list[npt.NDArray[Any]] = []
        last = -1  # rank
        try:
            with event(urls, kind, seed) if event else contextlib.nullcontext():
                for rank, rows in read_epoch(urls, kind, seed):
                    # A list out of date tells of the old version: the cache may have it whole.
                    # A rank that opens the objects after they changed reads the new one.
                    is_either = not seen if event == self.be_out_of_date else event == self.change
                    if is_either and rank != last and is_wrong(rows, version):
                        version = 1 - version
                    last = rank
                    if is_wrong(rows, version):
                        report.wrong.append(f"{kind} {seed} {name}: other bytes")
                        return
                    seen.append(rows)
        except flow.Error as error:
            is_changed = event in (self.change, self.be_out_of_date)
            told = (*TOLD, TOLD_OF_STATES) if is_changed else TOLD
            found = next((one for one in told if one in str(error)), None)
            if found is None:
                report.wrong.append(f"{kind} {seed} {name}: {error}")
            else:
                report.told[f"{name}: {found}"] += 1
            return
        finally:
            report.faults.update(server.injected)
            server.injected.clear()
            client._seen.clear()
        ids = np.sort(np.concatenate([rows[:, 0] for rows in seen]))
        if np.array_equal(ids, np.arange(RECORDS)):
            report.right += 1
        else:
            report.wrong.append(f"{kind} {seed} {name}: {len(ids)} records")

    # ---- What happens during a run

    @contextlib.contextmanager
    def go_away(self, *_: Any) -> Iterator[None]:
        """The server refuses everything for a while."""

        def come_back() -> None:
            time.sleep(self.choose.uniform(0.01, 0.1))
            self.server.is_away = False

        self.report.faults["away"] += 1
        self.server.is_away = True
        thread = threading.Thread(target=come_back)
        thread.start()
        yield
        thread.join()

    @contextlib.contextmanager
    def change(self, *_: Any) -> Iterator[None]:
        """The objects become other versions after some answers."""
        inner, after = self.server.fault, self.server.gets + self.choose.randint(1, 6)
        other = 1 - self.version

        def fault(number: int) -> str | None:
            if number == after:
                self.report.faults["changed"] += 1
                self.serve(other)
            return inner(number)

        self.server.fault = fault
        yield

    @contextlib.contextmanager
    def be_out_of_date(self, *_: Any) -> Iterator[None]:
        """HEAD tells of the objects as they were."""
        self.report.faults["stale"] += 1
        self.server.stale = self.versions[1 - self.version]
        client._seen.clear()
        yield

    @contextlib.contextmanager
    def fill_disk(self, *_: Any) -> Iterator[None]:
        """No file can grow beyond some bytes, nor be written there."""
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.report.faults["full"] += 1
        most = self.choose.randint(100_000, 4 * MB)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    @contextlib.contextmanager
    def kill(self, urls: list[str], kind: str, seed: int) -> Iterator[None]:
        """Another process reads the same, and gets SIGKILL."""
        child = subprocess.Popen(
            [sys.executable, __file__, "--child", kind, str(seed), str(self.cache), *urls],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert child.stdout is not None
        child.stdout.readline()  # it begins to read
        self.report.faults["killed"] += 1
        killer = threading.Timer(self.choose.uniform(0, 0.2), child.kill)
        killer.start()
        try:
            yield
        finally:
            killer.join()
            child.wait()
            child.stdout.close()

    # ---- Between runs

    def damage(self) -> None:
        """Bytes of the cache's files change, files become shorter or go."""
        for path in self.cache.glob("*.pfdblocks"):
            how = self.choose.choice(["none", "none", "bytes", "table", "cut", "zeros", "remove"])
            if how == "none":
                continue
            self.report.faults[f"disk: {how}"] += 1
            size = path.stat().st_size
            if how == "remove":
                path.unlink()
                continue
            with path.open("r+b") as file:
                if how == "cut":
                    file.truncate(self.choose.randrange(size))
                    continue
                end = 200 if how == "table" else size
                for _ in range(5):
                    file.seek(self.choose.randrange(end))
                    file.write(bytes(500) if how == "zeros" else self.choose.randbytes(3))


def soak(faults: int, seed: int, seconds: float = float("inf")) -> Report:
    """Runs until so many faults were, or a sixth of them and so much time has passed."""
    pauses = client._FETCH_PAUSES
    client._FETCH_PAUSES = (0.005, 0.01, 0.02, 0.04, 0.08, 0.1, 0.1, 0.1)
    client._LOOK_PAUSES = (0.01, 0.05, 0.1, 0.2)
    try:
        with tempfile.TemporaryDirectory() as folder, serving({}) as server:
            one, begin = Soak(Path(folder), server, seed), time.monotonic()
            while one.report.faults.total() < (
                faults if time.monotonic() - begin < seconds else faults / 6
            ):
                one.run()
                if one.choose.random() < 0.5:
                    one.damage()
            one.report.seconds = time.monotonic() - begin
            return one.report
    finally:
        client._FETCH_PAUSES = pauses


def child(kind: str, seed: str, cache: str, *urls: str) -> None:
    """Reads, to be killed."""
    flow.remote.configure(cache_dir=cache, budget=64 * MB)
    print("ready", flush=True)
    for _ in read_epoch(list(urls), kind, int(seed)):
        pass


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs="+")
    given = parser.parse_args()
    if given.child:
        child(*given.child)
        return 0
    report = soak(given.faults, given.seed)
    print(report)
    return bool(report.wrong)


if __name__ == "__main__":
    sys.exit(main())
