"""explode() and flat_map(): elements of fields and rows that a function makes, beside lists; when
the function is called; errors.  Random pipelines are in tests/datasets/test_properties.py."""

import json
import os
import pickle
import random

import numpy as np
import pytest
from support import process_functions as own

import pyflowdata as flow
from pyflowdata.datasets import columns
from pyflowdata.errors import CorruptDataError, InvalidArgumentError, UserFunctionError
from pyflowdata.nodes.tables import Table

TEXTS = ["a b c", "", "dd ee", "f", "", "g h i j"]
SIZE = len(TEXTS)
SPLITS = np.array([0, 0, 1, 3, 6, 10, 15])  # record i has i elements


def made():
    return flow.from_arrays({
        "n": np.arange(SIZE), "text": TEXTS,
        "tags": flow.Ragged(np.arange(15, dtype=np.int32), SPLITS),
        "boxes": flow.Ragged(np.arange(60.0).reshape(15, 4), SPLITS),
        "pair": np.arange(2 * SIZE).reshape(SIZE, 2),
    })  # fmt: skip


def plain(records):
    return [{name: one.tolist() if isinstance(one, (np.ndarray, np.generic)) else one
             for name, one in record.items()} for record in records]  # fmt: skip


def words(r):
    for place, word in enumerate(r["text"].split()):
        yield {"word": word, "place": place}


def in_one_buffer(r):
    part, buffer = {}, np.zeros(2)
    for buffer[:] in range(int(r["n"])):
        part["x"] = buffer
        yield part


def expected_words():
    return [(i, w.encode(), k) for i, text in enumerate(TEXTS) for k, w in enumerate(text.split())]


def words_of(records):
    return [(int(r["n"]), r["word"], int(r["place"])) for r in records]


def test_elements_of_fields_and_the_other_fields_with_them():
    data = made()
    parts = data.explode(["tags", "boxes"])
    assert [f"{name}: {field.type}" for name, field in parts.fields.items()] == [
        "n: int64", "text: bytes", "tags: int32", "boxes: float64[4]", "pair: int64[2]"
    ]  # fmt: skip
    wanted = [
        {**r, "tags": tag, "boxes": box}
        for r in plain(data) for tag, box in zip(r["tags"], r["boxes"], strict=True)
    ]  # fmt: skip
    assert len(parts) == len(wanted) == 15 and plain(parts) == wanted
    places = random.Random(0).choices(range(-15, 15), k=40)
    assert plain([parts[i] for i in places]) == [wanted[i] for i in places]
    assert "-> explode('tags', 'boxes')" in str(parts)
    halves = data.explode("pair")  # as many of each record: nothing is counted
    assert len(halves) == 2 * SIZE and halves[3]["pair"] == 3 and "counts" not in str(halves)
    flat = data.map(lambda r: {"grid": np.arange(6).reshape(2, 3) + r["n"]})
    assert flat.explode("grid").explode("grid").column("grid")[:7].tolist() == [
        0, 1, 2, 3, 4, 5, 1]  # fmt: skip


@pytest.mark.parametrize("processes", [0, 2])
def test_parts_of_a_function(processes):
    parts = made().explode(own.words_of_record, processes=processes)
    assert len(parts) == 10 and words_of(parts) == expected_words()
    assert {name: str(parts.fields[name].type) for name in ("word", "place", "text")} == {
        "word": "bytes", "place": "int64", "text": "bytes"}  # fmt: skip
    with flow.DataLoader(parts.shuffle(seed=3).batch(4).blobs, num_threads=3) as loader:
        found = [(int(n), word, int(k)) for batch in loader for n, word, k in
                 zip(batch["n"], batch["word"].to_bytes_list(), batch["place"])]  # fmt: skip
    assert sorted(found) == expected_words() != found


@pytest.mark.parametrize("view", ["explode", "where", "column"])
def test_a_pass_over_all_records_is_one_and_in_the_processes(view, tmp_path):
    data, log = flow.from_arrays({"n": np.arange(300)}), tmp_path / "pids"
    if view == "explode":
        made = data.explode(own.noted_parts, log=str(log), processes=2)
    else:
        what = "y >= 0" if view == "where" else "y"
        made = getattr(data.map(own.noted, log=str(log), processes=1), view)(what)
    assert len(made) == (600 if view == "explode" else 300)
    pids = [int(one) for one in log.read_text().split()]
    in_main = pids.count(os.getpid())
    assert in_main <= 4  # from which the types are found
    assert len(pids) - in_main <= 300 + 2 * columns.COMPARED


def test_what_a_function_may_return():
    data = made()
    assert words_of(data.flat_map(words)) == expected_words()
    whole = data.flat_map(lambda r: [{**r, "text": one} for one in r["text"].split()])
    assert [r["text"] for r in whole] == [word for _, word, _ in expected_words()]
    assert list(whole.fields) == list(data.fields)
    repeated = data.explode(lambda r: [r] * int(r["n"]))  # makes no field
    assert [int(r["n"]) for r in repeated] == [i for i in range(SIZE) for _ in range(i)]
    numbers = data.project("n")
    rows = numbers.explode(lambda r, k: [{"x": np.full(r["n"], i)} for i in range(k)], k=2)
    assert str(rows.fields["x"].type) == "int64[?]" and rows[7]["x"].tolist() == [1, 1, 1]
    reused = [r["x"].tolist() for r in data.explode(in_one_buffer)]
    assert reused == [[k, k] for i in range(SIZE) for k in range(i)]
    named = data.explode(lambda r: [{"x": 1}] if r["n"] == 5 else [], outputs={"x": "float32"})
    assert len(named) == 1 and named[0]["x"].dtype == np.float32
    twice = data.explode(words).explode(lambda r: [{"letter": r["word"][:1]}] * 2)
    assert len(twice) == 20 and pickle.loads(pickle.dumps(data.explode("tags")))[14]["tags"] == 14
    drawn = data.explode(words).sample(num_samples=40, seed=0)  # some of them more than once
    assert {*words_of(drawn)} <= {*expected_words()} and len(list(drawn)) == 40
    none = data.explode(lambda r: [], outputs={"x": "int64"})
    assert len(none) == 0 == len(data.take(0).explode("tags")) and list(none) == []


def sets_fields(r):
    for r["n"] in (100, 101):
        r["new"] = r["n"] - 100
        yield r


def sets_in_place(r):
    for r["new"] in (0, 1):
        yield {**r, "n": 100 + r["new"]}


@pytest.mark.parametrize("function", [sets_fields, sets_in_place])
@pytest.mark.parametrize("call", ["explode", "flat_map"])
def test_fields_that_the_function_sets_in_the_record_itself(call, function):
    data = made().project("n", "pair")
    parts = getattr(data, call)(function)
    assert plain(parts) == [
        {"n": 100 + k, "pair": [2 * i, 2 * i + 1], "new": k} for i in range(SIZE) for k in (0, 1)
    ]


def test_one_call_for_parts_that_are_read_one_after_another():
    calls = []

    def parts(r):
        calls.append(int(r["n"]))
        return [{"k": k} for k in range(40)]

    data = flow.from_arrays({"n": np.arange(30)}).explode(parts)
    assert len(data) == 1200
    calls.clear()
    with flow.DataLoader(data.batch(7)["k"], num_threads=1) as loader:
        assert np.concatenate(list(loader)).tolist() == [*range(40)] * 30
    assert 30 <= len(calls) < 150  # the thread that waits works, too, and has its own


def test_a_part_of_another_type_names_the_function():
    def late(r):
        return [{"k": 1 if r["n"] < 20 else b"x"}]

    data = flow.from_arrays({"n": np.arange(30)}).explode(late)
    said = r"record 20.*: late\(\): the output 'k' is a text .*test_explode.py:\d+\)"
    with pytest.raises(flow.UserFunctionError, match=said):
        list(data)


def signs(r):
    part = {}
    for place in range(3):  # one dict for all parts
        part["sign"], part["place"] = np.signbit(r["x"]), place
        yield part


def test_neighbours_that_are_equal_in_value_or_in_memory():
    x = np.array([0.0, -0.0, 1.5, 1.5, np.nan, -np.nan])
    parts = flow.from_arrays({"x": x}).explode(signs)
    wanted = [(bool(np.signbit(one)), place) for one in x for place in range(3)]
    mixed = np.random.default_rng(1).permutation(18)
    for order in (range(18), [2, 0, 5, 1, 1, 2, 9, 6, 11], mixed):
        rows = parts.rows(list(map(int, order)))
        found = zip(rows["sign"].tolist(), rows["place"].tolist(), strict=True)
        assert list(found) == [wanted[row] for row in order]


def test_counts_are_kept_with_the_indexes(tmp_path, monkeypatch):
    passes = []
    values = columns._Pass.values
    monkeypatch.setattr(
        columns._Pass, "values", lambda self: passes.append(self._wanted.said) or values(self)
    )
    np.save(tmp_path / "n.npy", np.arange(50))

    def opened():
        reader = flow.NpyReader(files=str(tmp_path / "n.npy"), index_dir=str(tmp_path / "index"))
        return flow.Dataset({"n": reader})

    def counted():
        return opened().explode(lambda r: [{"k": 1}] * int(r["n"] % 3), outputs={"k": "int64"})

    data = counted()
    assert passes == []
    assert len(data) == len(counted()) == 49 and passes == ["explode(<lambda>)"]
    passes.clear()
    again = opened().explode(lambda r: [{"k": 1}] * int(r["n"] % 2))
    assert len(again) == 25 and len(passes) == 1


def test_resumed_with_other_threads_and_ranks_and_not_with_another_function():
    def batches(loader):
        return [{name: one.tolist() for name, one in batch.items()} for batch in loader]

    def loader(function, rank=0, world_size=1, threads=2):
        data = made().project("n").explode(function).shuffle(seed=1)
        blobs = data.batch(6, rank=rank, world_size=world_size).blobs
        return flow.DataLoader(blobs, num_threads=threads)

    def ones(r):
        return [{"k": int(r["n"]) * 10 + k} for k in range(int(r["n"]))]

    def others(r):
        return [{"k": int(r["n"]) * 11 + k} for k in range(int(r["n"]))]

    with loader(ones) as whole:
        expected = batches(whole)
    with loader(ones, threads=1) as first:
        next(iter(first))
        state = json.loads(json.dumps(first.state_dict()))
    found = []
    for rank in range(3):
        with loader(ones, rank, 3, threads=3) as rest:
            rest.load_state_dict(state)
            found.append(batches(rest))
    assert [sum((part["k"] for part in parts), []) for parts in zip(*found, strict=True)] == [
        batch["k"] for batch in expected[1:]
    ]
    with loader(others) as other, pytest.raises(flow.InvalidArgumentError, match="others"):
        other.load_state_dict(state)


def test_another_number_of_parts_names_the_function_and_the_record(tmp_path):
    (tmp_path / "rows.csv").write_text("".join(f"{i}\n" for i in range(9)))
    data = flow.open(str(tmp_path / "rows.csv"), fields=["n=0:int64"])
    has_counted = False

    def unsteady(r):
        return [{"k": 1}] * (3 if has_counted and r["n"] == 4 else 2)

    parts = data.explode(unsteady)
    assert len(parts) == 18
    has_counted = True
    wanted = r"unsteady\(\) gives 3 pieces of this record, and gave 2 .*test_explode.py:\d+"
    with pytest.raises(UserFunctionError, match=wanted) as raised:
        list(parts)
    assert raised.value.file == str(tmp_path / "rows.csv") and raised.value.line == 5


def below(count):
    def by_calls(r, calls=iter(range(10**6))):
        return [{"k": 1}] * (next(calls) % count)

    return by_calls


def test_wrong_use_says_what_to_write():
    data = made()
    for call, text in (
        (lambda: data.explode("text"), "a text or bytes in each record.*split"),
        (lambda: data.explode("n"), "one value in each record"),
        (lambda: data.explode("tag"), "no field 'tag'"),
        (lambda: data.explode([]), "it must be the name of a field, or a list"),
        (lambda: data.explode(3), "what = 3; it must be the name of a field"),
        (lambda: data.explode("tags", processes=2), "belong to a function"),
        (lambda: data.map(lambda r: {"t": r["pair"][:1]}).explode(["pair", "t"]), "equally many"),
        (lambda: data.shuffle().explode("tags"), r"shuffle the pieces, data.explode"),
        (lambda: data.sample().explode("tags"), "use explode before it"),
        (lambda: data.explode(lambda text: [text]), "must take the record"),
        (lambda: data.explode(lambda r, *, rng: [r]), "takes rng"),
        (lambda: data.explode(lambda r: [r], with_index=True), "explode has no with_index="),
        (lambda: data.explode(lambda r: [r], size=3), "has no parameter 'size'; it has r"),
        (lambda: data.explode(lambda r: []), "gives no piece of the first records"),
        (lambda: data.flat_map(words, "text"), "leave the fields out, or give fan_out"),
        (lambda: data.explode(words, outputs="other"), "lacks 'other'"),
        (lambda: len(data.explode(below(5))), "change from epoch to epoch"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            call()
    for function, text in (
        (lambda r: {"k": 1}, "must return a list of dicts"),
        (lambda r: None, r"is a return missing\?"),
        (lambda r: [1], "gave the piece 1; each piece is a dict"),
        (lambda r: [{"k": r["tag"]}], "KeyError: 'tag'; .*'tags'. There are n, text, tags"),
    ):
        with pytest.raises(UserFunctionError, match=text) as caught:
            data.explode(function)
        assert caught.type is UserFunctionError
    late = data.explode(lambda r: [{"k" if r["n"] < 5 else "j": 1}])
    with pytest.raises(UserFunctionError, match="returned j, which does not have 'k'"):
        list(late)


def test_attrs_of_the_view():
    data = made()
    blobs = [data["n"], data["tags"]]
    for counts, divided, text in (
        (np.array([1, 2]), [], "has 2 elements, but the data set has 6 records"),
        (np.array([1, 2, 3, 4, 5, -1]), [], "element 5 is -1"),
        (np.ones(6, np.float32), [], "is an array of float32"),
        (np.array([2**62, 2**62, 2**62, 0, 0, 0]), [], "more than 2.63 rows"),
        (np.ones(6, np.int64), [0], "no dimension to be divided along"),
        (np.ones(6, np.int64), [2], "there are 2 inputs"),
    ):
        with pytest.raises(InvalidArgumentError, match=text):
            out = flow.ExplodeDataset(*blobs, counts=Table(counts), divided=divided)
            len(flow.Dataset(out))
    wrong = flow.Dataset(flow.ExplodeDataset(*blobs, counts=Table(np.full(6, 2)), divided=[1]))
    with pytest.raises(CorruptDataError, match="has 0 elements in this record; .*'counts' says 2"):
        list(wrong)
    uneven = flow.from_arrays({"p": [7, 8], "a": [[1], [1, 2, 3]], "b": [[1], [1, 2]]})
    for names, text in ((["a", "b"], "'b' has 2 elements in this record, and 'a' has 3: fields"),
                        (["b", "a"], "'a' has 3 elements in this record, and 'b' has 2: fields")):
        with pytest.raises(CorruptDataError, match=rf"record 1.*{text}") as failure:
            list(uneven.explode(names))
        assert failure.value.ordinal == 1


def test_records_are_told_apart_by_each_field_to_the_bit():
    data = flow.from_arrays({
        "a": [b"ab", b"a", b"a"], "b": [b"c", b"bc", b"bc"], "x": np.array([0.0, 0.0, -0.0]),
    })  # fmt: skip

    def twice(r):
        return [{"found": r["a"] + b"|" + r["b"] + str(float(r["x"])).encode()}] * 2

    found = [record["found"] for record in data.explode(twice)]
    assert found == [b"ab|c0.0"] * 2 + [b"a|bc0.0"] * 2 + [b"a|bc-0.0"] * 2
    with flow.DataLoader(data.explode(twice).batch(6)["found"], num_threads=1) as loader:
        assert [bytes(one) for one in next(iter(loader))] == found
