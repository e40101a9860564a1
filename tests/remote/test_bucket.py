"""Objects of a store that lists and takes uploads: the cost of opening, writing, commands."""

import gzip
import json
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from remote.bucket import storing
from support import programs

import pyflowdata as flow
from pyflowdata import io
from pyflowdata.formats.base.detection import read_range
from pyflowdata.native import ffi
from pyflowdata.remote import client, configure
from pyflowdata.remote.cache import bring_index, index_beside

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
    count = 300
    pattern = shards(bucket, tmp_path, count)
    assert rows(flow.open(pattern).shuffle(seed=1)) == count
    assert bucket.kinds["GET"] == count
    assert bucket.kinds["LIST"] <= 2
    assert bucket.kinds["HEAD"] <= 2  # is there an index beside the data?
    bucket.kinds.clear()
    start(tmp_path / "cache")
    assert rows(flow.open(pattern)) == count
    assert bucket.kinds["LIST"] <= 2 and bucket.kinds["HEAD"] <= 2 and not bucket.kinds["GET"]
    # Without the list of the pattern, the folder's is asked for, not each object.
    bucket.kinds.clear()
    start(tmp_path / "cache")
    files = [f"s3://b/t/{shard:05d}.tfrecord" for shard in range(count)]
    with flow.DataLoader(flow.TFRecordReader(files=files, batch_size=100)) as loader:
        assert loader.readers[0].records == count
    assert bucket.kinds["LIST"] == 1 and bucket.kinds.total() <= 2


@pytest.mark.parametrize("name", ["x.csv", "*.csv", "d/"])
def test_a_list_that_no_further_try_mends_is_told_at_once(bucket, name):
    bucket.missing, before = {"none"}, flow.remote.cache_info().retries
    with pytest.raises(flow.FileError, match="s3://none/: there is no such bucket"):
        flow.open(f"s3://none/{name}")
    bucket.fails = {"LIST"}
    with pytest.raises(flow.FileError, match="refuses it .401 or 403.: are the credentials there"):
        flow.open(f"s3://b/{name}")
    assert flow.remote.cache_info().retries == before
    assert bucket.kinds["LIST"] <= 2 and bucket.kinds.total() <= 4


def test_a_compressed_file_among_many_others_is_told(bucket):
    bucket.files |= {f"b/g/{i:02d}.csv": b"x,y\n1,2\n" for i in range(20)}
    bucket.files["b/g/18.csv"] = gzip.compress(b"x,y\n1,2\n")
    with pytest.raises(flow.CorruptDataError, match="18.csv.*begins like compressed"):
        rows(flow.open("s3://b/g/*.csv"))


def command(*words):
    from pyflowdata.cli import main

    return main([*map(str, words)])


def test_writers_put_whole_objects_or_none(bucket, tmp_path, monkeypatch):
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
    monkeypatch.setattr(client, "_PART", 1 << 20)
    for fails, size in ({"PART"}, 300_000), ({"END"}, 300_000), ({"PUT"}, 10):
        bucket.fails = fails
        with pytest.raises(flow.FileError, match="write, this object"):
            with io.RawWriter("s3://b/w/none.bin") as out:
                out.write_batch(np.zeros((size, 1)))
        bucket.fails = set()
    bucket.parts.clear()
    bucket.kinds.clear()
    assert bucket.files == before
    with io.RawWriter("s3://b/w/large.bin") as out:
        out.write_batch(np.arange(500_000).reshape(-1, 1))
    assert bucket.files["b/w/large.bin"] == np.arange(500_000).tobytes()
    assert bucket.kinds["PART"] == 4
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
    program = programs.start(KILLED, stdout=programs.PIPE)
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


def test_commands_read_addresses_as_local_files(bucket, tmp_path, capsys):
    folder = tmp_path / "t"
    folder.mkdir()
    with io.TFRecordWriter(folder / "a.tfrecord", shard_records=1000) as out:
        out.write_batch({"x": np.arange(3000), "y": np.arange(3000) % 7})
    (folder / "c.csv").write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(100)))
    (folder / "d.jsonl").write_text("".join(f'{{"x": {i}}}\n' for i in range(100)))
    for path in folder.iterdir():
        bucket.files[f"b/t/{path.name}"] = path.read_bytes()

    def same(*words):
        said = []
        for place in (str(folder), "s3://b/t"):
            code = command(*(word.replace("@", place) for word in words))
            found = capsys.readouterr()
            said.append((code, *(text.replace(place, "@") for text in (found.out, found.err))))
        assert said[0] == said[1]
        return said[1]

    for name in ("a-00000-of-00003.tfrecord", "*.tfrecord", "c.csv", "d.jsonl"):
        for words in (["head"], ["stats"], ["verify"]):
            assert same(*words, f"@/{name}")[0] == 0
    damaged = bytearray(bucket.files["b/t/a-00001-of-00003.tfrecord"])
    damaged[5000] ^= 1
    (folder / "bad").write_bytes(damaged)
    bucket.files["b/t/bad"] = bytes(damaged)
    assert same("verify", "--format", "tfrecord", "@/bad")[0] == 1
    assert command("head", "s3://b/t/none.csv") == 1
    assert "s3://b/t/none.csv: there is no object" in capsys.readouterr().err
    assert command("seal", "s3://b/t/c.csv") == 1
    assert "sealed where they are written" in capsys.readouterr().err
    with flow.DataLoader(flow.open("s3://b/t/*.tfrecord").batch(100), ledger=tmp_path / "l") as on:
        assert sum(1 for _ in on) == 30
    assert command("audit", tmp_path / "l") == 0


def test_the_cache_command_lists_clears_and_warms_exactly(bucket, tmp_path, capsys):
    data = np.random.default_rng(0).bytes(20 << 20)
    bucket.files |= {"b/w/a.bin": data, "b/w/b.bin": data[: 3 << 20], "b/w/empty.bin": b""}
    assert command("cache", "warm", "s3://b/w/*.bin", "s3://b/w/", "--quiet") == 0
    assert "3 files in the cache, 24.1 MB" in capsys.readouterr().out
    fetched = sum(end - begin for _, begin, end in bucket.ranges.elements())
    assert fetched == 23 << 20
    bucket.kinds.clear()
    assert rows(flow.open("s3://b/w/a.bin", format="raw", shape=[1024], dtype="uint8")) == 20 << 10
    assert bucket.kinds["GET"] == 0
    assert command("cache", "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and "s3://b/w/a.bin" in lines[0] and "20 of 20 blocks" in lines[0]
    assert command("cache", "size") == 0
    assert "2 objects, 24.1 MB of 1 GB" in capsys.readouterr().out
    bucket.files["b/w/b.bin"] = data[-3 << 20 :]
    assert command("cache", "warm", "s3://b/w/b.bin", "--quiet") == 0
    assert command("cache", "list") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "s3://b/w/b.bin" in line]
    assert ["another version" in line for line in lines] == [False, True]
    assert command("cache", "clear") == 0
    assert re.search(r"27.3 MB freed; tables of .* stay for a day", capsys.readouterr().out)
    assert flow.remote.cache_info().bytes < 100_000
    assert command("cache", "list") == 0 and not capsys.readouterr().out
    with pytest.raises(SystemExit):
        command("cache")
    assert "required: action\n" in capsys.readouterr().err
    configure(cache_dir=tmp_path / "cache", budget="17MB")
    assert command("cache", "warm", "s3://b/w/a.bin") == 1
    assert "PYFLOWDATA_CACHE_BUDGET" in capsys.readouterr().err
    assert command("cache", "warm", "/tmp/x.bin") == 2
    assert "no address" in capsys.readouterr().err


def test_an_index_beside_the_data_spares_their_scan(bucket, tmp_path, monkeypatch, capsys):
    pattern = shards(bucket, tmp_path, 100)

    def elsewhere(name):
        """Another machine."""
        monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / name))
        start(tmp_path / f"{name}-blocks")
        bucket.kinds.clear()

    assert command("index", "--beside", pattern) == 0
    (beside,) = [key for key in bucket.files if key.endswith(".pfdindex")]
    assert f"put    at s3://{beside}" in capsys.readouterr().out
    elsewhere("second")
    with flow.DataLoader(flow.open(pattern).shuffle(seed=1).batch(10)) as loader:
        assert not loader.readers[0].index.is_new
        assert bucket.kinds["GET"] < 25 and bucket.kinds["LIST"] <= 2
        found = sum(len(batch[0]) for batch in loader)
    assert found == 100
    # A changed object makes it stale, and a damaged one is as bad; the data tell the truth.
    with io.TFRecordWriter("s3://b/t/00003.tfrecord", overwrite=True) as out:
        out.write_batch({"x": np.arange(10).reshape(2, 5)})
    elsewhere("third")
    with pytest.warns(UserWarning, match="other versions.*--beside"):
        assert rows(flow.open(pattern)) == 101
    bucket.files[beside] = bucket.files[beside][:-9] + b"damaged!!"
    elsewhere("fourth")
    assert rows(flow.open(pattern)) == 101  # a program is warned once
    assert command("index", "--beside", tmp_path / "one.tfrecord") == 2
    assert "local files" in capsys.readouterr().err


def test_files_without_a_common_folder_have_no_index_beside_them(bucket, tmp_path, capfd):
    shards(bucket, tmp_path, 1)
    bucket.files["c/t.tfrecord"] = bucket.files["b/t/00000.tfrecord"]
    files = ["s3://b/t/00000.tfrecord", "s3://c/t.tfrecord"]
    for more in [], ["memory://x/a.tfrecord"]:
        assert index_beside([*files, *more], "of.pfdindex") is None
    assert index_beside(["hdfs:///a/x", "hdfs:///a/y"], "i.x") == "hdfs:///a/.pyflowdata-i.pfdindex"
    bucket.kinds.clear()
    reader = flow.TFRecordReader(files=files, batch_size=1, random_shuffle=True, seed=1,
                                 index_dir=str(tmp_path / "own"))  # fmt: skip
    with flow.DataLoader(reader) as loader:
        assert loader.readers[0].index.is_new and len([*loader]) == 2
    assert bucket.kinds["HEAD"] <= 2 and not capfd.readouterr().err


def test_a_copy_of_an_index_that_fails_leaves_no_file(bucket, tmp_path, monkeypatch):
    pattern = shards(bucket, tmp_path, 1)
    assert command("index", "--beside", "--index-dir", tmp_path / "first", pattern) == 0
    (index,) = (tmp_path / "first").glob("*.index")
    second = tmp_path / "second"
    second.mkdir()

    def full(*_):
        assert len([*second.iterdir()]) == 1
        raise OSError(28, "No space left on device")

    url = ffi.new("char[]", b"s3://b/t/00000.tfrecord")
    path, found = ffi.new("char[]", str(second / index.name).encode()), ffi.new("int32_t *", 1)
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        assert bring_index([url], 1, path, found) == 0
    assert found[0] == 0 and not [*second.iterdir()]
    assert bring_index([url], 1, path, found) == 0
    assert found[0] == 1 and [one.name for one in second.iterdir()] == [index.name]


def test_a_few_bytes_of_a_large_object_take_a_small_request(bucket):
    """The end of an archive, the header of a shard."""
    size = 5 << 20
    bucket.files["b/large.tar"] = bytes(size)
    bucket.ranges.clear()
    assert read_range("s3://b/large.tar", size - 1000, 4000) == bytes(1000)
    assert read_range("s3://b/large.tar", size, 10) == b""
    assert sum(end - begin for _, begin, end in bucket.ranges.elements()) == 1000


def test_what_was_computed_of_an_object_is_not_applied_to_another_version(bucket):
    def put(values):
        rows = [values[: 1 + value % 3] for value in values]
        with io.TFRecordWriter("s3://b/v/a.tfrecord", overwrite=True) as out:
            for value, row in zip(values, rows, strict=True):
                out.write({"x": value, "y": value % 2, "tokens": row})

    def views():
        data = flow.open("s3://b/v/a.tfrecord")
        return data, [
            data.where("x >= 190"), data.sort("x"), data.explode("tokens"),
            data.drop("tokens").group_by("y"), data.pack(50, field="tokens"),
        ]  # fmt: skip

    def read(view):
        with flow.DataLoader(view.batch(4)) as loader:
            return [
                [np.array(getattr(one, "values", one)).tolist() for one in batch]
                for batch in loader
            ]

    values = np.arange(200)
    put(values)
    _, used = views()
    before = list(map(read, used))
    data, (view, *_) = views()
    assert (len(data), len(view)) == (200, 10)
    batches = [view.batch(8), data.batch(8)]
    put(values[::-1] + 1)
    after = list(map(read, used))
    assert after == list(map(read, views()[1]))
    assert all(one != other for one, other in zip(before, after, strict=True))
    for call in (
        *(partial(flow.DataLoader, one.blobs) for one in batches), lambda: len(data),
        lambda: data.where("x > 3"), lambda: data.column("x"), lambda: data.sort("x"),
    ):  # fmt: skip
        with pytest.raises(flow.FileError, match="changed while this data set was open") as said:
            call()
        assert "s3://b/v/a.tfrecord" in str(said.value)
    bucket.kinds.clear()
    assert read(used[0]) == after[0] and bucket.kinds == {"HEAD": 1}


def test_image_folders_and_lists_of_images_are_read_from_stores(bucket, tmp_path):
    folder = tmp_path / "train"
    names = {"cat": ["b.png", "sub/a.png", "a.png"], "dog": ["c.png", ".hidden.png", "notes.txt"]}
    for of, files in names.items():
        for number, name in enumerate(files):
            path = folder / of / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"\x89PNG\r\n\x1a\n{of}{number}".encode("latin-1") * (number + 1))
    lines = [
        {"source": name, "usage": "train", "annotation": [{"name": name[:3]}]}
        for name in ("cat/a.png", "dog/c.png", "cat/sub/a.png")
    ]

    def put(place, lines):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        if place.startswith("s3://"):
            bucket.files[place[5:]] = text.encode()
        else:
            Path(place).write_text(text)

    for path in folder.rglob("*.*"):
        bucket.files[f"b/train/{path.relative_to(folder)}"] = path.read_bytes()

    def read(data):
        with flow.DataLoader(data) as loader:
            return [
                (row.tobytes(), int(label)) for images, labels in loader
                for row, label in zip(images, labels, strict=True)
            ]

    def opened(place):
        return flow.open(place).shuffle(seed=3).batch(2)

    with pytest.warns(UserWarning, match="1 file is left out"):
        found = read(opened("s3://b/train"))
    assert found == read(opened(str(folder))) and len(found) == 4
    assert bucket.kinds["GET"] == 4  # with a HEAD for each file that marks a data set
    bucket.kinds.clear()
    both = [flow.ImageFolderReader(place, batch_size=4) for place in (str(folder), "s3://b/train")]
    assert read(both[0]) == read(both[1])
    assert bucket.kinds["GET"] == 0 and bucket.kinds["LIST"] == 4
    # An image that changes, and one that comes, are noticed as those of local folders are.
    data = flow.open("s3://b/train/")
    assert len(data) == 4
    bucket.files["b/train/dog/d.png"] = b"\x89PNG\r\n\x1a\n"
    with pytest.raises(flow.FileError, match="changed while this data set was open"):
        data.where("label == 1")
    assert len(flow.open("s3://b/train/")) == 5
    with flow.DataLoader(flow.ImageFolderReader("s3://b/train", batch_size=5)) as loader:
        bucket.files["b/train/dog/d.png"] = b"\x89PNG\r\n\x1a\nother"
        with pytest.raises(flow.FileError, match="dog/d.png.*changed while open"):
            list(loader)
    # Lists beside the images, in another folder, and with addresses.
    put(str(folder / "l.manifest"), lines)
    put("s3://b/train/l.manifest", lines)
    for where, prefix in ((tmp_path, "s3://b/train/"), ("s3://b/lists", "../train/")):
        put(f"{where}/l.manifest",
            [{**one, "source": prefix + one["source"]} for one in lines])  # fmt: skip
    expected = read(opened(str(folder / "l.manifest")))
    for place in ("s3://b/train", "s3://b/lists", tmp_path):
        assert read(opened(f"{place}/l.manifest")) == expected
    put("s3://b/lists/m.manifest", [*lines, {**lines[0], "source": "none.png"}])
    with pytest.raises(flow.CorruptDataError, match="cat/a.png is not there: there is no such obj"):
        read(flow.open("s3://b/lists/m.manifest").batch(2))
    coco = {"images": [{"id": 7, "file_name": "cat/a.png", "height": 9, "width": 9}],
            "annotations": [{"id": 1, "image_id": 7, "category_id": 1, "bbox": [0, 0, 9, 9],
                             "segmentation": [[0, 0, 9, 0, 9, 9]], "area": 40, "iscrowd": 0}],
            "categories": [{"id": 1, "name": "cat"}]}  # fmt: skip
    for place in (str(folder), "s3://b/train", "s3://b/other"):
        put(f"{place}/i.json", [coco])
    found = []
    for place, images in ((folder, ""), ("s3://b/train", ""), ("s3://b/other", "s3://b/train")):
        reader = flow.COCOReader(files=f"{place}/i.json", image_dir=images, batch_size=1)
        with flow.DataLoader(reader) as loader:
            ((image, *_),) = loader
            found.append(image[0].tobytes())
    assert found == [(folder / "cat/a.png").read_bytes()] * 3
    with pytest.raises(flow.UnsupportedError, match="lists no files"):
        flow.ImageFolderReader(f"{bucket.url}/b/train", batch_size=1)


@pytest.mark.parametrize("may_list", [True, False])
def test_images_that_a_list_names_are_looked_at_once_and_most_of_them_by_a_list(
    bucket, tmp_path, may_list, monkeypatch
):
    """Also where lists are refused, as to those who may only read objects."""
    count = 300
    names = [f"{number:04d}.png" for number in range(count)]
    bucket.files |= {f"b/i/{name}": b"\x89PNG\r\n\x1a\n" + name.encode() for name in names}
    lines = [
        {"source": f"s3://b/i/{name}", "usage": "train", "annotation": [{"name": "x"}]}
        for name in names
    ]
    (tmp_path / "l.manifest").write_text("".join(json.dumps(line) + "\n" for line in lines))
    bucket.fails = set() if may_list else {"LIST"}
    data = flow.open(tmp_path / "l.manifest").shuffle(seed=1).batch(8)
    with flow.DataLoader(data) as loader:
        for _ in range(2):
            found = [bytes(image)[8:].decode() for images, _ in loader for image in images]
            assert sorted(found) == names
            monkeypatch.setattr(client, "_SEEN_SECONDS", 0.0)
    assert bucket.kinds["GET"] == count
    assert bucket.kinds["HEAD"] < 48 if may_list else bucket.kinds["HEAD"] == count
    assert bucket.kinds["LIST"] == 1
    monkeypatch.undo()
    # Files of a folder that cannot be listed are looked at one by one, too.
    urls = [line["source"] for line in lines[:40]]
    client.forget_facts()
    assert [facts.size for facts in client.look_at(urls)] == [16] * 40
