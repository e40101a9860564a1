"""A node is what it is, whatever was made before it or stands beside it; states compare nodes."""

import importlib
import json
import pickle
import runpy
import subprocess
import sys
import textwrap
import warnings
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from support import pipelines, programs
from support.pipelines import RECORDS, delivered, files, halve, jitter, random_graph, records
from support.pipelines import state_after

import pyflowdata as flow

GRAPHS = range(8)
WEIGHTS = np.arange(1, RECORDS + 1)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return files(tmp_path_factory.mktemp("numbers"))


@pytest.fixture
def data(path):
    return records(path)


def load(data, state):
    """Takes a state."""
    with flow.DataLoader(data.batch(5, seed=3).blobs) as loader:
        loader.load_state_dict(state)
        return [batch.copy() for batch in loader]


def refusal(data, state):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        load(data, state)
    return str(caught.value)


def joined(first, *others):
    """One data set after another."""
    return first.concat(*others) if others else first.skip(0)


# ---- Random numbers -----------------------------------------------------------------------------


def in_a_new_process(path, numbers):
    return json.loads(programs.run(Path(pipelines.__file__), path, *numbers, check=True).stdout)


def test_graphs_do_not_depend_on_those_before_them(path):
    first = in_a_new_process(path, GRAPHS)
    assert first == in_a_new_process(path, [*reversed(GRAPHS)])
    for number in GRAPHS:  # imported here, and the main module there; after other tests
        graph = random_graph(path, number)
        assert json.loads(json.dumps(delivered(graph))) == first[str(number)][0], number
        load(graph, first[str(number)][1])


def test_the_same_graph_twice(path, data):
    for number in GRAPHS[:2]:  # the other test makes each in three processes, in other orders
        assert delivered(random_graph(path, number)) == delivered(random_graph(path, number))
    one = delivered(data.map(jitter, "a"))
    assert delivered(data.map(jitter, "a").map(halve, "b"))[0] == one[0]
    assert delivered(data.map(jitter, "a", outputs={"c": "float64"}))[3] == one[0]


def test_two_functions_of_one_graph_draw_independently(data):
    noise = np.array(delivered(data.map(jitter, "a").map(jitter, "b", outputs={"b": "float64"})))
    assert not np.isclose(noise[0] - np.arange(RECORDS), noise[1] - np.arange(100, 112)).any()


def test_processes_change_no_random_numbers(data):
    alone = data.map(jitter, "a").map(halve, "b")
    apart = data.map(jitter, "a", processes=2).map(halve, "b")
    assert delivered(alone) == delivered(apart)
    load(apart, state_after(alone))


def test_a_pickled_graph_is_the_same(data):
    graph = data.map(jitter, "a", scale=2.0).map(jitter, "b").sample(WEIGHTS)
    blobs = pickle.loads(pickle.dumps(graph.blobs))
    again = flow.Dataset(blobs)
    assert delivered(again) == delivered(graph)
    assert state_after(again) == state_after(graph)


# ---- Orders -------------------------------------------------------------------------------------

VIEWS = {
    "sample": lambda data, **given: data.sample(WEIGHTS, **given),
    "sample without replacement": lambda data, **given: data.sample(
        WEIGHTS, replacement=False, **given
    ),
    "balance": lambda data, **given: data.balance("label", **given),
    "repeat_by": lambda data, **given: data.repeat_by(np.arange(RECORDS) % 3 + 0.5, **given),
    "shuffle": lambda data, **given: data.shuffle(**given),
    "mix": lambda data, **given: flow.mix(
        [data, data.take(9)], interleave="random", stop="all_exhausted", **given
    ),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_an_order_does_not_depend_on_its_neighbours(data, view):
    alone = delivered(joined(view(data)))
    size = len(alone[0])
    other = view(data.skip(0), seed=8)
    before, after = joined(other, view(data)), joined(view(data), other)
    assert [column[-size:] for column in delivered(before)] == alone
    assert [column[:size] for column in delivered(after)] == alone
    assert delivered(joined(other))[0] != alone[0]


def test_two_equal_orders_are_told(data):
    twice = joined(data.sample(WEIGHTS), data.sample(WEIGHTS))
    with pytest.warns(UserWarning, match="the same random order(.|\n)*another seed="):
        rows = delivered(twice)[0]
    assert rows[:RECORDS] == rows[RECORDS:]


def test_fields_of_one_source_in_two_orders_are_told(data, monkeypatch):
    def read(one, other):
        monkeypatch.setattr("pyflowdata.native.calling_line._given", {})
        blobs = {"a": one.batch(RECORDS)["a"], "b": other.batch(RECORDS)["a"]}
        with flow.DataLoader(blobs) as loader:
            batch = next(iter(loader))
        return batch["a"].tolist() == batch["b"].tolist()

    mixed = data.shuffle(seed=1)
    for one, other in (
        (mixed, data),
        (mixed, data.shuffle(seed=2)),
        (mixed.where("a > -1"), data.where("a > -1")),
        (data, data.select(np.arange(RECORDS)[::-1])),
        (mixed.map(lambda r: {"z": 1}), data.sample(WEIGHTS, seed=3)),
    ):
        with pytest.warns(UserWarning, match=r"one source in two orders.*batches\[\"x\"\]") as told:
            assert not read(one, other)
        assert [one.filename for one in told] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(data, data.map(lambda r: {"z": 1}))
        assert read(mixed, data.project("a").shuffle(seed=1))
        assert read(data.shuffle(), data.shuffle())
        assert read(data.where(lambda r: r["a"] > -1), data.where(lambda r: r["a"] >= 0))
        blobs = mixed.project("a").zip(data.project("b")).batch(RECORDS).blobs
        flow.DataLoader(blobs).close()


def test_the_name_of_a_view_decides_its_order(data):
    def graph(name):
        blobs = flow.WeightedSampleDataset(
            *data.blobs.values(), weights=data.sample(WEIGHTS).blobs["a"].node.values["weights"],
            name=name,
        )  # fmt: skip
        return flow.Dataset(dict(zip(data.fields, blobs, strict=True)))

    assert delivered(graph("one")) != delivered(graph("two"))
    text = refusal(graph("two"), state_after(graph("one")))
    assert "'one' is the name of a view" in text and "'two'" in text


def test_a_state_of_an_older_version_with_views_in_another_order_is_refused(data):
    several = joined(data.sample(WEIGHTS), data.sample(WEIGHTS, seed=1))
    for graph, is_refused in ((several, True), (data.sample(WEIGHTS), False)):
        state = {**state_after(graph), "version": 1}
        del state["sum"]
        if is_refused:
            assert "several views of WeightedSampleDataset" in refusal(graph, state)
        else:
            load(graph, state)


# ---- The code of functions ----------------------------------------------------------------------

SOURCE = '''
import dataclasses

def helper(x):
    return 2 * x

def change(x, *, rng, scale=1.5):
    """What it does."""
    return helper(x) * scale + rng.random()

def closed(limit):
    return lambda x: min(x, limit)

@dataclasses.dataclass
class Scale:
    factor: float = 2.0

    def __call__(self, x):
        return self._of(x)

    def _of(self, x):
        return x * self.factor

    def method(self, x):
        return self._of(x)
'''


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Imports a source, each time as a module of the same name."""
    folder = tmp_path / "modules"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def write(source):
        (folder / "written_functions.py").write_text(source)
        sys.modules.pop("written_functions", None)
        importlib.invalidate_caches()
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        return importlib.import_module("written_functions")

    yield write
    sys.modules.pop("written_functions", None)


USES = {
    "function": lambda module: module.change,
    "closure": lambda module: module.closed(4.0),
    "partial": lambda module: partial(module.change, scale=2.5),
    "object": lambda module: module.Scale(3.0),
    "method": lambda module: module.Scale().method,
    "lambda": lambda module: lambda x: module.helper(x),
}
SAME = {
    "comment": ("    return 2 * x", "    # twice\n\n    return (2 * x)  # x"),
    "lines": ("def helper", "\n\n\nNEW = 1\n\ndef helper"),
    "docstring": ("What it does.", "Another text."),
}
OTHER = {
    "function": ("+ rng.random()", "- rng.random()"),
    "default": ("scale=1.5", "scale=1.25"),
    "helper": ("2 * x", "3 * x"),
    "closure": ("min(", "max("),
    "object": ("x * self.factor", "x / self.factor"),
}


@pytest.mark.parametrize("use", USES)
def test_comments_and_lines_do_not_count(data, written, use):
    state = state_after(data.map(USES[use](written(SOURCE)), "a"))
    for edit in SAME.values():
        load(data.map(USES[use](written(SOURCE.replace(*edit))), "a"), state)


@pytest.mark.parametrize(
    "use, edit",
    [("function", "function"), ("function", "default"), ("function", "helper"),
     ("closure", "closure"), ("partial", "function"), ("partial", "helper"), ("object", "object"),
     ("method", "object")],
)  # fmt: skip
def test_other_code_is_refused(data, written, use, edit):
    state = state_after(data.map(USES[use](written(SOURCE)), "a"))
    graph = data.map(USES[use](written(SOURCE.replace(*OTHER[edit]))), "a")
    text = refusal(graph, state)
    assert "_0: the code of its function, or its arguments, were changed since" in text
    assert "seek(state['position'], epoch=state['epoch'])" in text


def test_other_values_are_refused(data, written):
    module = written(SOURCE)
    for one, other in [
        (module.closed(4.0), module.closed(5.0)),
        (partial(module.change, scale=1.0), partial(module.change, scale=2.0)),
        (module.Scale(1.0), module.Scale(2.0)),
        (lambda x: x + 1, lambda x: x + 2),
    ]:
        state = state_after(data.map(one, "a"))
        load(data.map(one, "a"), state)
        assert "the code of its function" in refusal(data.map(other, "a"), state)
    state = state_after(data.map(jitter, "a", scale=1.0))
    assert "MapJitter_0" in refusal(data.map(jitter, "a", scale=2.0), state)


def test_other_code_has_the_same_random_numbers(data, written):
    module = written(SOURCE)
    first = np.array(delivered(data.map(module.change, "a"))[0])
    state = state_after(data.map(module.change, "a"))
    graph = data.map(written(SOURCE.replace("2 * x", "0 * x")).change, "a")
    with flow.DataLoader(graph.batch(5, seed=3)["a"]) as loader:
        with pytest.raises(flow.InvalidArgumentError):
            loader.load_state_dict(state)
        loader.seek(state["position"], epoch=state["epoch"])
        rest = np.concatenate(list(loader))
    assert np.allclose(rest, first[5:] - 3 * np.arange(5, RECORDS))


def test_a_script_and_a_module_agree(data, tmp_path, written):
    module = written(SOURCE)
    main = runpy.run_path(module.__file__, run_name="__main__")
    for name in ("change", "helper"):
        load(data.map(getattr(module, name), "a"), state_after(data.map(main[name], "a")))


def test_functions_without_source(data, monkeypatch):
    def made(text):
        names = {}
        exec(textwrap.dedent(text), names)
        return names["f"]

    state = state_after(data.map(made("def f(x): return x + 1"), "a"))
    load(data.map(made("\n\ndef f(x): return x + 1"), "a"), state)
    graph = data.map(made("def f(x): return x + 2"), "a")
    assert "the code of its function" in refusal(graph, state)
    version = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    assert version in state["nodes"]
    monkeypatch.setattr(sys, "version_info", (3, 1, *sys.version_info[2:]))
    other = data.map(made("def f(x): return x + 2"), "a")
    assert f"compiled by {version} Python for the state, py3.1 now" in refusal(other, state)


# ---- The graph ----------------------------------------------------------------------------------


def test_other_attrs_and_inputs_are_refused(data):
    def graph(first="a", second="b", told="a", probability=0.5):
        made = data.map(jitter, first).map(jitter, second)
        return made.map(flow.CoinFlip, told, outputs="flip", probability=probability)

    state = state_after(graph())
    load(graph(), state)
    assert "CoinFlip_0: its attrs" in refusal(graph(probability=0.25), state)
    load(graph("b", "a"), state)  # the same graph, made in another order
    assert "CoinFlip_0: it is computed from MapJitter_1/0" in refusal(graph(told="b"), state)


def test_defaults_are_attrs_like_others(data):
    state = state_after(data.map(flow.CoinFlip, "a", outputs="flip"))
    load(data.map(flow.CoinFlip, "a", outputs="flip", probability=0.5), state)


def test_a_new_last_op_is_refused_and_more_fields_are_not(data):
    jittered = data.map(jitter, "a")
    more = jittered.map(halve, "b", outputs={"half": "float64"})
    load(more, state_after(jittered))
    load(jittered, state_after(more))
    for graph, former in ((jittered, data), (data, jittered), (data.map(halve, "a"), jittered)):
        text = refusal(graph, state_after(former))
        assert "it delivers" in text and "in place of other blobs" in text


@pytest.mark.parametrize("count", [3, 14, 20, 90])
def test_a_state_of_many_nodes_is_small(data, count):
    def graph(*last):
        made = data
        for number, factor in enumerate([*[1] * (count - 1), *last]):
            blob = flow.Affine(made.blob("a"), scale=factor, name=f"Node-number-{number}")
            made = flow.Dataset({"a": blob})
        return made

    state = state_after(graph(1))
    assert len(json.dumps(state)) < 1024
    load(graph(1), state)
    text = refusal(graph(2), state)
    assert (f"Node-number-{count - 1}: its attrs" in text) == (count < 90)
    assert "Node-number-0" not in text


def test_a_state_is_below_1_kb_whatever_the_lengths_of_names(tmp_path):
    """Its digests have words, and hashes where words do not fit in."""
    (tmp_path / "a.csv").write_text("1\n")
    sizes = []
    for length in range(1, 32):
        names = ["x" * length, *(f"op{i}" for i in range(20))]
        rows = flow.CSVReader(files=str(tmp_path / "a.csv"), columns=["0:float32"], name="r" * 27)
        for name in names:
            rows = flow.Affine(rows, scale=1.0, shift=1.0, name=name)
        with flow.DataLoader(rows) as loader:
            sizes.append(len(json.dumps(loader.state_dict())))
    assert 990 < max(sizes) < 1000 and min(sizes) < 900, sizes


# ---- The checksum -------------------------------------------------------------------------------


def test_a_changed_place_is_refused(data):
    state = state_after(data, 2)
    for key, values in (("epoch", (1, 2, 10)), ("position", (0, 1, 3))):
        for value in values:
            assert "checksum" in refusal(data, {**state, key: value})
    assert "checksum" in refusal(data, {**state, "sum": ""})
    assert "had no checksum" in refusal(data, {**state, "position": 1, "version": 1})
    former = {key: value for key, value in state.items() if key not in ("sum", "nodes")}
    assert len(load(data, {**former, "position": 1, "version": 1})) == 2


def test_another_batch_size_gives_no_advice_to_go_on_at_that_position(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(100))

    def loader(size):
        return flow.DataLoader(*flow.open(tmp_path / "x.npy").shuffle(seed=3).batch(size))

    with loader(8) as before:
        next(iter(before))
        state = before.state_dict()
    with loader(4) as now, pytest.raises(flow.InvalidArgumentError) as failure:
        now.load_state_dict(state)
    assert "batch_size = 4, in the state 8" in str(failure.value)
    assert "a position counts batches" in str(failure.value)
    assert "seek(state['position']" not in str(failure.value)


def test_one_of_two_nodes_without_names_does_not_take_the_numbers_of_the_other(data):
    first, second = {"c": "float64"}, {"d": "float64"}
    made = data.map(jitter, "a", outputs=first).map(jitter, "a", outputs=second)
    blobs = made.batch(5, seed=3)
    with flow.DataLoader({"c": blobs["c"], "d": blobs["d"]}) as both:
        next(iter(both))
        state = both.state_dict()
    with flow.DataLoader({"d": blobs["d"]}) as one, pytest.raises(
        flow.InvalidArgumentError, match="the graph has 1 of these nodes .*, the state 2"
    ):
        one.load_state_dict(state)


# ---- Numbers of nodes ---------------------------------------------------------------------------


def loaded(fields, state=None):
    """What a loader of some fields of a batch delivers, after a state; the state after a step."""
    with flow.DataLoader(fields) as loader:
        if state is not None:
            loader.load_state_dict(state)
            return [batch for batch in loader]
        next(iter(loader))
        return json.loads(json.dumps(loader.state_dict()))


def why(fields, state):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        loaded(fields, state)
    return str(caught.value)


def twins(data, op, count=2, **given):
    """Fields f0, f1 ... that equal nodes compute."""
    batch = data.batch(5, seed=3).blobs
    return {f"f{i}": op(batch["a"], **given) for i in range(count)}


def jittered(blob):
    data = flow.Dataset({"a": blob}).map(jitter, "a", outputs={"out": "float64"})
    return data["out"]


@pytest.mark.parametrize("count", [2, 12, 30, 45])
def test_fields_in_another_order_draw_other_numbers_and_are_refused(data, count):
    fields = twins(data, flow.CoinFlip, count)
    state = loaded(fields)
    loaded(fields, state)
    swapped = {name: fields[name] for name in reversed(fields)}
    text = why(swapped, state)
    assert "the order of the state" in text or count == 45 and "others" in text
    if count == 2:
        assert "CoinFlip_0" in text and "CoinFlip_1" in text and "give the nodes name=" in text


def test_two_functions_in_another_order_are_refused_with_both_names(data):
    made = data.map(jitter, "a", outputs={"c": "float64"})
    made = made.map(jitter, "b", outputs={"d": "float64"})
    blobs = made.batch(5, seed=3)
    state = loaded({"c": blobs["c"], "d": blobs["d"]})
    text = why({"d": blobs["d"], "c": blobs["c"]}, state)
    assert "MapJitter_0" in text and "was MapJitter_1 in the state" in text
    assert "pipelines.py:" in text and "jitter()" in text
    text = why((blobs["d"], blobs["c"]), loaded((blobs["c"], blobs["d"])))
    assert "MapJitter_0" in text and "MapJitter_1" in text


def test_names_make_the_order_of_fields_free(data):
    batch = data.batch(5, seed=3)["a"]
    fields = {name: flow.CoinFlip(batch, name=name) for name in ("left", "right")}
    state = loaded(fields)
    rest = loaded({"right": fields["right"], "left": fields["left"]}, state)
    for one, other in zip(loaded(fields, state), rest, strict=True):
        assert all(np.array_equal(one[name], other[name]) for name in fields)


def test_what_draws_nothing_may_be_delivered_in_another_order_and_under_another_key(data):
    made = data.map(halve, "a", outputs={"c": "float64"}).map(halve, "b", outputs={"d": "float64"})
    blobs = made.batch(5, seed=3)
    state = loaded({"c": blobs["c"], "d": blobs["d"]})
    loaded({"d": blobs["d"], "c": blobs["c"]}, state)
    loaded({"d": blobs["d"], "other": blobs["c"], "label": blobs["label"]}, state)
    assert "it delivers c of MapHalve" in why({"c": blobs["d"], "d": blobs["c"]}, state)


def test_a_field_that_keeps_its_numbers_may_be_left_alone(data):
    fields = twins(data, flow.CoinFlip, 3)
    state = loaded(fields)
    first = {name: fields[name] for name in ("f0", "f1")}
    loaded(first, state)
    loaded(fields, loaded(first))


def test_columns_of_two_readers_of_one_op_are_told_apart(path):
    def column(name):
        return flow.CSVReader(files=path, columns=["a:float64"], batch_size=5, name=name)

    left, right = column("left"), column("right")
    state = loaded({"x": left, "y": right})
    loaded({"y": right, "x": left}, state)
    assert "it delivers x of right/a" in why({"x": right, "y": left}, state)


# ---- Sources that are Python objects ------------------------------------------------------------

SAMPLES = """
import numpy as np

def scaled(i):
    return i * 2.0

def samples():
    for i in range(12):
        yield {"a": scaled(i)}

class Samples:
    def __init__(self, scale, folder="/tmp/one/data"):
        self.scale, self.folder, self.calls, self.file = scale, folder, 0, None
        self.cache, self.asked = {}, []

    def __len__(self):
        return 12

    def __getitem__(self, i):
        self.calls += 1
        self.file = self.file or open(__file__)
        self.cache[i] = i
        self.asked.append(i)
        return {"a": self.made(i), **({} if self.folder else {})}

    def made(self, i):
        return i * self.scale

    def unused(self):
        return 1
"""


def read(source):
    return {"a": flow.GeneratorReader(source, fields=["a:float64"], batch_size=5)}


def test_other_samples_of_a_function_are_refused(written):
    state = loaded(read(written(SAMPLES).samples))
    loaded(read(written(SAMPLES.replace("yield", "# one by one\n        yield")).samples), state)
    for edit in (("i * 2.0", "i * 3.0"), ("range(12)", "range(2, 14)")):
        text = why(read(written(SAMPLES.replace(*edit)).samples), state)
        assert "GeneratorReader_0: the code of its function" in text
        assert "samples(), " in text and "written_functions.py:7" in text


def test_what_a_function_fills_does_not_count():
    seen, calls, groups, last = {}, 0, [[]], None

    def helper(i):
        helper.cache[i] = i
        return i

    helper.cache, helper.count = {}, 0

    def samples():
        nonlocal calls
        calls += 1

        def note(i):
            nonlocal last
            groups[0].append(i)
            last = helper(i)
            helper.count += 1

        for i in range(12):
            note(i)
            yield {"a": float(seen.setdefault(i, i))}

    state = loaded(read(samples))
    loaded(read(samples), state)
    helper.count = 7
    loaded(read(samples), state)
    assert len(seen) == len(helper.cache) == 12 and last is not None and groups[0]


def test_samples_in_a_tuple_or_range_are_those_of_a_list():
    state = loaded(read([*range(12)]))
    for same in (range(12), tuple(range(12))):
        loaded(read(same), state)
    assert "the code of its function" in why(read(range(1, 13)), state)


def test_other_samples_of_an_object_are_refused(written):
    module = written(SAMPLES)
    source = module.Samples(2.0)
    state = loaded(read(source))
    loaded(read(source), state)  # it has counted, filled a cache, and opened a file
    loaded(read(module.Samples(2.0, "/tmp/two/data")), state)
    loaded(read(written(SAMPLES.replace("return 1\n", "return 2\n")).Samples(2.0)), state)
    assert "the code of its function" in why(read(module.Samples(3.0)), state)
    edited = written(SAMPLES.replace("i * self.scale", "i + self.scale"))
    assert "the code of its function" in why(read(edited.Samples(2.0)), state)


# ---- What belongs to a function -----------------------------------------------------------------

# A source -> an edit that gives other data.  The function is `change`.
OTHER_DATA = {
    "a constant": ("""
SCALE = [1.0, 2.0]
def change(x): return x * SCALE[1]
""", "2.0]", "3.0]"),
    "functions of a registry": ("""
def twice(x): return x * 2.0
MADE = {"twice": twice}
made = [twice]
def change(x): return made[0](x)
""", "x * 2.0", "x * 3.0"),
    "a namespace": ("""
def make(given):
    def change(x): return x * given.scale
    return change
change = make(types.SimpleNamespace(scale=2.0))
""", "scale=2.0", "scale=3.0"),
    "a method of a dict": ("""
def make(found):
    def change(x): return found(int(x), 0.5)
    return change
change = make({1: 2.0, 2: 4.0, 7: 8.0, 8: 4.0}.get)
""", "8: 4.0", "8: 5.0"),
    "lru_cache": ("""
@functools.lru_cache
def helper(x): return x + 1
def change(x): return helper(float(x))
""", "x + 1", "x + 2"),
    "partial": ("""
def helper(x, y): return x + y
part = functools.partial(helper, y=1)
def change(x): return part(x)
""", "y=1", "y=2"),
    "partial, its function": ("""
def helper(x, y): return x + y
part = functools.partial(helper, y=1)
def change(x): return part(x)
""", "x + y", "x - y"),
    "partial of a library": ("""
part = functools.partial(np.clip, a_min=1, a_max=5)
def change(x): return part(x)
""", "a_max=5", "a_max=6"),
    "singledispatch": ("""
@functools.singledispatch
def helper(x): return x
@helper.register
def _(x: float): return x + 1
def change(x): return helper(float(x))
""", "x + 1", "x + 2"),
    "vectorize": ("""
@np.vectorize
def helper(x): return x + 1
def change(x): return float(helper(x))
""", "x + 1", "x + 2"),
    "a class as a decorator": ("""
class Twice:
    def __init__(self, inner):
        functools.update_wrapper(self, inner)
        self.inner = inner
    def __call__(self, x): return 2 * self.inner(x)
@Twice
def helper(x): return x + 1
def change(x): return helper(x)
""", "x + 1", "x + 2"),
    "a class as a decorator, its own code": ("""
class Twice:
    def __init__(self, inner):
        functools.update_wrapper(self, inner)
        self.inner = inner
    def __call__(self, x): return 2 * self.inner(x)
@Twice
def change(x): return x + 1
""", "2 * self", "3 * self"),
    "slots": ("""
class Scale:
    __slots__ = ("factor",)
    def __init__(self, factor): self.factor = factor
    def __call__(self, x): return x * self.factor
change = Scale(2.0)
""", "Scale(2.0)", "Scale(3.0)"),
    "dataclass with slots": ("""
@dataclasses.dataclass(slots=True)
class Scale:
    factor: float
    def __call__(self, x): return x * self.factor
change = Scale(2.0)
""", "Scale(2.0)", "Scale(3.0)"),
    "NamedTuple": ("""
class Scale(typing.NamedTuple):
    factor: float
    def __call__(self, x): return x * self.factor
change = Scale(2.0)
""", "Scale(2.0)", "Scale(3.0)"),
    "NamedTuple, its code": ("""
class Scale(typing.NamedTuple):
    factor: float
    def __call__(self, x): return x * self.factor
change = Scale(2.0)
""", "x * self", "x + self"),
    "self of a method": ("""
class Scale:
    def __init__(self, factor): self.factor = factor
    def of(self, x): return x * self.factor
change = Scale(2.0).of
""", "Scale(2.0)", "Scale(3.0)"),
    "method of an attribute": ("""
class Inner:
    def of(self, x): return x + 1
class Outer:
    def __init__(self): self.inner = Inner()
    def __call__(self, x): return self.inner.of(x)
change = Outer()
""", "x + 1", "x + 2"),
    "value of an attribute's attribute": ("""
class Inner:
    def __init__(self): self.offset = 1
    def of(self, x): return x + self.offset
class Outer:
    def __init__(self): self.inner = Inner()
    def __call__(self, x): return self.inner.of(x)
change = Outer()
""", "offset = 1", "offset = 2"),
    "a value that a method of __init__ sets": ("""
class Scale:
    def __init__(self): self.configure(2.0)
    def configure(self, factor): self.factor = factor
    def __call__(self, x): return x * self.factor
change = Scale()
""", "2.0", "3.0"),
    "cached_property": ("""
class Scale:
    @functools.cached_property
    def factor(self): return 2.0
    def __call__(self, x): return x * self.factor
change = Scale()
""", "2.0", "3.0"),
    "property": ("""
class Scale:
    @property
    def factor(self): return 2.0
    def __call__(self, x): return x * self.factor
change = Scale()
""", "2.0", "3.0"),
    "constant of a class": ("""
class Scale:
    factors = [1.0, 2.0]
    def __call__(self, x): return x * self.factors[1]
change = Scale()
""", "2.0", "3.0"),
    "array of a class": ("""
class Scale:
    factors = np.array([1.0, 2.0])
    def __call__(self, x): return x * self.factors[1]
change = Scale()
""", "2.0", "3.0"),
    "matrix": ("""
def made(m): return lambda x: x * float(m[0, 0])
change = made(np.matrix([[2.0]]))
""", "2.0", "3.0"),
    "masked array": ("""
def made(m): return lambda x: x * float(m.sum())
change = made(np.ma.masked_array([2.0, 5.0], [False, True]))
""", "[False, True]", "[True, False]"),
    "OrderedDict": ("""
def made(m): return lambda x: x * m["a"]
change = made(collections.OrderedDict(a=2.0))
""", "2.0", "3.0"),
    "namedtuple": ("""
Pair = collections.namedtuple("Pair", "a b")
def made(m): return lambda x: x * m.a
change = made(Pair(2.0, 1.0))
""", "2.0", "3.0"),
    "enum": ("""
class Mode(enum.Enum):
    FIRST = 1
    LAST = 2
def made(m): return lambda x: x * m.value
change = made(Mode.FIRST)
""", "made(Mode.FIRST)", "made(Mode.LAST)"),
    "scalar of NumPy": ("""
def made(m): return lambda x: x * int(m.astype(int))
change = made(np.datetime64(2, "s"))
""", "2, ", "3, "),
    "an attribute, of another object as well": ("""
class Model: pass
class Scale:
    def __init__(self, factor): self.factor, self.model = factor, Model()
    def __call__(self, x):
        self.model.factor = 0.0
        return x * self.factor
change = Scale(2.0)
""", "Scale(2.0)", "Scale(3.0)"),
    "an attribute with the name of a variable": ("""
class Scale:
    def __init__(self, factors): self.factors = factors
    def __call__(self, x):
        factors = {}
        factors.update(a=0.0)
        return x * self.factors["a"]
change = Scale({"a": 2.0})
""", "2.0", "3.0"),
    "a table that is only read": ("""
def made(table):
    def change(x):
        def fill(table): table["a"] = 0.0
        fill({})
        return x * table["a"]
    return change
change = made({"a": 2.0})
""", "2.0", "3.0"),
    "a global object": ("""
class Scale:
    def __init__(self, factor): self.factor = factor
    def __call__(self, x): return x * self.factor
scale = Scale(2.0)
def change(x): return scale(x)
""", "2.0", "3.0"),
    "a static method": ("""
class Scale:
    @staticmethod
    def of(x): return x * 2.0
    def __call__(self, x): return self.of(x)
change = Scale()
""", "2.0", "3.0"),
    "an attribute of the function": ("""
def change(x): return x * change.factor
change.factor = 2.0
""", "2.0", "3.0"),
    "an attribute of another function": ("""
class Offset:
    def __init__(self): self.factor = 1.0
    def __call__(self, x): return x * scale(self.factor)
def scale(x): return x * scale.factor
scale.factor = 2.0
change = Offset()
""", "2.0", "3.0"),
    "an array of objects": ("""
def made(table):
    def change(x): return x * table[0][1]
    return change
change = made(np.array([[1.0, 2.0], [None, "b"]], dtype=object))
""", "2.0]", "3.0]"),
    "a base class": ("""
class Base:
    def __call__(self, x): return x * 2.0
class Scale(Base): pass
change = Scale()
""", "2.0", "3.0"),
}  # fmt: skip
IMPORTS = "import collections, dataclasses, enum, functools, types, typing\nimport numpy as np\n"


@pytest.mark.parametrize("source, old, new", OTHER_DATA.values(), ids=OTHER_DATA)
def test_other_data_is_refused(data, written, source, old, new):
    def graph(text):
        return data.map(written(IMPORTS + text).change, "a")

    assert old in source
    state = state_after(graph(source))
    rest = load(graph(f"# again\n\n{source}"), state)
    other = graph(source.replace(old, new))
    assert "the code of its function, or its arguments" in refusal(other, state)
    with flow.DataLoader(other.batch(5, seed=3).blobs) as loader:
        loader.seek(state["position"], epoch=state["epoch"])
        assert [list(batch["a"]) for batch in loader] != [list(batch["a"]) for batch in rest]


# An edit that changes no data.
SAME_DATA = {
    "annotations": ("def change(x): return x", "def change(x: 'float') -> 'float': return x"),
    "annotated names": (
        "def change(x):\n    y = x + 1\n    return y",
        "def change(x):\n    z: int\n    y: float = x + 1\n    return y",
    ),
    "a docstring inside": (
        "def change(x):\n    def inner():\n        return x\n    return inner()",
        "def change(x):\n    def inner():\n        'inside'\n        return x\n    return inner()",
    ),
    "a method that is not called": (
        "class A:\n    def __call__(self, x): return x\n    def show(self): return 1\nchange = A()",
        "class A:\n    def __call__(self, x): return x\n    def show(self): return 2\nchange = A()",
    ),
    "what only people see": (
        "class A:\n    def __call__(self, x): return x\n"
        "    def __str__(self): return 'a'\nchange = A()",
        "class A:\n    def __call__(self, x): return x\n"
        "    def __str__(self): return 'b'\nchange = A()",
    ),
    "where the files lie": (
        "def made(path): return lambda x: x + len(path) * 0\nchange = made('/scratch/1/d.txt')",
        "def made(path): return lambda x: x + len(path) * 0\nchange = made('/scratch/2/d.txt')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("before, after", SAME_DATA.values(), ids=SAME_DATA)
def test_what_changes_no_data_is_not_refused(data, written, before, after):
    for one, other in ((before, after), (after, before)):
        state = state_after(data.map(written(one).change, "a"))
        load(data.map(written(other).change, "a"), state)


def test_equal_objects_of_other_classes_are_other_functions(data):
    class Plus(NamedTuple):
        value: float

        def __call__(self, x):
            return x + self.value

    class Times(NamedTuple):
        value: float

        def __call__(self, x):
            return x * self.value

    columns = [delivered(data.map(kind(2.0), "a"))[0] for kind in (Plus, Times)]
    assert columns == [list(np.arange(RECORDS) + 2.0), list(np.arange(RECORDS) * 2.0)]


def test_an_object_that_counts_and_keeps_is_the_same_after_it_ran(data):
    class Counts:
        def __init__(self):
            self.calls, self.kept, self.file = 0, {}, None
            self.groups, self.inner = {"a": {}}, SimpleNamespace(seen=[])

        def __call__(self, x):
            self.calls += 1
            self.kept[float(x)] = self.groups["a"][float(x)] = x
            self.inner.seen.append(float(x))
            self.file = self.file or open(__file__)
            return self.kept[float(x)] + self.twice * 0

        @cached_property
        def twice(self):
            return 2.0

    function = Counts()
    state = state_after(data.map(function, "a"), 2)
    load(data.map(function, "a"), state)
    load(data.map(Counts(), "a"), state)


def test_a_variable_counts_as_it_is_when_the_loader_is_opened(data):
    def made(limit):
        def function(x):
            return min(x, limit)

        def change(value):
            nonlocal limit
            limit = value

        return function, change

    function, change = made(4.0)
    graph = data.map(function, "a")
    four = state_after(graph)
    change(5.0)
    five = state_after(graph)
    assert "the code of its function" in refusal(graph, four)
    load(graph, five)
    load(data.map(made(5.0)[0], "a"), five)
    change(4.0)
    load(graph, four)


# ---- Processes and versions ---------------------------------------------------------------------

IN_SETS = 'def change(x):\n    return x + (x in {"a", "b", "c", "d"}) + len({1.5, "e", "f"})\n'


def test_hashes_of_texts_do_not_count(path):
    program = f"""
import json, sys
sys.path[:0] = {sys.path!r}
import pyflowdata as flow
from support import pipelines
names = {{}}
exec({IN_SETS!r}, names)
print(pipelines.state_after(pipelines.records({str(path)!r}).map(names["change"], "a"))["nodes"])
"""
    found = set()
    for seed in ("1", "2", "3"):
        environment = programs.environment(PYTHONHASHSEED=seed)
        done = subprocess.run(
            [sys.executable, "-"], input=program, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1 and "py3" in found.pop()


# ---- Other names --------------------------------------------------------------------------------


def test_a_renamed_function_is_refused_with_its_place_and_what_to_do(data, written):
    state = state_after(data.map(written(SOURCE).change, "a"))
    renamed = written(SOURCE.replace("def change", "def altered")).altered
    text = refusal(data.map(renamed, "a"), state)
    assert "MapAltered_0 (altered(), " in text and "written_functions.py:7)" in text
    assert "of MapChange_0 in the state" in text
    assert "load the state with its former name" in text and "name= of map()" in text


def test_a_lambda_without_source_is_refused_with_its_place(data):
    names = {}
    exec(compile("f = lambda x: x + 1\ng = lambda x: x + 2", "<stdin>", "exec"), names)
    state = state_after(data.map(names["f"], "a"))
    text = refusal(data.map(names["g"], "a"), state)
    assert "MapLambda_0: the code of its function" in text and "<lambda>(), <stdin>:2" in text


# ---- Keys of a state ----------------------------------------------------------------------------


KEYS = ["check", "nodes", "sum", "version", "epoch", "position", "readers"]


@pytest.mark.parametrize("key", KEYS)
def test_a_state_without_a_key_is_refused(data, key):
    state = state_after(data)
    del state[key]
    assert key in refusal(data, state)


def test_a_changed_seed_is_refused(data):
    state = state_after(data)
    next(iter(state["readers"].values()))["seed"] += 1
    text = refusal(data, state)
    assert "seed" in text and "give it to the reader" in text
