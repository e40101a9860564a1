"""Words of data sets that other libraries have: sort, repeat without end, shard, values of a field,
truths and iterators as selections, and other forms of records."""

import itertools
import json
import warnings

import numpy as np
import pytest

from support import programs
import pyflowdata as flow
from pyflowdata.errors import InvalidArgumentError

NAN = float("nan")
ROWS = {
    "x": [3.0, NAN, -1.0, 3.0, 2.5, NAN],
    "n": np.array([2, 0, 2, 255, 1, 0], np.uint8),
    "t": ["b", "a", "", "a", "bb", "ä"],
    "r": [[1], [1, 2], [], [7, 8], [5], [1, 2, 3]],
    "box": np.arange(12).reshape(6, 2) % 5,
}


@pytest.fixture
def data():
    return flow.from_arrays({**ROWS, "i": np.arange(6)})


def numbers(found):
    return found.column("i").tolist()


def test_sort_is_that_of_python(data):
    keys = {
        "n": ROWS["n"].tolist(),
        "t": [text.encode() for text in ROWS["t"]],
        "len(r)": [len(row) for row in ROWS["r"]],
        "box[1] - n": [int(b[1]) - int(n) for b, n in zip(ROWS["box"], ROWS["n"])],
        "n > 1": [n > 1 for n in ROWS["n"].tolist()],
        "n * 0": [0] * 6,
    }
    for by, values in keys.items():
        for reverse in (False, True):
            wanted = sorted(range(6), key=values.__getitem__, reverse=reverse)
            assert numbers(data.sort(by, reverse=reverse)) == wanted, (by, reverse)
    assert numbers(data.sort("x")) == [2, 4, 0, 3, 1, 5]  # NaN is last
    assert numbers(data.sort("x", reverse=True)) == [0, 3, 4, 2, 1, 5]
    by_two = sorted(range(6), key=lambda i: (keys["n"][i], -keys["len(r)"][i]))
    assert numbers(data.sort("len(r)", reverse=True).sort("n")) == by_two
    assert numbers(data.sort(["n", "-len(r)"])) == by_two
    assert numbers(data.sort(("-1 * n", "len(r)"), reverse=True)) == by_two
    assert numbers(data.shuffle(seed=1).sort(lambda n: -n.astype(int))) == [3, 0, 2, 4, 1, 5]
    assert numbers(data.sort("n").where("n > 0")[::-1]) == [3, 2, 0, 4]
    assert numbers(data.take(0).sort("n")) == []
    with pytest.raises(flow.InvalidArgumentError, match="gives integers beyond 64 bits"):
        numbers(data.sort(lambda row: (int(row["n"]) + 5) * 10**20))
    assert "-> sort('n', reverse=True)" in repr(data.sort("n", reverse=True))
    assert data.sort("n") == data.sort("n") != data.sort("n", reverse=True)
    with pytest.raises(InvalidArgumentError, match=r"sort\(\[\]\): give at least one"):
        data.sort([])
    for by in ("box", "r"):
        with pytest.raises(InvalidArgumentError, match="give a number or a text for each"):
            data.sort(by)
    with pytest.raises(InvalidArgumentError, match="there is no field"):
        data.sort("length")
    with pytest.raises(InvalidArgumentError, match="draws other records"):
        data.shuffle().take(3).sort("n")


def test_an_order_is_kept_on_disk_and_follows_the_file(tmp_path):
    path = tmp_path / "a"
    np.array([5, 3, 4], np.int64).tofile(path)

    def opened():
        return flow.Dataset({"x": flow.RawReader(files=str(path), shape=(), dtype="int64",
                                                 index_dir=str(tmp_path / "kept"))})  # fmt: skip

    order = opened().sort("x")
    assert order.column("x").tolist() == [3, 4, 5]
    (kept,) = [one for one in (tmp_path / "kept").iterdir() if np.load(one).tolist() == [1, 2, 0]]
    assert opened().sort("x")[:2].column("x").tolist() == [3, 4]
    np.array([1, 9, 4, 0], np.int64).tofile(path)
    assert opened().sort("x", reverse=True).column("x").tolist() == [9, 4, 1, 0]
    with flow.DataLoader(opened().sort("x").batch(2, rank=1, world_size=2)["x"]) as loader:
        assert [batch.tolist() for batch in loader] == [[1], [9]]


def test_truths_and_iterators_select(data):
    truths = [True, False, True, True, False, False]
    for given in (truths, tuple(truths), np.array(truths)):
        assert numbers(data.where(given)) == numbers(data.select(given)) == [0, 2, 3]
    assert "-> where(6 truths)" in repr(data.where(truths))
    found = data.shuffle(seed=3).where(truths)  # of the records before the shuffle, as a predicate
    assert {record["i"] for record in found} == {0, 2, 3}
    assert numbers(data.select(i for i in range(5, -1, -2))) == [5, 3, 1]
    assert numbers(data.select(range(2))) == [0, 1]
    with pytest.raises(InvalidArgumentError, match="there are 2 truths, and 6 records"):
        len(data.where([True, False]))
    with pytest.raises(InvalidArgumentError, match="one truth .bool. for each record; select"):
        data.where([0, 2])
    with pytest.raises(InvalidArgumentError, match="draws other records"):
        data.shuffle().take(3).where([True] * 3)


def test_repeat_without_end():
    data = flow.range(5)
    endless = data.shuffle(seed=2).repeat()
    ten = [[record["id"] for record in data.shuffle(seed=2).repeat(2)], [*range(5)]]
    first = [record["id"] for record in itertools.islice(endless, 10)]
    assert endless and repr(endless).startswith("Dataset without end: arrays")
    assert first == ten[0] and sorted(first[:5]) == sorted(first[5:]) == ten[1]
    assert len(endless.take(12)) == 12 and endless[10**12]["id"] in range(5)
    assert len(flow.mix([endless, data], [1, 1], stop="first_exhausted")) in (9, 10, 11)
    with flow.DataLoader(endless.batch(4, seed=0)["id"]) as loader:
        with pytest.raises(TypeError, match=r"no len\(\), since repeat\(\) has no end"):
            len(loader)
        steps = iter(loader)
        batches = [batch.tolist() for batch in itertools.islice(steps, 9)]
        state = json.loads(json.dumps(loader.state_dict()))
        following = [batch.tolist() for batch in itertools.islice(steps, 3)]
    assert (state["epoch"], state["position"]) == (0, 9)
    assert sum(batches, [])[:10] == first
    with flow.DataLoader(endless.batch(4, seed=0)["id"]) as loader:
        loader.load_state_dict(state)
        assert [batch.tolist() for batch in itertools.islice(loader, 3)] == following
        loader.seek(2**50)
        assert len(next(iter(loader))) == 4
    with flow.DataLoader(endless.batch(2)["id"], data.batch(2)["id"], zip="shortest") as loader:
        assert len(loader) == 3  # the other reader ends
    for use in (lambda: len(endless), endless.to_numpy):
        with pytest.raises(TypeError, match=r"take\(n\) after it, or repeat\(n\), has one"):
            use()
    plain = data.repeat()
    for use in (lambda: plain.where("id > 1")[0], lambda: plain.split([0.5, 0.5])[0][0],
                lambda: plain.sort("id")[0], lambda: plain.cache()[0]):  # fmt: skip
        with pytest.raises(InvalidArgumentError, match="all records, and repeat.. has no end"):
            use()
    for use in (lambda: list(plain), lambda: sorted(plain, key=str),
                lambda: list(flow.DataLoader(plain.batch(2)["id"])),
                lambda: plain.split([0.5, 0.5], in_order=True)[0][0], lambda: plain[-3:][0],
                lambda: plain[::-1][0], lambda: next(iter(plain.shuffle())),
                lambda: plain.shuffle().take(3)[0], lambda: plain.repeat(2)[0],
                lambda: len(plain.concat(data, plain))):  # fmt: skip
        with pytest.raises(InvalidArgumentError, match=r"take\(n\)"):
            use()
    for use in (lambda: len(plain.windows(2)), lambda: len(flow.mix([plain, plain])),
                lambda: plain[-1], lambda: plain.rows([0, -1])):  # fmt: skip
        with pytest.raises(TypeError, match=r"take\(n\)"):
            use()
    assert [one["id"] for one in plain[3::-1]] == [3, 2, 1, 0]
    assert len(list(itertools.islice(plain.windows(3), 4))) == 4
    with pytest.raises(InvalidArgumentError, match="= 0; it must be 1 or more, or -1"):
        data.repeat(0)
    assert len(data.take(0).repeat()) == 0


def test_shards(monkeypatch):
    data = flow.range(7)
    assert [data.shard(3, i).column("id").tolist() for i in range(3)] == [[0, 3, 6], [1, 4], [2, 5]]
    for wrong in ((3, 3), (0, 0), (2, -1), (2.0, 1)):
        with pytest.raises(InvalidArgumentError, match="give the number of shards"):
            data.shard(*wrong)
    script = "import pyflowdata as f\nd = f.range(4)\nfor n in 2, 3, 2: print(len(d.shard(n, 1)))"
    ran = programs.run(script, env=programs.environment(RANK="1", WORLD_SIZE="2"))
    assert ran.stdout.split() == ["2", "1", "2"], ran.stderr
    assert ran.stderr.count("each of the 2 ranks gets its part of every batch already") == 1


def test_a_buffer_is_explained_alike(data):
    for use in (lambda: data.shuffle(1000), lambda: data.shuffle(1000, seed=1)):
        with pytest.raises(TypeError, match=r"without a buffer: .*shuffle\(buffer_size=1000\)"):
            use()
    assert sorted(r["i"] for r in data.shuffle(buffer_size=2, seed=1)) == [*range(6)]


def test_values_of_a_field(data):
    assert data["i"][:3].tolist() == [0, 1, 2] and data["i"][-1] == 5
    assert data["t"][1] == b"a" and data["t"][4:].to_bytes_list() == [b"bb", "ä".encode()]
    assert data["box"][np.array([5, 0])].tolist() == [[0, 1], [0, 1]]
    assert data["r"][[3, 1]].tolist() == [[7, 8], [1, 2]] and len(data["i"][:0]) == 0
    shuffled = data.shuffle(seed=4)
    assert shuffled["i"][:].tolist() == [record["i"] for record in shuffled]
    assert data["i"] is data["i"] and data["i"].node is data.blob("i").node
    with pytest.raises(IndexError):
        data["i"][6]
    assert flow.Dataset({"y": flow.Affine(data["x"], scale=2.0)})["y"][[4]].tolist() == [5.0]


def test_other_forms(data):
    found = data.to_numpy(2)
    assert found["i"].tolist() == [0, 1] and found["r"].tolist() == [[1], [1, 2]]
    assert data.to_numpy()["n"].tolist() == ROWS["n"].tolist()
    assert data.to_numpy(99)["i"].size == 6 and data.sort("n").to_numpy(1)["i"].tolist() == [1]
    with pytest.raises(InvalidArgumentError, match="count = -1"):
        data.to_numpy(-1)
    table = pytest.importorskip("pyarrow") and data.drop("x").to_arrow(3)
    assert table.to_pylist() == [
        {"n": int(ROWS["n"][i]), "t": ROWS["t"][i].encode(), "r": ROWS["r"][i],
         "box": ROWS["box"][i].tolist(), "i": i} for i in range(3)
    ]  # fmt: skip
    again = flow.from_arrays(table)
    assert again.to_numpy()["box"].tolist() == ROWS["box"][:3].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = pytest.importorskip("pandas") and data.to_pandas(2)
    assert frame["t"].tolist() == [b"b", b"a"] and frame["box"][1].tolist() == [2, 3]
