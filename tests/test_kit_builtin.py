"""The built-in readers and decoders pass the kit that plugins are checked with."""

import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import testing
from pyflowdata.registry import registered_ops

DATA = str(Path(__file__).resolve().parent.parent / "data")
FIXTURES = Path(__file__).resolve().parent / "fixtures"
TOKENS = str(Path(__file__).resolve().parent / "fixtures" / "megatron" / "uint16.bin")
MADE: dict[str, str] = {}  # see made()
NPY_BYTES = 128 + 24


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


def text_lines():
    """Ragged rows of an even number of bytes."""
    return flow.TextLineReader(made("lines"), batch_size=4)


def made(kind):
    """A folder of files, made once."""
    if not MADE:
        for name in ("lines", "classes", "arrays"):
            MADE[name] = tempfile.mkdtemp(prefix=f"pyflowdata-{name}-")
        chance = random.Random(0)
        lines = ["".join(chance.choices("abc", k=2 * chance.randrange(1, 25))) for _ in range(37)]
        Path(MADE["lines"], "part-0").write_text("\n".join(lines))
        numbers = [str(chance.randrange(-(10**6), 10**6)) for _ in range(37)]
        Path(MADE["classes"], "part-0").write_text("\n".join(numbers))
        for i in range(20):
            array = np.arange(6, dtype=np.int32).reshape(2, 3) + i
            np.save(Path(MADE["arrays"], f"part-{i:02}"), array)
            Path(MADE["arrays"], f"part-{i:02}.npy").rename(
                Path(MADE["arrays"], f"part-{i:02}")
            )
    return MADE[kind]


# Op -> the blobs of one use of it, over a sample.
SAMPLES = {
    "MiniReader": mini_rows,
    "CSVReader": lambda: flow.CSVReader(DATA, columns=["xy=0..1", "x=0:bytes"], batch_size=4),
    "TextLineReader": lambda: flow.TextLineReader(DATA, batch_size=4),
    "MiniDecoder": lambda: flow.MiniDecoder(mini_rows()),
    "TFRecordReader": lambda: tf_records("examples.tfrecord"),
    "ExampleDecoder": lambda: flow.ExampleDecoder(
        tf_records("examples.tfrecord"), features=["x:float32[4]", "ids:int64[?]", "name:bytes"]
    ),
    "SequenceExampleDecoder": lambda: flow.SequenceExampleDecoder(
        tf_records("sequences.tfrecord"), features=["f=feature_lists/frames:float32[?,3]"]
    ),
    "MegatronReader": lambda: flow.MegatronReader(files=TOKENS, batch_size=4),
    "GPTReader": lambda: flow.GPTReader(files=TOKENS, seq_length=32, batch_size=4),
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

# What cannot be noticed: text has no checksums, another digit is another number; files of frames
# may end behind any of them.
UNNOTICED = {
    "MiniReader": {"damage-unnoticed", "cut-unnoticed"},
    "CSVReader": {"damage-unnoticed", "cut-unnoticed"},
    "TextLineReader": {"damage-unnoticed", "cut-unnoticed"},
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


@pytest.mark.parametrize("attrs", [{"gaps": True}, {"dtype": "uint16"}, {"file_access": "read"}],
                         ids=lambda attrs: next(iter(attrs)))
def test_the_other_ways_of_a_token_reader_pass(attrs):
    assert testing.check_reader(
        flow.GPTReader(files=TOKENS, seq_length=32, batch_size=4, **attrs)
    ).passed


def test_megatrons_order_passes_but_for_shuffling_it():
    """The kit shuffles each reader at last, which this order refuses."""
    blob = flow.GPTReader(files=TOKENS, seq_length=32, order="megatron", num_samples=90)
    with pytest.raises(testing.CheckFailed, match="random order already") as caught:
        testing.check_reader(blob)
    assert [fault.id for fault in caught.value.report.faults] == ["loader-fails"]
