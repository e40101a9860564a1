"""The command that writes the records of files in another format."""

import gzip
import io
import json
import os
import re
import signal
import struct
import tarfile
import time

import numpy as np
import pytest
from support import programs
from support.cli_files import COLUMNS, N, S, V, X, Y, convert, damage, examples, read, starts, write
from support.command import here

from pyflowdata.cli import conversion
from pyflowdata.formats import Target
from pyflowdata.formats import open_source
from pyflowdata.io import NpyWriter, RawWriter, TFRecordWriter, TextLineWriter


def test_tfrecord_to_csv_and_back(here, tmp_path):
    path = examples(tmp_path)
    out = convert(here, path, tmp_path / "b.csv")
    assert out == f"TFRecord to CSV: 300 records in {tmp_path / 'b.csv'}\n"
    convert(here, tmp_path / "b.csv", tmp_path / "c.tfrecord", "--float32")
    (tmp_path / "large.csv").write_text("f\n1.5\n1e308\n")
    for target in ("d.tfrecord", "d.npy"):
        status, _, err = here("convert", tmp_path / "large.csv", tmp_path / target, "--float32")
        assert status == 1 and re.search(r"1e\+308.*float32 (does not hold|holds about)", err)
    found = read(tmp_path / "c.tfrecord")
    assert np.array_equal(found["x"], X) and np.array_equal(found["y"], Y) and found["s"] == S
    convert(here, tmp_path / "c.tfrecord", tmp_path / "d.csv")
    assert (tmp_path / "d.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_records_are_the_same_bytes_again(here, tmp_path):
    columns = dict(sorted({**COLUMNS, "v": V}.items()))
    path = examples(tmp_path, columns)
    convert(here, path, tmp_path / "b.tfrecord.gz")
    convert(here, tmp_path / "b.tfrecord.gz", tmp_path / "c.tfrecord")
    assert (tmp_path / "c.tfrecord").read_bytes() == path.read_bytes()
    plain = examples(tmp_path, [b"no", b"examples"], name="p")
    convert(here, plain, tmp_path / "q.tfrecord")
    assert (tmp_path / "q.tfrecord").read_bytes() == plain.read_bytes()


def test_tfrecord_to_ofrecord_and_back(here, tmp_path):
    convert(here, examples(tmp_path), tmp_path / "b", "--to", "ofrecord")
    convert(here, tmp_path / "b", tmp_path / "c.tfrecord")
    found = read(tmp_path / "c.tfrecord")
    assert np.array_equal(found["x"], X) and np.array_equal(found["y"], Y) and found["s"] == S


def test_one_field_to_arrays(here, tmp_path):
    path = examples(tmp_path)
    convert(here, path, tmp_path / "x.npy", "--fields", "x")
    assert np.array_equal(np.load(tmp_path / "x.npy"), X)
    convert(here, path, tmp_path / "x.raw", "--fields", "x")
    assert (tmp_path / "x.raw").read_bytes() == X.tobytes()
    convert(here, path, tmp_path / "y", "--to", "idx", "--fields", "y")
    assert (tmp_path / "y").read_bytes() == struct.pack(">II", 0xC01, N) + Y.astype(">i4").tobytes()
    convert(here, tmp_path / "x.npy", tmp_path / "x.idx", "--to", "idx")
    convert(here, tmp_path / "x.idx", tmp_path / "again.npy", "--format", "idx")
    assert (tmp_path / "again.npy").read_bytes() == (tmp_path / "x.npy").read_bytes()


def test_raw_files_by_attrs(here, tmp_path):
    write(RawWriter, tmp_path / "a", X)
    attrs = ["--format", "raw", "--attr", "dtype=float32", "--attr", "shape=4"]
    convert(here, tmp_path / "a", tmp_path / "b.npy", *attrs)
    assert np.array_equal(np.load(tmp_path / "b.npy"), X)


def test_tokens_to_megatron_and_back(here, tmp_path):
    path = examples(tmp_path, {"v": V})
    convert(here, path, tmp_path / "m.bin", "--to", "megatron")
    assert (tmp_path / "m.bin").read_bytes() == np.arange(2 * N, dtype="<i8").tobytes()
    convert(here, tmp_path / "m.idx", tmp_path / "b.tfrecord")
    assert read(tmp_path / "b.tfrecord")["tokens"] == V.to_list()


def test_samples_to_tar_and_back(here, tmp_path):
    convert(here, examples(tmp_path), tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert archive.getnames()[:3] == ["000000000.s", "000000000.x.npy", "000000000.y.cls"]
        assert archive.extractfile("000000007.y.cls").read() == str(Y[7]).encode()
        files = [archive.extractfile(f"{i:09d}.x.npy").read() for i in range(N)]
        x = [np.load(io.BytesIO(one)) for one in files]
    assert np.array_equal(x, X)
    convert(here, tmp_path / "a.tar", tmp_path / "b.tar")
    assert (tmp_path / "b.tar").read_bytes() == (tmp_path / "a.tar").read_bytes()


def test_lines_from_one_file_to_several(here, tmp_path):
    path = write(TextLineWriter, tmp_path / "a.txt", S)
    convert(here, path, tmp_path / "part-{shard:03d}", "--to", "text", "--shard-records", 130)
    texts = [(tmp_path / f"part-00{i}").read_bytes().split() for i in range(3)]
    assert [len(one) for one in texts] == [130, 130, 40] and sum(texts, []) == S


@pytest.mark.parametrize("jobs, packed", [(1, None), (2, None), (1, "gzip")])
def test_shards_hold_what_one_file_holds(jobs, packed, here, tmp_path, monkeypatch):
    """Shards need not begin with a batch, either; a stream is read by one process."""
    monkeypatch.setattr(conversion, "rows_of_batch", lambda *_: 64)
    path = examples(tmp_path, compression=packed)
    out = convert(here, path, tmp_path / "b.npy", "--fields", "x", "--shards", 7, "--jobs", jobs)
    parts = [np.load(tmp_path / f"b-0000{i}-of-00007.npy") for i in range(7)]
    assert {len(part) for part in parts} == {42, 43} and np.array_equal(np.concatenate(parts), X)
    assert "300 records in" in out and "b-00006-of-00007.npy" in out
    assert not [one for one in os.listdir(tmp_path) if one.startswith(".")]


@pytest.mark.parametrize(
    "code, arguments, says",
    [
        (2, ["b.jpg"], "does not say the format; say --to FORMAT"),
        (1, ["b.npy"], "a file has one field, and there are s, x, y"),
        (1, ["b.npy", "--fields", "s"], "s is bytes, which npy cannot hold"),
        (1, ["b.txt", "--fields", "x"], "x is float32[4], which text cannot hold"),
        (2, ["b.csv", "--shards", "0"], "--shards 0: it must be 1 or more"),
        (2, ["b.csv", "--shards", "2", "--shard-records", "2"], "not both"),
        (2, ["b.csv", "--shards", "2", "--skip-damaged"], "make one only"),
        (2, ["b.csv", "--to", "cifar"], "invalid choice"),
    ],
)
def test_calls_that_make_no_sense(code, arguments, says, here, tmp_path):
    target, *options = arguments
    status, _, err = here("convert", examples(tmp_path), tmp_path / target, *options)
    assert status == code and says in err
    assert err.startswith("usage: ") == (code == 2)  # only where no file can make it right
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    assert here("convert", tmp_path / "a.tfrecord")[0] == 2


def test_what_is_there_stays_unless_asked(here, tmp_path):
    path = examples(tmp_path)
    (tmp_path / "b.csv").write_text("mine")
    status, _, err = here("convert", path, tmp_path / "b.csv")
    assert status == 1 and "b.csv: it is there already; remove it, or say --overwrite" in err
    assert (tmp_path / "b.csv").read_text() == "mine"
    convert(here, path, tmp_path / "b.csv", "--overwrite")
    assert (tmp_path / "b.csv").read_text() != "mine"


def test_damage_stops_a_conversion_or_is_left_out(here, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    damage(path, at[270] + 20)
    status, _, err = here("convert", path, tmp_path / "b.npy", "--fields", "x", "--quiet")
    assert status == 1 and "record 270" in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]
    status, _, err = here("convert", path, tmp_path / "b.npy", "--fields", "x", "--skip-damaged")
    first, last = err.splitlines()
    assert status == 0 and "a.tfrecord (record 270" in first and last == "1 damaged record left out"
    assert np.array_equal(np.load(tmp_path / "b.npy"), np.delete(X, 270, axis=0))


def test_many_damaged_records_are_counted_and_the_first_named(here, tmp_path):
    path, at = examples(tmp_path), starts(COLUMNS)
    for record in range(10, 150, 10):
        damage(path, at[record] + 20)
    status, out, err = here("convert", path, tmp_path / "b.csv", "--skip-damaged", "--quiet")
    *named, more, last = err.splitlines()
    assert status == 0 and "286 records" in out
    assert len(named) == 5 and "(record 10" in named[0] and "(record 50" in named[4]
    assert (more, last) == ("... and 9 more", "14 damaged records left out")


def background(*arguments):
    return programs.start(programs.COMMAND, *arguments, stderr=programs.PIPE)


def test_a_conversion_that_is_killed_goes_on(here, tmp_path):
    """Workers end with the command: one that lived on would keep the pipe of stderr open."""
    path = examples(tmp_path, {"x": np.tile(X, (50, 1))})
    manifest = tmp_path / ".b.csv.convert" / "manifest.json"
    arguments = ["convert", path, tmp_path / "b.csv", "--shards", 30, "--jobs", 2]
    process = background(*arguments)
    give_up = time.monotonic() + 60
    while not manifest.exists() and process.poll() is None and time.monotonic() < give_up:
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == [".b.csv.convert", "a.tfrecord"]
    done = json.loads(manifest.read_text())["done"]
    assert 0 < len(done) < 30
    times = {one: (manifest.parent / f"{int(one):05d}").stat().st_mtime_ns for one in done}
    status, out, err = here(*arguments[:-2], "--jobs", 1)
    assert status == 0 and f"{len(done)} of 30 shards are there already" in err
    made = [tmp_path / f"b-{i:05d}-of-00030.csv" for i in range(30)]
    assert sorted(tmp_path.iterdir()) == sorted([path, *made])
    assert all(made[int(one)].stat().st_mtime_ns == when for one, when in times.items())
    convert(here, path, tmp_path / "whole.csv")
    lines = [one.read_text().split("\n", 1) for one in made]
    assert {head for head, _ in lines} == {"x[0],x[1],x[2],x[3]"}
    body = "".join(text for _, text in lines)
    assert body == (tmp_path / "whole.csv").read_text().split("\n", 1)[1]


def test_a_killed_worker_is_one_sentence(tmp_path):
    path = examples(tmp_path, {"x": np.tile(X, (500, 1))})
    arguments = ["convert", path, tmp_path / "b.csv", "--shards", 30, "--jobs", 2, "--quiet"]
    process = background(*arguments)
    give_up = time.monotonic() + 60
    while not (tmp_path / ".b.csv.convert/manifest.json").exists() and time.monotonic() < give_up:
        time.sleep(0.001)
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        workers = [int(one) for one in children.read().split()]
    os.kill(workers[-1], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert re.fullmatch(
        rf"pyflowdata: .*process of the conversion \(pid {workers[-1]}\) was killed by SIGKILL.*\n",
        err,
    )
    assert not (tmp_path / "b.csv").exists()


def test_a_folder_or_lock_that_another_user_put_there_is_not_used(here, tmp_path):
    path, folder = examples(tmp_path), tmp_path / ".b.csv.convert"
    victim = tmp_path / "victim"
    victim.write_text("of another user")
    folder.mkdir()
    (folder / "lock").symlink_to(victim)
    status, _, err = here("convert", path, tmp_path / "b.csv")
    assert status == 1 and "a link is in the place of the lock" in err
    assert victim.read_text() == "of another user"
    (folder / "lock").unlink()
    folder.rmdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there/kept").touch()
    folder.symlink_to(tmp_path / "there")
    status, _, err = here("convert", path, tmp_path / "b.csv")
    assert status == 1 and "it is no folder; remove it" in err
    assert os.listdir(tmp_path / "there") == ["kept"]
    folder.unlink()
    if os.geteuid() == 0:  # who can give a folder to another user
        folder.mkdir()
        os.chown(folder, 12345, -1)
        status, _, err = here("convert", path, tmp_path / "b.csv")
        assert status == 1 and "it belongs to another user; remove it" in err
        folder.rmdir()
    convert(here, path, tmp_path / "b.csv")


def test_a_source_that_has_changed_is_started_again(here, tmp_path, monkeypatch):
    path, target = examples(tmp_path), tmp_path / "b.csv"
    arguments = ["convert", path, target, "--shards", 3, "--jobs", 1, "--quiet"]
    original = conversion.Conversion.note

    def fail(self, number, records):
        original(self, number, records)
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr(conversion.Conversion, "note", fail)
    status, _, err = here(*arguments)
    assert status == 1 and "b.csv: No space left on device" in err
    assert sorted(os.listdir(tmp_path)) == [".b.csv.convert", "a.tfrecord"]
    monkeypatch.setattr(conversion.Conversion, "note", original)
    write(TFRecordWriter, path, {**COLUMNS, "y": Y + 1}, overwrite=True)
    status, _, err = here(*arguments)
    assert status == 0 and "have changed: starting again" in err
    parts = [tmp_path / f"b-0000{i}-of-00003.csv" for i in range(3)]
    body = [one.split(",")[-1] for part in parts for one in part.read_text().split("\n")[1:-1]]
    assert [int(one) for one in body] == (Y + 1).tolist()


def test_the_case_of_a_suffix_says_nothing(here, tmp_path):
    convert(here, examples(tmp_path), tmp_path / "B.CSV.GZ")
    assert gzip.decompress((tmp_path / "B.CSV.GZ").read_bytes()).count(b"\n") == N + 1


def test_two_conversions_to_one_name(here, tmp_path):
    path = examples(tmp_path)
    source = open_source([path])
    target = Target(str(tmp_path / "b.csv"), "csv")
    first = conversion.Conversion(source, target, [0, N], "data")
    with first.at_work():
        status, _, err = here("convert", path, tmp_path / "b.csv")
        assert status == 1 and "another process is converting to this name" in err
    assert os.listdir(tmp_path) == ["a.tfrecord"]


def test_empty_files_are_converted_where_their_fields_are_known(here, tmp_path):
    npy, record = write(NpyWriter, tmp_path / "a.npy", X[:0]), examples(tmp_path, [])
    convert(here, npy, tmp_path / "b.npy")
    assert np.load(tmp_path / "b.npy").shape == (0, 4)
    out = convert(here, record, tmp_path / "b.tfrecord", "--shards", 3)
    assert "0 records" in out and (tmp_path / "b.tfrecord").read_bytes() == b""
    status, _, err = here("convert", record, tmp_path / "b.csv")
    assert status == 1 and "has no records, so that their fields are not known" in err


def test_space_that_is_too_little_is_an_error_before_anything_is_written(
    here, tmp_path, monkeypatch
):
    """The size is what the first records take as a file, times their number."""
    monkeypatch.setattr(conversion, "rows_of_batch", lambda *_: 64)
    free = os.statvfs(tmp_path)
    path, packed = examples(tmp_path), examples(tmp_path, name="p.tfrecord", compression="gzip")
    for name, of, is_known in (("c.raw", path, True), ("d.raw", packed, False)):
        for blocks, options in ((4799, []), (4799, ["--ignore-space"]), (4800, [])):
            values = free[:1] + (1,) + free[2:4] + (blocks,) + free[5:]
            with monkeypatch.context() as fewer:
                fewer.setattr(os, "statvfs", lambda *_, found=values: os.statvfs_result(found))
                given = (of, tmp_path / name, "--fields", "x", "--overwrite", *options)
                status, _, err = here("convert", *given)
            size = "about 4.8 KB" if is_known else "a size that is not known yet"
            assert f"{size} to write, and 4.8 KB free" in err
            fails = is_known and blocks < 4800 and not options
            assert status == fails and (tmp_path / name).exists() != fails
            assert ("c.raw" in err and "make room" in err and "--ignore-space" in err) == fails
            assert len(os.listdir(tmp_path)) == 2 + (tmp_path / name).exists()
            (tmp_path / name).unlink(missing_ok=True)
    status, _, err = here("convert", path, tmp_path / "d.raw", "--fields", "x", "--quiet")
    assert status == 0 and err == ""
    shards = ["--shards", "3", "--jobs", "1"]
    _, _, err = here("convert", path, tmp_path / "t", "--to", "tar", *shards)
    made = sum(one.stat().st_size for one in tmp_path.glob("t-*"))
    assert re.search(r"about (\d+) KB to write", err)
    assert float(re.search(r"about (\d+) KB", err)[1]) * 1000 == pytest.approx(made, rel=0.1)
