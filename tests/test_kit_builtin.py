"""The built-in readers and decoders pass the kit that plugins are checked with."""

import random
import tempfile
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata.registry import registered_ops

DATA = str(Path(__file__).resolve().parent.parent / "data")
FOLDERS: dict[str, str] = {}  # see made()
NPY_BYTES = 128 + 24


def mini_rows():
    return flow.MiniReader(DATA, batch_size=4)


def text_lines():
    """Ragged rows of an even number of bytes."""
    return flow.TextLineReader(made("lines"), batch_size=4)


def made(kind):
    """A folder of files, made once."""
    if not FOLDERS:
        for name in ("lines", "classes", "arrays"):
            FOLDERS[name] = tempfile.mkdtemp(prefix=f"pyflowdata-{name}-")
        chance = random.Random(0)
        lines = ["".join(chance.choices("abc", k=2 * chance.randrange(1, 25))) for _ in range(37)]
        Path(FOLDERS["lines"], "part-0").write_text("\n".join(lines))
        numbers = [str(chance.randrange(-(10**6), 10**6)) for _ in range(37)]
        Path(FOLDERS["classes"], "part-0").write_text("\n".join(numbers))
        for i in range(20):
            array = np.arange(6, dtype=np.int32).reshape(2, 3) + i
            np.save(Path(FOLDERS["arrays"], f"part-{i:02}"), array)
            Path(FOLDERS["arrays"], f"part-{i:02}.npy").rename(
                Path(FOLDERS["arrays"], f"part-{i:02}")
            )
    return FOLDERS[kind]


# Op -> the blobs of one use of it, over a sample.
SAMPLES = {
    "MiniReader": mini_rows,
    "CSVReader": lambda: flow.CSVReader(DATA, columns=["xy=0..1", "x=0:bytes"], batch_size=4),
    "TextLineReader": lambda: flow.TextLineReader(DATA, batch_size=4),
    "MiniDecoder": lambda: flow.MiniDecoder(mini_rows()),
    "GeneratorReader": lambda: flow.GeneratorReader(
        range(300), fields=["x:int64"], batch_size=4, thread_safe=True
    ),
    "Affine": lambda: flow.Affine(mini_rows(), scale=[2.0, 3.0], shift=-1.0, dtype="float32"),
    "Cast": lambda: flow.Cast(text_lines(), dtype="float16"),
    "Concat": lambda: flow.Concat(text_lines(), axis=-1),
    "DecodeClass": lambda: flow.DecodeClass(flow.TextLineReader(made("classes"), batch_size=4)),
    "DecodeNpy": lambda: flow.DecodeNpy(
        flow.RawReader(made("arrays"), dtype="uint8", shape=[NPY_BYTES], batch_size=4),
        dtype="int32", shape=[-1, 3],
    ),
    "DecodeRaw": lambda: flow.DecodeRaw(text_lines(), dtype="uint16", shape=[-1, 1]),
    "OneHot": lambda: flow.OneHot(text_lines(), depth=256, dtype="int16"),
    "Pad": lambda: flow.Pad(text_lines(), shape=[50], with_mask=True, with_length=True),
    "PadBatch": lambda: flow.PadBatch(text_lines(), with_mask=True, with_length=True),
    "Slice": lambda: flow.Slice(text_lines(), start=[-2], step=[-1]),
}  # fmt: skip


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
