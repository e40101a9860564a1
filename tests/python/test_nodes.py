"""The graph itself: nodes and blobs that travel to another process by pickle."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from support import programs
from support.files import lines, rows, write_parts

import pyflowdata as flow


def graph(folder, **attrs):
    record = flow.MiniReader(folder, batch_size=4, with_id=True, name="rows", **attrs)
    x, y = flow.MiniDecoder(record[0])
    return {"id": record[1], "x": flow.Affine(x, scale=2.0, dtype="float32"), "y": y}


def batches(blobs):
    with flow.DataLoader(blobs) as loader:
        return [{name: array.tolist() for name, array in batch.items()} for batch in loader]


def test_a_pickled_graph_gives_the_same_batches(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 7), lines(7, 19))
    blobs = graph(folder, random_shuffle=True, seed=3)
    expected = batches(blobs)
    assert len(expected) == 5 and expected[0]["x"] != expected[1]["x"]
    copied = pickle.loads(pickle.dumps(blobs))
    assert batches(copied) == expected
    assert [repr(blob) for blob in copied.values()] == [repr(blob) for blob in blobs.values()]


def test_blobs_of_one_node_stay_so(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 7))
    blobs = graph(folder)
    copied = pickle.loads(pickle.dumps(blobs))
    reader = copied["id"].node
    assert copied["y"].node.inputs[0].node is reader
    assert copied["y"] is copied["y"].node.outputs[1]


def test_another_process_reads_the_pickle(tmp_path):
    folder = write_parts(tmp_path / "in", lines(0, 7))
    (tmp_path / "graph").write_bytes(pickle.dumps(graph(Path(folder))))
    code = (
        "import pickle, sys, numpy, pyflowdata as flow\n"
        "blobs = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(numpy.concatenate(list(flow.DataLoader(blobs['y']))).ravel().tolist())"
    )
    done = programs.run(code, tmp_path / "graph")
    assert done.stdout.strip() == str(rows(0, 7)[:, 1].tolist()), done.stderr


def test_a_rank_that_was_left_open_is_found_where_it_is_unpickled(monkeypatch):
    left_open = [flow.MiniReader("data", batch_size=4, **attrs) for attrs in ({}, {"rank": -1})]
    given = flow.MiniReader("data", batch_size=4, rank=0, world_size=2)
    pickled = pickle.dumps([*left_open, given])
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    found = [blob.node.worlds[0] for blob in pickle.loads(pickled)]
    assert [(world.rank, world.world_size) for world in found] == [(3, 4), (3, 4), (0, 2)]


def test_values_are_the_node_s_own():
    folders = {"scale": np.float64(3), "dtype": np.dtype("float32")}
    (record,) = flow.MiniReader("data", batch_size=2, with_mask=True)[:1]
    node = flow.Affine(record, **folders).node
    assert node.values == {"scale": [3.0], "dtype": "float32"}
    assert [type(value) for value in node.values.values()] == [list, str]


def test_an_op_that_is_not_known_there_is_named():
    module, name = "pyflowdata.nodes.node", "_rebuild_node"
    pickled = pickle.dumps(flow.MiniReader("data", batch_size=2))
    assert module.encode() in pickled and name.encode() in pickled
    with pytest.raises(flow.InvalidArgumentError, match="MiniReade"):
        pickle.loads(pickled.replace(b"MiniReader", b"MiniReadex"))
