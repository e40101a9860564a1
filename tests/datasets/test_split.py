"""split() by hash, beside the same written in plain Python: appended data, groups, other fractions;
folds() and leaks()."""

import json
import math
import os
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

import pyflowdata as flow
from pyflowdata.datasets.splitting import hash_column
from pyflowdata.errors import InvalidArgumentError
from pyflowdata.ragged import Ragged

MASK = 2**64 - 1


def mix(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def hash_word(hash_, word):
    return mix((hash_ ^ word & MASK) + 0x9E3779B97F4A7C15 & MASK)


def hash_bytes(hash_, text):
    for begin in range(0, len(text), 8):
        hash_ = hash_word(hash_, int.from_bytes(text[begin : begin + 8], "little"))
    return hash_word(hash_, len(text))


def part_of(hash_, fractions):
    """The subset whose draw comes first."""
    times = []
    for part, fraction in enumerate(fractions):
        u = ((hash_word(hash_, part) >> 12) + 0.5) / 2**52
        times.append(-math.log(u) / fraction if fraction else math.inf)
    return times.index(min(times))


def part_by_rule_1(hash_, fractions):
    place, sums = Fraction(hash_ >> 11, 2**53), Fraction(0)
    for part, fraction in enumerate(fractions[:-1]):
        sums += Fraction(fraction)
        if place < Fraction(int(sums * 2**53), 2**53):
            return part
    return len(fractions) - 1


def of_record(seed, name, number):
    file = hash_bytes(0, name.encode() + b"\0" + b"0")
    return hash_word(hash_word(hash_word(0, seed), file), number)


def xs(data, field="x"):
    return [int(record[field]) for record in data]


def write(path, numbers):
    np.asarray(numbers, np.int64).tofile(path)


def opened(*paths):
    files = [str(path) for path in paths]
    return flow.Dataset({"x": flow.RawReader(files=files, shape=(), dtype="int64")})


FRACTIONS = [0.625, 0.25, 0.125]


def test_records_are_where_the_definition_puts_them(tmp_path):
    write(tmp_path / "a", range(300))
    write(tmp_path / "b", range(1000, 1500))
    data = opened(tmp_path / "a", tmp_path / "b")
    for seed in (0, 1, 2**63 - 1):
        wanted = [[], [], []]
        for name, first, count in ("a", 0, 300), ("b", 1000, 500):
            for number in range(count):
                hash_ = of_record(seed, name, number)
                wanted[part_of(hash_, FRACTIONS)].append(first + number)
        parts = data.split(FRACTIONS, seed=seed)
        assert [xs(part) for part in parts] == wanted
        for part, fraction in zip(parts, FRACTIONS, strict=True):
            assert abs(len(part) - 800 * fraction) < 5 * (800 * fraction * (1 - fraction)) ** 0.5
        named = data.split(dict(zip("abc", FRACTIONS, strict=True)), seed=seed)
        assert [xs(named[name]) for name in "abc"] == wanted


def test_appended_data_moves_nothing(tmp_path):
    for name in ("b", "d"):
        write(tmp_path / name, range(ord(name) * 1000, ord(name) * 1000 + 200))
    before = [set(xs(part)) for part in opened(tmp_path / "b", tmp_path / "d").split(FRACTIONS)]
    write(tmp_path / "b", range(98000, 98300))  # records are appended
    for name in ("a", "c", "e"):  # and files, before others as well
        write(tmp_path / name, range(ord(name) * 1000, ord(name) * 1000 + 100))
    split = opened(*(tmp_path / name for name in "abcde")).split(FRACTIONS)
    after = [set(xs(part)) for part in split]
    for old, new in zip(before, after, strict=True):
        assert old <= new
    assert sum(len(part) for part in after) == 800
    # In another folder, and in another order, the same records are in each part.
    os.rename(tmp_path / "b", tmp_path / "kept")
    (tmp_path / "moved").mkdir()
    os.rename(tmp_path / "kept", tmp_path / "moved" / "b")
    moved = opened(tmp_path / "moved" / "b", tmp_path / "a").split(FRACTIONS)
    for whole, part in zip(after, moved, strict=True):
        assert set(xs(part)) <= whole


def test_files_of_one_name_are_told_apart(tmp_path):
    paths = []
    for run in range(40):
        (tmp_path / f"run-{run:02}").mkdir()
        paths.append(tmp_path / f"run-{run:02}" / "data")
        write(paths[-1], [run])
    halves = [xs(part) for part in opened(*paths).split([0.5, 0.5])]
    assert sorted(sum(halves, [])) == list(range(40)) and 5 < len(halves[0]) < 35
    fewer = [xs(part) for part in opened(*paths[:25]).split([0.5, 0.5])]
    assert all(set(few) <= set(all_) for few, all_ in zip(fewer, halves, strict=True))


def test_a_part_does_not_depend_on_the_views_before(tmp_path):
    write(tmp_path / "a", range(1000))
    write(tmp_path / "b", range(1000, 1400))
    data = opened(tmp_path / "a", tmp_path / "b")
    first, second = (set(xs(part)) for part in data.split([0.5, 0.5]))
    shuffled = data.shuffle(seed=1)
    for view in data.skip(700).take(500), data.where("x % 3 == 0"), data[::-2], shuffled:
        one, other = view.split([0.5, 0.5])
        assert set(xs(one)) == first & set(xs(view))
        assert set(xs(other)) == second & set(xs(view))
    assert first.isdisjoint(second)


def test_counts_are_exact(tmp_path):
    write(tmp_path / "a", range(1000))
    data = opened(tmp_path / "a")
    hashes = sorted(range(1000), key=lambda number: of_record(7, "a", number))
    parts = data.split([700, 0, 250, 50], seed=7)
    assert [xs(part) for part in parts] == [
        sorted(hashes[:700]), [], sorted(hashes[700:950]), sorted(hashes[950:])
    ]  # fmt: skip
    with pytest.raises(InvalidArgumentError, match="999 records together, and the data set has"):
        len(data.split([999, 0])[1])


def test_groups_are_never_torn(tmp_path):
    names = [f"user-{number % 37}" + "x" * (number % 37) for number in range(900)]
    lines = "".join(f"{name},{number % 11},{number}\n" for number, name in enumerate(names))
    (tmp_path / "t.csv").write_text("user,day,x\n" + lines)
    data = flow.open(tmp_path / "t.csv")
    assert data.fields["user"].type == "bytes"
    parts = [xs(part) for part in data.split([0.5, 0.5], by="user", seed=3)]
    start = hash_word(0, 3)
    for part, numbers in enumerate(parts):
        own = [hash_bytes(start, names[n].encode()) for n in range(900)]
        assert numbers == [n for n in range(900) if part_of(own[n], [0.5, 0.5]) == part] != []
    for part, numbers in enumerate(map(xs, data.split([0.5, 0.5], by=["day", "user"], seed=3))):
        both = [hash_bytes(hash_word(start, n % 11), names[n].encode()) for n in range(900)]
        assert numbers == [n for n in range(900) if part_of(both[n], [0.5, 0.5]) == part] != []


def test_values_hash_alike_in_every_dtype():
    start = np.zeros(4, np.uint64)
    whole = [hash_word(0, value) for value in (0, 1, 3, 100)]
    for dtype in "int8 uint8 int16 uint32 int64 uint64 float16 float32 float64".split():
        assert hash_column(start, np.array([0, 1, 3, 100], dtype)).tolist() == whole
    signed = hash_column(start[:3], np.array([-1, -0.0, 0.5]))
    half = int(np.float64(0.5).view(np.uint64))
    assert signed.tolist() == [hash_word(0, MASK), hash_word(0, 0), hash_word(0, half)]
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000001], np.uint64).view(np.float64)
    assert len(set(hash_column(start[:2], nans).tolist())) == 1
    rows = hash_column(start[:2], np.array([[1, 2], [2, 1]], np.int8))
    assert rows.tolist() == [hash_word(hash_word(0, 1), 2), hash_word(hash_word(0, 2), 1)]
    ragged = Ragged(np.array([5, 6, 7], np.int32), np.array([0, 0, 2, 3]))
    assert hash_column(start[:3], ragged).tolist() == [
        hash_word(0, 0), hash_word(hash_word(hash_word(0, 5), 6), 2), hash_word(hash_word(0, 7), 1)
    ]  # fmt: skip


def test_an_image_folder_is_split_by_the_names_of_its_files(tmp_path):
    def make(name, shade):
        path = tmp_path / "photos" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((2, 2, 3), shade, np.uint8)).save(path)

    def shades(part):
        blobs = flow.ImageDecoder(part.blob("image"))
        return {int(record["x"][0, 0, 0]) for record in flow.Dataset({"x": blobs})}

    for number in range(60):
        make(f"{'cat' if number % 2 else 'dog'}/{number}.png", number)
    one, other = map(shades, flow.open(str(tmp_path / "photos")).split([0.5, 0.5]))
    assert one | other == set(range(60)) and not one & other and 15 < len(one) < 45
    for number in range(60, 100):
        make(f"{'ant' if number % 2 else 'cat'}/{number % 7}-{number}.png", number)
    more, others = map(shades, flow.open(str(tmp_path / "photos")).split([0.5, 0.5]))
    assert one < more and other < others
    for number in range(60):
        name = b"%s/%d.png" % (b"cat" if number % 2 else b"dog", number)
        folder = hash_word(hash_word(0, 0), hash_bytes(0, b"photos\x000"))
        own = hash_word(folder, hash_bytes(0, name))
        assert (number in other) == part_of(own, [0.5, 0.5])


def test_other_fractions_move_hardly_more_than_they_must(tmp_path):
    write(tmp_path / "a", range(10_000))
    data = opened(tmp_path / "a")

    def moves(before, after, **attrs):
        """(from, to) -> how many records."""
        parts = [{number: part for part, one in enumerate(data.split(fractions, **attrs))
                  for number in one.column("x").tolist()}
                 for fractions in (before, after)]  # fmt: skip
        found = Counter((parts[0][number], parts[1][number]) for number in range(10_000))
        return {ends: count for ends, count in found.items() if ends[0] != ends[1]}

    moved = moves([0.8, 0.1, 0.1], [0.7, 0.1, 0.2])  # 1000 must move
    assert set(moved) == {(0, 1), (0, 2), (1, 2)} and sum(moved.values()) < 1250
    assert moved[0, 1] < 200  # of 8000 records of the first part
    former = moves([0.8, 0.1, 0.1], [0.7, 0.1, 0.2], rule=1)
    assert former[0, 1] > 900 and sum(former.values()) > 1800
    assert set(moves([0.8, 0.2], [0.72, 0.18, 0.1])) == {(0, 2), (1, 2)}  # a new part
    assert set(moves([0.6, 0.3, 0.1], [2 / 3, 1 / 3, 0.0])) == {(2, 0), (2, 1)}
    assert set(moves([0.9, 0.1], [0.8, 0.2])) == {(0, 1)}


def test_a_state_tells_the_rule(tmp_path):
    write(tmp_path / "a", range(1000))
    data = opened(tmp_path / "a")

    def first_part(**attrs):
        return flow.DataLoader(data.split([0.5, 0.5], **attrs)[0].batch(10, seed=1)["x"])

    def after_one(loader):
        next(iter(loader))
        return json.loads(json.dumps(loader.state_dict()))

    with first_part(rule=1) as loader:
        former = after_one(loader)
    assert "0:SelectDataset.table.rule" not in former["readers"]["BatchDataset_0"]["spec"]
    hashes = [of_record(0, "a", number) for number in range(1000)]
    wanted = [n for n in range(1000) if part_by_rule_1(hashes[n], [0.5, 0.5]) == 0]
    with first_part(rule=1) as loader:
        loader.load_state_dict(former)
        assert next(iter(loader)).tolist() == wanted[10:20]
    with first_part() as loader:
        state = after_one(loader)
        with pytest.raises(InvalidArgumentError, match=r"split\(..., rule=1\) makes subsets as"):
            loader.load_state_dict(former)
    with first_part(rule=1) as loader, pytest.raises(InvalidArgumentError, match="table.rule = 2"):
        loader.load_state_dict(state)
    copied = pickle.loads(pickle.dumps(data.split([0.5, 0.5])[0]))
    with flow.DataLoader(copied.batch(10, seed=1)["x"]) as loader:
        loader.load_state_dict(state)
    with pytest.raises(InvalidArgumentError, match="rule = 3; the rules are 1 and 2"):
        data.split([0.5, 0.5], rule=3)


def test_each_class_has_its_share():
    sizes = {b"cat": 300, b"dog": 61, b"a": 8, b"ox": 1}
    names = [name for name, size in sizes.items() for _ in range(size)]
    names = [names[place] for place in np.random.default_rng(0).permutation(370)]
    data = flow.from_arrays({"x": np.arange(370), "label": names})
    for given in ([0.7, 0.2, 0.1], [259, 74, 37]):
        parts = data.split(given, stratify="label", seed=3)
        assert [len(part) for part in parts] == [259, 74, 37]
        assert sorted(sum(map(xs, parts), [])) == list(range(370))
        for part, share in zip(parts, (0.7, 0.2, 0.1), strict=True):
            found = Counter(part.column("label").tolist())
            assert all(abs(found[name] - share * size) < 2 for name, size in sizes.items())
    assert xs(parts[0]) != xs(data.split(given, stratify="label", seed=4)[0])
    for attrs, says in [
        ({"stratify": "y"}, "stratify = 'y': there is no such field"),
        ({"stratify": ["x", "label"]}, "give the name of one field"),
        ({"stratify": "x", "by": "label"}, "leave one of the two out"),
        ({"stratify": "x", "in_order": True}, "leave in_order or stratify out"),
    ]:
        with pytest.raises(InvalidArgumentError, match=says):
            data.split([0.5, 0.5], **attrs)


def test_folds():
    data = flow.from_arrays({"x": np.arange(200), "user": np.arange(200) % 17})
    for attrs in ({}, {"stratify": "user"}, {"by": "user"}):
        folds = data.folds(4, seed=1, **attrs)
        assert sorted(sum((xs(val) for _, val in folds), [])) == list(range(200))
        for train, val in folds:
            assert sorted(xs(train) + xs(val)) == list(range(200)) and 15 < len(val) < 90
            assert not flow.leaks(train, val)
            assert bool(flow.leaks(train, val, key="user")) == ("by" not in attrs)
    assert [len(val) for _, val in data.folds(4, stratify="user")] == [50] * 4
    folds = data.folds(50_000)  # each pair is made when it is asked for
    assert len(folds) == 50_000 and len(folds[-7:]) == 7 and "50000 pairs" in repr(folds)
    (one, other), (last, _) = data.folds(2)
    assert xs(one) == xs(data.folds(2)[1][1]) and sorted(xs(one) + xs(last)) == list(range(200))
    with pytest.raises(InvalidArgumentError, match="give a number from 2"):
        data.folds(1)
    for key in (3, -4):
        with pytest.raises(IndexError, match=f"no pair {key}; there are 3"):
            data.folds(3)[key]


def test_leaks(tmp_path):
    first = flow.from_arrays({"x": [3, 1, 4, 1, 5], "t": ["c", "a", "d", "a", "e"]})
    second = flow.from_arrays({"t": ["a", "b", "e", "c"], "x": np.array([1.0, 2, 9, 3])})
    found = flow.leaks(first, second.shuffle(), key="x")
    assert (found.keys, found.first.tolist(), found.second.tolist()) == ([3, 1], [0, 1, 3], [0, 3])
    assert repr(found) == "2 in both: 3, 1 (3 records of the first, 2 of the second)"
    assert flow.leaks(first, second, key="t").keys == [b"c", b"a", b"e"]
    assert flow.leaks(first, second, key=["t", "x"]).keys == [(b"c", 3), (b"a", 1)]
    whole = flow.leaks(first, second)
    assert len(whole) == 2 and whole.first.tolist() == [0, 1, 3]
    none = flow.leaks(first.take(1), second.take(1))
    assert not none and repr(none) == "no leaks: nothing is in both"
    assert not flow.leaks(first.take(0), second)
    for args, says in [
        ((first, second.project("x")), "have the fields x, t, and x: give key"),
        ((first, second, "y"), "key = 'y': there is no such field"),
        ((first, [1]), "give data sets"),
        ((first.shuffle().take(2), second), "ShuffleDataset draws other records"),
    ]:
        with pytest.raises(InvalidArgumentError, match=says):
            flow.leaks(*args)


def test_what_is_refused(tmp_path):
    write(tmp_path / "a", range(10))
    data = opened(tmp_path / "a")
    for parts, attrs, says in [
        ([0.9, 0.2], {}, "the fractions sum to 1.1; the sum must be 1"),
        ([0.5, 5], {}, "give fractions, as [0.9, 0.1], or counts, as [1000, 200]"),
        (["a"], {}, "give fractions"),
        (0.5, {}, "split(0.5): give fractions"),
        ("ab", {}, "give fractions"),
        ([], {}, "split() into 0 subsets"),
        ([1.5, -0.5], {}, "no subset can be below 0"),
        ([11, -1], {}, "no subset can be below 0"),
        ([float("nan"), 0.5], {}, "no subset can be below 0"),
        ([0.5, 0.5], {"by": "y"}, "by = 'y': there is no such field; there are x"),
        ([5, 5], {"by": "x"}, "counts cannot be exact; give fractions"),
        ([0.5, 0.5], {"by": "x", "in_order": True}, "leave in_order or by out"),
        ([0.5, 0.5], {"seed": -1}, "seed = -1"),
    ]:
        with pytest.raises(InvalidArgumentError) as caught:
            data.split(parts, **attrs)
        assert says in str(caught.value)
    for in_order in (False, True):  # both parts would have all records in time
        with pytest.raises(InvalidArgumentError, match="ShuffleDataset draws other records"):
            data.shuffle(seed=1).take(5).split([0.5, 0.5], in_order=in_order)
    data.shuffle(seed=1, reshuffle=False).take(5).split([0.5, 0.5])


def test_records_of_a_cache_have_no_names_of_their_own(tmp_path):
    write(tmp_path / "a", range(10))
    cached = opened(tmp_path / "a").cache(tmp_path / "caches")
    with pytest.raises(InvalidArgumentError, match="split before cache"):
        cached.split([0.5, 0.5])
    by_value = cached.split([0.5, 0.5], by="x")[0]
    assert xs(by_value) == xs(opened(tmp_path / "a").split([0.5, 0.5], by="x")[0])
    assert xs(cached.split([0.5, 0.5], in_order=True)[0]) == [0, 1, 2, 3, 4]


def test_objects_are_split_by_their_numbers():
    def records(count):
        numbers = list(range(count))
        return flow.Dataset({"x": flow.GeneratorReader(numbers, fields=["x:int64"])})

    one, other = records(200).split([0.5, 0.5])
    more, others = records(300).split([0.5, 0.5])
    assert set(xs(one)) < set(xs(more)) and set(xs(other)) < set(xs(others))
    assert sorted(xs(one) + xs(other)) == list(range(200)) and 70 < len(one) < 130


def test_counts_are_compared_where_they_are_written():
    data = flow.from_arrays({"x": np.arange(10)})
    for options in ({}, {"in_order": True}):
        with pytest.raises(InvalidArgumentError, match="records .*the data set.* has 10"):
            data.split([8, 8], **options)


def test_parts_in_order_of_shuffled_data_say_what_they_cut():
    data = flow.from_arrays({"x": np.arange(10)})
    with pytest.warns(UserWarning, match="in the order that they have without it") as seen:
        first, _ = data.shuffle(seed=1).split([5, 5], in_order=True)
    assert seen[0].filename == __file__
    assert sorted(int(record["x"]) for record in first) == list(range(5))
