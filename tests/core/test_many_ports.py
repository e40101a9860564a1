"""Nodes whose inputs and outputs are decided by the user, and files that he names."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import pyflowdata as flow

pytestmark = pytest.mark.usefixtures("test_ops")


@pytest.fixture
def pairs(tmp_path):
    (tmp_path / "part-0").write_text("".join(f"{i},{i * i}\n" for i in range(10)))
    rows = flow.MiniReader(tmp_path, batch_size=4)
    return flow.MiniDecoder(rows)


def test_an_op_takes_and_makes_as_many_as_said(pairs):
    x, y = pairs
    a, b, c = flow.ManyPorts(x, y, x, outputs=["first=0", "square=1", "again=2"], scale=2.0)
    assert [blob.name for blob in (a, b, c)] == [
        "ManyPorts/first", "ManyPorts/square", "ManyPorts/again"
    ]
    with flow.DataLoader({"a": a, "b": b, "c": c}) as loader:
        batches = list(loader)
    for key, expected in {"a": np.arange(10), "b": np.arange(10) ** 2, "c": np.arange(10)}.items():
        found = np.concatenate([batch[key] for batch in batches])
        np.testing.assert_array_equal(found.ravel(), 2.0 * expected)


def test_blobs_may_come_in_a_tuple_and_one_output_comes_alone(pairs):
    alone = flow.ManyPorts(pairs, outputs="square=1")
    assert isinstance(alone, flow.Blob) and alone.name == "ManyPorts/square"
    assert len(alone.node.inputs) == 2
    assert [port.name for port in alone.node.op.inputs] == ["in[0]", "in[1]"]


def test_a_node_with_own_ports_is_pickled(pairs):
    again = pickle.loads(pickle.dumps(flow.ManyPorts(*pairs, outputs=["a=1", "b=0"])))
    assert [blob.name for blob in again] == ["ManyPorts/a", "ManyPorts/b"]


def test_the_builder_asks_for_all_or_for_some(pairs):
    builder = flow.user_op_builder("m").Op("many_ports").Input("in", list(pairs))
    op = builder.Attr("outputs", ["a=0", "b=1"]).Output("out", 2).Build()
    assert [blob.name for blob in op.RemoteBlobList()] == ["m/a", "m/b"]
    builder = flow.user_op_builder("m").Op("many_ports").Input("in", list(pairs))
    op = builder.Attr("outputs", ["a=0", "b=1"]).Output("b").Build()
    assert op.SoleOutputBlob().name == "m/b"
    builder = flow.user_op_builder("m").Op("many_ports").Input("in", list(pairs))
    with pytest.raises(flow.InvalidArgumentError, match="requested 3 times.*names 2"):
        builder.Attr("outputs", ["a=0", "b=1"]).Output("out", 3).Build()


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        ([], "attr 'outputs' is empty"),
        (["=1"], "does not begin with the name"),
        (["a=0", "a=1"], "has the name of an earlier one"),
        (["a=2"], "a=2 is no input"),
    ],
)
def test_names_that_cannot_be(pairs, outputs, found):
    with pytest.raises(flow.InvalidArgumentError, match=found):
        flow.ManyPorts(*pairs, outputs=outputs)


def test_no_blob_and_no_blob_at_all(pairs):
    with pytest.raises(flow.InvalidArgumentError, match="input 'in' is missing"):
        flow.ManyPorts(outputs=["a=0"])
    with pytest.raises(flow.InvalidArgumentError, match=r"input 'in\[1\]' is of type int"):
        flow.ManyPorts(pairs[0], 3, outputs=["a=0"])


# ---- Readers -------------------------------------------------------------------------------------
def lines(folder, names):
    for name in names:
        (folder / name).write_bytes(b"".join(b"%c%d\n" % (name[-1].encode(), i) for i in range(3)))


def read(**attrs):
    with flow.DataLoader(flow.NamedReader(columns="c=0", batch_size=100, **attrs)) as loader:
        (batch,) = loader
        return batch.tobytes().decode()


def test_outputs_of_a_reader_stand_before_mask_and_id(tmp_path):
    lines(tmp_path, ["a"])
    digit, letter, ids = flow.NamedReader(
        files=tmp_path / "a", columns=["digit=1", "letter=0"], with_id=True, batch_size=3
    )
    with flow.DataLoader(digit, letter, ids) as loader:
        ((digits, letters, numbers),) = loader
    assert digits.tobytes() == b"012" and letters.tobytes() == b"aaa"
    np.testing.assert_array_equal(numbers, [[0, 0], [0, 1], [0, 2]])
    with pytest.raises(flow.InvalidArgumentError, match="that an output of every reader has"):
        flow.NamedReader(files=tmp_path / "a", columns=["id=1"])


def test_outputs_may_be_called_as_attrs(tmp_path):
    lines(tmp_path, ["part-0"])
    blobs = flow.NamedReader(tmp_path, columns=["files=0", "seed=1", "with_mask=0"], batch_size=3)
    assert [blob.name.partition("/")[2] for blob in blobs] == ["files", "seed", "with_mask"]


def test_files_are_a_path_a_pattern_or_a_list(tmp_path):
    lines(tmp_path, ["x-b", "x-a", "x-c", "y-d"])
    assert read(files=tmp_path / "x-b") == "bbb"
    assert read(files=str(tmp_path / "x-*")) == "aaabbbccc"
    assert read(files=[tmp_path / "y-d", tmp_path / "x-[ab]"]) == "dddaaabbb"
    (tmp_path / "q[1]").write_bytes(b"q\n")
    assert read(files=tmp_path / "q[1]") == "q"


def test_companions_stand_behind_the_files(tmp_path):
    lines(tmp_path, ["a", "b"])
    (tmp_path / "a.more").write_bytes(b"A\n")
    (tmp_path / "b.more").write_bytes(b"B\n")
    both = [tmp_path / "b", tmp_path / "a"]
    assert read(files=both, has_companions=True) == "bbbaaaBA"
    (tmp_path / "a.more").unlink()
    with pytest.raises(flow.FileError, match="a.more"):
        read(files=both, has_companions=True)


def test_a_path_that_is_replaced(tmp_path):
    lines(tmp_path, ["a", "b"])
    (tmp_path / "c.more").write_bytes(b"C\n")
    (tmp_path / "b.more").write_bytes(b"B\n")
    more = [tmp_path / "c", tmp_path / "b"]
    assert read(files=more, has_companions=True) == "CbbbB"
    with pytest.raises(flow.InvalidArgumentError, match="c.more' is named twice"):
        read(files=[tmp_path / "c.more", tmp_path / "c"], has_companions=True)
    with pytest.raises(flow.FileError, match="d.more: attr 'files': the file is not there"):
        read(files=[tmp_path / "d"], has_companions=True)
    with pytest.raises(flow.FileError, match="c: attr 'files': the file is not there"):
        read(files=more)


@pytest.mark.parametrize(
    ("attrs", "found"),
    [
        ({}, "no files are given"),
        ({"data_dir": "d", "files": "f"}, "both data_dir = \"d\" and files"),
        ({"files": "f", "data_part_num": 2}, "data_part_num, which goes with data_dir"),
        ({"files": ["f", 3]}, "files"),
    ],
)
def test_what_cannot_be_asked_for(attrs, found):
    with pytest.raises(flow.InvalidArgumentError, match=found):
        read(**attrs)


def test_files_that_cannot_be_found(tmp_path):
    lines(tmp_path, ["a"])
    with pytest.raises(flow.FileError, match="the file is not there"):
        read(files=tmp_path / "missing")
    with pytest.raises(flow.FileError, match="no file matches the pattern"):
        read(files=tmp_path / "*.txt")
    with pytest.raises(flow.InvalidArgumentError, match="named twice"):
        read(files=[tmp_path / "a", tmp_path / "*"])
    with pytest.raises(flow.UnsupportedError, match="nosuch"):
        read(files="nosuch://bucket/part-0")
    with pytest.raises(flow.Error, match="a folder"):
        read(files=tmp_path)
    with pytest.raises(flow.FileError, match=f'give files = "{tmp_path}/a"'):
        read(data_dir=tmp_path / "a")
