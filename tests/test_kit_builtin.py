"""The built-in readers and decoders pass the kit that plugins are checked with."""

import shutil
import tempfile
from pathlib import Path

import pytest

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata.registry import registered_ops

TESTS = Path(__file__).resolve().parent
DATA = str(TESTS.parent / "data")
SHARD = TESTS / "fixtures" / "webdataset" / "written.tar"
PARTS = tempfile.TemporaryDirectory()  # removed with the process


def as_part(file):
    """A folder of this file alone, for data_dir."""
    folder = Path(PARTS.name) / file.name
    folder.mkdir(exist_ok=True)
    shutil.copy(file, folder / "part-0")
    return str(folder)


def mini_rows():
    return flow.MiniReader(DATA, batch_size=4)


# Op -> the blobs of one use of it, over a sample.
SAMPLES = {
    "MiniReader": mini_rows,
    "TarReader": lambda: flow.TarReader(
        as_part(SHARD), fields=["cls", "image=img.jpg|png", "key=__key__"], batch_size=2
    ),
    "MiniDecoder": lambda: flow.MiniDecoder(mini_rows()),
    "Affine": lambda: flow.Affine(mini_rows(), scale=2.0, shift=-1.0, dtype="float32"),
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
    # Text without checksums: another digit is another number.
    expected = {"damage-unnoticed", "cut-unnoticed"} if op.is_reader else set()
    assert {finding.id for finding in report.findings} <= expected
    assert "loader" in report.groups and "records" in report.groups
