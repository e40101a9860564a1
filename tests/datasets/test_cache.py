"""Dataset.cache(): the same records as without it, made once, and again when the data change."""

import fcntl
import gzip
import json
import logging
import os
import pickle
import re
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from images.image_files import photo, saved

from support import programs
import pyflowdata as flow
from pyflowdata.datasets import cache_files
from pyflowdata.io import TFRecordWriter

FEATURES = ["image:bytes", "label:int64", "ids:int32[?]", "boxes:float32[?,4]", "x:float32[3]"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two TFRecord files of images, numbers, and lists of different lengths."""
    folder = tmp_path_factory.mktemp("records")
    chance = np.random.default_rng(0)
    for part in range(2):
        with TFRecordWriter(folder / f"part-{part}") as writer:
            for i in range(60):
                writer.write({
                    "image": saved(photo(9 + i % 4, 12 - i % 5, seed=i), "png"),
                    "label": 100 * part + i,
                    "ids": np.arange(i % 5, dtype=np.int64),
                    "boxes": chance.normal(size=(i % 3) * 4).astype(np.float32),
                    "x": chance.normal(size=3).astype(np.float32),
                })  # fmt: skip
    return folder


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    """Caches in memory are in a folder of the test."""
    monkeypatch.setattr(cache_files, "_MEMORY", tmp_path / "shm")
    yield
    cache_files._release()


def records(folder, fields=FEATURES):
    """A data set of every kind of field: bytes, numbers, vectors, ragged ones, decoded images."""
    record = flow.TFRecordReader(files=[f"{folder}/part-{part}" for part in range(2)])
    made = flow.ExampleDecoder(record, features=fields)
    made = [made] if isinstance(made, flow.Blob) else made
    blobs = {blob.name.rpartition("/")[2]: blob for blob in made}
    if "image" in blobs:
        blobs["pixels"] = flow.ImageDecoder(blobs["image"])
    return flow.Dataset(blobs)


def batches(data, **attrs):
    """All batches of two epochs, as lists of rows of bytes."""
    blobs = data.batch(attrs.pop("batch_size", 16), seed=7, **attrs).blobs
    with flow.DataLoader(blobs, num_threads=2) as loader:
        return [
            {name: [(row.dtype.name, row.shape, row.tobytes()) for row in map(np.asarray, rows)]
             for name, rows in batch.items()}
            for _ in range(2) for batch in loader
        ]  # fmt: skip


def caches(folder):
    return sorted(path.name for path in Path(folder).glob("*.cache"))


# ---- The same records ----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["memory", "disk", "a folder"])
def test_it_changes_nothing(folder, tmp_path, monkeypatch, where):
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(tmp_path / "indexes"))
    data = records(folder)
    cached = data.cache(tmp_path / "own" if where == "a folder" else where)
    assert cached.fields == data.fields and len(cached) == len(data) == 120
    said = {"memory": "()", "disk": "('disk')", "a folder": f"('{tmp_path}/own')"}[where]
    assert repr(cached) == repr(data) + f" -> cache{said}"
    assert repr(cached.take(3)).endswith(f" -> cache{said} -> take(3)")
    assert cached == data.cache(tmp_path / "own" if where == "a folder" else where) != data
    found = {"memory": tmp_path / "shm" / f"pyflowdata-{os.geteuid()}",
             "disk": tmp_path / "indexes", "a folder": tmp_path / "own"}[where]  # fmt: skip
    assert len(caches(found)) == 1
    for index in (0, 7, -1):
        for name, value in data[index].items():
            assert np.array_equal(value, cached[index][name]), name
    assert batches(cached) == batches(data)
    shuffled = dict(rank=1, world_size=4, last="drop")
    assert batches(cached.shuffle(seed=3), **shuffled) == batches(data.shuffle(seed=3), **shuffled)
    views = [one.skip(5).repeat(2).shuffle(seed=1).take(77) for one in (cached, data)]
    assert batches(views[0]) == batches(views[1])
    again = pickle.loads(pickle.dumps(cached))
    assert again[3]["label"] == data[3]["label"]
    assert len(caches(found)) == 1


def test_random_ops_after_it_draw_the_same(folder, tmp_path):
    def augmented(data):
        pixels = flow.RandomResizedCrop(data["pixels"], size=(6, 6), name="crop")
        return flow.Dataset({"pixels": flow.RandomFlip(pixels, name="flip")})

    data = records(folder)
    assert batches(augmented(data.cache(tmp_path))) == batches(augmented(data))


def test_all_fields_dense(folder, tmp_path):
    data = records(folder, ["label:int64", "x:float32[3]"])
    cached = data.cache(tmp_path)
    assert batches(cached) == batches(data)
    (file,) = tmp_path.glob("*/records")
    assert file.stat().st_size == 4096 + 120 * 24 + 8, "no table, one checksum"


def test_a_data_set_without_records(tmp_path):
    data = flow.from_arrays({"x": np.arange(3), "y": [b"a", b"b", b"c"]}).where("x > 5")
    for fields in (["x"], ["x", "y"]):
        cached = data.project(*fields).cache(tmp_path)
        assert len(cached) == 0 and list(cached) == []
        assert len(cached.concat(data.project(*fields))) == 0


def test_a_source_that_is_read_in_sequence_gets_records_by_number(tmp_path):
    text = "".join(f"{i},{i * 2}\n" for i in range(500))
    (tmp_path / "part-0").write_bytes(gzip.compress(text.encode()))
    x, y = flow.MiniDecoder(flow.MiniReader(str(tmp_path)))
    data = flow.Dataset({"x": x, "y": y})
    with pytest.raises(TypeError):
        len(data)
    cached = data.cache(tmp_path / "cache")
    assert len(cached) == 500 and cached[-1]["x"] == 499
    drawn = [x[0] for row in batches(cached.shuffle(seed=1).take(20)) for x in row["x"]]
    assert len(drawn) == 40


def test_a_state_goes_on_with_another_cache_of_the_same(folder, tmp_path):
    """On another machine, where files have other times and caches other places."""
    first = records(folder).cache(tmp_path / "one").shuffle(seed=5).batch(10)["label"]
    with flow.DataLoader(first) as loader:
        whole = [next(iter(loader)).tolist(), *(batch.tolist() for batch in loader)]
        batch = iter(loader)
        expected = [next(batch).tolist() for _ in range(5)]
        state = json.loads(json.dumps(loader.state_dict()))
        expected = [one.tolist() for one in batch]
    assert len(whole) == 13
    for part in range(2):
        os.utime(folder / f"part-{part}")
    second = records(folder).cache(tmp_path / "two").shuffle(seed=5).batch(10)["label"]
    with flow.DataLoader(second) as loader:
        loader.load_state_dict(state)
        assert [one.tolist() for one in loader] == expected


# ---- Made once, and again when something changes -------------------------------------------------


def fills(caplog):
    found = [one.getMessage() for one in caplog.records if one.getMessage().startswith("cached ")]
    caplog.clear()
    return len(found)


def test_what_makes_it_again(folder, tmp_path, caplog):
    caplog.set_level(logging.INFO, "pyflowdata")
    own = tmp_path / "data"
    own.mkdir()
    for part in range(2):
        (own / f"part-{part}").write_bytes((folder / f"part-{part}").read_bytes())

    def read(*fields, **attrs):
        data = records(own, fields or ["label:int64"])
        list(data.cache(tmp_path / "cache", **attrs))
        return fills(caplog)

    assert (read(), read()) == (1, 0)
    assert read("label:int32") == 1, "another type"
    assert read(version="2") == 1, "another version"
    assert (read(), read("label:int32"), read(version="2")) == (0, 0, 0), "all are kept"
    os.utime(own / "part-1", (1, 1))
    assert (read(), read()) == (1, 0), "another time"
    with open(own / "part-1", "ab") as file:
        file.write((folder / "part-0").read_bytes())
    data = records(own, ["label:int64"]).cache(tmp_path / "cache")
    assert len(data) == 180 and fills(caplog) == 1
    file = data["label"].node.values["cache"].value.folder.records
    os.truncate(file, 5000)
    assert (read(), read()) == (1, 0), "a truncated cache"
    with open(file, "rb+") as opened:
        opened.write(b"damaged")
    assert (read(), read()) == (1, 0), "a changed cache"
    for damaged in ("", "[]", "{}", '{"state": 1}'):
        file.with_name("notes.json").write_text(damaged)
        assert (read(), read()) == (1, 0), "damaged notes"
    file.chmod(0o666)
    assert (read(), read()) == (1, 0), "others could have written it"
    assert len(records(own, ["label:int64"]).cache(tmp_path / "cache")) == 180


def test_an_order_that_changes_is_refused(folder, tmp_path):
    data = records(folder)
    with pytest.raises(flow.InvalidArgumentError, match="shuffle after it"):
        data.shuffle(seed=1).cache(tmp_path)
    fixed = data.shuffle(seed=1, reshuffle=False)
    labels = [record["label"] for record in fixed]
    assert [record["label"] for record in fixed.cache(tmp_path)] == labels != sorted(labels)
    shuffled = data.shuffle(seed=1).take(50)
    for changing in (shuffled, data.concat(data.shuffle()), flow.mix([data, data])):
        with pytest.raises(flow.InvalidArgumentError, match="in each epoch.*use cache.. before it"):
            changing.cache(tmp_path)
    crop = flow.RandomCrop(data["pixels"], size=(4, 4))
    mixed = flow.Dataset({"label": data["label"], "crop": crop}).cache(tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match=r"cache\(\): crop of 64 records"):
        flow.DataLoader(mixed.batch(4)["label"])
    plain = flow.Dataset({"label": data["label"]})
    flip = flow.Cast(flow.CoinFlip(data["label"]), dtype=str(data["label"].dtype))
    late = plain.concat(flow.Dataset({"label": flip})).cache(tmp_path)
    with pytest.raises(flow.InvalidArgumentError, match=r"cache\(\): label of 64 records"):
        len(late)


def test_a_function_that_changes_is_noticed(folder, tmp_path, caplog):
    caplog.set_level(logging.INFO, "pyflowdata")
    data = records(folder, ["label:int64"])

    def read(function, **attrs):
        cached = data.map(function, "label", outputs={"y": "int64"}, **attrs).cache(tmp_path)
        assert cached[5] == {"label": 5, "y": function(5, **attrs)}
        return fills(caplog)

    makers = [lambda factor: lambda x: x * factor, lambda factor: lambda x: x * factor + 1]
    assert [read(makers[0](3)), read(makers[0](3))] == [1, 0], "another object, the same code"
    assert [read(makers[0](4)), read(makers[1](4)), read(makers[0](4))] == [1, 1, 0]

    def scaled(x, *, by):
        return x * by

    assert [read(scaled, by=2), read(scaled, by=5), read(scaled, by=2)] == [1, 1, 0]
    state = threading.local()
    unknown = data.map(lambda x: (state, x)[1], "label", outputs={"y": "int64"})
    with pytest.raises(flow.InvalidArgumentError, match="Python function <lambda> depends on"):
        unknown.cache(tmp_path)


def test_python_objects_need_a_version(tmp_path):
    samples = [{"x": float(i)} for i in range(10)]
    data = flow.Dataset(flow.GeneratorReader(samples, fields=["x:float64"]))
    with pytest.raises(flow.InvalidArgumentError, match="GeneratorReader reads a Python object"):
        data.cache(tmp_path)
    assert data.cache(tmp_path, version="1")[4]["x"] == 4
    samples[4]["x"] = -1.0
    assert data.cache(tmp_path, version="1")[4]["x"] == 4
    assert data.cache(tmp_path, version="2")[4]["x"] == -1


def test_a_damaged_record_is_an_error_that_names_it(tmp_path):
    lines = [f"{i},0" for i in range(300)]
    (tmp_path / "part-0").write_text("\n".join([*lines[:200], "x,0", *lines[201:]]))
    x, y = flow.MiniDecoder(flow.MiniReader(str(tmp_path)))
    cached = flow.Dataset({"x": x, "y": y}).cache(tmp_path / "cache")
    with pytest.raises(flow.CorruptDataError, match="part-0:201"):
        len(cached)
    assert not list(tmp_path.glob("cache/*")), "nothing is left"
    (tmp_path / "part-0").write_text("\n".join(lines))
    assert len(cached) == 300 and cached[200]["x"] == 200


# ---- Several processes ---------------------------------------------------------------------------


SCRIPT = """
import logging, os, sys, time
from pathlib import Path
import pyflowdata as flow

logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
folder, where, rank = sys.argv[1], sys.argv[2], int(sys.argv[3])
if sys.argv[5]:
    from pyflowdata.datasets import cache_files
    cache_files._MEMORY = Path(sys.argv[5])

@flow.register_decoder(outputs={"y": ("float64", ())}, name="WaitABit", per="row")
def wait(x):
    time.sleep(0.01 if sys.argv[4] == "slow" else 0)
    if sys.argv[4] == "stuck" and list(Path(where).glob("*.cache/.*")):
        time.sleep(60)
    return x[0] * 2

x, _ = flow.MiniDecoder(flow.MiniReader(folder))
data = flow.Dataset({"y": flow.WaitABit(x)}).cache(where).shuffle(seed=1)
with flow.DataLoader(data.batch(8, rank=rank, world_size=2)["y"]) as loader:
    print("read", int(sum(batch.sum() for batch in loader)), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def numbers(tmp_path):
    folder = tmp_path / "numbers"
    folder.mkdir()
    (folder / "part-0").write_text("".join(f"{i},0\n" for i in range(64)))
    return folder


def start(folder, where, rank, speed, memory=""):
    """Args: memory: Instead of /dev/shm, which other programs use at the same time."""
    return programs.start(
        SCRIPT, folder, where, rank, speed, memory,
        stdin=programs.PIPE, stdout=programs.PIPE, stderr=programs.PIPE,
    )  # fmt: skip


def finish(processes):
    said = [process.communicate("\n", timeout=60) for process in processes]
    assert all(process.returncode == 0 for process in processes), said
    return "".join(out for out, _ in said)


@pytest.mark.slow
def test_several_processes_make_it_once(numbers, tmp_path):
    said = finish([start(numbers, tmp_path / "cache", rank, "slow") for rank in (0, 1, 0)])
    assert said.count("cached 64 records") == 1 and said.count("read ") == 3
    totals = [int(one) for one in re.findall(r"read (\d+)", said)]
    assert totals[0] == totals[2] and totals[0] + totals[1] == 64 * 63
    assert "cached" not in finish([start(numbers, tmp_path / "cache", 1, "slow")])


def test_another_process_goes_on_where_one_was_killed(numbers, tmp_path):
    first = start(numbers, tmp_path / "cache", 0, "stuck")
    until = time.monotonic() + 30
    while not list(tmp_path.glob("cache/*.cache/.*")) and time.monotonic() < until:
        time.sleep(0.01)
    second = start(numbers, tmp_path / "cache", 1, "fast")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert "cached 64 records" in finish([second])
    (cache,) = tmp_path.glob("cache/*.cache")
    assert sorted(os.listdir(cache)) == ["lock", "notes.json", "records"]


@pytest.mark.slow
def test_links_in_the_place_of_locks_are_not_followed(numbers, tmp_path):
    """A lock would make what a link points to; the cache is an error, columns need no file."""
    where, victim = tmp_path / "where", tmp_path / "victim"
    x, _ = flow.MiniDecoder(flow.MiniReader(str(numbers), index_dir=str(where)))
    data = flow.Dataset({"x": x}).cache(where)
    flow.DataLoader(data.batch(8)["x"]).close()
    (cache,) = where.glob("*.cache")
    for left in cache.iterdir():
        left.unlink()
    (cache / "lock").symlink_to(victim)
    with pytest.raises(flow.FileError, match="a link is in the place of the lock .*; remove it"):
        flow.DataLoader(data.batch(8)["x"])
    (cache / "lock").unlink()
    cache.rename(tmp_path / "there")
    cache.symlink_to(tmp_path / "there")
    with pytest.raises(flow.FileError, match="a link is in its place; remove it"):
        flow.DataLoader(data.batch(8)["x"])
    assert not [*(tmp_path / "there").iterdir()]
    values = flow.Dataset({"x": x}).column("x")
    (column,) = where.glob("*.column")
    column.unlink()
    Path(f"{column}.lock").symlink_to(victim)
    np.testing.assert_array_equal(flow.Dataset({"x": x}).column("x"), values)
    assert not victim.exists()


def test_memory_ends_with_its_last_process(numbers, tmp_path):
    """Also where a process is killed: the next one cleans up."""
    memory = tmp_path / "shm"
    shared = memory / f"pyflowdata-{os.geteuid()}"
    processes = [start(numbers, "memory", rank, "fast", memory) for rank in (0, 1)]
    said = ""
    for process in processes:
        while not said.endswith("read"):
            said += process.stdout.readline().split()[0]
        said += " "
    assert said.count("cached") == 1
    (cache,) = shared.glob("*")
    finish(processes[:1])
    assert cache.exists(), "the other one uses it"
    finish(processes[1:])
    assert not cache.exists()
    killed = start(numbers, "memory", 0, "fast", memory)
    while "read" not in killed.stdout.readline():
        pass
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert cache.exists()
    cache_files.CachePlace("memory").make()
    assert not cache.exists()


def test_memory_ends_where_two_processes_end_at_the_same_time(tmp_path, monkeypatch):
    """The last one ends while the one before finds that there is another."""
    cache = tmp_path / "some.cache"
    cache.mkdir()
    for name in ("lock", "records"):
        (cache / name).touch()
    flock, last = fcntl.flock, open(cache / "records", "rb")
    flock(last, fcntl.LOCK_SH)

    def until_it_is_refused(file, how):
        try:
            flock(file, how)
        except BlockingIOError:
            if not last.closed:
                last.close()
                cache_files._remove_unused(cache)
            raise

    monkeypatch.setattr(fcntl, "flock", until_it_is_refused)
    cache_files._remove_unused(cache)
    assert last.closed and not cache.exists()


# ---- No room -------------------------------------------------------------------------------------


def test_too_little_room_is_told_before_it_is_used(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cache_files.CachePlace, "free_bytes", lambda self, most: 10_000)
    for where, words in (("memory", "memory are free; give cache"), (tmp_path, "on this disk")):
        cached = records(folder).cache(where)
        needs = r"120 records will take about 0\.1 MB, and 0\.0 MB"
        with pytest.raises(flow.FileError, match=f"{needs} .*{words}"):
            len(cached)
    assert not list(tmp_path.rglob("records"))


FULL = """
import resource, sys
import pyflowdata as flow
from pathlib import Path

x, y = flow.MiniDecoder(flow.MiniReader(sys.argv[1]))
cached = flow.Dataset({"x": x, "y": y}).cache(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (4500, 4500))
try:
    len(cached)
except flow.FileError as failure:
    print(failure.message)
print([path.name for path in Path(sys.argv[2]).glob("*/*")])
"""


def test_a_disk_that_becomes_full(numbers, tmp_path):
    said = programs.run(FULL, numbers, tmp_path / "cache", check=True).stdout.splitlines()
    assert said[0].startswith("the cache cannot be written after 64 records of 0.0 MB together: ")
    assert said[1] == "[]" and not list(tmp_path.glob("cache/*"))


def test_folders_that_cannot_be(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(flow.FileError, match="the folder for caches cannot be made"):
        len(records(folder).cache(tmp_path / "file"))
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", "none")
    with pytest.raises(flow.InvalidArgumentError, match="cache\\('disk'\\).*give a folder"):
        records(folder).cache("disk")
    shared = tmp_path / "shm" / f"pyflowdata-{os.geteuid()}"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    with pytest.raises(flow.FileError, match="other users can use it"):
        len(records(folder).cache())


def test_a_function_is_called_once_and_for_a_probe(tmp_path):
    calls, lock = Counter(), threading.Lock()

    def slow(x):
        with lock:
            calls[int(x)] += 1
        return x + 1

    for size in (1, 100, 1000):
        calls.clear()
        data = flow.from_arrays({"x": np.arange(size)})
        data = data.map(slow, "x", outputs={"x": "int64"}).cache(tmp_path / str(size), version="1")
        assert [int(record["x"]) for record in data] == list(range(1, size + 1))
        assert sum(calls.values()) <= size + 64 and max(calls.values()) <= 2


def test_a_random_op_of_any_source_is_found(tmp_path):
    def drawn(x, *, rng):
        return int(rng.integers(1 << 40))

    data = flow.from_arrays({"x": np.arange(500)})
    mixed = data.concat(data.map(drawn, "x", outputs={"x": "int64"}, name="drawn"))
    with pytest.raises(flow.InvalidArgumentError, match=r"cache\(\): x of 64 records change"):
        len(mixed.cache(tmp_path, version="1"))
    assert not list(tmp_path.glob("*/records"))


def test_damaged_records_are_made_again(tmp_path):
    data = flow.from_arrays({"x": np.arange(1000)})
    assert len(data.cache(tmp_path)) == 1000
    (path,) = tmp_path.glob("*/records")
    found = os.stat(path)
    with open(path, "r+b") as file:
        file.seek(4096 + 80)
        file.write(b"12345678")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    with pytest.warns(UserWarning, match=f"the cache {path} was changed.*made again"):
        assert data.cache(tmp_path).column("x").tolist() == list(range(1000))
