"""Data sets as values: records at random places, repr, equality, pickles, forks, wrong use."""

import _thread
import copy
import gzip
import inspect
import multiprocessing
import os
import pickle
import pprint
import sys
import threading
import time

import numpy as np
import pytest
from support import programs

import pyflowdata as flow
from pyflowdata.formats.csv import CSVWriter
from support.oracle import permutation, random_key

N = 300
X = np.random.default_rng(1).random((N, 3)).astype(np.float32)
Y = np.arange(N) % 7
TEXTS = [f"text {row}" * (row % 4) for row in range(N)]


@pytest.fixture
def data():
    return flow.from_arrays({"x": X, "y": Y, "text": TEXTS})


@pytest.fixture
def path(tmp_path):
    with CSVWriter(tmp_path / "rows.csv") as writer:
        for row in range(N):
            writer.write({"n": row, "y": int(Y[row])})
    return tmp_path / "rows.csv"


def check_record(record, row):
    assert record["x"].tolist() == X[row].tolist() and record["y"] == Y[row]
    assert record["text"] == TEXTS[row].encode()


# ---- Records at random places ------------------------------------------------------------------


def test_a_record_is_the_row_of_its_number(data):
    for row in (0, 17, N - 1, -1, -N, np.int64(5)):
        check_record(data[row], int(row) % N)
    for row in (N, -N - 1):
        with pytest.raises(IndexError, match=f"record {row} of {N} records"):
            data[row]
    record = data[3]
    record["x"][:] = 0  # belongs to the caller
    check_record(data[3], 3)


def test_rows_are_one_batch_in_the_order_asked_for(data):
    rows = np.random.default_rng(2).integers(-N, N, 500)  # more than are read at once
    found = data.rows(rows)
    assert np.array_equal(found["x"], X[rows]) and np.array_equal(found["y"], Y[rows])
    assert found["text"].to_bytes_list() == [TEXTS[row].encode() for row in rows]
    empty = data.rows([])
    assert empty["x"].shape == (0, 3) and len(empty["text"]) == 0
    with pytest.raises(IndexError, match="record 300 of 300"):
        data.rows([3, 300])
    for row, record in zip([4, 4, 2], data.__getitems__([4, 4, 2]), strict=True):
        check_record(record, row)
    few = flow.from_arrays({"x": np.arange(3)})  # fewer than are asked for
    assert few.rows([0, 1, 2, 0] * 50)["x"].tolist() == [0, 1, 2, 0] * 50
    assert [one["x"] for one in few.__getitems__([2, 2, 1, 0, 2])] == [2, 2, 1, 0, 2]


def test_views_are_read_at_random_places_as_in_sequence(data):
    views = data.shuffle(seed=3).take(100).repeat(3)[::-2].concat(data[5:9])
    records = [tuple(one["x"]) for one in views]
    assert len(records) == len(views) == 154
    assert [tuple(views[i]["x"]) for i in range(len(views))] == records
    assert [tuple(row) for row in views.rows(range(len(views)))["x"]] == records
    model = permutation(random_key(3, 0, "shuffle"), N)[:4]
    first = data.shuffle(seed=3)
    assert [first[i]["x"].tolist() for i in range(4)] == [X[row].tolist() for row in model]


def test_a_list_selects_a_data_set(data):
    chosen = data[[7, -1, 7]]
    assert isinstance(chosen, flow.Dataset) and len(chosen) == 3
    check_record(chosen[1], N - 1)
    assert len(data[Y == 3]) == (Y == 3).sum()
    assert len(data[[]]) == 0 and not data[[]] and list(data[[]]) == []


def test_a_loader_reads_rows_without_moving(data):
    blobs = data.shuffle(seed=1).batch(16)
    with flow.DataLoader(blobs["x"], blobs["text"], num_threads=2) as loader:
        batches = [(x.copy(), text.to_bytes_list()) for x, text in loader]
        for number, _ in enumerate(loader):
            before = loader.state_dict()
            places = [16 * number, 3, 16 * number]
            x, text = loader.read(places)
            for row, place in enumerate(places):
                assert np.array_equal(x[row], batches[place // 16][0][place % 16])
                assert text[row].tobytes() == batches[place // 16][1][place % 16]
            assert loader.state_dict() == before
        assert loader.read([0], epoch=1)[0].tolist() != batches[0][0][:1].tolist()
        for wrong in ([N], [-1], range(17)):
            with pytest.raises(flow.InvalidArgumentError):
                loader.read(wrong)


def test_a_rank_reads_rows_of_all_ranks(data):
    blobs = data.shuffle(seed=1).batch(16, rank=1, world_size=2)
    whole = np.concatenate([data.shuffle(seed=1).rows(range(N))["y"]])
    with flow.DataLoader(blobs["y"]) as loader:
        assert loader.read([0, 8, 100]).tolist() == whole[[0, 8, 100]].tolist()
        assert next(iter(loader)).tolist() == whole[8:16].tolist()
        with pytest.raises(flow.InvalidArgumentError, match=r"must be in \[0, 8\]"):
            loader.read(range(9))


@pytest.mark.parametrize(
    "rows", [range(0), range(3, 64), range(0, 1000), range(999, -1, -3), range(900, 1000)]
)
def test_a_range_of_rows_is_read_as_a_list_of_them(rows):
    data = flow.from_arrays({"y": np.arange(1000)}).shuffle(seed=1).batch(1000)
    with flow.DataLoader(data["y"]) as loader:
        whole = next(iter(loader)).tolist()
        assert sorted(whole) == [*range(1000)] != whole
        assert loader.read(rows).tolist() == [whole[row] for row in rows]
        for wrong in (range(-100, 100), range(901, 1001)):
            with pytest.raises(flow.InvalidArgumentError, match="there is no row"):
                loader.read(wrong)


def test_ops_over_whole_batches_see_the_rows_that_are_read(tmp_path):
    (tmp_path / "a.txt").write_text("".join(f"{row}\n" for row in range(40)))
    lines = flow.open(tmp_path / "a.txt").batch(8)
    padded = flow.PadBatch(lines["out"], with_length=True)
    with flow.DataLoader(*padded) as loader:
        values, lengths = loader.read([3, 12, 9])
        assert values.dense.tolist() == [[51, 0], [49, 50], [57, 0]]
        assert lengths.tolist() == [1, 2, 1]


def test_damage_is_an_error_of_the_record_that_has_it(path):
    text = path.read_text().replace("\n7,", "\noops,")
    path.write_text(text)
    data = flow.open(path, fields=["n:int64", "y:int64"])
    assert data[6]["n"] == 6 and data[8]["n"] == 8
    for _ in range(2):
        with pytest.raises(flow.CorruptDataError, match="oops") as caught:
            data.rows([6, 7])
        assert caught.value.ordinal == 7 and caught.value.file == str(path)


# ---- Threads and processes ---------------------------------------------------------------------


def test_threads_share_a_data_set(data):
    failures = []

    def read(first):
        try:
            for row in range(first, N, 8):
                check_record(data[row], row)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_forked_child_opens_its_own(data):
    check_record(data[3], 3)
    child = os.fork()
    if child == 0:
        try:
            check_record(data[4], 4)
            os._exit(len(data) != N)
        finally:
            os._exit(9)
    assert os.waitpid(child, 0)[1] == 0
    check_record(data[5], 5)


def test_the_interpreter_ends_with_an_open_data_set(path):
    script = f"import pyflowdata as flow; data = flow.open({str(path)!r}); print(data[5]['n'])"
    done = programs.run(script)
    assert done.stdout == "5\n" and done.stderr == ""


@pytest.mark.slow
def test_a_pickle_is_the_same_data_set_in_another_process(path):
    data = flow.open(path)
    views = data.where("y != 3").shuffle(seed=1)[:50]
    numbers = [record["n"] for record in views]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found, text = pool.apply(read_there, (views,))
    assert found == numbers and text == repr(views)


def read_there(data):
    numbers = [record["n"] for record in data]
    return numbers, repr(data)


# ---- A value -----------------------------------------------------------------------------------


def several(path):
    data = flow.open(path)
    return [
        data, data.take(3), data.take(4), data[1:3], data.shuffle(seed=1), data.shuffle(seed=2),
        data.shuffle(), data.shuffle(seed=1).take(3), data.where("y != 3"), data.where("y != 2"),
        data.select([1, 2]), data.select([2, 1]), *data.split([0.5, 0.5], seed=2), data.repeat(2),
        flow.open(path, fields=["n"]), data.concat(data), data.zip(flow.from_arrays({"x": X})),
        flow.mix([data, data], [1, 2]), flow.mix([data, data], [2, 1]), flow.from_arrays({"x": X}),
        flow.from_arrays({"x": X + 1}), flow.Dataset({"z": data["n"]}),
    ]  # fmt: skip


def test_equal_means_the_same_files_fields_views_and_attrs(path):
    first, again = several(path), several(path)
    for i, one in enumerate(first):
        assert [one == other for other in again] == [i == k for k in range(len(again))]
        assert hash(one) == hash(again[i]) and len({one, again[i]}) == 1
        assert copy.copy(one) is copy.deepcopy(one) is one
        back = pickle.loads(pickle.dumps(one))
        assert back == one and hash(back) == hash(one) and repr(back) == repr(one)
    assert first[0] != "rows" and first[0] is not None


def test_repr_says_what_it_is(path):
    data = flow.open(path)
    fields = "\n  n: int64\n  y: int64"
    assert repr(data) == f"Dataset: CSV, rows.csv{fields}"
    views = data.where("y != 3").shuffle(seed=3).take(100)[5:]
    steps = "where('y != 3') -> shuffle(seed=3) -> take(100) -> slice(begin=5)"
    assert repr(views) == f"Dataset: CSV, rows.csv{fields}\n  -> {steps}"
    assert repr(data.shuffle(reshuffle=False)).endswith("shuffle(seed=None, reshuffle=False)")
    len(data)
    assert repr(data) == f"Dataset of 300 records: CSV, rows.csv{fields}"
    both = flow.mix([data.take(5), data.concat(data.skip(2))], [3, 1]).take(9)
    assert repr(both) == (
        f"Dataset{fields}\n  mix of\n    0: 75 % of CSV, rows.csv -> take(5)\n"
        "    1: 25 % of concat of\n      CSV, rows.csv\n      CSV, rows.csv -> skip(2)\n"
        "  -> take(9)"
    )
    mapped = flow.Dataset({"f": flow.Cast(data["n"], dtype="float32")})
    assert repr(mapped) == "Dataset: CSV, rows.csv\n  f: float32\n  -> Cast(dtype='float32')"
    assert repr(flow.from_arrays({"x": X, "y": Y})) == (
        "Dataset: arrays in memory\n  x: float32[3]\n  y: int64"
    )


def test_a_data_set_knows_its_fields(data):
    assert "x" in data and "z" not in data
    with pytest.raises(TypeError, match="`in` takes the name of a field"):
        3 in data  # noqa: B015
    assert bool(data) and not data.take(0) and len(data.head(3)) == 3


# ---- Ranks -------------------------------------------------------------------------------------


def test_readers_without_batches_are_data_sets_of_all_ranks(path, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    parts = []
    for rank in (0, 1):
        monkeypatch.setenv("RANK", str(rank))
        numbers = flow.CSVReader(files=str(path), columns=["n:int64"])
        data = flow.Dataset({"n": numbers})
        assert len(data) == N and data[N - 1]["n"] == N - 1
        with flow.DataLoader(data.batch(20)["n"]) as loader:
            assert f"rank={rank}/2" in repr(loader)
            parts.append([batch.tolist() for batch in loader])
        with pytest.raises(flow.InvalidArgumentError, match="batch_size was left out"):
            flow.DataLoader(numbers)
    assert [row for pair in zip(*parts, strict=True) for one in pair for row in one] == [*range(N)]


# ---- Wrong use ---------------------------------------------------------------------------------


def test_wrong_use_answers_with_the_right_one(data, path):
    def csv(**attrs):
        return flow.CSVReader(files=str(path), columns=["n:int64", "y:int64"], **attrs)

    for wrong, words in (
        (lambda: flow.DataLoader(data), r"no batches yet: give data.batch\(n\)"),
        (lambda: flow.DataLoader({"a": data}), r"no batches yet: give data.batch\(n\)"),
        (lambda: flow.DataLoader(data.take(3)["x"]), r"no batches yet: make them with batch\(\)"),
        (lambda: flow.Cast(data, dtype="int8"), r"give a field: data\['x'\]"),
        (lambda: flow.Concat(data, data), r"give a field: data\['x'\]"),
        (lambda: flow.Dataset(csv(batch_size=4)), "Dataset: field 'n' comes in batches"),
        (lambda: flow.Dataset(csv(random_shuffle=True)), "in a random order from CSVReader"),
        (lambda: flow.Dataset(data.batch(3)), "in batches or in a random order from BatchDataset"),
        (lambda: flow.Dataset([csv()[0], csv()[1]]), "field 'n' is of CSVReader, and field 'y' of"),
        (lambda: flow.Dataset({"a": data["x"], "b": data.take(3)["x"]}), "zip the two before"),
        (lambda: data.concat([data]), r"(?s)concat\(.*give data sets"),
        (lambda: data.zip(X), r"(?s)zip\(.*give data sets"),
        (lambda: flow.Dataset([]), "a field or more"),
        (lambda: flow.Dataset(str(path)), r"flow.open\(\) makes a data set of files"),
        (lambda: flow.Dataset([X]), "it must be a blob"),
        (lambda: data.take(-1), "attr 'count' = -1; it must be at least 0$"),
        (lambda: data["z"], "no field 'z'; there are x, y, text"),
        (lambda: data.batch(3)["z"], "no field 'z'; there are x, y, text"),
        (lambda: data.batch(3, last_batch="drop"), "it is called last"),
        (lambda: data.batch(3, random_shuffle=True), "shuffle the data set"),
    ):
        with pytest.raises(flow.InvalidArgumentError, match=words):
            wrong()
    for key in (1.5, None, {}, "x y".split()):
        with pytest.raises(TypeError, match="project|a number for a record"):
            data[key]


def test_fields_of_a_shuffle_go_together(data):
    shuffled = data.shuffle(seed=1)
    narrow = flow.Cast(shuffled.blobs["y"], dtype="float32")
    made = flow.Dataset({"y": shuffled["y"], "narrow": narrow})
    assert len(made) == N
    assert all(float(row["y"]) == row["narrow"] for row in made)
    assert [int(row["y"]) for row in made] == [int(row["y"]) for row in shuffled]


def test_show_takes_a_data_set():
    pixels = np.random.default_rng(0).integers(0, 255, (30, 8, 8, 3), np.uint8)
    data = flow.from_arrays({"image": pixels, "label": np.arange(30)})
    sheet = flow.show(data[4:20], image="image")
    rows = {"image": pixels[4:20], "label": np.arange(4, 20)}
    alone = flow.show(rows, ids=[f"record {row}" for row in range(4, 20)])
    assert sheet.count == 16 and np.array_equal(sheet.pixels, alone.pixels)
    assert flow.show(data, count=5).count == 5


# ---- docs/learn/datasets.md ----------------------------------------------------------------------


def test_a_seed_of_batches_leaves_that_of_the_shuffle():
    data = flow.from_arrays({"x": np.arange(50)})

    def order(batches):
        with flow.DataLoader(batches["x"]) as loader:
            return np.concatenate(list(loader)).tolist()

    own = order(data.shuffle(seed=1).batch(10))
    assert own == order(data.shuffle(seed=1).batch(10, seed=7)) != list(range(50))
    assert own != order(data.shuffle().batch(10, seed=7))
    assert own == order(data.shuffle().batch(10, seed=1))


def test_names_of_other_libraries_say_what_is_meant():
    data = flow.from_arrays({"x": np.arange(6), "y": np.arange(6)})
    for name, said in {
        "features": "fields", "select_columns": "project", "wher": "where",
        "bucket": "batch_by_length",
    }.items():  # fmt: skip
        with pytest.raises(AttributeError, match=f"a data set has no '{name}'.*{said}"):
            getattr(data, name)
    with pytest.raises(AttributeError, match="batches have no 'shuffle': call it on the data set"):
        data.batch(2).shuffle()
    with pytest.raises(AttributeError, match="batches have no 'nothing'$"):
        data.batch(2).nothing
    with pytest.raises(flow.InvalidArgumentError, match='drop_last=.*last="drop"'):
        data.batch(2, drop_last=True)
    with pytest.raises(flow.InvalidArgumentError, match=r"flow.mix\(\[a, b\]\)"):
        flow.mix(data, data)
    with pytest.raises(flow.InvalidArgumentError, match=r"as \[0.9, 0.1\]"):
        data.split(0.9)
    with pytest.raises(TypeError, match="no argument 'shuffle'.*batch"):
        flow.DataLoader(data.batch(2), shuffle=True)
    assert len(data + data) == 12


def test_a_data_set_of_too_many_is_refused():
    data = flow.from_arrays({"x": np.arange(3)})
    for _ in range(15):
        data = data.concat(data)
    with pytest.raises(flow.InvalidArgumentError, match="more than 16384 data sets"):
        len(data)


# ---- Large trees --------------------------------------------------------------------------------


def one(value):
    return flow.from_arrays({"x": np.array([value])})


def in_a_loop(sources, join):
    data, *rest = sources
    for other in rest:
        data = join(data, other)
    return data


def plus_one(x):
    return x + 1


def test_a_concat_in_a_loop():
    count = 130
    sources = [one(i).map(plus_one, "x", outputs={"x": "int64"}) for i in range(count)]
    data = in_a_loop(sources, lambda data, other: data.concat(other))
    assert len(data) == count and [int(row["x"]) for row in data] == list(range(1, count + 1))
    with flow.DataLoader(data.shuffle(seed=1).batch(count)) as loader:
        ((x,),) = loader
        assert sorted(x) == list(range(1, count + 1))
        loader.load_state_dict(loader.state_dict())


@pytest.mark.parametrize("kind", ["mix", "zip"])
def test_a_tree_of_many_levels(kind):
    """64 levels of two sources are a product that 64 bits do not hold."""
    sources = [one(i).map(plus_one, "x", outputs={"x": "int64"}) for i in range(70)]
    if kind == "mix":
        data = in_a_loop(sources, lambda *two: flow.mix(list(two), length=70))
        assert {int(row["x"]) for row in data} <= set(range(1, 71))
    else:
        named = [source.rename(x=f"x{i}") for i, source in enumerate(sources)]
        data = in_a_loop(named, lambda data, other: data.zip(other))
        assert [int(value) for value in data[0].values()] == list(range(1, 71))
    assert len(repr(data)) < 10_000 and pickle.loads(pickle.dumps(data)) == data
    with flow.DataLoader(data.batch(4)) as loader:
        next(iter(loader))
        assert loader.state_dict() and str(loader.report())


@pytest.fixture
def shallow():
    """Functions call each other less deep than by default."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 250)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("shallow")
def test_a_chain_of_more_views_than_calls():
    steps = [
        lambda data: data.take(5), lambda data: data.skip(0), lambda data: data.slice(None),
        lambda data: data.select([0, 1, 2, 3, 4]),
        lambda data: data.shuffle(seed=1, reshuffle=False),
        lambda data: flow.Dataset({"x": flow.Cast(data["x"], dtype="int64")}),
    ]  # fmt: skip
    data = before = flow.from_arrays({"x": np.arange(5)})
    for number in range(sys.getrecursionlimit() + 50):
        data = steps[number % len(steps)](data)
    assert len(data) == 5 and sorted(int(row["x"]) for row in data) == [0, 1, 2, 3, 4]
    assert data == data and hash(data) == hash(pickle.loads(pickle.dumps(data))) != hash(before)
    assert repr(data) and data._repr_html_()
    assert sorted(data.column("x")) == sorted(data.cache().column("x")) == [0, 1, 2, 3, 4]
    with flow.DataLoader(data.batch(2)) as loader:
        next(iter(loader))
        loader.load_state_dict(loader.state_dict())
        assert str(loader.report()) and str(flow.graph(loader))


def test_a_chain_of_a_thousand_ops():
    x = flow.from_arrays({"x": np.arange(5)})["x"]
    for _ in range(1000):
        x = flow.Cast(x, dtype="int64")
    made = flow.Dataset({"x": x})
    assert len(made) == 5 and repr(made) and pickle.loads(pickle.dumps(made)) == made
    with flow.DataLoader(made.batch(5)["x"]) as loader:
        assert [x.tolist() for x in loader] == [[0, 1, 2, 3, 4]] and loader.state_dict()


# ---- Wrong use ----------------------------------------------------------------------------------


def test_batches_are_a_tuple_of_blobs(data):
    batches = data.batch(4)
    x, y, text = batches
    first, *rest = batches
    assert [x, y, text] == [*batches] == [first, *rest] == list(batches.blobs.values())
    assert [blob for blob in batches] == list(batches) == [x, y, text]
    with flow.DataLoader(batches) as one, flow.DataLoader(*batches) as other:
        assert len(next(iter(one))) == len(next(iter(other))) == 3


def test_blobs_are_taken_by_calls_also_without_python_code_around(data):
    batches, taken = data.batch(4), []
    assert pprint.pformat(batches) and tuple(batches) == tuple(batches.blobs.values())
    _thread.start_new_thread(taken.extend, (batches,))
    end = time.monotonic() + 10
    while not taken and time.monotonic() < end:
        time.sleep(0.01)
    assert taken == [*batches]


_WRONG = (None, -1, 1.5, "nope", b"a", [], ["a"], [1.5], [[1]], {"a": 1}, np.array(2),
          np.array([1, 2]), object(), len, lambda r: r["nope"], flow.Cast)  # fmt: skip
_RIGHT = {
    "length": 2, "field": "r", "function": lambda r: {**r, "z": 1}, "count": 3, "what": "a",
    "batch_size": 2, "max_tokens": 8, "parts": [0.5, 0.5], "key": "g", "index": 0, "rows": [1],
    "predicate": "a > 2", "by": "g", "begin": 0, "indexes": [0], "factors": "a", "name": "z",
    "path": "a.jsonl",
}  # fmt: skip
_METHODS = [name for name, method in inspect.getmembers(flow.Dataset, inspect.isfunction)
            if not name.startswith("_")]  # fmt: skip


@pytest.mark.parametrize("name", _METHODS)
@pytest.mark.filterwarnings("ignore")
def test_every_method_answers_wrong_arguments_in_its_own_words(name, tmp_path, monkeypatch):
    """No exception of Python's own comes from inside, whatever is given for an argument."""
    monkeypatch.chdir(tmp_path)
    fixed = flow.from_arrays({"a": np.arange(6), "g": np.arange(6) % 2})
    data = fixed.zip(flow.from_arrays({"r": [[1]] * 3 + [[2, 3]] * 3}))
    method = getattr(flow.Dataset, name)
    own = [one for one in list(inspect.signature(method).parameters.values())[1:]
           if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]  # fmt: skip
    needed = {one.name: _RIGHT[one.name] for one in own if one.default is one.empty}
    given = [({**needed, one.name: wrong}, ()) for one in own for wrong in _WRONG]
    given += [({}, ()), ({}, (1,) * 20), ({"of_nobody": 1, **needed}, ())]
    for source in (fixed, data):
        for keywords, places in given:
            try:
                made = getattr(source, name)(*places, **keywords)
                if isinstance(made, flow.Dataset) and name != "repeat":
                    len(made)
            except flow.Error:
                pass
            except TypeError as failure:  # record() alone is not wrapped, as it is called often
                assert name == "record" and "record()" in str(failure)


def test_words_about_wrong_names_and_streams(data, tmp_path):
    with pytest.raises(AttributeError, match=r"data\.shuffle\(\) orders"):
        data.set_epoch(1)
    with pytest.raises(AttributeError, match=r"data\.shuffle\(\) orders"):
        flow.DataLoader(data.batch(2)).set_epoch(1)
    for name in ("_opned", "openedd", "with_blobs", "compared"):
        with pytest.raises(AttributeError) as failure:
            getattr(data, name)
        assert "'_" not in str(failure.value).partition("did you mean")[2]
    (tmp_path / "rows.csv").write_text("a,x\n1,2\n")
    says = "fields: in 'x:float23', the type 'float23'.* float32"
    with pytest.raises(flow.InvalidArgumentError, match=says):
        flow.open(str(tmp_path / "rows.csv"), fields=["x:float23"])
    with gzip.open(tmp_path / "rows.jsonl.gz", "wt") as file:
        file.write('{"a": 1}\n')
    with pytest.raises(TypeError, match=r"decompress or convert the files, or cache\(\)"):
        len(flow.open(str(tmp_path / "rows.jsonl.gz")))
