"""SelectDataset and SplitDataset, and select() of data sets, beside NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.errors import InvalidArgumentError
from pyflowdata.nodes.tables import Table


def rows_of(data, field="x", **attrs):
    with flow.DataLoader(data.batch(64, **attrs)[field]) as loader:
        return np.concatenate([*loader, np.empty(0, np.int64)]).astype(np.int64).tolist()


@pytest.fixture
def data(tmp_path):
    """0, 10, 20 ... 9990, in two files."""
    for part, rows in enumerate(np.split(np.arange(0, 10000, 10), [300])):
        rows.astype(np.int64).tofile(tmp_path / f"part-{part}")
    return flow.Dataset({"x": flow.RawReader(str(tmp_path), shape=(), dtype="int64")})


def test_indexes(data):
    values = np.arange(0, 10000, 10)
    draw = np.random.default_rng(1)
    cases = [
        [], [999], [0, 0, 0], [5, 3, 999, 0], [-1, 0, -1000], range(10, 0, -1), (1, 2),
        draw.permutation(1000), draw.integers(0, 1000, 5000), np.arange(0, 1000, 7, np.uint8),
        np.array([3, 1], np.uint32), np.array([3, 1], np.uint64), np.array([-3, 1], np.int16),
    ]  # fmt: skip
    for rows in cases:
        selected = data.select(rows)
        wanted = values[np.asarray(rows, np.int64)].tolist()
        assert len(selected) == len(wanted)
        assert rows_of(selected) == wanted
    assert data.select([7, 8, 9])[-1] == {"x": 90}
    assert [record["x"] for record in data.select([7, 8])] == [70, 80]


def test_truths(data):
    values = np.arange(0, 10000, 10)
    draw = np.random.default_rng(2)
    for share in (0, 0.001, 0.5, 0.999, 1):
        truths = draw.random(1000) < share
        assert rows_of(data.select(truths)) == values[truths].tolist()
    assert rows_of(data.select(truths.tolist())) == values[truths].tolist()


def test_a_selection_of_a_selection(data):
    values = np.arange(0, 10000, 10)
    draw = np.random.default_rng(3)
    first, second = draw.integers(0, 1000, 700), draw.random(700) < 0.4
    nested = data.select(first).select(second).select([5, 5, 1]).skip(1)
    assert rows_of(nested) == values[first][second][[5, 1]].tolist()


def test_the_array_may_change_afterwards(data):
    rows = np.array([1, 2, 3])
    selected = data.select(rows)
    rows[:] = 500
    assert rows_of(selected) == [10, 20, 30]


def test_many_fields_through_many_views():
    data = flow.from_arrays({f"x{i}": np.arange(40) * i for i in range(8)})
    for _ in range(15):  # each view takes 8 blobs of the one before: 8^15 ways to its reader
        data = data.skip(1)
    chosen = data.where("x1 % 2 == 0 and x3 > 60")
    assert rows_of(chosen, "x1") == [x for x in range(15, 40) if x % 2 == 0 and 3 * x > 60]
    assert sum(map(len, chosen.split([0.5, 0.5], by="x2"))) == len(chosen)


def test_of_a_shuffle_the_numbers_are_those_in_its_order(data):
    shuffled = data.shuffle(seed=5)
    order = rows_of(shuffled)
    assert rows_of(shuffled.select([3, 0, 999])) == [order[3], order[0], order[999]]


def test_draws_of_a_record_that_is_there_twice_differ(tmp_path):
    np.zeros((4, 4, 4, 3), np.uint8).tofile(tmp_path / "part-0")
    images = flow.RawReader(str(tmp_path), shape=(4, 4, 3), dtype="uint8")
    coins = flow.CoinFlip(images, probability=0.5)
    data = flow.Dataset({"x": coins}).select([2] * 64)
    found = rows_of(data, seed=1)
    assert 10 < sum(found) < 54
    assert found == rows_of(data, seed=1)
    # Where no record is there twice, its draws are those that it has without the view.
    once = flow.Dataset({"x": coins})
    for seed in range(8):
        alone = rows_of(once, seed=seed)
        assert rows_of(once.select([3, 1]), seed=seed) == [alone[3], alone[1]]


def test_ranks_share_a_selection(data):
    rows = np.random.default_rng(4).integers(0, 1000, 130)
    whole = []
    with flow.DataLoader(data.select(rows).batch(32, rank=0, world_size=1)["x"]) as loader:
        whole = [batch.tolist() for batch in loader]
    for world in (2, 4):
        parts = []
        for rank in range(world):
            blob = data.select(rows).batch(32, rank=rank, world_size=world)["x"]
            with flow.DataLoader(blob) as loader:
                parts.append([batch.tolist() for batch in loader])
        assert [sum(step, []) for step in zip(*parts, strict=True)] == whole


def test_a_state_knows_the_table(data):
    with flow.DataLoader(data.select([1, 2, 3, 4]).batch(2)) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with flow.DataLoader(data.select([1, 2, 3, 4]).batch(2)) as loader:
        loader.load_state_dict(state)
        assert [batch[0].tolist() for batch in loader] == [[30, 40]]
    with (
        flow.DataLoader(data.select([1, 2, 4, 3]).batch(2)) as loader,
        pytest.raises(InvalidArgumentError, match="table"),
    ):
        loader.load_state_dict(state)


def test_what_is_refused(data):
    for rows, says in [
        ([1000], "'table': index 1000 (element 0) is not in [0, 1000), the rows of the data set"),
        ([0, 5, -1001], r"number -1001 (element 2) is not in [-1000, 1000)"),
        ([True, False], "there are 2 truths, and 1000 records"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            len(data.select(rows))
        assert says in str(caught.value)
    for rows in ([1.5], ["a"], [[1, 2]], 3, None, [np.uint64(2**63)]):
        with pytest.raises((InvalidArgumentError, TypeError)):
            data.select(rows)


def test_the_op_takes_arrays_and_lists(data):
    for table in ([3, 1], np.array([3, 1], np.int32), np.arange(8)[3:0:-2]):
        view = flow.SelectDataset(data.blob("x"), table=table)
        assert rows_of(flow.Dataset({"x": view})) == [30, 10]
    built = (
        flow.user_op_builder("few").Op("SelectDataset").Input("in", [data.blob("x")])
        .Output("out").Attr("table", np.array([3, 1])).Build().InferAndTryRun().SoleOutputBlob()
    )  # fmt: skip
    assert rows_of(flow.Dataset({"x": built})) == [30, 10]
    for table in (..., "ab", [[1]]):
        view = flow.SelectDataset(data.blob("x"), table=table)
        with pytest.raises(InvalidArgumentError, match="it must have one dimension and numbers"):
            len(flow.Dataset({"x": view}))


def test_the_op_takes_words_of_a_bitmap(data):
    words = np.zeros(16, np.uint64)
    words[1], words[15] = 1 << 3, 1 << 39
    view = flow.SelectDataset(data.blob("x"), table=Table(words))
    assert rows_of(flow.Dataset({"x": view})) == [670, 9990]
    words[15] |= 1 << 40
    for table, says in [
        (words, "the bitmap has a bit after row 999"),
        (words[:15], "a bitmap of 15 words; the data set has 1000 rows, whose bitmap has 16 words"),
        (np.zeros(3, np.float32), "has dtype float32; indexes are int32, uint32 or int64"),
    ]:
        view = flow.SelectDataset(data.blob("x"), table=Table(table))
        with pytest.raises(InvalidArgumentError) as caught:
            len(flow.Dataset({"x": view}))
        assert says in str(caught.value)


# ---- Parts in order -----------------------------------------------------------------------------


def shares(fractions, n):
    """Largest remainders, of equal ones the first."""
    exact = [one * n for one in fractions]
    sizes = [math.floor(one) for one in exact]
    by_rest = sorted(range(len(sizes)), key=lambda i: (sizes[i] - exact[i], i))
    for place in by_rest[: n - sum(sizes)]:
        sizes[place] += 1
    return sizes


def test_parts_in_order(tmp_path):
    for n in (1, 2, 3, 10, 97, 1000):
        np.arange(n, dtype=np.int64).tofile(tmp_path / "part-0")
        data = flow.Dataset({"x": flow.RawReader(str(tmp_path), shape=(), dtype="int64")})
        for texts in ("1/2 1/2", "0.9 0.1", "1/3 1/3 1/3", "0.7 0.2 0.1", "1", "0 1", "1/8 " * 8):
            fractions = [Fraction(text) for text in texts.split()]
            split = data.split([float(one) for one in fractions], in_order=True)
            parts = [rows_of(part) for part in split]
            assert [len(part) for part in parts] == shares(fractions, n)
            assert sum(parts, []) == list(range(n))


def test_counted_parts_in_order(data):
    parts = data.split({"a": 1, "b": 900, "c": 0, "d": 99}, in_order=True)
    assert {name: len(part) for name, part in parts.items()} == {"a": 1, "b": 900, "c": 0, "d": 99}
    assert sum(map(rows_of, parts.values()), []) == list(range(0, 10000, 10))
    for counts, how in ([500, 501], "more"), ([500, 499], "fewer"), ([2**62, 2**62], "more"):
        with pytest.raises(InvalidArgumentError, match=f"{how} records than .* has 1000"):
            len(data.split(counts, in_order=True)[0])
    # A shuffle that comes before does not decide what is in a part.
    with pytest.warns(UserWarning, match="without it"):
        first, second = data.shuffle(seed=1).split([0.5, 0.5], in_order=True)
    assert sorted(rows_of(first)) == list(range(0, 5000, 10)) != rows_of(first)
    assert sorted(rows_of(second)) == list(range(5000, 10000, 10))


def test_the_op_of_parts_checks_its_attrs(data):
    blob = data.blob("x")
    for attrs, says in [
        ({"fractions": [0.5, 0.3], "part": 0}, "'fractions': they sum to 0.8; the sum must be 1"),
        ({"fractions": [0.5, 0.5], "part": 2}, "'part' = 2; it must be in [0, 2), the subsets"),
        ({"part": 0}, "give fractions or counts, and not both"),
        ({"fractions": [1.0], "counts": [1], "part": 0}, "give fractions or counts, and not both"),
        ({"counts": [-1, 1001], "part": 0}, "'counts'"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            flow.SplitDataset(blob, **attrs)
        assert says in str(caught.value)


def test_a_shuffle_keeps_its_seed_whatever_that_of_the_batches_is():
    data = flow.from_arrays({"x": np.arange(50)})

    def epochs(shuffled, **attrs):
        with flow.DataLoader(shuffled.batch(50, **attrs)["x"]) as loader:
            return [next(iter(loader)).tolist() for _ in range(3)]

    first = epochs(data.shuffle(seed=1))
    assert first == epochs(data.shuffle(seed=1), seed=5) != epochs(data.shuffle(seed=2), seed=5)
    assert first == epochs(data.shuffle(seed=1).skip(0), seed=5)
    assert epochs(data.shuffle(), seed=5) == epochs(data.shuffle(seed=5))
    with pytest.raises(flow.InvalidArgumentError, match="give one of them"):
        data.shuffle(seed=1, kind="window").batch(10, seed=5)
    assert data.shuffle(seed=1, kind="window").batch(10, seed=1)


def test_records_of_lanes_are_read_without_batches():
    data = flow.from_arrays({"x": np.arange(300)})
    shuffled = data.shuffle(seed=1, kind="window", lanes=3, block_size=16, window=4)
    found = [int(record["x"]) for record in shuffled]
    assert found != sorted(found) == list(range(300)) and len(shuffled.head()) == 5
    assert sorted(shuffled.rows(range(300))["x"].tolist()) == list(range(300))


def test_a_file_without_records_among_others(tmp_path):
    (tmp_path / "none.csv").write_text("x\n")
    (tmp_path / "some.csv").write_text("x\n" + "".join(f"{x}\n" for x in range(9)))
    none, some = (
        flow.open(tmp_path / f"{name}.csv", fields=["x:int64"]) for name in ("none", "some")
    )

    def values(data):
        assert len(data) == len(list(data)) and bool(data) == bool(len(data))
        with flow.DataLoader(data.batch(4)["x"]) as loader:
            return [int(x) for batch in loader for x in batch]

    for data in (none.concat(some), some.concat(none), none.concat(none, some),
                 flow.mix([none, some], [0, 1]),
                 none.where("x > 3").concat(some),
                 none.split([0.5, 0.5])[0].concat(some)):  # fmt: skip
        assert values(data) == list(range(9))
    assert values(none.concat(some).where("x > 3")) == [4, 5, 6, 7, 8]
    for data in (none.repeat(2), none.where("x > 3"), none.concat(none), none.shuffle().take(2)):
        assert values(data) == []
    assert len(none) == len(none.column("x")) == 0
    with pytest.raises(flow.CorruptDataError, match="there is not one record"):
        len(none.cache(tmp_path).concat(some))


def test_views_that_need_an_end():
    data = flow.from_arrays({"x": np.arange(10)})
    with pytest.raises(InvalidArgumentError, match=r"no end.*take\(n\)"):
        data.repeat().select([5, 12])[1]
    with pytest.raises(InvalidArgumentError, match=r"data set 0 has no end.* 1 has 10.*take\(10\)"):
        data.repeat().zip(data.rename(x="y"))[1]
    assert data.repeat().take(20).select([5, 12]).column("x").tolist() == [5, 2]


# ---- distinct -----------------------------------------------------------------------------------


def test_distinct_keeps_the_first_record_of_each_value(tmp_path):
    draw = np.random.default_rng(3)
    words, numbers = draw.integers(0, 40, 500), draw.integers(0, 3, 500)
    rows = zip(words, numbers, strict=True)
    lines = [f'{{"word": "w{a}x{a % 3}", "n": {b}}}\n' for a, b in rows]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    data = flow.open(tmp_path / "a.jsonl").enumerate("at")

    def first_of(*keys):
        seen = {}
        for at, key in enumerate(zip(*keys, strict=True)):
            seen.setdefault(key, at)
        return list(seen.values())

    for by, keys in (("word", [words]), (["n", "word"], [words, numbers]), ("n", [numbers])):
        found = data.distinct(by)
        assert [r["at"] for r in found] == first_of(*keys) and len(found) == len(first_of(*keys))
    assert len(data.distinct()) == 500  # `at` differs
    assert len(data.drop("at").distinct()) == len(first_of(words, numbers))
    shuffled = data.shuffle(seed=1).distinct("word")
    assert sorted(r["at"] for r in shuffled) == first_of(words)
    assert [r["at"] for r in shuffled] != first_of(words)
    assert list(data.where("n > 5").distinct("word")) == []
    for wrong, said in (("wrod", "did you mean 'word'"), ([], "name of a field"), (3, "by = 3")):
        with pytest.raises(flow.Error, match=said):
            data.distinct(wrong)
    with pytest.raises(InvalidArgumentError, match=r"use distinct\(\) before it"):
        data.sample([1.0] * 500).distinct("word")
    with pytest.raises(AttributeError, match=r"distinct\(name\)"):
        data.drop_duplicates("word")


def test_distinct_and_group_by_tell_floats_apart_that_are_the_bits_of_others():
    near = [1.5, float(0x3FF8 << 48), 1.0, 5e-324, -0.0, 0.0, np.nan, -np.nan]
    splits = np.arange(9)
    for rows in (np.array(near), np.array([near, near]).T, flow.Ragged(np.array(near), splits)):
        data = flow.from_arrays({"x": rows, "at": np.arange(8)})
        assert data.distinct("x").column("at").tolist() == [0, 1, 2, 3, 4, 6]
        assert len(data.group_by("x")) == 6
