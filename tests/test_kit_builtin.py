"""The built-in readers and decoders pass the kit that plugins are checked with."""

import shutil
import tempfile
from pathlib import Path

import pytest

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata.registry import registered_ops

DATA = str(Path(__file__).resolve().parent.parent / "data")
FIXTURES = Path(__file__).resolve().parent / "fixtures"


def mini_rows():
    return flow.MiniReader(DATA, batch_size=4)


FOLDERS = []  # as long as the tests


def part_of(path):
    """A folder in which a file is the only part: the kit puts damaged ones in its place."""
    FOLDERS.append(tempfile.TemporaryDirectory())
    shutil.copy(path, Path(FOLDERS[-1].name, "part-0"))
    return FOLDERS[-1].name


def tf_records(name):
    return flow.TFRecordReader(part_of(FIXTURES / "tensorflow" / name), batch_size=4)


# Op -> the blobs of one use of it, over a sample.
SAMPLES = {
    "MiniReader": mini_rows,
    "CSVReader": lambda: flow.CSVReader(DATA, columns=["xy=0..1", "x=0:bytes"], batch_size=4),
    "TextLineReader": lambda: flow.TextLineReader(DATA, batch_size=4),
    "MiniDecoder": lambda: flow.MiniDecoder(mini_rows()),
    "Affine": lambda: flow.Affine(mini_rows(), scale=2.0, shift=-1.0, dtype="float32"),
    "TFRecordReader": lambda: tf_records("examples.tfrecord"),
    "ExampleDecoder": lambda: flow.ExampleDecoder(
        tf_records("examples.tfrecord"), features=["x:float32[4]", "ids:int64[?]", "name:bytes"]
    ),
    "SequenceExampleDecoder": lambda: flow.SequenceExampleDecoder(
        tf_records("sequences.tfrecord"), features=["f=feature_lists/frames:float32[?,3]"]
    ),
}
# What cannot be noticed: text has no checksums, another digit is another number; files of frames
# may end behind any of them.
UNNOTICED = {
    "MiniReader": {"damage-unnoticed", "cut-unnoticed"},
    "TFRecordReader": {"cut-unnoticed"},
}


def built_in():
    return {op.name: op for op in registered_ops() if op.origin == "built in"}


def test_every_built_in_op_has_a_sample_here():
    assert set(SAMPLES) == set(built_in())


@pytest.mark.parametrize("name", SAMPLES)
def test_it_passes(name):
    op = built_in()[name]
    check = testing.check_reader if op.is_reader else testing.check_decoder
    report = check(SAMPLES[name]())
    assert report.passed and report.op == name
    expected = UNNOTICED.get(name, set())
    assert {finding.id for finding in report.findings} <= expected
    assert "loader" in report.groups and "records" in report.groups
