"""Where the time of the training loop goes: the named shares are the wall clock, in next() and out
of it, whatever the pipeline does."""

import json
import os
import threading
import time
from time import perf_counter as clock

import numpy as np
import pytest
from support.files import lines, write_parts

import pyflowdata as flow

INSIDE = ("wait", "help", "lock", "check", "turn", "hand_out", "convert")
OUTSIDE = ("outside", "between")
NEAR, TINY = 0.02, 0.001  # of the time; seconds


def numbers(count=20_000, size=4):
    return flow.from_arrays({"x": np.arange(count * size, dtype=np.float32).reshape(count, size)})


def words(count=4000):
    rows = [np.arange(i % 17, dtype=np.int64) for i in range(count)]
    return flow.from_arrays({"tokens": rows, "label": np.arange(count)})


def columns(count):
    return flow.from_arrays({f"c{i}": np.arange(3000, dtype=np.float32) for i in range(count)})


def npy_files(folder, count):
    for i in range(count):
        np.save(folder / f"{i:04}.npy", np.full((1, 8), i, np.float32))
    return flow.Dataset({"x": flow.NpyReader(files=str(folder / "*.npy"))})


def csv(folder):
    (folder / "a.csv").write_text("a,b\n" + "".join(f"{i},{i / 3}\n" for i in range(20_000)))
    reader = flow.CSVReader(files=str(folder / "a.csv"), columns=["a:int64", "b:float32"])
    return flow.Dataset(reader)


def busy(seconds):
    end = clock() + seconds
    while clock() < end:
        pass


def slow(x):
    busy(0.0002)
    return x


def sleepy(x):
    time.sleep(0.0005)
    return x


LOCK = threading.Lock()


def locked(x):
    with LOCK:
        return x * 2


def damaged(x):
    if x[0] % 7 == 0:
        raise flow.CorruptDataError("a bad record")
    return x


# Name -> (data set of a folder, arguments of batch(), of DataLoader, steps at most, seconds of a
# training step).
PIPELINES = {
    "plain": (lambda _: numbers(), {"batch_size": 32}, {}, 400, 0),
    "plain, trained": (lambda _: numbers(), {"batch_size": 32}, {}, 100, 0.0005),
    "sleeping training": (lambda _: numbers(), {"batch_size": 32}, {}, 50, -0.001),
    "batches of 1": (lambda _: numbers(), {"batch_size": 1}, {}, 1000, 0),
    "batches of 1, trained": (lambda _: numbers(), {"batch_size": 1}, {}, 1000, 0.0001),
    "large batches": (lambda _: numbers(size=64), {"batch_size": 4000}, {}, 60, 0),
    "shuffled": (lambda _: numbers().shuffle(seed=1), {"batch_size": 64}, {}, 600, 0),
    "window": (lambda _: numbers().shuffle(kind="window", window=500, seed=1), {"batch_size": 64},
               {}, 600, 0),
    "short epochs": (lambda _: numbers(64), {"batch_size": 32}, {}, 400, 0),
    "one batch an epoch": (lambda _: numbers(32), {"batch_size": 32}, {}, 200, 0),
    "short epochs, trained": (lambda _: numbers(64), {"batch_size": 32}, {}, 100, 0.0003),
    "ragged": (lambda _: words(), {"batch_size": 32}, {}, 400, 0),
    "ragged, batches of 1": (lambda _: words(), {"batch_size": 1}, {}, 1000, 0),
    "padded": (lambda _: words().map(flow.Pad, "tokens", shape=[16]), {"batch_size": 16}, {},
               400, 0),
    "300 columns": (lambda _: columns(300), {"batch_size": 16}, {}, 150, 0),
    "300 columns, trained": (lambda _: columns(300), {"batch_size": 16}, {}, 80, 0.0005),
    "many files": (lambda at: npy_files(at, 600), {"batch_size": 16}, {}, 80, 0),
    "files, batches of 1": (lambda at: npy_files(at, 40), {"batch_size": 1}, {}, 200, 0),
    "csv": (csv, {"batch_size": 100}, {}, 300, 0),
    "python": (lambda _: numbers().map(slow, "x"), {"batch_size": 8}, {}, 50, 0),
    "python, trained": (lambda _: numbers().map(slow, "x"), {"batch_size": 8}, {}, 40, 0.001),
    "sleeping": (lambda _: numbers().map(sleepy, "x"), {"batch_size": 8}, {}, 40, 0),
    "64 threads": (lambda _: numbers().map(locked, "x"), {"batch_size": 32},
                   {"num_threads": 64}, 60, 0),
    "one thread": (lambda _: numbers(), {"batch_size": 32}, {"num_threads": 1}, 400, 0),
    "no prefetch": (lambda _: numbers().map(slow, "x"), {"batch_size": 4}, {"prefetch": 1}, 80, 0),
    "tuned": (lambda _: numbers(), {"batch_size": 32},
              {"num_threads": "auto", "prefetch": "auto"}, 400, 0),
    "damaged": (lambda _: numbers().map(damaged, "x"), {"batch_size": 8, "on_error": "skip"},
                {}, 60, 0),
    "remainders": (lambda _: numbers(100), {"batch_size": 32, "last": "drop"}, {}, 200, 0),
    "mixed": (lambda _: flow.mix([numbers(3000), numbers(2000)], seed=1), {"batch_size": 32},
              {}, 300, 0),
    "late views": (lambda _: numbers().skip(7).repeat(2).take(5000), {"batch_size": 32}, {}, 300,
                   0),
}  # fmt: skip


class Loop:
    """Takes batches, and times next() and the whole loop."""

    def __init__(self, loader, steps, train):
        self.inside = self.steps = 0
        self.begin = None
        while self.steps < steps:
            for _ in self._epoch(loader, steps):
                if train:
                    busy(train) if train > 0 else time.sleep(-train)
        self.all = self.end - self.begin

    def _epoch(self, loader, steps):
        batches = iter(loader)
        while self.steps < steps:
            asked = clock()
            self.begin = self.begin or asked
            batch = next(batches, None)
            self.end = clock()
            self.inside += self.end - asked
            if batch is None:
                return
            self.steps += 1
            yield batch


def of(stats, names):
    return sum(stats[f"{name}_seconds"] for name in names)


def near(found, expected):
    return abs(found - expected) <= max(NEAR * expected, TINY)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_shares_are_the_wall_clock(name, tmp_path):
    data, batch, options, steps, train = PIPELINES[name]
    blobs, found = data(tmp_path).batch(**batch).blobs, []
    for _ in range(3):  # another program may run between two clocks
        with flow.DataLoader(blobs, **options) as loader:
            loop = Loop(loader, steps, train)
            stats = loader.stats()
        shares = {one: round(stats[f"{one}_seconds"] * 1e3, 3) for one in INSIDE + OUTSIDE}
        inside, everything = of(stats, INSIDE), of(stats, INSIDE + OUTSIDE)
        found.append((inside, loop.inside, everything, loop.all, shares))
        assert min(shares.values()) >= 0
        steps_and_starts = stats["step_next_seconds"] + stats["start_seconds"]
        assert near(steps_and_starts, inside), (steps_and_starts, shares)
        if near(inside, loop.inside) and near(everything, loop.all):
            return
    raise AssertionError(found)


# ---- Records that take longer than others --------------------------------------------------------


def photos(folder, large):
    """40 small photos, of which one is large; returns its path."""
    image = pytest.importorskip("PIL.Image")
    (folder / "class").mkdir(parents=True)
    for i in range(40):
        side = 4000 if i == large else 40
        image.new("RGB", (side, side), (i, 2 * i, 90)).save(folder / "class" / f"{i:02}.jpg")
    return str(folder / "class" / f"{large:02}.jpg")


def test_a_large_photo_among_small_ones_is_named(tmp_path):
    path = photos(tmp_path / "photos", large=23)
    encoded, _ = flow.ImageFolderReader(str(tmp_path / "photos"))
    data = flow.Dataset({"image": encoded}).map(flow.ImageDecoder, "image")
    data = data.map(flow.Resize, "image", size=[32, 32]).batch(4)
    with flow.DataLoader(data.blobs, num_threads=2) as loader:
        said = ""
        for _ in range(20):  # other programs may make others slow
            list(loader)
            report = loader.report()
            said = next((one for one in str(report).split("\n") if one.startswith("slowest")), "")
            if "record 23 of 23.jpg" in said:
                break
    assert "record 23 of 23.jpg" in said, said
    slowest = [one for work in report.counters.work for one in work.slowest]
    assert path in [one.file for one in slowest]
    assert not any(work.largest for work in report.counters.work)  # its records are names
    after = loader.report()  # the loader is closed
    assert [work.slowest for work in after.counters.work] == [
        work.slowest for work in report.counters.work
    ]
    assert flow.Report.from_dict(json.loads(report.to_json())).counters == report.counters


def test_the_largest_record_is_named(tmp_path):
    write_parts(tmp_path / "parts", lines(0, 50), lines(50, 60) + b"7,%s8\n" % (b"0" * 500))
    with flow.DataLoader(flow.MiniReader(str(tmp_path / "parts"), batch_size=4)) as loader:
        list(loader)
        report = loader.report()
    found = [work.largest for work in report.counters.work if work.largest]
    assert [(one.file, one.record) for one in found] == [(str(tmp_path / "parts/part-001"), 60)]
    assert 500 < found[0].bytes < 510
    assert any(one.startswith("largest") and "record 60" in one for one in str(report).split("\n"))


def test_all_files_are_checked_once_an_epoch_in_a_thread_of_the_loader(tmp_path):
    with flow.DataLoader(npy_files(tmp_path, 300).batch(16).blobs) as loader:
        for _ in range(4):
            assert len(list(loader)) == 19
        stats = loader.stats()
        assert stats["file_checks"] == 4
        assert stats["check_seconds"] < 0.01  # 300 files are looked at by who reads them
        os.utime(tmp_path / "0299.npy")
        with pytest.raises(flow.FileError, match=r"0299\.npy.*changed while open"):
            list(loader)  # of the batches that were made before the change, some may come first
