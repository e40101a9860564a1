"""enumerate(): the numbers of records before and after other views, over epochs, ranks and a
resumed loader, beside Python's enumerate()."""

import json

import numpy as np
import pytest

import pyflowdata as flow

SIZE = 23
SPLITS = np.r_[0, np.cumsum(np.arange(SIZE) % 3)]


def made():
    """Record i has i + 100, a run of i % 3 elements, and a row."""
    values = flow.Ragged(np.repeat(np.arange(SIZE), np.arange(SIZE) % 3), SPLITS)
    return flow.from_arrays(
        {"x": np.arange(SIZE) + 100, "run": values, "row": np.arange(2 * SIZE).reshape(-1, 2)}
    )


def pairs(records):
    """The number and x of each, whose other fields are those of x."""
    found = []
    for one in records:
        i = int(one["x"]) - 100
        assert one["index"].dtype == np.int64 and one["index"].shape == ()
        assert one["run"].tolist() == [i] * (i % 3) and one["row"].tolist() == [2 * i, 2 * i + 1]
        found.append((int(one["index"]), i))
    return found


def epochs_of(data, count, **attrs):
    """(number, x) of the records of some epochs of a loader."""
    data = data.project("index", "x")
    with flow.DataLoader(data.batch(4, **attrs), num_threads=3) as loader:
        return [
            [(int(number), int(x) - 100) for batch in loader for number, x in np.stack(batch, 1)]
            for _ in range(count)
        ]


def test_numbers_are_those_of_the_data_set_that_is_enumerated():
    data, order = made(), [5, 0, 22, 5]
    drawn = [int(one["x"]) - 100 for one in data.shuffle(seed=3)]
    for before, found in [
        (data, range(SIZE)), (data.take(4), range(4)), (data.skip(20), range(20, SIZE)),
        (data[3:20:5], range(3, 20, 5)), (data.select(order), order), (data.shuffle(seed=3), drawn),
        (data.shuffle(seed=3).take(7), drawn[:7]), (data.concat(data), [*range(SIZE)] * 2),
        (data.where("x % 5 == 0"), range(0, SIZE, 5)), (data.take(0), []),
    ]:  # fmt: skip
        numbered = before.enumerate()
        assert list(numbered.fields) == ["x", "run", "row", "index"]
        assert pairs(numbered) == list(enumerate(found)) and len(numbered) == len(found)
        assert pairs(numbered[i] for i in range(-len(found), 0)) == list(enumerate(found))
    numbered = data.enumerate()
    assert pairs(numbered.shuffle(seed=3)) == [(i, i) for i in drawn]
    assert pairs(numbered.shuffle(seed=3).take(7)) == [(i, i) for i in drawn[:7]]
    assert pairs(numbered.select(order)) == [(i, i) for i in order]
    again = data.skip(3).enumerate("first").rename({"first": "index"}).take(2).enumerate("last")
    assert [(int(one["index"]), int(one["last"])) for one in again] == [(0, 0), (1, 1)]


def test_numbers_start_from_zero_in_each_epoch():
    drawn, numbered = made().shuffle(seed=1).enumerate(), made().enumerate().shuffle(seed=1)
    first, second = epochs_of(drawn, 2)
    for epoch in (first, second):
        assert [number for number, _ in epoch] == list(range(SIZE))
        assert sorted(i for _, i in epoch) == list(range(SIZE))
    assert first != second
    first, second = epochs_of(numbered, 2)
    assert sorted(first) == sorted(second) == [(i, i) for i in range(SIZE)] and first != second
    ranks = [epochs_of(drawn, 1, rank=rank, world_size=2, last="short")[0] for rank in (0, 1)]
    assert sorted(ranks[0] + ranks[1]) == epochs_of(drawn, 1)[0]


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_resumed_loader_goes_on_with_the_numbers(is_drawn):
    def loader():
        data = made().take(21)
        data = data.shuffle(seed=2).enumerate() if is_drawn else data.enumerate().shuffle(seed=2)
        data = data.map(lambda r, i: {"n": i}, with_index=True).project("index", "x", "n")
        return flow.DataLoader(data.batch(4))

    with loader() as whole:
        wanted = [one for _ in range(2) for one in whole]
    for taken in (0, 2, 5, 7, 8):
        with loader() as former, loader() as later:
            batches = (one for _ in range(2) for one in former)
            for _ in range(taken):
                next(batches)
            later.load_state_dict(json.loads(json.dumps(former.state_dict())))
            rest = [one for _ in range(2) for one in later][: len(wanted) - taken]
        assert len(rest) == len(wanted) - taken
        for found, other in zip(rest, wanted[taken:], strict=True):
            assert np.array_equal(found, other)
            assert not is_drawn or np.array_equal(found[0], found[2])


def test_a_damaged_record_keeps_its_number(tmp_path):
    (tmp_path / "t.csv").write_text("x\n0\n1\noops\n3\n")
    data = flow.open(tmp_path / "t.csv", fields="x:int64").enumerate()
    data = data.project("index", "x")
    with flow.DataLoader(data.batch(4, on_error="skip", max_skipped=-1)) as loader:
        ((numbers, values),) = loader
    assert numbers.tolist() == values.tolist() == [0, 1, 3]


def test_what_is_refused():
    data = made()
    for name, said in [("x", "there is a field of this name"), ("", "must be a str"),
                       (3, "must be a str")]:  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError, match=said):
            data.enumerate(name)
    with pytest.raises(flow.InvalidArgumentError, match="fields.* has 1 names; it must have 2"):
        flow.EnumerateDataset(data["x"], fields=["x"])
