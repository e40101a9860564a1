"""where() and columns, beside NumPy; when the pass over the records is made, and when not."""

import ast
import functools
import math
import os
import subprocess
import sys
import threading
import time
import traceback
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest
from support.paths import ROOT

import pyflowdata as flow
from pyflowdata.datasets import columns
from pyflowdata.datasets.columns import column
from pyflowdata.datasets.fingerprints import of_function
from pyflowdata.errors import InvalidArgumentError, UserFunctionError
from pyflowdata.nodes import file_states

N = 3000
VALUES = np.random.default_rng(0).integers(-20, 20, (N, 2))


def write(path, values=VALUES):
    values.astype(np.int64).tofile(path)


@pytest.fixture
def path(tmp_path):
    write(tmp_path / "rows")
    return tmp_path / "rows"


def opened(path, **attrs):
    rows = flow.RawReader(files=str(path), shape=(2,), dtype="int64", **attrs)
    first = flow.Cast(flow.Slice(rows, start=[0], stop=[1]), dtype="float32")
    return flow.Dataset({"pair": rows, "first": first})


def firsts(data, **attrs):
    with flow.DataLoader(data.batch(100, **attrs)["pair"]) as loader:
        batches = [batch[:, 0] for batch in loader]
    return np.concatenate([*batches, np.empty(0)]).astype(np.int64).tolist()


@pytest.fixture
def passes(monkeypatch):
    """What was evaluated over all records, in words."""
    done = []
    values = columns._Pass.values

    def counted(self):
        done.append(self._wanted.said)
        return values(self)

    monkeypatch.setattr(columns._Pass, "values", counted)
    return done


# ---- Which records ------------------------------------------------------------------------------


def test_predicates_of_every_kind(path):
    data = opened(path)
    is_true = VALUES[:, 0] > 3
    wanted = VALUES[is_true, 0].tolist()
    for predicate in (
        "pair[0] > 3",
        lambda pair: pair[:, 0] > 3,
        lambda pair, first, limit=3: first[:, 0] > limit,
        lambda pair, first=3: pair[:, 0] > first,  # a default stays, as in map()
        lambda **fields: (fields["pair"][:, :1] > 3),
        functools.partial(lambda limit, pair: pair[:, 0] > limit, 3),
        "not 2 * max(pair[0], -30) <= 7 and first[0] > 0",
    ):
        selected = data.where(predicate)
        assert len(selected) == len(wanted)
        assert firsts(selected) == wanted


def test_a_blob_of_truths(path):
    write(path, VALUES % 2)
    data = opened(path)
    is_odd = flow.Cast(flow.Slice(data["pair"], start=[1], stop=[2]), dtype="bool")
    assert firsts(data.where(is_odd)) == (VALUES % 2)[VALUES[:, 1] % 2 == 1, 0].tolist()
    later = data.skip(7)
    is_odd = flow.Cast(flow.Slice(later["pair"], start=[1], stop=[2]), dtype="bool")
    assert len(later.where(is_odd)) == (VALUES[7:, 1] % 2).sum()


def test_any_number_of_records(tmp_path):
    for n in (1, 63, 64, 65, 1000):
        write(tmp_path / "some", VALUES[:n])
        data = opened(tmp_path / "some")
        assert firsts(data.where("pair[0] % 2 == 0")) == [v for v in VALUES[:n, 0] if v % 2 == 0]
        assert firsts(data.where("pair[0] < 100")) == VALUES[:n, 0].tolist()


def test_small_batches_fill_the_bitmap_alike(path, monkeypatch):
    wanted = VALUES[VALUES[:, 0] > 0, 0].tolist()
    for size in (1, 1000, 5000):
        monkeypatch.setattr(columns, "_BATCH_BYTES", size)
        assert firsts(opened(path).where("pair[0] > 0")) == wanted
        assert column(opened(path), "pair[0]").tolist() == VALUES[:, 0].tolist()


def test_formats_and_texts(tmp_path):
    words = ["", "cat", "dog", "a,b", "Ünder"]
    rows = [(words[i % 5], i % 7, [i] * (i % 4)) for i in range(500)]
    lines = "".join(f'"{word}",{number}\n' for word, number, _ in rows)
    (tmp_path / "t.csv").write_text("word,number\n" + lines)
    data = flow.open(tmp_path / "t.csv")
    found = data.where("word in ('cat', 'Ünder') and number != 3 or word == ''")
    wanted = [(w, n) for w, n, _ in rows if w in ("cat", "Ünder") and n != 3 or w == ""]
    assert [(r["word"].decode(), r["number"]) for r in found] == wanted
    assert len(data.where(lambda word: word.lengths > 3)) == 100
    assert column(data, "word").tolist() == [w.encode() for w, *_ in rows]
    assert column(data, "len(word)").tolist() == [len(w.encode()) for w, *_ in rows]


def test_nothing_and_everything(path):
    data = opened(path)
    none = data.where("pair[0] > 1000")
    assert (len(none), list(none), none.head(), firsts(none)) == (0, [], [], [])
    with pytest.raises(IndexError, match="record 0 of 0 records"):
        none[0]
    assert len(none.where("pair[0] > 0")) == len(none.split([0.5, 0.5])[0]) == 0
    assert column(none, "pair[0]").shape == (0,)
    assert firsts(data.where("pair[0] < 1000")) == VALUES[:, 0].tolist()


def test_nan_is_in_no_order(tmp_path):
    values = np.array([1, math.nan, -1, math.inf, math.nan], np.float32)
    values.tofile(tmp_path / "x")
    data = flow.Dataset({"x": flow.RawReader(files=str(tmp_path / "x"), shape=(), dtype="float32")})
    texts = "x > 0", "x <= 0", "not x > 0", "isnan(x)", "x != x"
    assert [len(data.where(text)) for text in texts] == [2, 1, 3, 2, 2]


def test_views_before_and_after(path):
    data = opened(path)
    order = VALUES[::-1][:1000]
    nested = data[::-1].take(1000).where("pair[0] > 0").where("pair[1] > 0").skip(3)
    assert firsts(nested) == order[(order > 0).all(1), 0].tolist()[3:]
    twice = data.take(50).repeat(2).where("pair[0] > 0")
    assert firsts(twice) == 2 * VALUES[:50][VALUES[:50, 0] > 0, 0].tolist()
    both = data.take(10).concat(data.skip(2990)).where("pair[0] > 0")
    ends = np.concatenate([VALUES[:10, 0], VALUES[2990:, 0]])
    assert firsts(both) == ends[ends > 0].tolist()


def test_a_shuffle_before_shuffles_what_is_left(path):
    wanted = VALUES[VALUES[:, 0] > 0, 0].tolist()
    before = opened(path).shuffle(seed=7).where("pair[0] > 0")
    after = opened(path).where("pair[0] > 0").shuffle(seed=7)
    assert firsts(before) == firsts(after) != wanted
    assert sorted(firsts(before)) == sorted(wanted)
    window = opened(path).shuffle(seed=7, kind="window", block_size=8, window=4)
    window = window.where("pair[0] > 0")
    assert sorted(firsts(window)) == sorted(wanted)
    with pytest.raises(InvalidArgumentError, match="ShuffleDataset draws other records"):
        opened(path).shuffle(seed=7).take(10).where("pair[0] > 0")
    with pytest.raises(InvalidArgumentError, match="ShuffleDataset draws other records"):
        column(opened(path).shuffle(seed=7).take(10), "pair")


def test_ranks_and_resume(path):
    data = opened(path).where("pair[0] > 0").shuffle(seed=3)
    with flow.DataLoader(data.batch(64, rank=0, world_size=1)["pair"]) as loader:
        whole = [batch[:, 0].tolist() for batch in loader]
    parts = []
    for rank in range(4):
        with flow.DataLoader(data.batch(64, rank=rank, world_size=4)["pair"]) as loader:
            batches = iter(loader)
            first = [next(batches)[:, 0].tolist() for _ in range(3)]
            state = loader.state_dict()
        with flow.DataLoader(data.batch(64, rank=rank, world_size=4)["pair"]) as loader:
            loader.load_state_dict(state)
            parts.append(first + [batch[:, 0].tolist() for batch in loader])
    assert [sum(step, []) for step in zip(*parts, strict=True)] == whole
    other = opened(path).where("pair[0] > 1").shuffle(seed=3)
    with flow.DataLoader(other.batch(64)["pair"]) as loader, pytest.raises(InvalidArgumentError):
        loader.load_state_dict(state)


# ---- Columns ------------------------------------------------------------------------------------


def test_columns(path):
    data = opened(path)
    assert column(data, "pair").tolist() == VALUES.tolist()
    assert column(data, "pair[1]").dtype == np.int64
    sums = column(data, lambda pair: pair.sum(1).astype(np.float32))
    assert sums.tolist() == VALUES.sum(1).tolist()
    assert column(data, data.blob("first")).shape == (N, 1)
    assert column(data.where("pair[0] > 0"), "pair[0]").min() == 1
    # Where one batch has whole numbers and another floats, all are floats.
    mixed = column(data, lambda pair: pair[:, 0] / 2 if pair[0, 0] % 2 else pair[:, 0] // 2)
    assert mixed.shape == (N,)


def test_texts_keep_the_nuls_at_their_ends(tmp_path, cache, passes, monkeypatch):
    texts = [b"a", b"a\0", b"a", b"", b"\0\0", b"b"]
    data = flow.from_arrays({"t": texts, "i": np.arange(6)})
    assert column(data, "t").tolist() == column(data, lambda r: r["t"]).tolist() == texts
    order = sorted(range(6), key=texts.__getitem__)
    assert [r["i"] for r in data.sort("t")] == order
    backwards = sorted(range(6), key=texts.__getitem__, reverse=True)
    assert [r["i"] for r in data.sort("t", reverse=True)] == backwards
    halves = flow.from_arrays({"t": [b"a", b"a\0"] * 50}).split([0.5, 0.5], stratify="t")
    assert [sorted(r["t"] for r in half).count(b"a") for half in halves] == [25, 25]
    lines = tmp_path / "t.jsonl"
    lines.write_text('{"t": "a"}\n{"t": "a\\u0000"}\n')
    kept = flow.open(lines, index_dir=str(tmp_path / "own"))
    passes.clear()
    found = [column(kept, "t") for _ in range(3)]
    assert [one.tolist() for one in found] == [[b"a", b"a\0"]] * 3 and len(passes) == 1
    for mixed in (lambda r: r["t"] if r["i"] else 7, lambda i: [b"a", 1] * 3):
        with pytest.raises(InvalidArgumentError, match="texts beside numbers"):
            len(data.sort(mixed).head(1))
    found = [column(kept, lambda r: r["t"].decode()) for _ in range(2)]
    assert [one.tolist() for one in found] == [["a", "a\0"]] * 2 and passes[3:] == ["<lambda>"]
    many = flow.from_arrays({"t": ["a", "b"] * 64, "i": np.arange(128)})
    monkeypatch.setattr(columns, "_BATCH_BYTES", 1)
    for last, said in ((2, "bytes beside str"), (64, "str after bytes")):
        with pytest.raises(InvalidArgumentError, match=f"<lambda> gives {said} for 64 records"):
            column(many, lambda r: r["t"] if r["i"] < last else r["t"].decode())
    words = flow.from_arrays({"t": ["b", "é", "a"]})
    assert [r["t"] for r in words.sort(lambda r: r["t"].decode())] == [b"a", b"b", "é".encode()]
    for kind in (bytearray, np.bytes_):  # NumPy cuts off NUL in them, too
        assert column(words, lambda r: kind(r["t"] + b"\0")).tolist() == [  # noqa: B023
            b"b\0", "é\0".encode(), b"a\0"
        ]  # fmt: skip


@pytest.mark.parametrize("kind", [bytes, str])
def test_one_long_text_among_short_ones_takes_its_own_memory(tmp_path, passes, kind):
    texts = [f"{i:020}" for i in range(0, 60_000, 7)]
    texts[100] = "z" * 300_000  # 2.5 GB as rows of one length
    lines = tmp_path / "t.jsonl"
    lines.write_text("".join(f'{{"t": "{text}"}}\n' for text in texts))
    what = "t" if kind is bytes else lambda r: r["t"].decode()
    tracemalloc.start()
    try:
        for _ in range(2):  # computed, and from the cache
            data = flow.open(lines, index_dir=str(tmp_path / "own"))
            found = data.column(what)
            assert found.dtype == object
            assert found.tolist() == [text if kind is str else text.encode() for text in texts]
        assert data.sort(what)[-1]["t"] == b"z" * 300_000
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert len(passes) == 2


def test_a_pass_is_made_when_it_is_needed_and_once(path, passes):
    selected = opened(path).where("pair[0] > 0").where(lambda pair: pair[:, 1] > 0)
    assert passes == []
    blobs = selected.batch(10)
    assert passes == []
    assert len(selected) == len(selected) == len(list(selected)) > 0
    with flow.DataLoader(blobs) as loader:
        assert len(loader) == math.ceil(len(selected) / 10)
    assert passes == ["'pair[0] > 0'", "<lambda>"]
    train, val = opened(path).split([0.5, 0.5])
    assert len(train) + len(val) == N and passes[2:] == ["split"]


def test_only_the_fields_of_the_predicate_are_read(path):
    data = opened(path)
    wanted = columns.made_of(data, "first[0] > 0")
    assert list(wanted.blobs) == ["first"]
    assert list(columns.made_of(data, lambda pair: pair).blobs) == ["pair"]


def test_a_bitmap_takes_a_bit_for_each_record(path):
    table = columns.bitmap_of(opened(path), "pair[0] > 0")
    assert table.array.nbytes == (N + 63) // 64 * 8
    bits = np.unpackbits(table.array.view(np.uint8), bitorder="little")
    assert bits[:N].astype(bool).tolist() == (VALUES[:, 0] > 0).tolist() and not bits[N:].any()


# ---- The cache ----------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def test_another_program_finds_the_result(path, cache, passes):
    def length(predicate="pair[0] > 0", **attrs):
        return len(opened(path, index_dir=str(cache), **attrs).where(predicate))

    first = length()
    assert passes == ["'pair[0] > 0'"] and length() == first and len(passes) == 1
    assert length(lambda pair: pair[:, 0] > 0) == length(lambda pair: pair[:, 0] > 0) == first
    assert len(passes) == 2
    assert sorted(one.suffix for one in cache.iterdir()) == [".column"] * 2
    # Another predicate, part of the data set, or field of that name:
    assert length("pair[0] > 1") < first and len(passes) == 3
    assert len(opened(path, index_dir=str(cache)).take(5).where("pair[0] > 0")) <= 5
    renamed = flow.Dataset({"pair": opened(path, index_dir=str(cache)).blob("first")})
    assert len(renamed.where("pair[0] > 0")) == first and len(passes) == 5
    moved = path.with_name("moved")
    os.rename(path, moved)
    write(path, -VALUES)
    assert length() == int((VALUES[:, 0] < 0).sum()) and len(passes) == 6


def test_a_changed_file_is_noticed(path, cache, passes):
    def length():
        return len(opened(path, index_dir=str(cache)).where("pair[0] == 100"))

    assert length() == length() == 0 and len(passes) == 1
    changed = VALUES.copy()
    changed[1234, 0] = 100  # between the samples of the fingerprint, in a file of the same size
    found = os.stat(path)
    write(path, changed)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert length() == length() == 1 and len(passes) == 2
    write(path, np.concatenate([changed, changed]))
    assert length() == length() == 2 and len(passes) == 3
    assert len(list(cache.iterdir())) == 1  # each replaced the one before


def test_a_data_set_that_was_used_notices_a_changed_file(path):
    data = opened(path)
    views = {
        "where": data.where("pair[0] > 3"),
        "split": data.split([0.5, 0.5], by="pair")[0],
        "repeat_by": data.repeat_by("abs(first[0])"),
    }
    nested = views["where"].where("first < 9")
    before = {name: firsts(view, seed=0) for name, view in views.items()}
    assert firsts(nested) == [x for x in VALUES[:, 0] if 3 < x < 9]
    for values in (VALUES[::-1], np.concatenate([VALUES, VALUES])):
        write(path, values)
        os.utime(path, ns=(0, len(values)))
        assert firsts(views["where"]) == [x for x in values[:, 0] if x > 3]
        assert firsts(nested) == [x for x in values[:, 0] if 3 < x < 9]
        assert firsts(views["split"]) == firsts(opened(path).split([0.5, 0.5], by="pair")[0])
        assert len(firsts(views["repeat_by"], seed=0)) == abs(values[:, 0]).sum()
        assert all(firsts(view, seed=0) != before[name] for name, view in views.items())


def replace_file(path, values):
    write(path.with_suffix(".new"), values)
    os.replace(path.with_suffix(".new"), path)


def test_what_was_computed_from_a_file_is_not_applied_to_another_one(path):
    data = opened(path)
    view = data.where("pair[0] > 3")
    ragged = data.map(lambda first: np.arange(2), "first", outputs={"ids": "int64[?]"})
    assert len(view) and len(data) and len(ragged)
    batches = [view.batch(8), data.batch(8)]
    replace_file(path, VALUES[::-1])
    for blobs in batches:
        with pytest.raises(flow.FileError, match="changed while this data set was open"):
            flow.DataLoader(blobs.blobs)
    calls = [
        lambda: data.where("pair[0] > 3"),
        lambda: data.column("first"),
        lambda: data.sort("first"),
        lambda: data.group_by("first"),
        lambda: data[0] if len(data) else None,
        lambda: view.sort("first"),
        lambda: ragged.explode("ids"),
        lambda: ragged.pack(4, field="ids"),
        lambda: ragged.batch_by_length(2, field="ids"),
    ]
    for call in calls:
        with pytest.raises(flow.FileError, match="changed while this data set was open"):
            call()
    assert opened(path).column("first[0]").tolist() == VALUES[::-1, 0].tolist()

    def positive(pair):
        if len(pair):
            replace_file(path, -VALUES)  # after its records were read for the mask
        return pair[:, 0] > 0

    with pytest.raises(flow.FileError):
        flow.DataLoader(opened(path).where(positive).batch(8).blobs)


def test_a_file_that_is_replaced_while_loaders_open_is_noticed(path):
    even = np.arange(40).reshape(20, 2) // 2 * 2
    write(path, even)
    view = opened(path).where("pair[0] % 4 == 0")
    assert len(view) == 10
    blobs, wrong = view.batch(5).blobs, []
    thread = threading.Thread(target=lambda: (time.sleep(0.05), replace_file(path, even + 1)))
    thread.start()
    with pytest.raises(flow.FileError):
        for _ in range(10000):
            with flow.DataLoader(blobs) as loader:
                wrong += [x for batch in loader for x in batch["pair"][:, 0].tolist() if x % 4]
    thread.join()
    assert not wrong


def test_other_files_of_a_folder_are_noticed(tmp_path):
    def files(*numbers):
        for number in numbers:
            write(tmp_path / f"part-{number}", np.full((2, 2), number))

    files(0, 1)
    rows = flow.RawReader(data_dir=str(tmp_path), data_part_num=-1, shape=(2,), dtype="int64")
    data = flow.Dataset({"pair": rows})
    view, order = data.where("pair[0] > 0"), data.sort("pair[1]", reverse=True)
    assert firsts(view) == [1, 1] and firsts(order) == [1, 1, 0, 0] and len(data) == 4
    before = os.stat(tmp_path / "part-1")
    write(tmp_path / "new", np.array([[7, 0], [0, 7]]))
    os.utime(tmp_path / "new", ns=(0, before.st_mtime_ns))  # size and time are the same
    os.replace(tmp_path / "new", tmp_path / "part-1")
    assert firsts(view) == [7] and firsts(order) == [0, 0, 0, 7]
    with pytest.raises(flow.FileError, match="part-1"):
        len(data)
    data = flow.Dataset({"pair": rows})
    assert len(data) == 4
    files(2)
    with pytest.raises(flow.FileError, match="part-2"):
        len(data)


def test_files_of_several_views_are_looked_at_once_when_a_loader_opens(tmp_path, monkeypatch):
    for number in range(3):
        write(tmp_path / f"part-{number}", np.arange(8).reshape(4, 2))
    rows = flow.RawReader(files=str(tmp_path / "part-*"), shape=(2,), dtype="int64")
    data = flow.Dataset({"pair": rows})
    assert len(data) == 12
    batches = data.batch(2).blobs
    blobs = data.where("pair[0] > 1").sort("pair[1]").where("pair[0] < 6").batch(2).blobs
    with flow.DataLoader(blobs) as loader:
        assert len(list(loader)) == 3
    looked, state_of = [], file_states.state_of
    monkeypatch.setattr(
        file_states, "state_of", lambda path: looked.append(path) or state_of(path)
    )
    file_states.check_seen(blobs.values())
    assert sorted(looked) == [str(tmp_path / f"part-{number}") for number in range(3)]
    write(tmp_path / "part-3", np.zeros((1, 2), np.int64))
    with pytest.raises(flow.FileError, match="part-3.*changed while this data set"):
        flow.DataLoader(batches)


def test_other_images_of_a_folder_are_noticed(tmp_path):
    def image(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"an image")

    image(tmp_path / "cat" / "0.jpg")
    image(tmp_path / "dog" / "0.jpg")
    data = flow.open(tmp_path)
    view = data.where("label == 1")

    def length():
        with flow.DataLoader(view.batch(1)["label"]) as loader:
            return len(list(loader))

    assert length() == 1 and len(data) == 2
    image(tmp_path / "dog" / "1.jpg")  # its folder changes, and the folder above does not
    assert length() == 2
    with pytest.raises(flow.FileError, match="dog"):
        len(data)


def test_a_file_that_is_not_ours_or_not_whole_is_computed_again(path, cache, passes):
    def length():
        return len(opened(path, index_dir=str(cache)).where("pair[0] > 0"))

    wanted = length()
    (file,) = cache.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[:60], whole[:-1], whole[:200] + b"\xff\x00" + whole[202:],
                    whole[:-20] + bytes(20), whole[:8] + b"\xff\xff" + whole[10:],
                    whole[:20] + b"(" * 40 + whole[60:]):  # fmt: skip
        file.write_bytes(damaged)
        done = len(passes)
        assert length() == wanted and len(passes) == done + 1
        assert file.read_bytes() == whole
    file.chmod(0o666)
    assert length() == wanted and len(passes) == done + 2
    os.unlink(file)
    file.mkdir()  # nothing can be stored there
    assert length() == wanted and len(passes) == done + 3


def test_where_nothing_is_kept(path, cache, passes, monkeypatch):
    for attrs, folder in [({"index_dir": "none"}, str(cache)), ({}, str(cache)), ({}, "none")]:
        monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", folder)
        for _ in range(2):
            assert len(opened(path, **attrs).where("pair[0] > 0")) > 0
    assert len(passes) == 6 and not cache.exists()
    # Small files are kept where a pass takes long.
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(cache))
    monkeypatch.setattr(columns, "_LEAST_SECONDS", 0)
    for _ in range(2):
        assert len(opened(path).where("pair[0] > 0")) > 0
    assert len(passes) == 7 and len(list(cache.iterdir())) == 1
    for _ in range(2):
        kept = flow.from_arrays({"x": VALUES[:, 0]}).cache(path.parent / "records")
        assert len(kept.where("x > 0")) > 0
    assert len(passes) == 8 and len(list(cache.iterdir())) == 2
    monkeypatch.setenv("PYFLOWDATA_INDEX_DIR", str(path / "no" / "folder"))
    assert len(opened(path).where("pair[0] > 0")) > 0


def test_one_computes_and_the_others_wait(path, cache, passes):
    found = []
    threads = [
        threading.Thread(
            target=lambda: found.append(
                len(opened(path, index_dir=str(cache)).where("pair[0] + 0 > 0"))
            )
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [int((VALUES[:, 0] > 0).sum())] * 4 and len(passes) == 1
    assert [one.suffix for one in cache.iterdir()] == [".column"]


def test_threads_that_disturb_each_others_parsing(path, cache, passes, monkeypatch):
    """As Python 3.11 does: ast.parse() fails, also that of NumPy, which reads a header so."""
    parse, failures = ast.parse, []

    def disturbed(*args, **kwargs):
        if len(failures) % 3 < 2:
            failures.append(args)
            raise SystemError("AST constructor recursion depth mismatch")
        failures.append(None)
        return parse(*args, **kwargs)

    monkeypatch.setattr(ast, "parse", disturbed)
    data = opened(path, index_dir=str(cache))
    for _ in range(2):
        assert len(data.where("pair[0] + 0 > 0")) == (VALUES[:, 0] > 0).sum()
    assert len(passes) == 1 and len(failures) >= 9


def test_a_pass_that_is_interrupted_leaves_nothing(path, cache):
    def interrupted(pair):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        len(opened(path, index_dir=str(cache)).where(interrupted))
    assert list(cache.iterdir()) == []


# ---- What a function depends on -----------------------------------------------------------------

LIMIT = 3
HELPERS = {"limit": 3}


def helper(x):
    return x > LIMIT


def test_a_changed_function_is_noticed(monkeypatch):
    def make(limit, values=(1, 2)):
        return lambda x: helper(x) & (x > limit) & np.isin(x, values)

    first = of_function(make(1))
    assert first == of_function(make(1)) is not None
    assert first != of_function(make(2)) != of_function(make(1, (1, 3)))
    assert of_function(lambda x: x > 1) != of_function(lambda x: x > 2)
    assert of_function(lambda x: x > 1) != of_function(lambda x: x >= 1)
    assert of_function(lambda x, a=1: x > a) != of_function(lambda x, a=2: x > a)
    assert of_function(lambda x: x.real) != of_function(lambda x: x.imag)
    assert of_function(lambda x: [y > 1 for y in x]) != of_function(lambda x: [y > 2 for y in x])
    half = functools.partial(helper, y=1)
    assert None is not of_function(half) != of_function(functools.partial(helper, y=2))
    array = np.arange(3)
    with_array = of_function(lambda x: np.isin(x, array))
    array[0] = 7
    assert with_array != of_function(lambda x: np.isin(x, array))
    by_name = of_function(lambda x: x > HELPERS["limit"])
    monkeypatch.setitem(HELPERS, "limit", 4)
    assert by_name != of_function(lambda x: x > HELPERS["limit"])
    monkeypatch.setitem(globals(), "LIMIT", 4)  # helper() has it
    assert first != of_function(make(1))

    def low(x):
        return x > 1

    def high(x):
        return x > low.limit

    low.limit = 1
    by_attribute = of_function(high)
    low.limit = 2
    assert None is not by_attribute != of_function(high)
    listed = [low, high, low]
    by_last = of_function(lambda x: listed[2](x))
    listed[2] = high
    assert None is not by_last != of_function(lambda x: listed[2](x))


def test_what_cannot_be_told_is_not_kept():
    class Predicate:
        def __call__(self, x):
            return x > 1

        def method(self, x):
            return x > 1

    predicate = Predicate()
    for function in (predicate, predicate.method, lambda x: predicate(x), lambda x: columns.np):
        assert of_function(function) is None

    def importing(x):
        import support.paths

        return support.paths

    assert of_function(importing) is None
    endless: list[object] = []
    endless.append(endless)
    masked = np.ma.masked_array(np.arange(3), mask=[0, 1, 0])
    for function in (
        lambda x: endless, lambda x: masked[x], lambda x: x > eval("N"), lambda x: globals()["N"],
        lambda x: later,
    ):  # fmt: skip
        assert of_function(function) is None
    later = 1


def test_the_fingerprint_is_the_same_in_every_process():
    program = (
        "from pyflowdata.datasets.fingerprints import of_function\n"
        "names = {'a', 'b', 'c', 'd'}\n"
        "print(of_function(lambda x: x in {'e', 'f', 'g', 'h'} or x in names))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT, capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(said) == 1 and len(said.pop()) == 65


# ---- What is refused ----------------------------------------------------------------------------


def test_what_is_refused_when_it_is_written(path):
    data, other = opened(path), opened(path)
    for predicate, says in [
        ("pari[0] > 3", "character 1 (pari): there is no field 'pari'; did you mean 'pair'?"),
        ("pair[0] >", "at its end: invalid syntax"),
        ("pair[0]", "'pair[0]' gives int64 for a record; a predicate gives one truth"),
        ("pair", "'pair' gives int64 of shape (2,) for a record; a predicate gives one truth"),
        ("pair > 3", "'pair > 3' gives bool of shape (2,) for a record"),
        (lambda x: x, "<lambda>: there is no field 'x' for its parameter; the fields are pair"),
        (lambda: True, "it has no parameter; its parameters are the fields"),
        (lambda *columns: True, "there is no field 'columns'"),
        (7, "where(7): give an expression, a function of fields, a blob, or one truth"),
        (data.blob("pair"), "gives int64 of shape (2,) for a record"),
        (other.blob("first"), "it must be made of the fields of this data set"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            data.where(predicate)
        assert says in str(caught.value)


def test_what_is_refused_when_it_is_evaluated(path):
    data = opened(path)
    for function, says in [
        (lambda pair: pair[:, 0], "<lambda> gives int64 of shape (3000,) for 3000 records; it must "
                                  "give one truth (bool) for each"),
        (lambda pair: pair > 3, "gives bool of shape (3000, 2) for 3000 records"),
        (lambda pair: True, "gives bool of shape () for 3000 records; it must give one truth "
                            "(bool) for each; a function of fields gets arrays of many records: "),
        (lambda pair: bool((pair > 3).all(1)), "; a function of fields gets arrays of many"),
        (lambda pair: pair.startswith(b"a"), ", for the records 0 to 2999; a function of fields"),
        (lambda pair: (pair[:, 0] > 3)[1:], "gives bool of shape (2999,) for 3000 records"),
        (lambda pair: None, "gives object of shape () for 3000 records"),
    ]:  # fmt: skip
        with pytest.raises((InvalidArgumentError, UserFunctionError)) as caught:
            len(data.where(function))
        assert says in str(caught.value)

    def divide(pair):
        return 1 / 0

    with pytest.raises(UserFunctionError) as failure:
        len(data.where(divide))
    assert isinstance(failure.value.__cause__, ZeroDivisionError)
    trace = traceback.extract_tb(failure.value.__cause__.__traceback__)
    assert trace[-1].name == "divide"
    with pytest.raises(InvalidArgumentError, match="gives int64 of shape .* one value for each"):
        column(data, lambda pair: pair[:5])


def test_random_fields_have_no_value_for_good(path):
    data = opened(path)
    coins = flow.CoinFlip(data["pair"], probability=0.5)
    with_coins = flow.Dataset({"pair": data["pair"], "coin": coins})
    with pytest.raises(InvalidArgumentError, match="'coin == 1': its fields change from epoch to"):
        len(with_coins.where("coin == 1"))
    assert len(with_coins.where("pair[0] > 0")) == (VALUES[:, 0] > 0).sum()


def test_damage_is_an_error(tmp_path):
    (tmp_path / "t.csv").write_text("x\n" + "1\n" * 100 + "oops\n" + "2\n" * 100)
    data = flow.open(tmp_path / "t.csv", fields="x:int64")
    with pytest.raises(flow.CorruptDataError, match=r"t\.csv:102"):
        len(data.where("x > 1"))


def test_progress_is_shown_after_two_seconds(path, monkeypatch, capsys):
    from pyflowdata.insight import progress

    monkeypatch.setattr(columns, "_BATCH_BYTES", 1)
    assert len(opened(path).where("pair[0] > 0"))
    assert capsys.readouterr().err == ""
    clock = iter(range(0, 10000))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    assert len(opened(path).where("pair[0] > 0"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "pyflowdata: 'pair[0] > 0': 128 of 3,000 records (4 %), 64 a second"
    assert len(lines) == 10


def test_a_file_that_changes_under_open_records_is_an_error(path):
    data = opened(path).where("pair[0] > 3")
    count = len(data)
    write(path, np.concatenate([VALUES, VALUES]))
    for use in (lambda: len(data), lambda: data[0], lambda: list(data), lambda: data.batch(4)):
        with pytest.raises(flow.FileError, match=str(path)):
            use()
    assert len(opened(path).where("pair[0] > 3")) == 2 * count


# ---- Damaged records ----------------------------------------------------------------------------

COUNTED = {
    "where": lambda data: data.where("x > 1"),
    "filter": lambda data: data.filter(lambda x: x > 1),
    "sort": lambda data: data.sort("x", reverse=True),
    "split by counts": lambda data: _joined(data.split([6, 5])),
    "split(by)": lambda data: data.split([0.5, 0.5], by="x")[0],
    "split(stratify)": lambda data: _joined(data.split([0.5, 0.5], stratify="y")),
    "group_by": lambda data: data.group_by("y"),
    "distinct": lambda data: data.distinct("y"),
    "windows(key)": lambda data: data.sort("y").windows(2, key="y"),
    "explode": lambda data: data.explode(lambda r: [{"part": i} for i in range(r["y"])]),
    "pack": lambda data: _with_ids(data).pack(4, field="ids", add=[]),
    "batch_by_length": lambda data: _with_ids(data).batch_by_length(2, field="ids"),
    "enumerate": lambda data: data.enumerate().where("x > 1"),
    "cache": lambda data: data.map(lambda y: y + 1, "y").cache(version="1"),
    "column": lambda data: data.column("x + y"),
    "Statistics": lambda data: repr(flow.Statistics.fit(data, "x", quantiles=[0.5])),
    "Vocabulary": lambda data: flow.Vocabulary.fit(
        data.map(lambda x: b"%d" % x, "x", outputs={"word": "bytes"}), "word"
    ),
    "mix by tokens": lambda data: flow.mix(
        [_with_ids(data), _with_ids(data)], unit="tokens", field="ids", length=4
    ),
}


def _joined(parts):
    first, second = parts
    return first.concat(second).sort("x")


def _with_ids(data):
    return data.map(lambda y: np.arange(y), "y", outputs={"ids": "int64[?]"})


def _all_of(made):
    if not isinstance(made, (flow.Dataset, flow.Batches)):
        return made.tolist() if isinstance(made, np.ndarray) else made
    blobs = made if isinstance(made, flow.Batches) else made.batch(3, seed=0)
    with flow.DataLoader(blobs) as loader:
        found = [[getattr(x, "to_list", x.tolist)() for x in batch] for batch in loader]
        return found, loader.stats()["skipped"]


@pytest.mark.parametrize("way", COUNTED)
@pytest.mark.filterwarnings("ignore:skip_damaged")
def test_a_damaged_record_is_left_out_of_a_count_and_of_what_is_loaded(tmp_path, way):
    """By default a count names the record and the remedy; after skip_damaged() all is as with a
    file without the record."""
    rows = [f"{x},{x % 3}" for x in range(12)]
    (tmp_path / "whole").mkdir()
    for folder, kept in ((tmp_path, [*rows[:5], "bad,bad", *rows[6:]]),
                         (tmp_path / "whole", rows[:5] + rows[6:])):  # fmt: skip
        (folder / "rows.csv").write_text("x,y\n" + "\n".join(kept) + "\n")
    damaged, whole = (
        flow.open(str(folder / "rows.csv"), fields=["x:int64", "y:int64"])
        for folder in (tmp_path, tmp_path / "whole")
    )
    if "by counts" not in way:  # these are compared with the number of all records before
        with pytest.raises(flow.CorruptDataError, match=r"csv:7.*; data\.skip_damaged\(\) before"):
            _all_of(COUNTED[way](damaged))
    assert _all_of(COUNTED[way](damaged.skip_damaged())) == _all_of(COUNTED[way](whole))


def test_skip_damaged_opens_no_loader_to_list_what_is_not_there(path, monkeypatch):
    """One counts the records, and one reads them."""
    opens, made = [], columns.DataLoader
    monkeypatch.setattr(columns, "DataLoader", lambda *a, **b: opens.append(a) or made(*a, **b))
    assert len(opened(path).project("pair").skip_damaged()) == len(VALUES)
    assert len(opens) == 2


def test_skip_damaged_lists_records_once_and_has_a_limit(tmp_path):
    lines = ["bad" if x % 4 == 0 else str(x) for x in range(48)]
    (tmp_path / "mask.csv").write_text("mask\n" + "\n".join(lines) + "\n")
    data = flow.open(str(tmp_path / "mask.csv"), fields=["mask:int64"])
    with pytest.raises(flow.CorruptDataError, match=r"csv:42.*max_skipped = 0\.01") as failure:
        len(data.skip_damaged())
    assert "before it leaves" not in str(failure.value)
    kept = data.shuffle(seed=3).skip_damaged(max_skipped=12)
    with pytest.warns(UserWarning, match="leaves out 12 of 48 records") as warned:
        assert sorted(kept.column("mask")) == [x for x in range(48) if x % 4]
        with flow.DataLoader(kept.batch(5)) as loader:
            assert sorted(x for (batch,) in loader for x in batch) == sorted(kept.column("mask"))
    (text,) = {str(one.message) for one in warned}
    assert text.count("mask.csv:") == 10 and "mask.csv:2 " in text and "and 2 more" in text
    assert kept == data.shuffle(seed=3).skip_damaged(max_skipped=12)
    assert "skip_damaged()" in repr(kept)
    for wrong in (None, "x", -3, [1], 1.5):
        with pytest.raises(flow.InvalidArgumentError, match="max_skipped"):
            data.skip_damaged(max_skipped=wrong)
    with pytest.raises(flow.InvalidArgumentError, match="in each epoch"):
        data.shuffle().take(3).skip_damaged()
