"""Objects of a store that lists and takes uploads: what opening costs, writing, indexes, commands."""

import subprocess
import sys

import numpy as np
import pytest
from remote.bucket import storing
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata import io
from pyflowdata.remote import configure

pytest.importorskip("obstore")


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """An empty one, s3://b."""
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / "indexes"))
    monkeypatch.setenv("PYFLOWDATA_CACHE", str(tmp_path / "cache"))
    with storing({}) as server:
        start(tmp_path / "cache", server)
        yield server


def start(folder, server):
    """Begins with a cache, and with no facts of objects."""
    configure(cache_dir=folder, budget="1GB", options={"s3://b": server.options})


def shards(server, tmp_path, count):
    with io.TFRecordWriter(tmp_path / "one.tfrecord") as out:
        out.write({"x": np.arange(5)})
    data = (tmp_path / "one.tfrecord").read_bytes()
    for shard in range(count):
        server.files[f"b/t/{shard:05d}.tfrecord"] = data
    return "s3://b/t/*.tfrecord"


def rows(data):
    with flow.DataLoader(data.batch(4096)) as loader:
        return sum(len(batch["x"]) if isinstance(batch, dict) else len(batch[0])
                   for batch in loader)  # fmt: skip


def test_an_opening_takes_a_request_for_each_file_and_the_next_one_a_list(bucket, tmp_path):
    count = 1000
    pattern = shards(bucket, tmp_path, count)
    assert rows(flow.open(pattern).shuffle(seed=1)) == count
    assert bucket.kinds["GET"] == count
    assert bucket.kinds["LIST"] <= 2 and bucket.kinds["HEAD"] == 0
    bucket.kinds.clear()
    start(tmp_path / "cache", bucket)
    assert rows(flow.open(pattern)) == count
    assert bucket.kinds["LIST"] <= 2 and bucket.kinds.total() == bucket.kinds["LIST"]
    # Without the list of the pattern, the folder's is asked for, not each object.
    bucket.kinds.clear()
    start(tmp_path / "cache", bucket)
    files = [f"s3://b/t/{shard:05d}.tfrecord" for shard in range(count)]
    with flow.DataLoader(flow.TFRecordReader(files=files, batch_size=100)) as loader:
        assert loader.readers[0].records == count
    assert bucket.kinds == {"LIST": 1}
