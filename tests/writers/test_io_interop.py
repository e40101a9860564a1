"""What is written, read by the libraries whose formats these are, where they are installed."""

import os

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter, TarWriter, encode_examples, encode_sequence_example

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.fixture(scope="module")
def tf():
    return pytest.importorskip("tensorflow", reason="the package tensorflow is not here")


COLUMNS = {
    "x": np.linspace(-1, 1, 40, dtype=np.float32).reshape(10, 4),
    "y": np.array([0, 1, -1, 127, 128, 2**31, -(2**31), 2**63 - 1, -(2**63), 5]),
    "s": [b"", b"a", "é".encode(), b"\0\xff", bytes(300), *[b"z"] * 5],
    "v": flow.Ragged(np.arange(45), np.cumsum([0, *range(10)])),
}


@pytest.mark.parametrize("compression", [None, "gzip", "zlib"])
def test_tensorflow_reads_examples(tf, compression, tmp_path):
    with TFRecordWriter(tmp_path / "a", compression=compression) as writer:
        writer.write_batch(COLUMNS)
        for row in range(10):
            writer.write({name: column[row] for name, column in COLUMNS.items()})
    packed = "" if compression is None else compression.upper()
    spec = {
        "x": tf.io.FixedLenFeature([4], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
        "s": tf.io.FixedLenFeature([], tf.string),
        "v": tf.io.VarLenFeature(tf.int64),
    }
    records = tf.data.TFRecordDataset(str(tmp_path / "a"), packed)
    found = [tf.io.parse_single_example(record, spec) for record in records]
    assert len(found) == 20
    for number, one in enumerate(found):
        row = number % 10
        assert np.array_equal(one["x"], COLUMNS["x"][row]) and int(one["y"]) == COLUMNS["y"][row]
        assert one["s"].numpy() == COLUMNS["s"][row]
        assert tf.sparse.to_dense(one["v"]).numpy().tolist() == COLUMNS["v"][row].tolist()


def test_protobuf_takes_examples_for_its_own(tf):
    for row, data in enumerate(encode_examples(COLUMNS)):
        message = tf.train.Example.FromString(data)
        assert message.ByteSize() == len(data)
        again = tf.train.Example.FromString(message.SerializeToString())
        assert again == message and message.features.feature["y"].int64_list.value[:] == [
            COLUMNS["y"][row]
        ]


def test_tensorflow_reads_sequence_examples(tf):
    data = encode_sequence_example(
        {"id": 7, "w": ["a", b"b"]}, {"t": np.arange(6).reshape(3, 2), "f": np.float32([1, 2])}
    )
    context, lists = tf.io.parse_single_sequence_example(
        data,
        {"id": tf.io.FixedLenFeature([], tf.int64), "w": tf.io.VarLenFeature(tf.string)},
        {
            "t": tf.io.FixedLenSequenceFeature([2], tf.int64),
            "f": tf.io.FixedLenSequenceFeature([], tf.float32),
        },
    )
    assert int(context["id"]) == 7 and context["w"].values.numpy().tolist() == [b"a", b"b"]
    assert lists["t"].numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    assert lists["f"].numpy().tolist() == [1, 2]


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_webdataset_reads_samples(compression, tmp_path):
    wds = pytest.importorskip("webdataset", reason="the package webdataset is not here")
    suffix = ".tar.gz" if compression else ".tar"
    keys = ["a", "dir/b", "é", "long/" * 40 + "c"]
    with TarWriter(tmp_path / f"a{suffix}", compression=compression, shard_records=3) as writer:
        for number, key in enumerate(keys):
            writer.write({"__key__": key, "cls": number, "npy": np.arange(number), "txt": "é"})
    urls = [str(path) for path in writer.paths]
    found = [*wds.WebDataset(urls, shardshuffle=False).decode()]
    assert [one["__key__"] for one in found] == keys
    assert [one["cls"] for one in found] == [0, 1, 2, 3]
    assert all(one["txt"] == "é" for one in found)
    assert [one["npy"].tolist() for one in found] == [[*range(n)] for n in range(4)]
