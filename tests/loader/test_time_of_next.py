"""Records that take longer or are larger than others are named, and files are checked beside the
loop."""

import json
import os
import time

import numpy as np
import pytest
from support.files import lines, write_parts

import pyflowdata as flow


def npy_files(folder, count):
    for i in range(count):
        np.save(folder / f"{i:04}.npy", np.full((1, 8), i, np.float32))
    return flow.Dataset({"x": flow.NpyReader(files=str(folder / "*.npy"))})


def test_the_shares_of_the_time_lie_within_the_loop(tmp_path):
    """By how much they are less is measured by tests/reports/measured_suite.py."""
    inside = ("wait", "help", "lock", "check", "turn", "hand_out", "convert")
    for batch_size, train in ((1, 0.0), (16, 0.001)):
        blobs, spent = npy_files(tmp_path, 40).batch(batch_size).blobs, 0.0
        with flow.DataLoader(blobs, num_threads=1) as loader:
            begin = time.perf_counter()
            for _ in range(2):
                batches = iter(loader)
                while True:
                    asked = time.perf_counter()
                    batch = next(batches, None)
                    spent += time.perf_counter() - asked
                    if batch is None:
                        break
                    time.sleep(train)
            whole, stats = time.perf_counter() - begin, loader.stats()
        shares = [stats[f"{name}_seconds"] for name in (*inside, "outside", "between")]
        assert min(shares) >= 0 and min(stats["hand_out_seconds"], stats["outside_seconds"]) > 0
        assert sum(shares[:-2]) <= spent and sum(shares) <= whole
        assert stats["step_train_seconds"] >= train * stats["steps"]


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
    photo = next(one for one in slowest if one.file == path)
    assert not any(work.largest for work in report.counters.work)  # its records are names
    after = loader.report()  # the loader is closed
    assert photo in [one for work in after.counters.work for one in work.slowest]
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
        os.utime(tmp_path / "0299.npy")
        with pytest.raises(flow.FileError, match=r"0299\.npy.*changed while open"):
            list(loader)  # of the batches that were made before the change, some may come first
