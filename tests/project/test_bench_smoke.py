"""The benchmark finds out what a loader delivers wrongly.  `make bench-smoke` runs all of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from bench import (
    clips, data, digits, documents, examples, photos, programs, reservoir, rows, table, tokens,
    wide_text,
)  # fmt: skip
from bench import text as text_data
from support.paths import ROOT


@pytest.fixture
def text(tmp_path, monkeypatch):
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    small = text_data.Text(0.02, parts=3)
    small.prepare()
    return small


def columns(text, parts=None):
    tables = [np.loadtxt(path, delimiter=",", ndmin=2) for path in text.files(parts)]
    return np.concatenate(tables).T.copy()


def verdict(text, batches):
    check = data.Check()
    for x, y in batches:
        check.add(x, y)
    return text.truth()[0].compare(check.found())


def test_the_files_are_the_same_each_time(text, tmp_path):
    before = [open(path).read() for path in text.files()]
    (tmp_path / text.name / "manifest.json").unlink()
    assert text.prepare() == text.prepare()
    assert before == [open(path).read() for path in text.files()]
    assert all(0 <= value < 10 for value in columns(text)[0])


def test_a_changed_file_is_found(text):
    with open(text.files()[1], "r+") as file:
        file.write("9")
    with pytest.raises(SystemExit, match="were changed"):
        text.prepare()


@pytest.mark.parametrize(
    "made",
    [
        clips.Clips(0.02),
        examples.Examples(0.7),
        examples.OFRecords(0.02),
        digits.Images(0.02, epochs=2),
        photos.Photos(0.02, parts=1, epochs=2),
        tokens.Tokens(9),
        wide_text.WideText(0.02),
        rows.ArrowRows(0.02, parts=1),
        rows.ParquetRows(0.02, parts=1),
    ],
    ids=lambda made: made.KIND,
)
def test_each_data_set_says_how_many_rows_and_bytes_an_epoch_has(tmp_path, monkeypatch, made):
    if isinstance(made, rows.ArrowRows):
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    made.prepare()
    truth, size = made.truth()
    epochs = getattr(made, "epochs", 1)
    assert truth.rows == made.part_records * made.parts * made.ROWS * epochs
    assert size == sum(map(os.path.getsize, made.files())) * epochs
    assert data.from_description(data.described(made)) == made


def test_a_pinned_process_has_one_core_from_its_start():
    allowed = os.sched_getaffinity(0)
    command = [sys.executable, "-c", "import os; print(len(os.sched_getaffinity(0)))"]
    with programs.pinned(1):
        assert subprocess.check_output(command) == b"1\n"
    assert os.sched_getaffinity(0) == allowed


def test_rows_in_any_order_and_form_are_right(text):
    x, y = columns(text)
    order = np.random.default_rng(1).permutation(len(x))
    assert verdict(text, [(x, y)]) == "exact"
    assert verdict(text, [(x[i : i + 1], y[[i]].reshape(1, 1)) for i in order]) == "exact"
    assert text.truth(2)[0].rows == len(columns(text, 2)[0])


def test_what_is_wrong_is_found(text):
    x, y = columns(text)
    assert "rows instead of" in verdict(text, [(x[1:], y[1:])])
    assert "x_sum is" in verdict(text, [(np.append(x[1:], 77.0), y)])
    assert verdict(text, [(np.nextafter(x, 11), y)]) == "rounded"
    assert verdict(text, [(np.roll(x, 1), y)]) != "exact"


@pytest.mark.parametrize("rows", [100, 4096, 65_536])
def test_shuffle_buffer_delivers_each_row_once(rows):
    x = np.arange(200_001.0)
    tables = [(part, -part) for part in (x[:150_000], x[150_000:])]
    batches = list(reservoir.shuffled(tables, rows))
    found = np.concatenate([batch[0] for batch in batches])
    assert (np.concatenate([batch[1] for batch in batches]) == -found).all()
    assert not (found == x).all() and (np.sort(found) == x).all()


def rounds(*seconds):
    sizes = {"bytes": 1e6, "rows": 1e6, "check": "exact"}
    return [each and {**sizes, "seconds": each, "cpu": each} for each in seconds]


def test_ratios_are_taken_within_a_round():
    results = {"ours": rounds(1, 4, 2), "a": rounds(3, 4, None), "b": rounds(30, 40, 20)}
    assert table.best(results, ["a", "b"]) == "a"
    against_a = table.compared("/ a", "a")
    assert [against_a.show(results, name) for name in results] == ["2", "1", "0.1"]
    lines = table.render(results, list(results), [against_a, table.CHECK]).splitlines()
    assert lines[3:] == ["| a | 1 | exact, failed |", "| b | 0.1 | exact |"]


def test_one_core_stands_beside_all():
    results = {"ours": rounds(1, 4), "ours-one-core": [*rounds(2), None]}
    columns = table.one_core([table.RATE, table.CPU])
    assert table.render(results, ["ours"], columns).splitlines() == [
        "| contender | MB/s, one core | all cores | speed-up | CPU s/M rows, one core | all cores "
        "| times | check |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| ours | 0.5 | 0.625 | 2 | 2 | 2.5 | 0.5 | exact, failed |",
    ]


def test_a_row_with_parts_of_another_has_another_digest():
    ((_, text, lengths, values),) = rows._columns(3, 3, part=0)
    whole, end = rows.digests(text, lengths, values), lengths[0]
    assert len(set(whole)) == 3 and (whole < 2**53).all()
    backwards = np.concatenate([text[:end][::-1], text[end:]])
    for found in [
        rows.digests(text, lengths, values[::-1]),
        rows.digests(text, lengths, values[:, ::-1]),
        rows.digests(backwards, lengths, values),
    ]:
        assert found[0] != whole[0]


def test_padding_of_packs_is_not_counted():
    padded = np.array([[5, 6, 0], [7, 0, 0]])
    x, _ = documents.batch_of(padded, np.array([[1, 2, 0], [1, 0, 0]]))
    assert len(x) == 3 and np.asarray(x).tolist() == [5, 6, 7]


def test_photographs_are_known_again_whatever_part_is_delivered():
    random, labels = np.random.RandomState(1), np.arange(0, 10, 3)
    images = np.stack([photos.picture(random, label)[-224:, -224:] for label in labels])
    found = np.asarray(photos.Delivered(images, labels))
    assert (abs(found - photos.level(labels)) < 20).all()
    normal = (images - np.float32(photos.MEAN)) / np.float32(photos.STD)
    whole = photos.Normalised(normal.transpose(0, 3, 1, 2), labels)
    assert np.allclose(whole, found, atol=1e-3)
    for wrong, of in [
        (images, labels[::-1]),
        (images[..., ::-1], labels),
        (images[:, :-1], labels),
        (images.astype(np.float32), labels),
        (images // 4 + 70, labels),
    ]:
        with pytest.raises(ValueError):
            np.asarray(photos.Delivered(wrong, of))


def test_means_of_photographs_may_differ_by_chance_only():
    truth = photos.About(400, x_sum=400 * 115.0, y_sum=1800)
    assert truth.compare(data.Truth(400, 400 * 116.5, 1800)) == "close"
    assert "from those of the images" in truth.compare(data.Truth(400, 400 * 118.0, 1800))
    assert "labels' sum" in truth.compare(data.Truth(400, 400 * 115.0, 1801))
    assert "399 rows" in truth.compare(data.Truth(399, 400 * 115.0, 1800))


BESIDE = """
import time
from bench.autotune import Others
print(*(one.pid for one in Others(1).programs), flush=True)
time.sleep(60)
"""


def state_of(pid):
    """As in proc(5): "R" for a process that runs, "T" for a stopped one, "Z": it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_programs_beside_end_with_a_benchmark_that_is_killed():
    """Also while they are stopped, and cannot notice."""
    with subprocess.Popen(
        [sys.executable, "-c", BESIDE], stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:  # fmt: skip
        pid, end = int(process.stdout.readline()), time.monotonic() + 20
        while state_of(pid) != "T" and time.monotonic() < end:
            time.sleep(0.01)
        process.kill()
    try:
        while state_of(pid) != "Z" and time.monotonic() < end:
            time.sleep(0.01)
        assert state_of(pid) == "Z"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
