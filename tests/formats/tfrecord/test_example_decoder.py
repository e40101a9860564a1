"""ExampleDecoder: what TensorFlow and the protobuf library read, conversions, and damage."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from formats.tfrecord.tfrecords import (
    FIXTURES,
    entry,
    example,
    field,
    floats,
    framed,
    ints,
    strings,
    varint,
    write,
)

import pyflowdata as flow

EXAMPLES = FIXTURES / "examples.tfrecord"


def decode(file, features, batch_size=64, reader=None, **attrs):
    """The columns of an epoch in one batch, by name; rows of ragged ones as lists."""
    rows = flow.TFRecordReader(files=file, batch_size=batch_size, **(reader or {}))
    blobs = flow.ExampleDecoder(rows, features=features, **attrs)
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    names = [blob.name.split("/", 1)[1] for blob in blobs]
    with flow.DataLoader(*blobs) as loader:
        batches = [batch if isinstance(batch, tuple) else (batch,) for batch in loader]
    assert len(batches) == 1
    return dict(zip(names, batches[0]))


@pytest.fixture
def one(tmp_path):
    """Decodes a file of one record, or of several."""

    def run(features, *records, **attrs):
        return decode(write(tmp_path / "one", records), features, **attrs)

    return run


def lists(ragged):
    return [row.tolist() for row in ragged]


def same_rows(found, truth, name):
    """A ragged batch and values with row_splits in rows of the first dimension."""
    np.testing.assert_array_equal(found.values.ravel(), truth[f"{name}.values"].ravel())
    np.testing.assert_array_equal(found.row_splits, truth[f"{name}.row_splits"])
    assert found.values.dtype == truth[f"{name}.values"].dtype


def test_features_that_are_no_outputs_are_left_out(tmp_path):
    one = lambda *said: example(**{"s": strings(*said), "": ints(1), "x": ints(2)})  # noqa: E731
    path = write(tmp_path / "a.tfrecord", [one(b"ab"), one()])
    data = flow.open(path)
    assert list(data.fields) == ["x"] and data.column("x").tolist() == [2, 2]
    path = write(tmp_path / "b.tfrecord", [example(s=strings(b"a", b"b"))])
    with pytest.raises(flow.InvalidArgumentError, match=r"no feature.*flow\.register_decoder"):
        flow.ExampleDecoder(flow.TFRecordReader(files=path, batch_size=1))


# ---- Names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "name"),
    [
        ("a:b:int64", "a:b"),
        ("a:b:int64=5", "a:b"),
        ("a:b:int64[1]", "a:b"),
        ("n=a:b:int64", "n"),
        ("n=a:b:int64=5", "n"),
        ("x:int64=1", "x"),
        ("n=x:int64", "n"),
    ],
)
def test_an_output_is_called_as_its_key(one, element, name):
    found = one([element], example(**{"a:b": ints(7), "x": ints(7)}))
    assert list(found) == [name] and found[name].ravel().tolist() == [7]


def test_defaults_may_have_colons(one):
    found = one(["a:b:bytes=x:y=z", "c:bytes=:"], example())
    assert [bytes(row) for row in found["a:b"]] == [b"x:y=z"]
    assert [bytes(row) for row in found["c"]] == [b":"]


# ---- What other libraries read -------------------------------------------------------------------


def test_as_parse_example_reads_it():
    truth = np.load(FIXTURES / "examples.npz")
    found = decode(
        EXAMPLES,
        """x:float32[4] label:int64 small:int64[3] maybe:int64=-1 name:bytes image:bytes
        vector:bytes ids:int64[?] weights:float32[?] boxes:float32[?,3]""".split(),
    )
    for name in "x label small maybe".split():
        np.testing.assert_array_equal(found[name], truth[name])
        assert found[name].dtype == truth[name].dtype
    for name in "name image vector ids weights boxes".split():
        same_rows(found[name], truth, name)
    assert found["boxes"].shape == (20, None, 3)


def test_raw_bytes_as_decode_raw_reads_them():
    truth = np.load(FIXTURES / "examples.npz")
    fields = ["a=image:uint8[2,3,1]", "b=vector:float32[3]", "c=vector:float32[?]"]
    found = decode(EXAMPLES, fields, decode_raw=["a", "b", "c"])
    np.testing.assert_array_equal(found["a"], truth["image_raw"])
    np.testing.assert_array_equal(found["b"], truth["vector_raw"])
    np.testing.assert_array_equal(found["c"].values.reshape(-1, 3), truth["vector_raw"])


def test_as_the_protobuf_library_reads_it():
    """Packed and not, merged, repeated, unknown, split: the cases are named in the .npz."""
    truth = np.load(FIXTURES / "wire.npz")
    found = decode(FIXTURES / "wire.tfrecord", ["x:float32[?]", "y:int64[?]"])
    for name in "xy":
        rows = np.split(truth[f"{name}.values"], truth[f"{name}.row_splits"][1:-1])
        for case, row, expected in zip(truth["cases"], found[name], rows):
            np.testing.assert_array_equal(row, expected, err_msg=str(case))
        same_rows(found[name], truth, name)


def test_unknown_fields_of_an_entry_are_passed_over(one):
    unknown = b"\x7a\x03xyz\x78\x96\x01"
    content = unknown + field(1, b"y") + unknown + field(2, ints(4, 5)) + unknown
    assert lists(one("y:int64[?]", field(1, field(1, content)))["y"]) == [[4, 5]]


def test_keys_in_any_order_and_more_than_are_remembered(one):
    keys = [f"key{i}" for i in range(100)]
    records = []
    for seed in range(5):
        random.Random(seed).shuffle(keys)
        records.append(example(**{key: ints(int(key[3:]) * 10 + seed) for key in keys}))
    fields = [f"key{i}:int64" for i in range(0, 100, 3)] + ["again=key3:float64=0.5"]
    with pytest.raises(flow.InvalidArgumentError, match="'key3' is int64 in the first 5 records"):
        one(fields, *records)
    found = one(fields[:-1] + ["again=key3:int32"], *records)
    for i in range(0, 100, 3):
        assert found[f"key{i}"].tolist() == [i * 10 + seed for seed in range(5)]
    assert found["again"].tolist() == found["key3"].tolist()


def test_order_and_skipping_through_a_shuffle(tmp_path):
    records = [example(y=ints(i), x=floats(i, i / 2)) for i in range(500)]
    records[77] = example(y=ints(77))
    file = write(tmp_path / "many", records)
    rows = flow.TFRecordReader(
        files=file, batch_size=16, random_shuffle=True, seed=1, on_error="skip", max_skipped=-1
    )
    x, y = flow.ExampleDecoder(rows, features=["x:float32[2]", "y:int32"])
    with flow.DataLoader(x, y) as loader:
        batches = list(loader)
        assert [error.ordinal for error in loader.skipped] == [77]
    found = np.concatenate([batch[1] for batch in batches])
    assert sorted(found.tolist()) == [i for i in range(500) if i != 77]
    np.testing.assert_array_equal(np.concatenate([b[0] for b in batches])[:, 1], found / 2)


# ---- Numbers -------------------------------------------------------------------------------------

LIMITS = {name: np.iinfo(name) for name in "int8 uint8 int16 uint16 int32 uint32 int64".split()}


def test_a_default_may_be_infinite(one):
    assert one(["x:float32=1e39"], example())["x"].tolist() == [float("inf")]


@pytest.mark.parametrize("dtype", [*LIMITS, "uint64", "bool"])
def test_integers_of_every_dtype(one, dtype):
    info = LIMITS.get(dtype)
    low, high = (info.min, info.max) if info else (0, 2**63 - 1 if dtype == "uint64" else 1)
    values = [low, high, 0, 1] * 40
    record = example(a=ints(*values), c=ints(high))
    found = one([f"a:{dtype}[160]", f"b=a:{dtype}[?]", f"c:{dtype}"], record)
    for column in (found["a"][0], found["b"][0]):
        assert column.dtype == dtype and column.tolist() == values
    assert found["c"].tolist() == [high]
    for wrong in (low - 1, high + 1):
        if not -(2**63) <= wrong < 2**63:
            continue
        many = ints(*[0] * 100, wrong)
        for spec in (f"a:{dtype}[101]", f"a:{dtype}[?]"):
            with pytest.raises(flow.CorruptDataError, match=f"'a': {wrong} is not a {dtype}"):
                one(spec, example(a=many))


def test_floats_and_their_bits(one):
    values = [1.5, -0.0, float("inf"), 3.4e38, 1e-45]
    found = one(["a:float32[5]", "b=a:float64[5]", "c=a:float64[?]"], example(a=floats(*values)))
    expected = np.array(values, np.float32)
    assert found["a"].tobytes() == expected.tobytes()
    for name in "bc":
        assert np.asarray(found[name][0]).tobytes() == expected.astype(np.float64).tobytes()


def test_shapes(one):
    row = example(a=ints(*range(6)), b=floats(7))
    found = one(["a:int16[2,3]", "c=a:int64[2,?]", "b:float32[1,1]", "d=b:float32[]"], row)
    assert found["a"].tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert found["c"][0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert (found["b"].tolist(), found["d"].tolist()) == ([[[7.0]]], [7.0])


def test_raw_numbers(one):
    raw = np.array([1.5, -2], "<f2").tobytes()
    found = one(["a:float16[2]", "b=a:uint8[?]", "c=a:int32"], example(a=strings(raw)),
                decode_raw=["a", "b", "c"])
    assert found["a"].tolist() == [[1.5, -2]] and found["a"].dtype == np.float16
    assert found["b"][0].tobytes() == raw
    assert found["c"].tobytes() == raw
    assert one("a:bool[3]", example(a=strings(b"\0\1\1")), decode_raw=["a"])["a"].tolist() == [
        [False, True, True]
    ]


# ---- What is missing, or not as expected ---------------------------------------------------------


@pytest.mark.parametrize("record", [b"", example(y=ints(1)), example(x=b""), example(X=floats(1))])
def test_a_missing_feature(one, record):
    fields = ["a=x:float32[2]=1.5,-2", "b=x:float64[3]=7", "c=x:int16=-5", "d=x:bool=true",
              "e=x:bytes=none = empty", "f=x:bytes=", "g=x:int64[?]", "h=x:float32[?,2]"]
    found = one(fields, record)
    dense = {name: found[name].tolist() for name in "abcd"}
    assert dense == {"a": [[1.5, -2]], "b": [[7, 7, 7]], "c": [-5], "d": [True]}
    assert [found[name][0].tobytes() for name in "efgh"] == [b"none = empty", b"", b"", b""]
    for spec in ("x:float32[2]", "x:int64", "x:bytes"):
        with pytest.raises(flow.CorruptDataError, match="'x' is missing.*no default"):
            one(spec, record)


MISMATCHES = {
    # values: what raise, pad, truncate and fit make of them for [3] with the default 7,8,9
    (1, 2): (None, [1, 2, 9], None, [1, 2, 9]),
    (): (None, [7, 8, 9], None, [7, 8, 9]),
    (1, 2, 3): ([1, 2, 3],) * 4,
    (1, 2, 3, 4): (None, None, [1, 2, 3], [1, 2, 3]),
}


@pytest.mark.parametrize("values", MISMATCHES)
@pytest.mark.parametrize("kind", ["packed", "loose", "floats", "raw"])
def test_another_number_of_values(one, values, kind):
    loose = field(3, b"".join(b"\x08" + varint(value) for value in values))
    feature = {"packed": ints(*values), "loose": loose, "floats": floats(*values),
               "raw": strings(np.array(values, "<i2").tobytes())}[kind]
    dtype = {"floats": "float32", "raw": "int16"}.get(kind, "int64")
    policies = dict(zip(("raise", "pad", "truncate", "fit"), MISMATCHES[values]))
    for policy, expected in policies.items():
        attrs = {"on_mismatch": policy, "decode_raw": ["a"] if kind == "raw" else []}
        if expected is None:
            with pytest.raises(flow.CorruptDataError, match=f"'a' has {len(values)} values"):
                one(f"a:{dtype}[3]=7,8,9", example(a=feature), **attrs)
        else:
            found = one(f"a:{dtype}[3]=7,8,9", example(a=feature), **attrs)
            assert found["a"].tolist() == [expected]


@pytest.mark.parametrize(
    ("spec", "feature", "message"),
    [
        ("a:float32", ints(1), "'a' holds an int64_list, and the field 'a:float32' reads a float"),
        ("a:int64", floats(1), "'a' holds a float_list, and the field 'a:int64' reads an int64"),
        ("a:int64[?]", strings(b"x"), "holds a bytes_list.*'decode_raw' reads the bytes"),
        ("a:bytes", ints(1), "holds an int64_list, and the field 'a:bytes' reads a bytes_list"),
        ("a:bytes", strings(b"x", b"y"), "'a' has 2 byte strings; the field 'a:bytes' takes one"),
        ("a:bytes", strings(), "'a' has 0 byte strings"),
        ("a:float32[?,3]", floats(1, 2), "'a' has 2 values, which is not a multiple of the 3"),
        ("a:float32[2]", field(2, field(1, b"12345678x")), "is not a tf.train.Example"),
        ("a:int64", field(3, field(1, b"\x80")), "is not a tf.train.Example"),
        ("a:int64[?]", field(3, field(1, b"\xff" * 11)), "is not a tf.train.Example"),
    ],
)
def test_a_feature_that_does_not_fit(one, spec, feature, message):
    with pytest.raises(flow.CorruptDataError, match=message) as caught:
        one(spec, example(a=feature))
    assert (caught.value.op, caught.value.ordinal) == ("ExampleDecoder", 0)
    assert caught.value.file.endswith("one")


def test_raw_bytes_that_do_not_fit(one):
    for spec, text in (("a:float32[2]", "9 bytes, which is not a multiple of the 4"),
                       ("a:uint8[8]", "'a' has 9 values"),
                       ("a:bool[9]", "byte 3 is 51, not a bool")):
        with pytest.raises(flow.CorruptDataError, match=text):
            one(spec, example(a=strings(b"\0\1\0" + b"3" * 6)), decode_raw=["a"])


def test_the_place_of_a_failure(one):
    record = example(first=ints(1), a=ints(300))
    with pytest.raises(flow.CorruptDataError) as caught:
        one("a:uint8", example(a=ints(3)), record)
    at = len(framed(example(a=ints(3)))) + 12 + record.index(b"\xac\x02")
    assert (caught.value.ordinal, caught.value.byte) == (1, at)


# ---- Attrs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (["a"], "a type is missing in the field 'a'"),
        (["a:int65"], "neither 'bytes' nor a dtype"),
        (["a:float16"], "float16"),
        (["a:int64[?,?]"], "more than one dimension varies"),
        (["a:int64[?,0]"], "another one is 0"),
        (["a:int64[?]=1"], "a missing feature is an empty row"),
        (["a:int64[3]=1,2"], "the default must be numbers"),
        (["a:int64=1.5"], "the default must be numbers"),
        (["a:uint8=256"], "the default must be numbers"),
        (["a:int64=9223372036854775808"], "the default must be numbers"),
        (["a:bool=yes"], "the default must be numbers"),
        (["a:float32="], "the default must be numbers"),
        (["a:float32[2]=1,,2"], "the default must be numbers"),
        (["a:int64[65536,65536]"], r"more than 2\^31 values"),
        ([], "features"),
        (["a:int64", "a:int32"], "a"),
    ],
)
def test_fields_that_cannot_be(fields, message):
    rows = flow.TFRecordReader(files=EXAMPLES, batch_size=4)
    with pytest.raises(flow.InvalidArgumentError, match=message):
        flow.ExampleDecoder(rows, features=fields)


def test_decode_raw_names_a_field():
    rows = flow.TFRecordReader(files=EXAMPLES, batch_size=4)
    with pytest.raises(flow.InvalidArgumentError, match="no field in 'features' has the name 'b'"):
        flow.ExampleDecoder(rows, features=["a=b:int64"], decode_raw=["b"])
    with pytest.raises(flow.InvalidArgumentError, match="reads bytes as numbers.* field 'b:bytes'"):
        flow.ExampleDecoder(rows, features=["b:bytes"], decode_raw=["b"])


def test_the_input_is_bytes():
    rows = flow.TFRecordReader(files=EXAMPLES, batch_size=4)
    x = flow.ExampleDecoder(rows, features=["x:float32[4]"])
    with pytest.raises(flow.InvalidArgumentError, match=re.escape("they must be bytes")):
        flow.ExampleDecoder(x, features=["x:float32[4]"])


@pytest.mark.parametrize("num_threads", [1, 3])
def test_dense_rows(tmp_path, num_threads):
    records = [
        example(i=ints(200 + i), s=strings(b"s%03d" % i), f=floats(i, i)) for i in range(500)
    ]
    (tmp_path / "rows").write_bytes(b"".join(records))
    rows = flow.RawReader(
        files=tmp_path / "rows", shape=[len(records[0])], dtype="uint8", batch_size=64
    )
    blobs = flow.ExampleDecoder(rows, features=["i:int32", "s:bytes", "f:float32[?]"])
    with flow.DataLoader(*blobs, num_threads=num_threads) as loader:
        found = [row for batch in loader for row in zip(*batch)]
    assert [int(i) for i, _, _ in found] == list(range(200, 700))
    assert [s.tobytes() for _, s, _ in found] == [b"s%03d" % i for i in range(500)]
    assert [f.tolist() for _, _, f in found] == [[i, i] for i in range(500)]


# ---- Damage --------------------------------------------------------------------------------------

RICH = example(
    x=floats(1, 2, 3), y=ints(1, 300, -1), name=strings(b"a name"), raw=strings(bytes(8))
) + b"\x7b\x0a\x02hi\x7c"
RICH_FIELDS = "x:float32[?] y:int64[?] name:bytes= raw:float64[1]=0".split()


def outcome(file):
    """What each record gives, skipping damaged ones."""
    rows = flow.TFRecordReader(files=file, batch_size=64, on_error="skip", max_skipped=-1)
    blobs = flow.ExampleDecoder(rows, features=RICH_FIELDS, decode_raw=["raw"], on_mismatch="fit")
    with flow.DataLoader(*blobs) as loader:
        rows = sum(len(batch[0]) for batch in loader)
        return rows, len(loader.skipped)


def test_a_record_cut_anywhere(tmp_path):
    """Its checksums are right: the message itself ends early."""
    file = write(tmp_path / "cut", [RICH[:size] for size in range(len(RICH))])
    rows, skipped = outcome(file)
    assert rows + skipped == len(RICH)
    assert rows == 2  # whole are no bytes at all, and the features without what follows them


def test_flipped_bits_and_bytes(tmp_path):
    draw = random.Random(11)
    records = []
    for _ in range(5 * 900):
        record = bytearray(RICH)
        for _ in range(draw.choice([1, 1, 2, 5])):
            at = draw.randrange(len(record))
            flips = draw.random() < 0.7
            record[at] = record[at] ^ 1 << draw.randrange(8) if flips else draw.randrange(256)
        if draw.random() < 0.2:
            del record[draw.randrange(len(record)) :]
        records.append(bytes(record))
    for part in range(5):
        file = write(tmp_path / f"flipped{part}", records[part * 900 : part * 900 + 900])
        rows, skipped = outcome(file)
        assert rows + skipped == 900 and rows > 100 and skipped > 100


def test_an_entry_is_no_map(one):
    said = "not a tf.train.Example: the field at byte 3"
    with pytest.raises(flow.CorruptDataError, match=said):
        one("a:int64", field(1, b"\x0a\x50abc"))
    assert entry("a", b"") == b"\x0a\x05\x0a\x01a\x12\x00"
