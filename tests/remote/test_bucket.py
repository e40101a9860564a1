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
        for name, value in server.variables.items():
            monkeypatch.setenv(name, value)
        start(tmp_path / "cache")
        yield server


def start(folder):
    """Begins with a cache, and with no facts of objects."""
    configure(cache_dir=folder, budget="1GB", options={})


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
    start(tmp_path / "cache")
    assert rows(flow.open(pattern)) == count
    assert bucket.kinds["LIST"] <= 2 and bucket.kinds.total() == bucket.kinds["LIST"]
    # Without the list of the pattern, the folder's is asked for, not each object.
    bucket.kinds.clear()
    start(tmp_path / "cache")
    files = [f"s3://b/t/{shard:05d}.tfrecord" for shard in range(count)]
    with flow.DataLoader(flow.TFRecordReader(files=files, batch_size=100)) as loader:
        assert loader.readers[0].records == count
    assert bucket.kinds == {"LIST": 1}


def command(*words):
    from pyflowdata.cli import main

    return main([*map(str, words)])


def test_writers_put_whole_objects_or_none(bucket, tmp_path):
    columns = {"x": np.arange(3000), "y": np.arange(3000) % 7}
    for writer, name in [
        (io.TFRecordWriter, "a.tfrecord"), (io.MDSWriter, "mds"), (io.ArrowWriter, "a.arrow"),
        (io.MindRecordWriter, "a.mindrecord"), (io.CSVWriter, "a.csv.gz"),
        (io.OFRecordWriter, "of/part-{shard:05d}"),
    ]:  # fmt: skip
        options = {"shard_records": 1000} if "{" in name else {}
        with writer(f"s3://b/w/{name}", **options) as out:
            out.write_batch(columns)
            assert not any(name.partition("{")[0] in key for key in bucket.files)
        assert all(path.startswith("s3://b/w/") for path in out.paths)
        where = "s3://b/w/of/*" if options else f"s3://b/w/{name}"
        data = flow.open(where)
        with flow.DataLoader(data.batch(4096)) as loader:
            (batch,) = loader
        np.testing.assert_array_equal(batch[-1] if name != "mds" else batch[1], columns["y"])
        with pytest.raises(flow.FileError, match="there already.*overwrite"):
            writer(f"s3://b/w/{name}", **options)
    # Fewer shards replace more, and an upload of several that fails leaves what was there.
    with io.OFRecordWriter("s3://b/w/of/part-{shard:05d}", shard_records=2000, overwrite=True,
                           seal=True) as out:  # fmt: skip
        out.write_batch(columns)
    left = sorted(key for key in bucket.files if key.startswith("b/w/of/"))
    assert left == [f"b/w/of/part-0000{i}{end}" for i in (0, 1) for end in ("", ".pfdseal")]
    before = dict(bucket.files)
    for fails, size in ({"PART"}, 3_000_000), ({"END"}, 3_000_000), ({"PUT"}, 10):
        bucket.fails = fails
        with pytest.raises(flow.FileError, match="write, this object"):
            with io.RawWriter("s3://b/w/none.bin") as out:
                out.write_batch(np.zeros((size, 1)))
        bucket.fails = set()
    bucket.parts.clear()
    assert bucket.files == before
    with io.RawWriter("s3://b/w/large.bin") as out:
        out.write_batch(np.arange(3_000_000).reshape(-1, 1))
    assert bucket.files["b/w/large.bin"] == np.arange(3_000_000).tobytes()
    assert bucket.kinds["PART"] > 3
    assert not [*(tmp_path / "cache/uploads").iterdir()]
    with pytest.raises(flow.UnsupportedError, match="takes no files"):
        io.CSVWriter("https://127.0.0.1/a.csv")


KILLED = """
import numpy as np
from pyflowdata import io
with io.RawWriter("s3://b/k.bin") as out:
    out.write_batch(np.zeros((8_000_000, 1)))
    print("written", flush=True)
"""


def test_a_killed_upload_leaves_no_object(bucket):
    bucket.delay = 0.2
    program = subprocess.Popen(
        [sys.executable, "-c", KILLED], stdout=subprocess.PIPE, cwd=ROOT
    )
    program.stdout.readline()
    while not any(bucket.parts.values()):
        assert program.poll() is None
    program.kill()
    program.wait()
    assert not bucket.files


def test_convert_reads_and_writes_addresses(bucket, tmp_path, capsys):
    text = "x,y\n" + "".join(f"{i},{i * 2}\n" for i in range(5000))
    bucket.files["b/in/x.csv"] = text.encode()
    assert command("convert", "s3://b/in/x.csv", "s3://b/out/x.tfrecord", "--quiet") == 0
    assert "5000 records in s3://b/out/x.tfrecord" in capsys.readouterr().out
    assert command("convert", "s3://b/in/x.csv", "s3://b/out/x.tfrecord", "--quiet") == 1
    assert "s3://b/out/x.tfrecord: it is there already" in capsys.readouterr().err
    assert command("convert", "s3://b/out/*.tfrecord", "s3://b/out/y.csv", "--shards", 3,
                   "--quiet") == 0  # fmt: skip
    made = [bucket.files[f"b/out/y-0000{i}-of-00003.csv"].decode() for i in range(3)]
    assert "".join(made).replace("x,y\n", "") == text.replace("x,y\n", "")
    assert command("convert", "s3://b/in/x.csv", "s3://b/out/m/", "--to", "mds", "--quiet") == 0
    assert "b/out/m/index.json" in bucket.files
    bucket.fails = {"PUT", "BEGIN"}
    assert command("convert", "s3://b/in/x.csv", "s3://b/out/z.csv", "--quiet") == 1
    assert "b/out/z.csv" not in bucket.files
    bucket.fails = set()
    assert command("convert", "s3://b/in/x.csv", tmp_path / "z.csv", "--quiet") == 0
    assert (tmp_path / "z.csv").read_text() == text


def test_other_stores_are_written_with_fsspec():
    files = pytest.importorskip("fsspec").filesystem("memory")
    for _ in range(2):
        with io.RawWriter("memory://w/a.bin", overwrite=True) as out:
            out.write_batch(np.arange(10).reshape(-1, 1))
    assert files.cat("/w/a.bin") == np.arange(10).tobytes()
    assert files.ls("/w", detail=False) == ["/w/a.bin"]
