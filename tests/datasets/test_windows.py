"""windows() and group_by(), beside lists.  Orders, ranks and resuming are in
tests/datasets/test_properties.py."""

import itertools
import json
import warnings

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata.errors import CorruptDataError, InvalidArgumentError
from pyflowdata.nodes.tables import Table

SIZE = 60
RNG = np.random.default_rng(0)
X = RNG.integers(0, 100, (SIZE, 2))
USERS = np.repeat(RNG.integers(0, 4, 20), RNG.integers(1, 6, 20))[: SIZE - 11]
USERS = np.concatenate([USERS, np.full(SIZE - len(USERS), 9)])
NAMES = [b"user %d%s" % (user, b"\0" * (user % 2)) for user in USERS]


def made(**more):
    return flow.from_arrays({"n": np.arange(SIZE), "x": X, "user": USERS, "name": NAMES, **more})


def windows_of(length, step, last, keys=None):
    """The numbers of the records of each window."""
    found, records = [], range(SIZE)
    for _, group in itertools.groupby(records, lambda i: None if keys is None else keys[i]):
        run = list(group)
        for first in range(0, len(run), step):
            window = run[first : first + length]
            if last != "drop" or len(window) == length:
                found.append(window)
    return found


def padded(values, length, value):
    missing = [(0, length - len(values))] + [(0, 0)] * (values.ndim - 1)
    return np.pad(values, missing, constant_values=value)


@pytest.mark.parametrize("key, keys", [(None, None), ("user", USERS), ("name", NAMES),
                                       (["name", "user"], USERS)])  # fmt: skip
@pytest.mark.parametrize("length, step", [(3, None), (4, 1), (2, 5), (1, 1), (90, 7)])
@pytest.mark.filterwarnings("ignore:.* has no window", "ignore:.* leaves out")
def test_windows(key, keys, length, step):
    data = made() if key is not None else made().drop("name")
    data = data.drop("name") if key == "user" else data
    for last in ("drop", "pad", "short"):
        wanted = windows_of(length, step or length, last, keys)
        given = {"padding": {"x": -2}} if last == "pad" else {}
        found = data.windows(length, step=step, last=last, mask="mask", key=key, **given)
        assert len(found) == len(wanted)
        rest = length if last == "pad" else 0
        for record, numbers in zip(found, wanted, strict=True):
            of = np.array(numbers)
            assert np.array_equal(record["n"], padded(of, max(rest, len(of)), 0))
            assert np.array_equal(record["x"], padded(X[of], max(rest, len(of)), -2))
            assert record["mask"].tolist() == [True] * len(of) + [False] * max(0, rest - len(of))
            if key is not None:
                assert "name" not in record or record["name"] == NAMES[of[0]]
                assert key == "name" or record["user"] == USERS[of[0]]
        first = "?" if last == "short" else length
        assert str(found.fields["x"].type) == f"int64[{first},2]"
        if len(wanted) > 1:
            assert found[-1]["n"][0] == wanted[-1][0]


def test_records_of_windows_that_overlap_are_computed_once():
    calls = []

    def counted(n):
        calls.append(int(n))
        return n * 2

    data = made().project("n").map(counted, "n", outputs={"n": "int64"})
    for last, again in (("drop", 0), ("short", 28), ("pad", 28)):  # again: of the last 7 windows
        windows = data.windows(8, step=1, last=last)
        wanted = windows_of(8, 1, last)
        assert len(windows) == len(wanted)
        calls.clear()
        rows = windows.rows(range(len(wanted)))["n"]  # one range
        assert len(calls) == SIZE + again
        assert [row[: len(of)].tolist() for row, of in zip(rows, wanted, strict=True)] == [
            [2 * n for n in of] for of in wanted
        ]
    calls.clear()
    assert windows.rows([3, 5, 4, 4, 9])["n"][2].tolist() == [*range(8, 24, 2)]
    assert len(calls) == 8 + 2 + 8 + 8 + 5


def test_groups_in_the_order_of_first_appearance():
    data = made().drop("name")
    groups = data.group_by("user")
    seen = list(dict.fromkeys(USERS.tolist()))
    assert len(groups) == len(seen) == 5 and [r["user"] for r in groups] == seen
    for place in (3, 0, 4, -1):
        record, of = groups[place], np.flatnonzero(seen[place] == USERS)
        assert np.array_equal(record["n"], of) and np.array_equal(record["x"], X[of])
    assert str(groups.fields["x"].type) == "int64[?,2]"
    assert str(groups).endswith("-> in the order of groups -> group_by('user')")
    texts = [(r["name"], r["n"].tolist()) for r in made().group_by("name")]
    assert texts == [(name, [i for i in range(SIZE) if NAMES[i] == name])
                     for name in dict.fromkeys(NAMES)]  # fmt: skip
    parity = made(odd=np.arange(SIZE) % 2, f=np.where(X[:, 0] > 50, np.nan, 0.0)).drop("name")
    several = parity.group_by(["user", "odd"])
    pairs = [(int(user), i % 2) for i, user in enumerate(USERS)]
    assert [(r["user"], r["odd"]) for r in several] == list(dict.fromkeys(pairs))
    assert len(parity.group_by("f")) == 2  # NaN is like NaN
    assert len(data.take(0).group_by("user")) == len(data.take(0).windows(2)) == 0
    back = groups.explode(["n", "x"])
    assert sorted(r["n"] for r in back) == list(range(SIZE))


def test_resumed_with_other_threads_and_ranks():
    def loader(rank=0, world_size=1, threads=2):
        data = made().drop("name").windows(4, step=2, key="user", last="pad").shuffle(seed=1)
        blobs = data.batch(6, rank=rank, world_size=world_size, last="drop").blobs
        return flow.DataLoader(blobs, num_threads=threads)

    with loader() as whole:
        expected = [batch["n"].tolist() for batch in whole]
    with loader(threads=1) as first:
        next(iter(first))
        state = json.loads(json.dumps(first.state_dict()))
    found = []
    for rank in range(3):
        with loader(rank, 3, threads=3) as rest:
            rest.load_state_dict(state)
            found.append([batch["n"].tolist() for batch in rest])
    assert [sum(parts, []) for parts in zip(*found, strict=True)] == expected[1:]


def test_a_damaged_record_takes_its_windows_along(tmp_path):
    lines = ["?" if i == 8 else str(i) for i in range(24)]
    (tmp_path / "rows.csv").write_text("".join(f"{line}\n" for line in lines))
    data = flow.open(str(tmp_path / "rows.csv"), fields=["n=0:int64"])
    windows = data.windows(3, step=2)
    with pytest.raises(CorruptDataError, match="rows.csv:9 "):
        list(windows)
    batches = windows.batch(4, on_error="skip", max_skipped=-1)
    with flow.DataLoader(batches.blobs) as loader:
        found = [first for batch in loader for first in batch["n"][:, 0].tolist()]
        assert found == [0, 2, 4, 10, 12, 14, 16, 18, 20] and loader.skipped


def test_wrong_use_says_what_to_write():
    data = made()
    short = data.drop("name")
    for call, text in (
        (lambda: data.windows(3), r"'name' is bytes, .*stacked.*Pad, 'name'.*drop\('name'\)"),
        (lambda: data.group_by("user"), "the field 'name'"),
        (lambda: short.windows(0), "length = 0; it must be 1 or more"),
        (lambda: short.windows(2, step=0), "step = 0; it must be 1 or more"),
        (lambda: short.windows(2, last="wrap"), "drop.*pad.*short"),
        (lambda: short.windows(2, key="users"), "users"),
        (lambda: short.windows(2, key=[]), "it must be the name of a field, or a list"),
        (lambda: short.windows(2, mask="n"), "a name that no field has"),
        (lambda: short.windows(2, last="pad", padding=0.5), "'padding' = 0.5; .* is int64"),
        (lambda: short.windows(2, padding={"y": 1}), "padding names field 'y'"),
        (lambda: short.shuffle().windows(2, key="user"), "shuffle the windows"),
        (lambda: short.shuffle().group_by("user"), "shuffle the groups"),
        (lambda: short.sample().group_by("user"), "use group_by before it"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            call()
    shuffled = short.shuffle(seed=3).windows(2)  # neighbours of the shuffled order
    assert shuffled[0]["n"].tolist() == [int(r["n"]) for r in short.shuffle(seed=3).head(2)]


def test_attrs_of_the_view():
    data = made()
    for attrs, text in (
        ({"runs": [1, 5]}, "the first run must begin at record 0"),
        ({"runs": [0, 5, 5]}, "element 1 = 5; the elements must ascend"),
        ({"runs": [0, 60]}, "element 1 = 60.*below the 60 records"),
        ({"runs": [0.5]}, "has float64, not int64"),
        ({"runs": [0], "padding": [1, 2, 3]}, "has 3 values"),
        ({"runs": [0], "fields": ["a"]}, "has 1 names"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            given = {"length": 2, **attrs, "runs": Table(np.array(attrs["runs"]))}
            len(flow.Dataset(flow.WindowDataset(data["n"], data["x"], **given)))


def test_a_key_that_lies_apart_is_warned_of():
    data = flow.from_arrays({"user": [1, 2] * 3, "n": np.arange(6)})
    with pytest.warns(UserWarning, match=r"at most 1 .*data\.sort\('user'\)\.windows\(3, key="):
        assert len(data.windows(3, key="user")) == 0
    found = [window["n"].tolist() for window in data.sort("user").windows(3, key="user")]
    assert found == [[0, 2, 4], [1, 3, 5]]
    assert len(data.windows(3, key="user", last="short")) == 6


def test_runs_of_a_key_that_lie_apart_are_warned_of():
    """The remedy keeps the order of time within a key."""
    user = np.repeat([0, 1, 0, 1], [6, 6, 5, 5])
    data = flow.from_arrays({"user": user, "t": np.arange(22)})
    said = r"4 runs of 2 keys.*data\.sort\('user'\)\.windows\(4, step=1, key=.*last=\"drop\""
    with pytest.warns(UserWarning, match=said):
        assert len(data.windows(4, step=1, key="user")) == 10
    assert len(data.windows(4, step=1, key="user", last="drop")) == 10
    mixed = data.select(np.random.default_rng(0).permutation(22))
    for together in (data.sort("user"), mixed.sort(["user", "t"]), mixed.sort("t").sort("user")):
        found = [one["t"].tolist() for one in together.windows(4, step=1, key="user")]
        assert found == [
            list(of[at : at + 4])
            for of in (np.flatnonzero(user == 0), np.flatnonzero(user == 1))
            for at in range(8)
        ]


def test_whole_runs_that_are_left_out_are_warned_of():
    """last="drop" says that they are not wanted; records after the last window of a run are not
    told, and none are with "pad" and "short"."""
    data = flow.from_arrays({"video": [1] * 5 + [2] * 2 + [3] * 3, "n": np.arange(10)})
    with pytest.warns(UserWarning, match=r"leaves out 2 of 10 records: 1 of 3 runs .*video"):
        assert len(data.windows(3, key="video")) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(data.windows(3, key="video", last="drop")) == 2
        assert len(data.windows(3, key="video", last="pad")) == 4
        assert len(data.windows(2, key="video")) == 4
