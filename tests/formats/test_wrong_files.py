"""Files that are missing, of other programs, or without the columns that are asked for, and columns
and features that are found where none are given."""

import csv
import gzip
import io
import json
import pickle
import sqlite3
import zipfile

import numpy as np
import pytest
from formats.mds import mds_files
from support.command import here  # noqa: F401

import pyflowdata as flow
from pyflowdata.io import TFRecordWriter


def _zip(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _npz():
    file = io.BytesIO()
    np.savez(file, x=np.zeros(3))
    return file.getvalue()


def _sqlite(folder):
    connection = sqlite3.connect(folder / "made.db")
    connection.execute("create table t(x)")
    connection.commit()
    connection.close()
    return (folder / "made.db").read_bytes()


READERS = {
    "TFRecordReader": {}, "OFRecordReader": {}, "TextLineReader": {}, "NpyReader": {},
    "CSVReader": {"columns": ["0"], "header": "no"}, "TarReader": {"fields": ["x:bytes"]},
    "MDSReader": {"columns": ["x:int64"]}, "IDXReader": {},
    "JSONLinesReader": {"fields": ["x:int64"]},
}  # fmt: skip


def test_beginnings_that_are_no_text(tmp_path, here):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\x1b[2J\xff,\0b\n1,2\n")
    for command in ("head", "stats", "verify"):
        status, out, err = here(command, path)
        assert status == 1 and "a NUL byte in its first line" in out + err, command
        assert "usage: " not in err
    path = tmp_path / "picture"
    path.write_bytes(b"\x89PNG\r\n\x1a\nsome text")
    with pytest.raises(flow.InvalidArgumentError, match="looks like PNG .*a folder for each class"):
        flow.open(path)
    path = tmp_path / "lines.csv"
    path.write_text('{"a": 1, "b": "x"}\n{"a": 2, "b": "y"}\n')
    with pytest.raises(flow.InvalidArgumentError, match="first line is an object.*format='json'"):
        flow.open(path)
    assert [r["a"] for r in flow.open(path, format="json")] == [1, 2]
    path.write_text('{"a": 1}\t3\n{"a": 2}\t4\n')  # JSON in a column
    assert flow.open(path, delimiter="\t", quote="")[1]["column1"] == 4


def test_files_of_other_programs_are_named_by_every_reader(tmp_path):
    foreign = {
        "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(60),
        "zip": _zip(x="text"), ".npz": _npz(), "pickle": pickle.dumps({"a": list(range(9))}),
        "pickle ": pickle.dumps({"a": list(range(9))}, protocol=2), "SQLite": _sqlite(tmp_path),
        "PDF": b"%PDF-1.7\n" + bytes(60),
        "Git LFS": b"version https://git-lfs.github.com/spec/v1\n",
        ".xlsx": _zip(**{"[Content_Types].xml": "<x/>"}),
        ".xlsx ": _zip(**{"docProps/app.xml": "<x/>"}), "Parquet file that was cut": b"PAR",
        "safetensors": b"\x40\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32"}}'.ljust(64) + bytes(8),
        "pickle  ": pickle.dumps(1), "torch": _zip(**{"archive/data.pkl": b"\x80\x02."}),
    }  # fmt: skip
    for name, data in foreign.items():
        for packed in (data, gzip.compress(data)):
            path = tmp_path / "data"
            path.write_bytes(packed)
            for call in (lambda: flow.open(path), lambda: flow.open(path, format="csv")):
                with pytest.raises(flow.InvalidArgumentError) as caught:
                    call()
                assert caught.value.file == str(path) and name.strip() in caught.value.message
            for op, attrs in READERS.items():
                with pytest.raises(flow.Error) as caught:
                    with flow.DataLoader(getattr(flow, op)(files=path, **attrs)) as loader:
                        list(loader)
                found = caught.value
                is_packed = packed is not data and isinstance(found, flow.UnsupportedError)
                said = name.strip() in found.message or is_packed
                assert found.file == str(path) and found.op == op and said, (op, name, found)
    path.write_bytes(b"GIF89a" + bytes(60))  # a reader of lines takes it as a record
    with pytest.raises(flow.InvalidArgumentError, match="it looks like a GIF image"):
        flow.open(path)


def test_what_is_there_in_place_of_a_missing_file(tmp_path, here, monkeypatch):  # noqa: F811
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/where/home/is")
    for name in ("train.csv", "ark/part-0.ark", "deep/inner/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a,b\n1,2\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to("nothing")
    for path, names in {
        "trian.csv": "train.csv", "akr/part-0.ark": "ark", "*.csx": "train.csv",
        "ark/*.csv": "part-0.ark", "empty/*.csv": "empty", "none/*.csv": "none",
        "~/train.csv": "/where/home/is/train.csv", "link": "link", "train.csv/x": "train.csv",
    }.items():  # fmt: skip
        calls = [lambda: flow.open(path), lambda: flow.CSVReader(files=path)]
        for call in calls:
            with pytest.raises(flow.FileError) as caught:
                call()
            assert names in caught.value.message or caught.value.file == names, caught.value
        status, _, err = here("head", path)
        assert status == 1 and names in err
    for data_dir, names in (("ark", "ark/*.ark"), ("train.csv", "train.csv"), ("empty", "empty")):
        with pytest.raises(flow.FileError) as caught:
            flow.CSVReader(data_dir)
        assert names in str(caught.value)
    with pytest.raises(flow.FileError, match="ark/[*]"):
        flow.DataLoader(flow.CSVReader(files="ark", columns=["a"]))
    for folder, names in (("empty", "empty"), ("deep", "inner")):
        with pytest.raises(flow.FileError, match=names):
            flow.open(folder)


def test_columns_that_are_found(tmp_path):
    path = tmp_path / "a.csv"
    rows = [["n", "x", "word", "big"], ["1", "0.5", "a", "9" * 19], ["-2", "", "b,c", "1"]]
    for delimiter in ",;\t":
        with open(path, "w", newline="") as file:
            csv.writer(file, delimiter=delimiter).writerows(rows)
        blobs = flow.CSVReader(files=path, batch_size=2)
        assert [blob.name for blob in blobs] == [f"CSVReader/{name}" for name in rows[0]]
        assert [str(blob.dtype) for blob in blobs] == ["int64", "float64", "uint8", "uint64"]
        node = blobs[0].node
        assert set(node.values["columns"]) == {
            "n=0:int64", "x=1:float64=nan", "word=2:bytes", "big=3:uint64"
        }
        assert "columns" in node.found and "word=2:bytes" in repr(node)
        with flow.DataLoader(blobs) as loader:
            n, x, word, big = next(iter(loader))
            state = loader.state_dict()
        assert n.tolist() == [1, -2] and big.tolist() == [10**19 - 1, 1]
        assert x[0] == 0.5 and np.isnan(x[1]) and word.to_bytes_list() == [b"a", b"b,c"]
        given = {name: node.values[name] for name in node.found}
        with flow.DataLoader(flow.CSVReader(files=path, batch_size=2, **given)) as loader:
            loader.load_state_dict(state)
        with flow.DataLoader(pickle.loads(pickle.dumps(blobs))) as loader:
            assert next(iter(loader))[0].tolist() == [1, -2]
    builder = flow.user_op_builder("rows").Op("CSVReader").Attr("files", [str(path)])
    assert len(builder.Output("column", 4).Build().InferAndTryRun().RemoteBlobList()) == 4
    path.write_text("1,2\n3,4\n")
    assert [blob.shape for blob in flow.CSVReader(files=path, batch_size=2)] == [(2,), (2,)]
    path.write_text("")
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.CSVReader(files=path)
    assert caught.value.attr == "columns"
    path.write_text("n\n" + "1\n" * 40000 + "1.5\n")
    with flow.DataLoader(flow.CSVReader(files=path, batch_size=4096)) as loader:
        with pytest.raises(flow.CorruptDataError) as caught:
            list(loader)
    assert caught.value.line == 40002 and "columns=" in str(caught.value)


def test_features_that_are_found_and_those_that_are_not_there(tmp_path):
    path = tmp_path / "a.tfrecord"
    with TFRecordWriter(path) as writer:
        for i in range(4):
            ids = np.ones(i, np.int64)
            writer.write({"y": i, "b/x": np.float32([i, i]), "a": b"%d" % i, "ids": ids})
    record = flow.TFRecordReader(files=path, batch_size=4)
    found = flow.ExampleDecoder(record)
    listed = ["a:bytes", "b/x:float32[2]", "ids:int64[?]", "y:int64"]
    assert found[0].node.values["features"] == listed
    with flow.DataLoader([*found, *flow.ExampleDecoder(record, features=listed)]) as loader:
        batch = next(iter(loader))
    for one, other in zip(batch[:4], batch[4:], strict=True):
        assert all(map(np.array_equal, one, other))
    of_batches = flow.Dataset({"record": flow.TFRecordReader(files=path)}).batch(2)
    assert len(flow.ExampleDecoder(of_batches["record"])) == 4
    for wrong in ("z:int64", "y:float32", "a:int64", "b/x:bytes"):
        with pytest.raises(flow.InvalidArgumentError) as caught:
            flow.ExampleDecoder(record, features=[wrong])
        assert caught.value.attr == "features"
    for right in ("z:int64=0", "z:int64[?]", "y:int32"):
        flow.ExampleDecoder(record, features=[right])
    with pytest.raises(flow.InvalidArgumentError, match="did you mean 'ids'"):
        flow.open(path, fields=["idz:int64[?]", "idx"])


def test_verify_says_what_it_did_not_check(tmp_path, here):  # noqa: F811
    index = mds_files.write(tmp_path, mds_files.SMALL, [mds_files.small_samples()])
    assert here("verify", index)[0] == 0
    written = json.loads(index.read_text())

    def status_with(**changes):
        shard = {**written["shards"][0], **changes}
        index.write_text(json.dumps({**written, "shards": [shard]}))
        return here("verify", index)[0]

    raw = written["shards"][0]["raw_data"]
    names = [name.upper() for name in written["shards"][0]["column_names"]]
    assert status_with() == 0
    assert status_with(raw_data={**raw, "hashes": {"unknown": "12"}}) == 1
    assert status_with(column_names=names) == 1
    assert status_with(samples=11) == 1
    path = tmp_path / "a.csv"
    path.write_text('a,b\n1,"open\n2,x\n3,y"\n4,z\n')
    status, out, _ = here("verify", path)
    assert status == 0 and "line 2 to 4" in out
    path.write_text('a,b\n1,"a\nlong word"\n4,z\n')
    assert "line 2" not in here("verify", path)[1]
