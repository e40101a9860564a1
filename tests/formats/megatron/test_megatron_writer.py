"""MegatronWriter: documents, shards, and tokens that do not fit."""

import struct

import numpy as np
import pytest
from support.written import ragged

import pyflowdata as flow
from pyflowdata.io import MegatronWriter


def megatron(prefix, dtype):
    """[document: [sequence: tokens]], checked as the format has it."""
    index = prefix.with_suffix(".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\0\0"
    version, code, count, documents = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1 and len(index) == 34 + 12 * count + 8 * documents
    lengths = np.frombuffer(index, "<i4", count, 34)
    offsets = np.frombuffer(index, "<i8", count, 34 + 4 * count)
    bounds = np.frombuffer(index, "<i8", documents, 34 + 12 * count)
    data = prefix.with_suffix(".bin").read_bytes()
    assert len(data) == lengths.sum() * np.dtype(dtype).itemsize
    assert bounds[0] == 0 and bounds[-1] == count
    one = [
        np.frombuffer(data, dtype, n, at).tolist()
        for n, at in zip(lengths.tolist(), offsets.tolist(), strict=True)
    ]
    return code, [one[a:b] for a, b in zip(bounds[:-1], bounds[1:], strict=True)]


@pytest.mark.parametrize("dtype, code", [("uint16", 8), ("int32", 4), ("int64", 5)])
def test_megatron_keeps_documents(dtype, code, tmp_path):
    with MegatronWriter(tmp_path / "a.bin", dtype=dtype) as writer:
        writer.write([1, 2, 3])
        writer.write([np.array([4]), [5, 6]])
        writer.write([])
        writer.write_batch(ragged([7, 8], [], [9], dtype=np.int64))
        writer.write_batch({"tokens": np.arange(4).reshape(2, 2)})
    assert writer.paths == (tmp_path / "a.bin", tmp_path / "a.idx")
    documents = [[[1, 2, 3]], [[4], [5, 6]], [[]], [[7, 8]], [[]], [[9]], [[0, 1]], [[2, 3]]]
    assert megatron(tmp_path / "a", dtype) == (code, documents)


def test_megatron_shards_and_empty_files(tmp_path):
    with MegatronWriter(tmp_path / "a", shard_records=2) as writer:
        writer.write_batch([[1], [2, 3], [4]])
    assert megatron(tmp_path / "a-00000-of-00002", "<i4")[1] == [[[1]], [[2, 3]]]
    assert megatron(tmp_path / "a-00001-of-00002", "<i4")[1] == [[[4]]]
    with MegatronWriter(tmp_path / "b"):
        pass
    assert megatron(tmp_path / "b", "<i4")[1] == []


def test_megatron_checks_tokens(tmp_path):
    with MegatronWriter(tmp_path / "a", dtype="uint16") as writer:
        with pytest.raises(flow.InvalidArgumentError, match=r"record 1\).*do not fit into uint16"):
            writer.write_batch([[1], [70000]])
        with pytest.raises(flow.InvalidArgumentError, match="not a sequence of tokens"):
            writer.write("text")
    with pytest.raises(flow.InvalidArgumentError, match="Megatron's files hold uint8"):
        MegatronWriter(tmp_path / "b", dtype="uint32")
