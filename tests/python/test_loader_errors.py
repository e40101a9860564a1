"""What errors say, and where a loader goes on after one."""

import os
import pickle

import pytest

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter
from support.face import interrupt, loader


def test_error_text():
    error = flow.CorruptDataError(
        "no number", op="MiniReader", file="data/part-001", line=7, byte=48, ordinal=15
    )
    assert str(error) == "MiniReader: data/part-001:7 (byte 48): no number"
    assert str(flow.FileError("gone", file="a")) == "a: gone"
    assert str(flow.FileError("gone", file="a", ordinal=3, byte=9)) == "a (record 3, byte 9): gone"
    assert str(flow.Error("just this")) == "just this"
    empty = flow.CorruptDataError("nothing", reason="no-records", records=0, attr="files")
    for one in (error, empty):
        same = pickle.loads(pickle.dumps(one))
        assert (type(same), str(same), vars(same)) == (type(one), str(one), vars(one))


def test_what_a_program_decides_by(tmp_path):
    """Reason, attr and counts come from C beside the message."""
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(tmp_path, batch_size=0)
    assert (caught.value.attr, caught.value.reason) == ("batch_size", None)
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(tmp_path, batch_size="8")
    assert caught.value.attr == "batch_size"
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniReader(tmp_path, batch_size=3, rank=0, world_size=2)
    assert (caught.value.attr, caught.value.reason) == ("batch_size", "world-size")
    (tmp_path / "part-0").write_text("\n")
    with pytest.raises(flow.CorruptDataError) as caught:
        flow.DataLoader(flow.MiniReader(tmp_path))
    assert (caught.value.reason, caught.value.records) == ("no-records", None)
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for _ in range(3):
            writer.write(b"0123456789")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(flow.CorruptDataError) as caught:
        flow.DataLoader(flow.TFRecordReader(files=path))
    assert (caught.value.records, caught.value.reason, caught.value.attr) == (2, None, None)


def test_file_of_an_error_can_be_opened(tmp_path):
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    with open(folder + b"/part-0", "wb") as file:
        file.write(b"1,2\nx,2\n")
    with flow.DataLoader(flow.MiniReader(os.fsdecode(folder))) as opened:
        next(batches := iter(opened))
        with pytest.raises(flow.CorruptDataError) as caught:
            next(batches)
    with open(caught.value.file, "rb") as file:
        assert file.read() == b"1,2\nx,2\n"
    assert "/\\udcff/part-0:2" in str(caught.value)


def test_errors_are_what_python_calls_them():
    for error, builtin in {
        flow.InvalidArgumentError: ValueError,
        flow.CorruptDataError: ValueError,
        flow.FileError: OSError,
        flow.UnsupportedError: RuntimeError,
        flow.OutOfMemoryError: MemoryError,
        flow.CancelledError: RuntimeError,
        flow.UserFunctionError: RuntimeError,
        flow.InternalError: RuntimeError,
    }.items():
        assert issubclass(error, builtin) and issubclass(error, flow.Error)
        assert str(error("text", op="MiniReader")) == "MiniReader: text"


def test_loop_goes_on_behind_a_bad_batch(tmp_path):
    (tmp_path / "part-0").write_text("1,2\n2,2\nx,2\n4,2\n5,2\n")
    with flow.DataLoader(flow.MiniReader(tmp_path, batch_size=2)) as opened:
        iterator = iter(opened)
        next(iterator)
        with pytest.raises(flow.CorruptDataError, match=r"part-0:3 \(byte 8\)") as caught:
            next(iterator)
        assert (caught.value.line, caught.value.byte, caught.value.ordinal) == (3, 8, 2)
        assert opened.state_dict()["position"] == 1
        assert next(iterator)[0, 0] == 5
        assert opened.state_dict()["epoch"] == 1
        assert list(iterator) == []


def test_endless_loop_goes_on_behind_bad_batches_alone(tmp_path):
    (tmp_path / "part-0").write_text("x,2\n")
    with flow.DataLoader(flow.MiniReader(tmp_path)) as opened:
        endless = opened.repeat()
        for epoch in range(3):
            with pytest.raises(flow.CorruptDataError):
                next(endless)
            assert opened.epoch == epoch


def test_failures_that_pass_nothing_over_move_nothing(tmp_path, monkeypatch):
    (tmp_path / "part-0").write_text("".join(f"{n},0\n" for n in range(300)))
    with flow.DataLoader(flow.MiniReader(tmp_path), prefetch=1, memory_budget=8192) as opened:
        iterator, held = iter(opened), []
        with pytest.raises(flow.OutOfMemoryError):
            while True:
                held.append(next(iterator))
        position = opened.state_dict()["position"]
        assert 1 < position == len(held)
        for _ in range(3):
            with pytest.raises(flow.OutOfMemoryError):
                next(iterator)
        assert opened.state_dict()["position"] == position
        interrupt(monkeypatch, iterator)
        held.clear()
        assert [batch[0, 0] for batch in iterator] == list(range(position, 300))


def test_bad_batch_is_met_again_after_an_interrupt(tmp_path, monkeypatch):
    """The loader goes back behind what was delivered last, as a state taken there would."""
    (tmp_path / "part-0").write_text("0,0\nx,0\n2,0\n")
    with flow.DataLoader(flow.MiniReader(tmp_path)) as opened:
        iterator = iter(opened)
        next(iterator)
        for _ in range(2):
            with pytest.raises(flow.CorruptDataError):
                next(iterator)
            interrupt(monkeypatch, iterator)
        with pytest.raises(flow.CorruptDataError):
            next(iterator)
        assert [batch[0, 0] for batch in iterator] == [2]
