"""Ops that are Python functions: what they compute, and how long they live."""

import contextlib
import gc
import os
import pickle
import signal
import textwrap
import threading
import time
import weakref
from typing import Literal

import numpy as np
import pytest
from support import programs
from support.pairs import NUM_RECORDS, folder, numbers, pairs, read, refuse, returning  # noqa: F401

import pyflowdata as flow

IS_MAIN = threading.main_thread().ident


@flow.register_decoder(outputs={"out": ("float32", (2,))})
def centre(x, y, *, scale: float = 1.0):
    """Subtracts the mean of the batch.  And more."""
    both = np.concatenate([x, y], axis=1)
    return ((both - both.mean(axis=0)) * scale).astype(np.float32)


@flow.register_decoder(outputs={"out": lambda x: x, "parity": "bool"}, per="row")
def squared(x, *, shift: int = 0):
    return x * x + shift, x[0] % 2 == 1


# ---- What they compute --------------------------------------------------------------------------


def test_an_input_and_an_output_may_be_left_out_and_rows_come_in_runs(folder):
    x, y = pairs(folder)
    assert added(x).name.endswith("/sum") and len(added(x, y, with_size=True)) == 2
    for a, b, one, both, size in read(x, y, added(x), *added(x, y=y, with_size=True)):
        assert np.array_equal(np.stack([*one]), a)
        assert np.array_equal(np.stack([*both]), np.floor(a) + np.floor(b))
        assert size.tolist() == [a.shape[1]] * len(a)
    data = flow.from_arrays({"x": np.arange(6).reshape(3, 2)})
    assert data.map(added, "x", outputs=["sum"])[2]["sum"].tolist() == [4, 5]  # before batches
    one, size = added([np.array([1, 2])], with_size=True)
    assert (one[0].tolist(), [*size]) == ([1, 2], [2])
    refuse("whose numbers would depend on which rows come together", lambda x, *, rng: x,
           outputs={"out": "int64"}, per="rows", name="Drawn")  # fmt: skip


@flow.register_decoder(outputs={"sum": "int64[?]", "size": "int64"}, per="rows")
def added(x, y=None, *, with_size: bool = False):
    """The sum of two rows, or one of them."""
    rows = x.astype(np.int64) if y is None else x.astype(np.int64) + y.astype(np.int64)
    return [*rows], np.full(len(x), x.shape[1]) if with_size else None


@pytest.mark.parametrize(("size", "rows"), [(6000, 16), (200_000, 2)])
def test_a_call_gets_many_rows_unless_they_are_large(size, rows):
    calls = []

    @flow.register_decoder(outputs={"first": "uint8"}, per="rows", name=f"First{size}")
    def first(x):
        calls.append(len(x))
        return x[:, 0]

    x = flow.from_arrays({"x": np.zeros((64, size), np.uint8)}).batch(64)["x"]
    with flow.DataLoader(first(x), num_threads=1) as loader:
        assert [len(batch) for batch in loader] == [64]
    assert set(calls) == {rows}


@pytest.mark.parametrize("num_threads", [1, 2, 7])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_they_compute_what_numpy_does(folder, world_size, num_threads):
    seen = []
    for rank in range(world_size):
        x, y = pairs(folder, random_shuffle=True, seed=3, rank=rank, world_size=world_size)
        squares, parity = squared(x, shift=7)
        blobs = (x, y, centre(x, y, scale=2), squares, parity)
        assert blobs[2].shape == (30, 2) and blobs[2].dtype == np.float32
        assert blobs[3].shape == (30, 1) and blobs[4].shape == (30,)
        batches = read(*blobs, epochs=2, num_threads=num_threads)
        assert [len(batch[0]) for batch in batches] == [30 // world_size] * 40
        for a, b, centred, square, odd in batches:
            both = np.concatenate([a, b], axis=1)
            assert np.array_equal(centred, ((both - both.mean(axis=0)) * 2).astype(np.float32))
            assert np.array_equal(square, a * a + 7)
            assert np.array_equal(odd, a[:, 0] % 2 == 1)
        seen += numbers(batches)
    assert sorted(seen) == sorted(2 * list(range(NUM_RECORDS)))


def test_one_op_behind_the_other_and_both_scopes(folder):
    x, y = pairs(folder)
    squares, _ = squared(x)
    again, _ = squared(flow.Affine(squares, scale=0.5))
    for a, b, c in read(x, again, centre(again, y)):
        assert np.array_equal(b, (a * a * 0.5) ** 2)
        both = np.concatenate([b, a * 0.5], axis=1)
        assert np.array_equal(c, (both - both.mean(axis=0)).astype(np.float32))


def test_attrs_of_all_types(folder):
    @flow.register_decoder(outputs={"out": "int64"}, per="row", name="AllTypes")
    def all_types(
        x, *, flag=True, count: int, ratio=0.1, word="a b", kind: Literal["one", "two"] = "two",
        sizes=(3, 4), ratios: list[float] = (), words=("a", "b"), dtype=np.float32,
    ):  # fmt: skip
        seen.append((flag, count, ratio, word, kind, sizes, ratios, words, dtype))
        return count

    seen = []
    x, _ = pairs(folder)
    read(all_types(x, count=5))
    assert set(seen) == {
        (True, 5, 0.1, "a b", "two", (3, 4), (), ("a", "b"), np.dtype("float32"))
    }
    seen.clear()
    given = dict(
        flag=False, count=-(2**62), ratio=2, word="", kind="one", sizes=[], ratios=[0.5, 1],
        words=["x,y"], dtype="uint8",
    )  # fmt: skip
    (batch, *_) = read(all_types(x, **given))
    assert set(batch[0]) == {-(2**62)}
    assert set(seen) == {
        (False, -(2**62), 2.0, "", "one", (), (0.5, 1.0), ("x,y",), np.dtype("uint8"))
    }
    for wrong in ({"count": 1.5}, {"count": 1, "kind": "three"}, {}, {"count": 1, "flags": 1}):
        with pytest.raises(flow.InvalidArgumentError, match="count|one, two|flag"):
            all_types(x, **wrong)


def test_types_that_depend_on_inputs_and_attrs(folder):
    @flow.register_decoder(outputs={"out": lambda x, *, width: (x.dtype, (width, *x.shape))})
    def repeat(x, *, width: int = 2, offset: float = 0.0):
        return np.repeat(x[:, None], width, axis=1) + offset

    x, _ = pairs(folder)
    blob = repeat(x, width=5, offset=1)
    assert blob.shape == (30, 5, 1) and blob.dtype == np.float64
    for a, b in read(x, blob):
        assert np.array_equal(b, np.repeat(a[:, None], 5, axis=1) + 1)
    with pytest.raises(flow.InvalidArgumentError, match="shape"):
        repeat(x, width=-2)


def test_declared_inputs_are_checked(folder):
    @flow.register_decoder(inputs={"x": ("float64", (None,))}, outputs={"out": "float64"})
    def total(x):
        return x.sum(axis=1)

    x, y = pairs(folder)
    read(total(x))
    with pytest.raises(flow.InvalidArgumentError, match=r"'x' has rows of float32 \(2,\)"):
        total(centre(x, y))


def test_what_is_returned_may_be_a_dict_or_a_list(folder):
    @flow.register_decoder(outputs={"a": "float32", "b": ("uint8", (2,))}, per="row")
    def mapped(x):
        return {"b": [1, 2], "a": 3}

    x, _ = pairs(folder)
    for a, b in read(*mapped(x)):
        assert a.dtype == np.float32 and set(a) == {3} and np.all(b == [1, 2])


def test_inputs_are_their_own_to_change_and_to_keep(folder):
    @flow.register_decoder(outputs={"out": lambda x: x})
    def keeper(x):
        kept.append(x)
        x += 1
        return x

    kept = []
    x, _ = pairs(folder)
    batches = read(x, keeper(x))
    gc.collect()
    assert all(np.array_equal(a + 1, b) for a, b in batches)
    assert len(kept) >= NUM_RECORDS // 30  # those made ahead of the next epoch besides
    assert {tuple(one.ravel()) for one in kept} == {tuple(b.ravel()) for _, b in batches}


def test_ragged_rows(folder):
    @flow.register_decoder(outputs={"out": ("int64", (None,))}, per="row")
    def count_up(x):
        return np.arange(int(x[0]) % 5)

    @flow.register_decoder(
        outputs={
            "doubled": lambda rows: rows,
            "lengths": "int64",
            "table": ("int16", (None, 2, None)),
        }
    )
    def look(rows):
        assert isinstance(rows, flow.Ragged)
        tables = [np.full((len(row), 2, 3), index) for index, row in enumerate(rows)]
        doubled = flow.Ragged(rows.values * 2, rows.row_splits)
        return doubled, rows.lengths, [table.astype(np.int16) for table in tables]

    @flow.register_decoder(outputs={"out": "int64"}, per="row")
    def total_of_row(row, table):
        assert table.shape == (len(row), 2, 3)
        return row.sum()

    x, _ = pairs(folder)
    rows = count_up(x)
    assert rows.is_ragged
    doubled, lengths, tables = look(rows)
    for a, ragged, twice, sizes, table, sums in read(
        x, rows, doubled, lengths, tables, total_of_row(doubled, tables), num_threads=2
    ):
        expected = [np.arange(int(n) % 5) for n in a[:, 0]]
        assert ragged.to_list() == [row.tolist() for row in expected]
        assert twice.to_list() == [(2 * row).tolist() for row in expected]
        assert sizes.tolist() == [len(row) for row in expected]
        assert sums.tolist() == [2 * row.sum() for row in expected]
        assert [one.shape for one in table] == [(len(row), 2, 3) for row in expected]
        assert all(np.all(one == index) for index, one in enumerate(table))


@flow.register_decoder(outputs={"out": ("float64", (2,)), "place": ("int64", (2,))}, per="row")
def draw(x, *, rng, ids):
    return rng.random(2), ids


@pytest.mark.parametrize("order", [{}, {"random_shuffle": True, "seed": 5}])
def test_random_numbers_belong_to_the_record(folder, order):
    def drawn(epochs=1, num_threads=2, **attrs):
        x, _ = pairs(folder, **{"seed": 5, **order, **attrs})
        batches = read(x, *draw(x), epochs=epochs, num_threads=num_threads)
        for a, _, place in batches:
            assert np.array_equal(place[:, 1], a[:, 0])
            assert np.array_equal(place[:, 0], a[:, 0] >= NUM_RECORDS // 2)
        return {int(n): tuple(r) for a, b, _ in batches for n, r in zip(a[:, 0], b, strict=True)}

    first = drawn()
    assert len({n for pair in first.values() for n in pair}) == 2 * NUM_RECORDS
    assert 0.45 < np.mean(list(first.values())) < 0.55
    assert first == drawn(num_threads=7) == drawn(batch_size=7)
    ranks = [drawn(rank=rank, world_size=3) for rank in range(3)]
    assert first == {**ranks[0], **ranks[1], **ranks[2]}
    assert first != drawn(epochs=2)
    assert first != drawn(**{**order, "seed": 6})


def test_random_numbers_of_a_batch(folder):
    @flow.register_decoder(outputs={"out": "int64", "place": ("int64", (2,))})
    def mixed(x, *, rng, ids):
        return rng.permutation(len(x)), ids

    x, _ = pairs(folder, seed=2)
    batches = [read(x, *mixed(x), num_threads=n) for n in (1, 7)]
    for (a, order, place), (_, again, _) in zip(*batches, strict=True):
        assert np.array_equal(order, again) and sorted(order) == list(range(30))
        assert np.array_equal(place[:, 1], a[:, 0])
    assert len({tuple(order) for _, order, _ in batches[0]}) == len(batches[0])


def test_two_loaders_at_once_and_resume(folder):
    x, y = pairs(folder, random_shuffle=True, seed=1)
    blobs = (x, *squared(x))
    with flow.DataLoader(blobs) as one, flow.DataLoader(blobs, num_threads=3) as other:
        batches = []
        for a, b in zip(one, other, strict=True):
            assert all(np.array_equal(p, q) for p, q in zip(a, b, strict=True))
            batches.append(a)
            if len(batches) == 8:
                state = one.state_dict()
    with flow.DataLoader(blobs) as later:
        later.load_state_dict(state)
        for a, b in zip(later, batches[8:], strict=True):
            assert np.array_equal(a[1], b[1])


def test_they_are_ops_as_any_other(folder):
    x, y = pairs(folder)
    assert flow.ops.Centre is flow.Centre and "Centre" in flow.ops.__all__
    assert flow.Centre.__doc__.startswith("Subtracts the mean of the batch.\n\nAnd more.") or (
        flow.Centre.__doc__.startswith("Subtracts the mean of the batch.")
    )
    assert "scale (float, default 1.0)" in centre.__doc__
    made = flow.user_op_builder("c").Op("centre").Input("x", [x]).Input("y", [y]).Output("out")
    (blob,) = made.Attr("scale", 3.0).Build().InferAndTryRun().RemoteBlobList()
    assert blob.name == "c/out"
    assert np.array_equal(read(blob)[0][0], read(centre(x, y, scale=3))[0][0])
    assert centre.function(np.ones((2, 1)), np.ones((2, 1))).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(flow.InvalidArgumentError, match="did you mean 'scale'"):
        centre(x, y, scal=1)
    with pytest.raises(flow.InvalidArgumentError, match="input 'y' is missing"):
        centre(x)


MODULE = """
    import sys
    import pyflowdata as flow

    @flow.register_decoder(outputs={"out": lambda x: x})
    def carried_over(x, *, by: int = 0):
        return x + by

    def blob(folder):
        reader = flow.MiniReader(folder, batch_size=30, data_part_num=2)
        return carried_over(flow.MiniDecoder(reader)[0], by=5)
"""
THERE = """
    import pickle, sys
    blob = pickle.loads(bytes.fromhex(sys.argv[1]))
    import pyflowdata as flow
    with flow.DataLoader(blob) as loader:
        print(sum(batch.sum() for batch in loader))
"""


def test_a_pickled_graph_finds_the_function_in_its_module(folder, tmp_path, monkeypatch):
    (tmp_path / "carrying_module.py").write_text(textwrap.dedent(MODULE))
    monkeypatch.syspath_prepend(tmp_path)
    import carrying_module

    data = pickle.dumps(carrying_module.blob(str(folder)))
    there = programs.environment()
    there["PYTHONPATH"] += f"{os.pathsep}{tmp_path}"
    done = programs.run(textwrap.dedent(THERE), data.hex(), env=there, check=True)
    assert float(done.stdout) == sum(range(5, NUM_RECORDS + 5))


# ---- Life ---------------------------------------------------------------------------------------


def _shifted(by):
    def shifted(x):
        return x + by

    return shifted


def test_the_cell_of_a_notebook_is_run_again(folder):
    x, _ = pairs(folder)
    one = flow.register_decoder(_shifted(1), outputs={"out": lambda x: x})
    old = one(x)
    two = flow.register_decoder(_shifted(2), outputs={"out": lambda x: x})
    for a, b, c in read(x, old, two(x)):
        assert np.array_equal(b, a + 1) and np.array_equal(c, a + 2)
    with pytest.raises(flow.InvalidArgumentError, match="registered again"):
        one(x)
    refuse("'Shifted' is that of op 'Shifted' \\(python ", name="Shifted")
    flow.register_decoder(returning(0), outputs={"out": "int8"}, name="Shifted", replace=True)
    with pytest.raises(flow.InvalidArgumentError, match="registered again"):
        two(x)


def test_the_function_lives_as_long_as_the_process(folder):
    function = _shifted(4)
    alive = weakref.ref(function)
    x, _ = pairs(folder)
    blob = flow.register_decoder(function, outputs={"out": lambda x: x}, name="Lasting")(x)
    del function
    gc.collect()
    assert alive() is not None
    assert all(np.array_equal(a + 4, b) for a, b in read(x, blob))


class Gate:
    """A function that stays inside until it is let go."""

    def __init__(self):
        self.entered, self.open = threading.Event(), threading.Event()

    def __call__(self, x):
        self.entered.set()
        assert self.open.wait(30)
        return x


def gated(folder, gate=None, **attrs):
    gate = gate or Gate()
    op = flow.register_decoder(gate, outputs={"out": lambda x: x}, name="Gated", replace=True)
    return gate, op(pairs(folder, **attrs)[0])


def test_close_waits_for_the_function(folder):
    gate, blob = gated(folder)
    loader = flow.DataLoader(blob, num_threads=2)
    failures = []

    def take():
        with pytest.raises(flow.CancelledError) as caught:
            list(loader)
        failures.append(caught.value)

    taker = threading.Thread(target=take)
    taker.start()
    assert gate.entered.wait(30)
    closer = threading.Thread(target=loader.close)
    closer.start()
    time.sleep(0.05)
    gate.open.set()
    closer.join(30)
    taker.join(30)
    assert len(failures) == 1 and not closer.is_alive()


@pytest.mark.parametrize("num_threads", [1, 3])
def test_a_function_may_close_its_loader(folder, num_threads):
    def closing(x):
        loader.close()
        return x

    op = flow.register_decoder(closing, outputs={"out": lambda x: x}, name="Closing", replace=True)
    loader = flow.DataLoader(op(pairs(folder)[0]), num_threads=num_threads)
    with pytest.raises(flow.CancelledError):
        for _ in range(100):
            list(loader)
    assert "closed" in repr(loader)


@pytest.mark.parametrize("call", [lambda it, loader: next(it), lambda it, loader: iter(loader)])
def test_a_function_cannot_take_from_its_loader(folder, call):
    def taking(x):
        if threading.get_ident() != IS_MAIN:
            call(iterator, loader)
        return x

    op = flow.register_decoder(taking, outputs={"out": lambda x: x}, name="Taking", replace=True)
    with flow.DataLoader(op(pairs(folder)[0]), num_threads=2) as loader:
        iterator = iter(loader)
        with pytest.raises(flow.UnsupportedError, match="would wait for itself"):
            for _ in range(1000):
                iterator = iter(loader)
                list(iterator)


def test_a_loader_may_be_collected_inside_its_function(folder):
    """A cycle that only the collector finds, which runs in a thread of the pool."""

    class Cycle:
        pass

    collected = threading.Event()

    def collecting(x):
        if threading.get_ident() != IS_MAIN and let_go.is_set() and not collected.is_set():
            gc.collect()
            collected.set()
        return x

    let_go = threading.Event()
    op = flow.register_decoder(
        collecting, outputs={"out": lambda x: x}, name="Collecting", replace=True
    )
    collectors = []
    for attempt in range(5):
        let_go.clear()
        collected.clear()
        gc.disable()
        try:
            cycle = Cycle()
            cycle.loader = flow.DataLoader(
                op(pairs(folder, batch_size=1)[0]), num_threads=2, prefetch=400
            )
            cycle.itself = cycle
            weakref.finalize(cycle.loader, lambda: collectors.append(threading.get_ident()))
            next(iter(cycle.loader))
            del cycle
            let_go.set()
            collected.wait(0.5)
        finally:
            gc.enable()
        while len(collectors) <= attempt:  # another thread may be collecting
            gc.collect()
        if collectors[-1] != IS_MAIN:
            return
    pytest.fail("no thread of the pool collected it")


def test_ctrl_c_inside_the_function_loses_no_batch(folder):
    """The thread that waits for a batch helps, and is then inside the function itself."""
    interrupted = threading.Event()

    def slow(x):
        if threading.get_ident() != IS_MAIN:
            assert interrupted.wait(30)
        elif not interrupted.is_set():
            interrupted.set()
            signal.raise_signal(signal.SIGINT)
        return x

    op = flow.register_decoder(slow, outputs={"out": lambda x: x}, name="Slow", replace=True)
    batches, interrupts = [], 0
    with flow.DataLoader(op(pairs(folder)[0]), num_threads=1, prefetch=4) as loader:
        iterator = iter(loader)
        while len(batches) < len(loader):
            try:
                batches.append((next(iterator),))
            except KeyboardInterrupt:
                interrupts += 1
    assert interrupts == 1
    assert numbers(batches) == list(range(NUM_RECORDS))


def test_ctrl_c_while_others_are_inside(folder):
    gate, blob = gated(folder)
    with flow.DataLoader(blob, num_threads=1, prefetch=1) as loader:
        iterator = iter(loader)
        stop = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        stop.start()
        with pytest.raises(KeyboardInterrupt):
            next(iterator)
        stop.join()
        gate.open.set()
        assert numbers([(batch,) for batch in iterator]) == list(range(NUM_RECORDS))


@pytest.mark.skipif(
    "LD_PRELOAD" in os.environ,
    reason="a sanitizer's own locks may be held in a child that is forked beside threads",
)
def test_a_forked_child_has_the_op(folder):
    x, y = pairs(folder)
    blob = centre(x, y)
    with flow.DataLoader(blob) as loader:
        batches = iter(loader)
        expected = next(batches).copy()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                found = read(centre(*pairs(folder)))[0][0]
                os._exit(0 if np.array_equal(found, expected) else 1)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(batches)) == NUM_RECORDS // 30 - 1


END = """
    import sys, threading, time
    import numpy as np
    import pyflowdata as flow

    @flow.register_decoder(outputs={"out": lambda x: x}, per=sys.argv[2])
    def slow(x):
        time.sleep(0.01)
        return x

    x, _ = flow.MiniDecoder(flow.MiniReader(sys.argv[1], batch_size=3, data_part_num=2))
    loader = flow.DataLoader(slow(x), num_threads=4, prefetch=16)
    batches = iter(loader)
    print(next(batches).shape)
"""


@pytest.mark.parametrize("per", ["batch", "row"])
@pytest.mark.parametrize("end", ["", "\nraise SystemExit(0)", "\ndel loader, batches"])
def test_the_interpreter_ends_with_a_loader_at_work(folder, per, end):
    done = programs.run(textwrap.dedent(END) + end, folder, per)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(3, 1)\n", "")


def test_a_lambda_needs_a_name():
    with pytest.raises(flow.InvalidArgumentError, match="a lambda has no name.* by name="):
        flow.register_decoder(lambda x: x, outputs={"out": lambda x: x})
    named = flow.register_decoder(lambda x: x, outputs={"out": lambda x: x}, name="NamedLambda")
    assert named is not None and flow.ops.NamedLambda is not None
