"""Mixes deliver what the model says, resume anywhere, and take new weights where they may."""

from __future__ import annotations

import inspect
import json
import random
from fractions import Fraction

import numpy as np
import pyflowdata as flow
import pytest
from support.views.mix_model import MixModel, Row
from support.oracle import fewer

KIND = 10_000_000  # a record of source s is s * KIND + its number


@pytest.fixture
def make(tmp_path):
    """Makes data sets of so many records, each in its own file."""

    def made(sizes):
        sources = []
        for source, size in enumerate(sizes):
            path = tmp_path / f"{source}-{size}.npy"
            if not path.exists():
                np.save(path, np.arange(size) + source * KIND)
            sources.append(flow.Dataset({"x": flow.NpyReader(files=str(path))}))
        return sources

    return made


def rows_of(numbers) -> list[tuple[int, int]]:
    return [divmod(int(number), KIND) for number in numbers]


def expected(rows: list[Row]) -> list[tuple[int, int]]:
    return [(row.source, row.record) for row in rows]


def read(data: flow.Dataset, epochs: int = 1, batch_size: int = 7) -> list[list[tuple[int, int]]]:
    with flow.DataLoader(data.batch(batch_size)["x"]) as loader:
        return [rows_of(np.concatenate(list(loader))) for _ in range(epochs)]


def random_mix(draw: random.Random):
    """Sizes, weights by record, and options, as MixModel and flow.mix take them."""
    count = draw.choice([1, 2, 3, 5, 9])
    sizes = [draw.randint(1, 40) for _ in range(count)]

    def weights() -> list[float]:
        found = [draw.choice([0, 1, 2, 3, 0.1, 0.7, draw.random()]) for _ in range(count)]
        return found if any(found) else [1] * count

    changes = {0: weights()}
    for _ in range(draw.choice([0, 0, 1, 3])):
        changes[draw.randint(1, 150)] = weights()
    options = {"length": draw.randint(1, 90)}
    first = changes[0]
    if len(changes) == 1 and min(w for w in first if w) > 0.3 and draw.random() < 0.6:
        options = {"stop": draw.choice(["first_exhausted", "all_exhausted"])}
        if draw.random() < 0.5:
            options["max_repeats"] = [draw.choice([1, 1.5, 3]) for _ in range(count)]
    elif draw.random() < 0.3:
        options["mean_lengths"] = [draw.choice([1, 10, 33.3]) for _ in range(count)]
    return sizes, changes, options


def mixed(sources, changes, options, **more):
    unit = "tokens" if "mean_lengths" in options else "records"
    return flow.mix(sources, changes, unit=unit, **options, **more)


def test_rows_are_those_of_the_model(make):
    for case in range(fewer(32)):
        draw = random.Random(case)
        sizes, changes, options = random_mix(draw)
        model = MixModel(sizes, changes, **options)
        data = mixed(make(sizes), changes, options)
        assert len(data) == model.size, (case, sizes, changes, options)
        delivered = read(data, epochs=3)
        assert delivered == [expected(model.epoch(epoch)) for epoch in range(3)], case


def test_the_first_source_is_the_first_to_be_drawn(make):
    first, second = make([10, 10])
    (rows,) = read(flow.mix([first, second], length=6))
    assert rows == [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    (rows,) = read(flow.mix([first, second], [3, 1], length=8))
    assert [source for source, _ in rows] == [0, 0, 0, 1] * 2


def test_random_turns_are_those_of_the_model(make):
    for case in range(fewer(16)):
        draw = random.Random(1000 + case)
        sizes, changes, options = random_mix(draw)
        block = draw.choice([5, 16, 50])
        model = MixModel(sizes, changes, **options, block=block)
        turns = {"interleave": "random", "block_size": block, "seed": case}
        data = mixed(make(sizes), changes, options, **turns)
        assert len(data) == model.size, case
        for epoch, rows in enumerate(read(data, epochs=2)):
            assert rows == expected(model.epoch(epoch, case, "MixDataset_0")), case


def test_every_record_is_used_equally_often_and_reshuffled_at_each_repeat(make):
    sizes = [12, 5, 20]
    sources = [source.shuffle(seed=3) for source in make(sizes)]
    data = flow.mix(sources, weights=[1, 1, 2], length=40)
    rows = [row for epoch in read(data, epochs=6) for row in epoch]
    orders = []
    for source, size in enumerate(sizes):
        drawn = [record for found, record in rows if found == source]
        for at in range(0, len(drawn) - size + 1, size):
            assert sorted(drawn[at : at + size]) == list(range(size))
            orders.append(tuple(drawn[at : at + size]))
    assert len(orders) > 20 and len(set(orders)) == len(orders)


def test_a_source_is_repeated_no_more_often_than_allowed(make):
    """With a length each epoch has the same whole numbers: limits, and for the others what their
    weights are; they are spread over the epoch."""
    for sizes, weights, repeats, length, wanted in (
        ([10, 100, 300], [1, 1, 1], [4, 4, 4], 400, [40, 180, 180]),
        ([10, 100, 300], [1, 1, 1], [1, 1, 1], 410, [10, 100, 300]),
        ([7, 40, 40, 5], [9, 3, 1, 0], [2, 1.5, 0, 1], 130, [14, 60, 56, 0]),
        ([3, 50, 50, 50], [5, 1, 2, 3], [1.7, 0, 0, 0], 101, [5, 16, 32, 48]),
    ):
        limits = [most or None for most in repeats]
        named = {str(s): source for s, source in enumerate(make(sizes))}
        data = flow.mix(named, weights, length=length, max_repeats={
            name: most for name, most in zip(named, limits) if most})  # fmt: skip
        drawn = [0] * len(sizes)
        for rows in read(data, epochs=5):
            sources = [source for source, _ in rows]
            assert [sources.count(s) for s in range(len(sizes))] == wanted
            for n in range(length):
                for s, count in enumerate(wanted):
                    assert abs(sources[:n].count(s) - Fraction(n * count, length)) < 2
            for source, record in rows:
                assert record == drawn[source] % sizes[source]
                drawn[source] += 1
    sources = make([10, 100, 300])
    for repeats, stop in (([3, 3, 3], "first_exhausted"), ([30, 2, 1], "all_exhausted")):
        data = flow.mix(sources, stop=stop, max_repeats=repeats)
        first, second = read(data, epochs=2)
        counts = np.bincount([source for source, _ in first])
        most = np.multiply(repeats, [10, 100, 300])
        assert (counts <= most).all()
        assert counts[second[0][0]] == most[second[0][0]]  # the next row would be too much
    for options in ({"stop": "all_exhausted"}, {}):
        data = flow.mix({"a": sources[0], "b": sources[1]}, max_repeats={"a": 20}, **options)
        assert 199 <= len(data) <= 401 and (len(data) < 202) == bool(options)
    data = flow.mix(sources, {0: [1, 1, 1], 200: [0, 1, 3]}, length=400, max_repeats=4)
    counts = [[source for source, _ in rows].count(0) for rows in read(data, epochs=2)]
    assert counts == [20, 0]


def test_a_limit_to_repeats_may_change_from_the_state_on(make):
    """As weights may: not for rows that were delivered."""
    sources, options = make([10, 30, 30]), {"length": 60}
    changes = {0: [1, 2, 3], 30: [3, 1, 1]}  # of 60 records 10, 20, 30, then 36, 12, 12
    state = state_after(flow.mix(sources, changes, **options, max_repeats=4), 10, 3)
    found = []
    for repeats in (4, 2, 1):
        data = flow.mix(sources, changes, **options, max_repeats=repeats)
        with flow.DataLoader(data.batch(10)["x"]) as loader:
            loader.load_state_dict(state)
            found.append(rows_of(next(loader.repeat())))
        assert found[-1] == read(data)[0][30:40]
    assert len({str(rows) for rows in found}) == 3
    with flow.DataLoader(
        flow.mix(sources, changes, **options, max_repeats=0.95).batch(10)["x"]
    ) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="weights of a mix"):
            loader.load_state_dict(state)


@pytest.mark.slow
def test_counts_keep_to_the_bound_with_300_sources(make):
    draw = np.random.RandomState(5)
    weights = draw.lognormal(0, 1.5, 300)
    data = flow.mix([make([50])[0]] * 300, weights.tolist(), length=20_000)
    with flow.DataLoader(data.batch(1000, with_id=True)["id"]) as loader:
        sources = np.concatenate(list(loader))[:, 0]
    far = np.zeros(300)
    for source in range(300):
        counts = np.cumsum(sources == source)
        shares = np.arange(1, 20_001) * (weights[source] / weights.sum())
        far[source] = np.abs(counts - shares).max()
    assert 1 < far.max() < 9  # ceil(log2(300))


def test_weights_of_tokens(make):
    lengths = np.array([100.0, 400.0, 50.0])
    data = flow.mix(make([400] * 3), weights=[2, 1, 1], length=1300, unit="tokens",
                    mean_lengths=lengths.tolist())  # fmt: skip
    (rows,) = read(data)
    tokens = np.bincount([source for source, _ in rows]) * lengths
    np.testing.assert_allclose(tokens / tokens.sum(), [0.5, 0.25, 0.25], atol=0.01)


def test_lengths_of_tokens_are_counted(tmp_path):
    sources = {}
    for name, texts in (("short", ["ab", "abcd"] * 50), ("long", ["a" * 30] * 90)):
        (tmp_path / f"{name}.txt").write_text("".join(text + "\n" for text in texts))
        lines = flow.TextLineReader(files=str(tmp_path / f"{name}.txt"))
        sources[name] = flow.Dataset({"text": lines})
    data = flow.mix(sources, unit="tokens", field="text", length=220)
    lengths = [len(record["text"]) for record in data]
    assert abs(sum(length < 30 for length in lengths) - 200) <= 1  # means of 3 and 30: 10 for one


# ---- Resuming -----------------------------------------------------------------------------------


def on_ranks(data, batch_size, world_size, state, batches):
    """The records that all ranks deliver together, of some batches after a state."""
    parts = []
    for rank in range(world_size):
        blob = data.batch(batch_size, rank=rank, world_size=world_size)["x"]
        with flow.DataLoader(blob) as loader:
            loader.load_state_dict(state)
            following = loader.repeat()
            parts.append([rows_of(next(following)) for _ in range(batches)])
    return [row for batch in zip(*parts, strict=True) for part in batch for row in part]


def state_after(data, batch_size, batches):
    with flow.DataLoader(data.batch(batch_size)["x"]) as loader:
        following = loader.repeat()
        for _ in range(batches):
            next(following)
        return json.loads(json.dumps(loader.state_dict()))


def test_resumes_anywhere_on_other_numbers_of_ranks(make):
    sizes, changes = [11, 4, 30], {0: [3, 1, 2], 25: [1, 1, 0], 90: [0, 1, 5]}
    for interleave, block in (("regular", 1), ("random", 8)):
        model = MixModel(sizes, changes, length=48, block=block)
        run = [row for epoch in range(6) for row in model.epoch(epoch, 1, "MixDataset_0")]
        data = flow.mix(make(sizes), changes, length=48, interleave=interleave,
                        block_size=8, seed=1)  # fmt: skip
        for batch_size, batches in ((4, 0), (4, 5), (12, 4), (12, 9), (6, 17)):
            state = state_after(data, batch_size, batches)
            assert len(json.dumps(state)) < 1024
            for world_size in (1, 2, 4) if batch_size % 4 == 0 else (1, 3):
                at = batch_size * batches
                found = on_ranks(data, batch_size, world_size, state, 5)
                assert found == expected(run[at : at + 5 * batch_size]), (interleave, batch_size)


@pytest.mark.slow
def test_weights_may_change_from_the_state_on(make):
    sizes, batch_size = [11, 4, 30], 10
    for interleave, block in (("regular", 1), ("random", 10)):
        options = {"length": 50, "interleave": interleave, "block_size": 10, "seed": 1}
        before = {0: [3, 1, 2], 30: [1, 1, 0]}
        sources = make(sizes)
        data = flow.mix(sources, before, **options)
        for batches in (1, 4, 5, 13):
            state = state_after(data, batch_size, batches)
            at = batches * batch_size
            past = {row: weights for row, weights in before.items() if row < at}
            for changes in (
                {**past, at: [0, 0, 1]},
                {**past, at: [1, 2, 3], at + 20: [5, 0, 1]},
                {**past, at + 40: [1, 0, 0]},
                {row: [2 * w for w in weights] for row, weights in past.items()},
            ):
                model = MixModel(sizes, changes, length=50, block=block)
                run = [r for epoch in range(6) for r in model.epoch(epoch, 1, "MixDataset_0")]
                found = on_ranks(flow.mix(sources, changes, **options), batch_size, 1, state, 6)
                assert found == expected(run[at : at + 60]), (interleave, batches, changes)
            refused = [
                {**past, 0: [3, 1, 1]},
                {**past, at - 5: [1, 5, 5]},
                {**{row: past[row] for row in past if row != 30}, 9: [1, 1, 0]},
            ]
            for changes in refused:
                other = flow.mix(sources, changes, **{**options, "interleave": "regular"})
                same_order = flow.mix(sources, before, **{**options, "interleave": "regular"})
                state = state_after(same_order, batch_size, batches)
                with flow.DataLoader(other.batch(batch_size)["x"]) as loader:
                    with pytest.raises(flow.InvalidArgumentError, match="weights of a mix"):
                        loader.load_state_dict(state)


def test_a_size_that_depends_on_weights_may_not_change(make):
    sources = make([20, 20])
    state = state_after(flow.mix(sources, {0: [1, 1]}), 10, 5)
    changed = flow.mix(sources, {0: [1, 1], 30: [3, 1]})
    with flow.DataLoader(changed.batch(10)["x"]) as loader:
        with pytest.raises(flow.InvalidArgumentError, match=r"if mix\(\) has a length"):
            loader.load_state_dict(state)


def test_with_a_shuffle_around_it_weights_change_between_epochs(make):
    sources, options = make([20, 20]), {"length": 40}
    data = flow.mix(sources, {0: [1, 1]}, **options).shuffle(seed=1)
    later = flow.mix(sources, {0: [1, 1], 40: [3, 1]}, **options).shuffle(seed=1)
    now = flow.mix(sources, {0: [1, 1], 20: [3, 1]}, **options).shuffle(seed=1)
    state = state_after(data, 10, 2)
    (second,) = read(later, 2)[1:]
    assert sum(source == 0 for source, _ in second) == 30
    with flow.DataLoader(later.batch(10)["x"]) as loader:
        loader.load_state_dict(state)
    with flow.DataLoader(now.batch(10)["x"]) as loader:
        with pytest.raises(flow.InvalidArgumentError, match="weights of a mix"):
            loader.load_state_dict(state)


def test_below_another_view_weights_may_not_change(make):
    sources, options = make([20, 20]), {"length": 40}
    state = state_after(flow.mix(sources, {0: [1, 1]}, **options).skip(10), 10, 1)
    for changes, is_same in (({0: [2, 2]}, True), ({0: [1, 1], 39: [3, 1]}, False)):
        data = flow.mix(sources, changes, **options).skip(10)
        with flow.DataLoader(data.batch(10)["x"]) as loader:
            if is_same:
                loader.load_state_dict(state)
                continue
            with pytest.raises(flow.InvalidArgumentError, match="weights of a mix"):
                loader.load_state_dict(state)


def test_a_far_position_of_100_sources(make):
    weights = np.random.RandomState(1).rand(100).tolist()
    data = flow.mix(make([7]) * 100, weights, length=2_000_000_000)
    shuffled = [source.shuffle(seed=1) for source in make([7])] * 100
    model = MixModel([7] * 100, {0: weights}, length=2_000_000_000)
    assert model.row(10**9).source != model.row(10**9 + 1).source
    with flow.DataLoader(data.batch(4, with_id=True)["x"]) as loader:
        loader.seek(10**9 // 4)
        found = [record for _, record in rows_of(next(iter(loader)))]
    assert found == [model.row(10**9 + i).record for i in range(4)]
    again = flow.mix(shuffled, weights, length=2_000_000_000)
    assert again[10**9]["x"] in range(7)


# ---- Sources ------------------------------------------------------------------------------------


def test_sources_of_different_formats_and_views(tmp_path, make):
    (tmp_path / "b.csv").write_text("x\n" + "".join(f"{KIND + i}\n" for i in range(9)))
    one = make([8])[0]
    other = flow.open(tmp_path / "b.csv", fields=["x:int64"])
    third = flow.mix([make([1, 2, 30])[2], make([1, 2, 3, 30])[3]], weights=[1, 4])
    data = one.mix(other, third, weights=[2, 1, 5], length=80)
    outer = MixModel([8, 9, len(third)], {0: [2, 1, 5]}, length=80)
    inner = MixModel([30, 30], {0: [1, 4]})
    assert len(third) == inner.size
    rows = []
    for source, epoch, record in outer.epoch(0):
        own = inner.row(epoch * inner.size + record)
        rows.append((2 + own.source, own.record) if source == 2 else (source, record))
    assert read(data) == [rows]


@pytest.mark.parametrize("width", [3, 40])  # rows that are copied twice, and once
def test_rows_of_many_bytes_come_whole_from_sources_of_each_kind(tmp_path, width):
    sizes = [90, 70, 80, 60]
    tables = [
        (np.arange(size)[:, None] + source * KIND + np.arange(width)).astype(np.int64)
        for source, size in enumerate(sizes)
    ]
    np.save(tmp_path / "little.npy", tables[0])
    np.save(tmp_path / "big.npy", tables[1].astype(">i8"))
    tables[2].astype(">i8").tofile(tmp_path / "big.bin")
    npy = [flow.Dataset({"x": flow.NpyReader(files=str(tmp_path / f"{name}.npy"))})
           for name in ("little", "big")]  # fmt: skip
    raw = flow.RawReader(files=str(tmp_path / "big.bin"), dtype="int64", shape=[width],
                         byte_order="big")  # fmt: skip
    plain = [*npy, flow.Dataset({"x": raw}), flow.from_arrays({"x": tables[3]})]
    used = [one.map(flow.Cast, "x", outputs="y", dtype="float64") for one in plain]
    model = MixModel(sizes, {0: [1] * 4})
    wanted = np.array([tables[source][record] for source, _, record in model.epoch(0)])
    for sources, names in ((plain, "x"), (used, "xy")):
        for batch_size in (7, len(wanted)):
            batches = flow.mix(sources).batch(batch_size)
            with flow.DataLoader({name: batches[name] for name in names}) as loader:
                found = list(loader)
            for name in names:
                assert np.array_equal(np.concatenate([one[name] for one in found]), wanted)
    nested = flow.mix([flow.mix(plain[:2]), plain[3]], length=100)
    with flow.DataLoader(nested.batch(9)["x"]) as loader:
        rows = np.concatenate(list(loader))
    assert np.array_equal(rows, rows[:, :1] + np.arange(width))


def test_stored_bools_of_many_bytes_are_0_or_1(tmp_path):
    stored = (np.arange(200 * 70).reshape(200, 70) % 3).astype(np.uint8)
    stored.tofile(tmp_path / "b.bin")
    data = flow.Dataset({"x": flow.RawReader(files=str(tmp_path / "b.bin"), dtype="bool",
                                             shape=[70])})  # fmt: skip
    with flow.DataLoader(flow.mix([data, data.skip(1)], length=100).batch(100)["x"]) as loader:
        (rows,) = loader
    assert np.array_equal(rows[::2].view(np.uint8), stored[:50] != 0)


def test_draws_of_a_record_differ(make):
    batches = flow.mix(make([1, 3]), weights=[3, 1], length=200).batch(50, seed=1)
    coin = flow.CoinFlip(batches["x"])
    with flow.DataLoader(batches["x"], coin) as loader:
        pairs = [pair for x, flips in loader for pair in zip(x, flips, strict=True)]
    for record in {x for x, _ in pairs}:
        flips = [flip for x, flip in pairs if x == record]
        assert 0.25 < np.mean(flips) < 0.75


def test_a_damaged_record_names_the_file_of_its_source(tmp_path, make):
    (tmp_path / "bad.csv").write_text("x\n1\nnot-a-number\n3\n")
    sources = {"good": make([5])[0], "bad": flow.open(tmp_path / "bad.csv", fields=["x:int64"])}
    data = flow.mix(sources, length=10)
    with flow.DataLoader(data.batch(10)["x"]) as loader:
        with pytest.raises(flow.CorruptDataError) as caught:
            list(loader)
    assert caught.value.file.endswith("bad.csv") and caught.value.line == 3


# ---- The face -----------------------------------------------------------------------------------


def test_weights_by_name_and_by_record(make):
    first, second = make([10, 20])
    listed = flow.mix([first, second], {0: [3, 1], 8: [1, 1]}, length=30)
    named = flow.mix({"web": first, "books": second},
                     {8: {"books": 1, "web": 1}, 0: {"web": 3, "books": 1}}, length=30)  # fmt: skip
    assert read(listed, 2) == read(named, 2)
    assert read(flow.mix([first, second])) == read(first.mix(second, weights=[7, 7]))
    named = flow.mix([first, second], {"b": 1, "a": 3}, names=["a", "b"], length=30)
    assert read(named) == read(flow.mix([first, second], [3, 1], length=30))


def test_repr_shows_shares(make):
    first, second = make([10, 20])
    data = flow.mix({"web": first, "books": second}, {0: [3, 1], 8000: [1, 3]}, length=30)
    text = repr(data)
    assert "web: 75 %, 25 % from record 8,000 of NumPy" in text
    assert "books: 25 %, 75 % from record 8,000 of NumPy" in text
    tokens = flow.mix([first, second], [1, 1], unit="tokens", mean_lengths=[100, 300])
    assert "0: 75 % of NumPy" in repr(tokens)


def test_what_is_wrong_is_said_when_it_is_built(tmp_path, make):
    first, second = make([10, 20])
    named = {"web": first, "books": second}
    renamed = flow.Dataset({"y": first.blob("x")})
    (tmp_path / "f.csv").write_text("x\n1.5\n")
    floats = flow.open(tmp_path / "f.csv", fields=["x:float64"])
    for arguments, words in (
        (dict(sources=[]), "no sources"),
        (dict(sources=["a.csv"]), "source 0 is 'a.csv'"),
        (dict(sources=[first, renamed]), "source 0 has the fields x: int64; source 1 has y: int64"),
        (dict(sources=[first, floats]), r"source 0 has int64 \(\), source 1 has float64"),
        (dict(sources=named, weights=[1]), "1 numbers for 2 sources"),
        (dict(sources=named, weights=[1, -1]), "source 1 is -1; it must be finite, and at least 0"),
        (dict(sources=named, weights=[1, float("nan")]), "weights of source 'books' is nan"),
        (dict(sources=named, weights=[0, 0]), "one must be above 0"),
        (dict(sources=named, weights=[1, 1e-30]), "too small beside the largest"),
        (dict(sources=named, weights={"web": 1}), "none for source 'books'"),
        (dict(sources=named, weights={"web": 1, "book": 2}), "there is no source 'book'"),
        (dict(sources=[first, second], weights={"web": 1}), "the sources have no names"),
        (dict(sources=named, weights={5: [1, 1]}), "those from record 0 must be there"),
        (dict(sources=named, weights={0: [1, 1], "web": 2}), "has the key 'web'"),
        (dict(sources=named, weights={0: [1, 1], 9: [1]}), r"weights\[9\] has 1 numbers"),
        (dict(sources=named, weights=3), "weights = 3; it must be a list of 2 numbers"),
        (dict(sources=named, stop="shortest"), "first_exhausted"),
        (dict(sources=named, stop="all_exhausted", length=9), "ends in one way only"),
        (dict(sources=named, max_repeats=0), "max_repeats has 0.0"),
        (dict(sources=named, max_repeats={"books": 0}), "max_repeats has 0.0"),
        (dict(sources=named, max_repeats={"book": 1}), "there is no source 'book'"),
        (dict(sources=named, max_repeats=[1]), "max_repeats has 1 numbers for 2 sources"),
        (dict(sources=named, length=0), "length = 0; it must be 1 or more"),
        (dict(sources=named, unit="tokens"), "the field whose lengths count or mean_lengths"),
        (dict(sources=named, mean_lengths=[1, 2]), "are for unit='tokens'"),
        (dict(sources=named, unit="tokens", field="x"), r"len\(\) takes a field with several"),
        (dict(sources=named, unit="bytes"), "'records' or 'tokens'"),
        (dict(sources=named, unit=np.zeros(2)), "'records' or 'tokens'"),
        (dict(sources=named, unit="tokens", mean_lengths=[1, 0]), "source 1 is 0; it must be"),
        (dict(sources=named, interleave="shuffled"), "regular"),
        (dict(sources=named, names=["a", "b"]), "has their names already"),
        (dict(sources=[first, second], names=["a"]), "1 names for 2 sources"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            flow.mix(**arguments)


def test_what_is_wrong_is_said_when_it_is_opened(make):
    first, second = make([10, 20])
    empty = flow.mix({"web": first, "books": second.take(0)})
    with pytest.raises(flow.InvalidArgumentError, match="source 1, books has no records"):
        len(empty)
    assert len(flow.mix([first, second.take(0)], weights=[1, 0])) == 10
    never = flow.mix([first, second.repeat(10**6)], weights=[1, 2**-50], stop="all_exhausted")
    with pytest.raises(flow.InvalidArgumentError, match="give a length"):
        len(never)
    for options, words in (
        (dict(max_repeats=0.05), "source 0 is 0.05, which allows none of its 10 records"),
        (dict(max_repeats=2, length=61), "an epoch has at most 60 records, and length = 61"),
        (dict(max_repeats={"b": 3}, weights=[1, 0]), "limits no source that is drawn"),
        (dict(max_repeats=2, length=9, weights=[1, 20]), "source 0 would have less than one"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            len(flow.mix({"a": first, "b": second}, **options))


def test_the_method_has_the_arguments_of_the_function():
    _, _, *method = inspect.signature(flow.Dataset.mix).parameters.values()
    _, *function = inspect.signature(flow.mix).parameters.values()
    assert [(one.name, one.default, one.annotation) for one in method] == [
        (one.name, one.default, one.annotation) for one in function
    ]


def test_messages_have_the_names_of_sources():
    one, other = flow.from_arrays({"x": [1]}), flow.from_arrays({"y": [1]})
    with pytest.raises(flow.InvalidArgumentError, match="source 'b' is 3; it must be a Dataset"):
        flow.mix({"a": one, "b": 3})
    with pytest.raises(flow.InvalidArgumentError, match="source 'a' has .* x: .*; source 'b' has"):
        flow.mix({"a": one, "b": other})
    with pytest.raises(flow.InvalidArgumentError, match="source 0 has .* x: .*; source 1 has"):
        flow.mix([one, other])
    with pytest.raises(flow.InvalidArgumentError, match=r"pad=\.\.\.\): flow.PadBatch"):
        one.batch(1, pad=True)
