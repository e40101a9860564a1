"""SequenceExampleDecoder: context and lists of steps, as TensorFlow reads them, and damage."""

from __future__ import annotations

import random

import numpy as np
import pytest
from formats.tfrecord.tfrecords import (
    FIXTURES,
    field,
    floats,
    ints,
    sequence_example,
    strings,
    write,
)

import pyflowdata as flow

SEQUENCES = FIXTURES / "sequences.tfrecord"


def decode(file, features, **attrs):
    rows = flow.TFRecordReader(files=file, batch_size=64)
    blobs = flow.SequenceExampleDecoder(rows, features=features, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    with flow.DataLoader(*blobs) as loader:
        (batch,) = loader
    batch = batch if isinstance(batch, tuple) else (batch,)
    return dict(zip([blob.name.split("/", 1)[1] for blob in blobs], batch))


@pytest.fixture
def one(tmp_path):
    return lambda features, *records, **attrs: decode(
        write(tmp_path / "one", records), features, **attrs
    )


def test_as_parse_sequence_example_reads_it():
    truth = np.load(FIXTURES / "sequences.npz")
    fields = """label:int64 name:bytes ids:int64[?]
        frames=feature_lists/frames:float32[?,3] tokens=feature_lists/tokens:int64[?]
        pixels=feature_lists/pixels:uint8[?,6] extra=feature_lists/extra:int64[?,2]=""".split()
    found = decode(SEQUENCES, fields, decode_raw=["pixels"])
    np.testing.assert_array_equal(found["label"], truth["label"])
    for name in "name ids frames tokens pixels extra".split():
        values = truth[f"{name}.values"]
        np.testing.assert_array_equal(found[name].values.reshape(values.shape), values)
        assert found[name].values.dtype == values.dtype
        np.testing.assert_array_equal(found[name].row_splits, truth[f"{name}.row_splits"])


STEPS = [floats(1, 2), floats(3, 4), floats(5, 6)]


@pytest.mark.parametrize(
    ("steps", "policy", "expected"),
    [
        (STEPS, "raise", [[1, 2], [3, 4], [5, 6]]),
        (STEPS[:2], "raise", None),
        (STEPS[:2], "pad", [[1, 2], [3, 4], [0, 0]]),
        (STEPS[:2], "truncate", None),
        (STEPS + STEPS, "truncate", [[1, 2], [3, 4], [5, 6]]),
        ([floats(1), *STEPS], "fit", [[1, 0], [1, 2], [3, 4]]),
        ([floats(9, 8, 7)], "fit", [[9, 8], [0, 0], [0, 0]]),
        ([], "pad", [[0, 0]] * 3),
    ],
)
def test_a_fixed_number_of_steps(one, steps, policy, expected):
    record = sequence_example({}, {"f": steps})
    fields = "f=feature_lists/f:float32[3,2]"
    if expected is None:
        with pytest.raises(flow.CorruptDataError, match=f"'f' has {len(steps)} steps"):
            one(fields, record, on_mismatch=policy)
    else:
        assert one(fields, record, on_mismatch=policy)["f"].tolist() == [expected]


def test_a_missing_list(one):
    record = sequence_example({"f": floats(1)}, {})
    with pytest.raises(flow.CorruptDataError, match="feature list 'f' is missing.*as no steps"):
        one("f=feature_lists/f:float32[?,2]", record)
    found = one(["f=feature_lists/f:float32[?,2]=", "c=f:float32"], record)
    assert found["f"][0].shape == (0, 2) and found["c"].tolist() == [1]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (floats(1), "'f' has 1 values, and the field"),
        (ints(1, 2), "'f' holds an int64_list"),
        (b"", "'f' has 0 values in a step"),
    ],
)
def test_a_step_that_does_not_fit(one, step, message):
    record = sequence_example({}, {"f": [floats(1, 2), step]})
    with pytest.raises(flow.CorruptDataError, match=message):
        one("f=feature_lists/f:float32[?,2]", record)


def test_lists_and_context_in_pieces(one):
    """The last of equal keys counts, also across pieces; an entry's values are merged."""
    parts = [
        sequence_example({"a": ints(1)}, {"f": STEPS}),
        sequence_example({"a": ints(2)}, {"f": STEPS[:1]}),
        field(2, field(1, field(1, b"g") + b"".join(field(2, field(1, ints(i))) for i in (1, 2)))),
    ]
    fields = ["a:int64", "f=feature_lists/f:float64[?,2]", "g=feature_lists/g:int8[?]"]
    found = one(fields, b"".join(parts))
    assert found["a"].tolist() == [2]
    assert (found["f"][0].tolist(), found["g"][0].tolist()) == ([[1, 2]], [1, 2])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("feature_lists/:int64[?]", "a key is missing after"),
        ("feature_lists/f:bytes", "the steps are byte strings"),
        ("feature_lists/f:int64", "must begin with their number"),
        ("feature_lists/f:int64[?,?]", "only the first dimension"),
        ("feature_lists/f:int64[2,?]", "only the first dimension"),
        ("feature_lists/f:int64[?]=1", "default of a list of steps must be empty"),
        ("feature_lists/f:int64[2]=", "default of a list of steps must be empty"),
    ],
)
def test_fields_that_cannot_be(spec, message):
    rows = flow.TFRecordReader(files=SEQUENCES, batch_size=4)
    with pytest.raises(flow.InvalidArgumentError, match=message):
        flow.SequenceExampleDecoder(rows, features=[f"f={spec}"])


def test_cut_and_flipped_records(tmp_path):
    whole = sequence_example(
        {"a": ints(5)}, {"f": STEPS, "t": [ints(i) for i in range(4)], "s": [strings(b"1234")] * 2}
    )
    draw, records = random.Random(3), [whole[:size] for size in range(len(whole))]
    while len(records) < 2700:
        record = bytearray(whole)
        for _ in range(draw.choice([1, 1, 3])):
            record[draw.randrange(len(record))] ^= 1 << draw.randrange(8)
        records.append(bytes(record))
    fields = ["a:int64=0", "f=feature_lists/f:float32[?,2]=", "t=feature_lists/t:int32[?]=",
              "s=feature_lists/s:uint8[?,4]="]
    for part in range(3):
        file = write(tmp_path / f"flipped{part}", records[part * 900 : part * 900 + 900])
        rows = flow.TFRecordReader(files=file, batch_size=64, on_error="skip", max_skipped=-1)
        blobs = flow.SequenceExampleDecoder(rows, features=fields, decode_raw=["s"])
        with flow.DataLoader(*blobs) as loader:
            kept = sum(len(batch[0]) for batch in loader)
            assert kept + len(loader.skipped) == 900 and 50 < kept < 850
