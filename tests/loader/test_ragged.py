"""Ragged blobs: rows that differ in shape, from the reader to NumPy, against plain Python."""

from __future__ import annotations

import gc
import pickle

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import ops
from support.ragged_ops import bad_folder, folder, lines, read, write_lines  # noqa: F401

pytestmark = pytest.mark.usefixtures("ragged_ops")

BAD = {5: "!bad", 17: "why?", 18: "!", 300: "??", 301: "x?y", 599: "!last"}


@pytest.fixture(scope="module")
def bad_lines(bad_folder):
    return write_lines(bad_folder, special=BAD)


# ---- What the tests do -------------------------------------------------------------------------


def rows_and_ids(folder, op="LineReader", chain=(), **attrs):
    rows, mask, ids = getattr(ops, op)(str(folder), with_mask=True, with_id=True, **attrs)
    for name in chain:
        rows = getattr(ops, name)(rows)
    return rows, mask, ids


def check_batches(batches, lines, upper=False):
    """Every row is the line of its ordinal; returns the ordinals of each batch."""
    found = []
    texts = [(line.upper() if upper else line).encode() for line in lines]
    for rows, mask, ids in batches:
        assert isinstance(rows, flow.Ragged) and len(rows) == len(mask) == len(ids)
        assert rows.row_splits[0] == 0 and rows.row_splits[-1] == len(rows.values)
        found.append(ids[:, 1].tolist())
        expected = [texts[i] * is_real for i, is_real in zip(found[-1], mask.tolist())]
        assert rows.to_bytes_list() == expected
    return found


OPS = ["LineReader", "LineStream", "LineCopies"]


@pytest.mark.parametrize("batch_size", [1, 10, 500])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("chain", [(), ("UpperCase",), ("Echo", "UpperCase", "Echo")], ids=len)
def test_rows_are_the_lines(folder, lines, op, chain, batch_size):
    """Each of two at each number of threads."""
    num_threads = (1, 2, 7)[(OPS.index(op) + len(chain) + len(str(batch_size))) % 3]
    options = dict(op=op, chain=chain, batch_size=batch_size, num_threads=num_threads)
    batches = read(
        rows_and_ids, folder, random_shuffle=True, seed=3, shuffle_buffer_size=50, **options
    )
    found = check_batches(batches, lines, upper="UpperCase" in chain)
    assert sorted(sum(found, [])) == list(range(len(lines))) != sum(found, [])
    assert [len(batch) for batch in found[:-1]] == [batch_size] * (len(found) - 1)


@pytest.fixture(scope="module")
def large_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("large_lines")


@pytest.fixture(scope="module")
def large_lines(large_folder):
    return write_lines(large_folder, special={33: "!", 200: "?"}, most=5000)


@pytest.mark.parametrize("num_threads", [1, 2, 7])
@pytest.mark.parametrize("chain", [(), ("UpperCase",), ("UpperCase", "Sorted")], ids=len)
def test_large_batches_are_joined_by_all_threads(large_folder, large_lines, chain, num_threads):
    batches = read(
        rows_and_ids, large_folder, chain=chain, batch_size=250, on_error="pad",
        num_threads=num_threads, prefetch=2, epochs=2,
    )  # fmt: skip
    assert len(batches) == 6 and batches[0][0].nbytes > 2 * 256 * 1024, "more than one piece"
    for rows, mask, ids in batches:
        texts = [large_lines[i] * int(m) for i, m in zip(ids[:, 1], mask, strict=True)]
        texts = [text.upper() if chain else text for text in texts]
        found = [text.decode() for text in rows.to_bytes_list()]
        if "Sorted" in chain:
            texts.sort(key=lambda text: (len(text), text))
            assert [text for text in found if text] == [text for text in texts if text]
        else:
            assert found == texts


def lengths(folder, **attrs):
    return ops.Lengths(ops.Echo(ops.UpperCase(ops.LineReader(str(folder), **attrs))))


def test_ragged_intermediates_of_a_dense_blob(folder, lines):
    batches = read(lengths, folder, batch_size=77)
    assert np.concatenate(batches).tolist() == [len(line) for line in lines]


# ---- More dimensions ---------------------------------------------------------------------------


def grids(folder, form, **attrs):
    return ops.Grid(ops.LineReader(str(folder), **attrs), form=form)


SHAPES = {
    "free": lambda n: (n, n % 4),
    "columns": lambda n: (n, 3),
    "stereo": lambda n: (2, n % 4),
    "nothing": lambda n: (n, 0),
}


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("batch_size", [7, 400])
def test_rows_of_two_dimensions(folder, lines, form, batch_size):
    batches = read(grids, folder, form, batch_size=batch_size)
    rows = [row for batch in batches for row in batch]
    shapes = [tuple(shape) for batch in batches for shape in batch.shapes.tolist()]
    assert len(rows) == len(shapes) == len(lines)
    for row, shape, line in zip(rows, shapes, lines, strict=True):
        assert row.shape == shape == SHAPES[form](len(line)) and row.dtype == np.int32
        assert np.array_equal(row, 100 * len(line) + np.arange(row.size).reshape(shape))
    only_first = form in ("columns", "nothing")
    assert batches[0].values.ndim == (2 if only_first else 1)
    dense, mask = batches[0].to_padded(-1)
    for row, padded, real in zip(batches[0], dense, mask, strict=True):
        assert np.array_equal(padded[real].ravel(), row.ravel())
        assert (padded[~real] == -1).all()


def blob_facts(folder):
    blob = grids(folder, "columns", batch_size=6)
    with flow.DataLoader(blob) as loader:
        batch = next(iter(loader))
    return blob.shape, blob.is_ragged, blob.batch_size, repr(blob), repr(batch), batch.shape


def test_shapes_name_what_varies(folder, lines):
    shape, is_ragged, batch_size, text, batch_text, batch_shape = blob_facts(folder)
    assert shape == (6, None, 3) and is_ragged and batch_size == 6
    assert "shape=(6, None, 3)" in text and batch_shape == (6, None, 3)
    assert batch_text.startswith("Ragged(shape=(6, None, 3), dtype=int32, nbytes=")


def scaled(folder, **attrs):
    return ops.LineReader(str(folder), **attrs), flow.Affine(
        ops.LineReader(str(folder), **attrs), scale=2, shift=1
    )


def test_affine_scales_ragged_rows(folder, lines):
    for text, numbers in read(scaled, folder, batch_size=100):
        assert np.array_equal(numbers.values, text.values * 2.0 + 1)
        assert np.array_equal(numbers.row_splits, text.row_splits)


def refusal(folder):
    with pytest.raises(flow.InvalidArgumentError) as caught:
        flow.MiniDecoder(ops.LineReader(str(folder)))
    return str(caught.value)


def test_an_op_that_takes_no_ragged_rows_says_so(folder, lines):
    assert "uint8 (None,)" in refusal(folder)


# ---- Memory ------------------------------------------------------------------------------------


def lifetime(folder, batch_size):
    rows = ops.UpperCase(ops.LineReader(str(folder), batch_size=batch_size))
    loader = flow.DataLoader(rows, num_threads=2, prefetch=2)
    batches = iter(loader)
    first = next(batches)
    values, expected = first.values, first.values.copy()
    assert values.ctypes.data % 64 == 0 and values.flags.writeable and values.flags.c_contiguous
    splits, expected_splits = first.row_splits, first.row_splits.copy()
    view = first[1]
    expected_view = view.copy()
    del first
    for step, batch in enumerate(batches):
        if step % 20 == 0:
            gc.collect()
        assert np.array_equal(values, expected) and np.array_equal(splits, expected_splits)
    del batch
    gc.collect()
    assert loader.stats()["slots_held"] == 1
    del values, splits
    gc.collect()
    assert loader.stats()["slots_held"] == 1 and np.array_equal(view, expected_view)
    loader.close()
    del loader, batches
    gc.collect()
    assert np.array_equal(view, expected_view), "after close"
    view[:] = 1
    return True


@pytest.mark.parametrize("batch_size", [10, 300])
def test_arrays_keep_the_slot_and_views_keep_the_arrays(folder, lines, batch_size):
    assert lifetime(folder, batch_size)


def steady(folder):
    rows, mask, ids = rows_and_ids(folder, chain=["UpperCase"], batch_size=20)
    with flow.DataLoader(rows, ids, num_threads=2, prefetch=3) as loader:
        sizes = []
        for _ in range(12):
            for _batch in loader:
                pass
            sizes.append(loader.stats()["slot_bytes"])
        return sizes, loader.stats()["slots"]


def test_a_steady_state_takes_no_more_memory(folder, lines):
    sizes, slots = steady(folder)
    assert max(sizes) < 2 * min(sizes) and slots <= 5, "360 batches were made"


def hold_all(folder, memory_budget):
    rows, mask, ids = rows_and_ids(folder, chain=["UpperCase"], batch_size=50)
    held, refused, texts = [], 0, []
    loader = flow.DataLoader(rows, ids, num_threads=2, prefetch=4, memory_budget=memory_budget)
    with loader:
        batches = loader.repeat()
        while len(texts) < 60:
            try:
                held.append(next(batches))
            except flow.OutOfMemoryError as error:
                assert "held by arrays" in str(error)
                refused += 1
                texts += [(rows.to_bytes_list(), ids[:, 1].tolist()) for rows, ids in held]
                held.clear()
                gc.collect()
            assert loader.stats()["slot_bytes"] < 1.5 * memory_budget
    return texts, refused


def test_no_batch_is_lost_to_a_full_budget(folder, lines):
    texts, refused = hold_all(folder, 200_000)
    assert refused > 1
    order = [ordinal for _, ordinals in texts for ordinal in ordinals]
    assert order == [i % len(lines) for i in range(len(order))]
    for found, ordinals in texts:
        assert [text.decode() for text in found] == [lines[i].upper() for i in ordinals]


def too_large(folder):
    rows = ops.LineReader(str(folder), batch_size=400)
    with flow.DataLoader(rows, num_threads=1, memory_budget=30_000) as loader:
        with pytest.raises(flow.OutOfMemoryError) as caught:
            next(iter(loader))
    return str(caught.value)


def test_a_batch_above_the_budget_is_refused_with_what_it_takes(folder, lines):
    size = sum(len(line) for line in lines[:400])
    found = too_large(folder)
    assert "memory_budget is 30000" in found and "step 0 of epoch 0" in found
    assert any(size <= int(word) < size + 64 for word in found.split() if word.isdigit())


# ---- Ranks, last batches, readers side by side, resuming ---------------------------------------


@pytest.mark.parametrize("op", ["LineReader", "LineStream", "LineCopies"])
@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_ranks_share_the_logical_batch(folder, lines, op, world_size):
    attrs = dict(op=op, batch_size=24 * 7, random_shuffle=True, seed=5, chain=["UpperCase"])
    whole = read(rows_and_ids, folder, **attrs)
    ranks = [
        read(rows_and_ids, folder, rank=rank, world_size=world_size, **attrs)
        for rank in range(world_size)
    ]
    for step, (rows, _, _) in enumerate(whole):
        parts = [rank[step][0].to_bytes_list() for rank in ranks]
        assert sum(parts, []) == rows.to_bytes_list()


def test_a_rank_without_rows_has_an_empty_batch(folder, lines):
    batches = read(rows_and_ids, folder, batch_size=597, world_size=199, rank=198)
    rows, mask, _ = batches[-1]
    assert len(batches) == 2 and len(mask) == len(rows) == 0
    assert rows.row_splits.tolist() == [0] and rows.values.shape == (0,)
    dense, real = rows.to_padded()
    assert dense.shape == real.shape == (0, 0) and rows.to_list() == []


@pytest.mark.parametrize("last_batch", ["pad", "wrap", "drop", "short"])
def test_last_batches(folder, lines, last_batch):
    batches = read(rows_and_ids, folder, batch_size=64, last_batch=last_batch)
    rows, mask, ids = batches[-1]
    expected = {"pad": [599] * 40, "wrap": list(range(40)), "drop": [], "short": []}[last_batch]
    assert len(batches) == 9 if last_batch == "drop" else 10
    real = int(mask.sum())
    assert real == (64 if last_batch == "drop" else 24)
    assert ids[real:, 1].tolist() == expected
    assert [text.decode() for text in rows.to_bytes_list()] == [lines[i] for i in ids[:, 1]]


def zipped(first, second, **attrs):
    return (
        ops.LineReader(str(first), **attrs),
        ops.UpperCase(ops.LineStream(str(second), **attrs)),
        ops.Lengths(ops.LineReader(str(second), **attrs)),
    )


def test_readers_side_by_side(folder, lines, tmp_path):
    others = write_lines(tmp_path / "others", special={3: "other"})
    batches = read(zipped, folder, tmp_path / "others", batch_size=50)
    assert [t.decode() for a, _, _ in batches for t in a.to_bytes_list()] == lines
    assert [t.decode() for _, b, _ in batches for t in b.to_bytes_list()] == [
        other.upper() for other in others
    ]
    assert [n for _, _, c in batches for n in c] == [len(other) for other in others]


def resumed(folder, op, step):
    def make():
        return rows_and_ids(folder, op, ["UpperCase"], batch_size=70, random_shuffle=True, seed=1)

    with flow.DataLoader(make(), num_threads=2) as loader:
        whole = [rows.to_bytes_list() for rows, _, _ in loader]
        whole += [rows.to_bytes_list() for rows, _, _ in loader]
    with flow.DataLoader(make(), num_threads=1, prefetch=1) as loader:
        batches = loader.repeat()
        for _ in range(step):
            next(batches)
        state = loader.state_dict()
    with flow.DataLoader(make(), num_threads=2, prefetch=5) as loader:
        loader.load_state_dict(state)
        batches = loader.repeat()
        return [next(batches)[0].to_bytes_list() for _ in whole[step:]] == whole[step:]


@pytest.mark.parametrize("op", ["LineReader", "LineStream", "LineCopies"])
@pytest.mark.parametrize("step", [0, 1, 4, 9, 11])
def test_resuming(folder, lines, op, step):
    assert resumed(folder, op, step)


# ---- Damaged records and faulty ops ------------------------------------------------------------


def damaged(folder, on_error, batch_size, num_threads, op):
    blobs = rows_and_ids(folder, op, ["UpperCase"], batch_size=batch_size, on_error=on_error)
    grid = ops.Grid(blobs[0], form="free")
    with flow.DataLoader(*blobs, grid, num_threads=num_threads) as loader:
        batches = list(loader)
        return batches, [(error.op, error.ordinal) for error in loader.skipped]


@pytest.mark.parametrize("batch_size", [1, 50, 600])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_bad_rows(bad_folder, bad_lines, on_error, op, batch_size):
    num_threads = (1, 7)[(OPS.index(op) + len(str(batch_size)) + len(on_error)) % 2]
    batches, skipped = damaged(bad_folder, on_error, batch_size, num_threads, op)
    found = check_batches([batch[:3] for batch in batches], bad_lines, upper=True)
    kept = [i for i in range(600) if on_error == "pad" or i not in BAD]
    assert sum(found, []) == kept
    assert [ordinal for _, ordinal in skipped] == sorted(BAD)
    assert {name for name, _ in skipped} == {op, "UpperCase"}
    for rows, mask, _, grid in batches:
        sizes = (rows.lengths * mask).tolist()
        assert grid.shapes.tolist() == [[size, size % 4] for size in sizes]


def first_failure(folder, batch_size):
    rows = ops.UpperCase(ops.LineReader(str(folder), batch_size=batch_size))
    with flow.DataLoader(rows, num_threads=2) as loader:
        batches = iter(loader)
        with pytest.raises(flow.CorruptDataError) as caught:
            next(batches)
        return caught.value.op, caught.value.line, len(next(batches))


def test_a_failed_batch_is_passed_over(bad_folder, bad_lines):
    assert first_failure(bad_folder, 100) == ("LineReader", 6, 100)


FAULTS = {
    "negative": "num_elements = -3",
    "many": f"num_elements = {(2**63 - 1) // 2}",
    "null": "data = NULL and num_elements = 6",
    "unaligned": "past an aligned address by 2",
    "multiple": "num_elements = 7; it must be a multiple",
    "size": "a dimension of -1",
    "fixed": "a dimension of 4",
    "product": "num_elements = 6; it must be the product",
    "large": "a dimension of",
    "shapeless": "no shape, and dimensions that vary are 2",
}


def fault(folder, form):
    with flow.DataLoader(ops.Faulty(ops.LineReader(str(folder), batch_size=4), form=form)) as l:
        with pytest.raises(flow.InternalError) as caught:
            next(iter(l))
    return str(caught.value), caught.value.op, caught.value.ordinal


@pytest.mark.parametrize("form", FAULTS)
def test_rows_that_break_the_rules_are_named(folder, lines, form):
    text, op, ordinal = fault(folder, form)
    assert FAULTS[form] in text and "row 3 of output 'out'" in text
    assert op == "Faulty" and ordinal == 3


def bad_type(folder):
    with pytest.raises(flow.InternalError) as caught:
        ops.Faulty(ops.LineReader(str(folder)), form="type")
    return str(caught.value)


def test_a_dimension_below_minus_one_is_refused(folder, lines):
    assert "a dimension of -2" in bad_type(folder)


# ---- Ragged by itself --------------------------------------------------------------------------


@pytest.fixture
def ragged():
    return flow.Ragged(np.arange(6, dtype=np.int16), np.array([0, 2, 2, 6]))


def test_rows_by_index(ragged):
    assert len(ragged) == 3 and ragged.lengths.tolist() == [2, 0, 4]
    assert ragged[0].tolist() == [0, 1] and ragged[-1].tolist() == [2, 3, 4, 5]
    assert [row.tolist() for row in ragged] == ragged.to_list() == [[0, 1], [], [2, 3, 4, 5]]
    ragged[2][0] = 9
    assert ragged.values[2] == 9, "rows are views"
    for index in (3, -4):
        with pytest.raises(IndexError, match="of 3 rows"):
            ragged[index]


def test_slices_are_ragged(ragged):
    assert ragged[1:].to_list() == [[], [2, 3, 4, 5]] and ragged[1:].row_splits[0] == 0
    assert ragged[2:1].to_list() == [] and ragged[5:].to_list() == []
    assert np.shares_memory(ragged[1:].values, ragged.values)
    with pytest.raises(ValueError, match="step 1"):
        ragged[::2]


def test_facts(ragged):
    assert ragged.shape == (3, None) and ragged.dtype == np.int16 and ragged.nbytes == 12
    assert ragged.shapes.tolist() == [[2], [0], [4]]
    assert repr(ragged) == "Ragged(shape=(3, None), dtype=int16, nbytes=12)"


def test_padding(ragged):
    dense, mask = ragged.to_padded(-1)
    assert dense.tolist() == [[0, 1, -1, -1], [-1] * 4, [2, 3, 4, 5]]
    assert dense.dtype == np.int16 and mask.tolist() == (dense != -1).tolist()


def test_bytes():
    rows = flow.Ragged(np.frombuffer(b"abcd", np.uint8), np.array([0, 3, 3, 4]))
    assert rows.to_bytes_list() == [b"abc", b"", b"d"] and rows[0].tobytes() == b"abc"
    with pytest.raises(TypeError, match="uint8"):
        flow.Ragged(np.zeros(2), np.array([0, 2])).to_bytes_list()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="give shapes"):
        flow.Ragged(np.zeros(6), np.array([0, 6]), row_shape=(None, 3))
    with pytest.raises(ValueError, match="they must be"):
        flow.Ragged(
            np.zeros(6), np.array([0, 6]), row_shape=(None, None), shapes=np.zeros((2, 2), int)
        )


def test_rows_of_one_shape_are_an_array():
    """As NumPy and DLPack take it, without a copy unless one is asked for."""
    values = np.arange(6, dtype=np.float32)
    pairs = flow.Ragged(values, np.array([0, 2, 4, 6]))
    expected = values.reshape(3, 2)
    for array in (np.asarray(pairs), np.asarray(pairs, copy=False), np.from_dlpack(pairs)):
        np.testing.assert_array_equal(array, expected, strict=True)
        assert np.shares_memory(array, values)
    copy, doubles = np.array(pairs), np.asarray(pairs, dtype=np.float64)
    assert not np.shares_memory(copy, values) and copy.tolist() == expected.tolist()
    assert doubles.dtype == np.float64 and np.mean(pairs, axis=0).tolist() == [2, 3]
    assert pairs.tolist() == pairs.to_list() == expected.tolist()
    with pytest.raises(ValueError, match="float64 takes a copy"):
        np.asarray(pairs, dtype=np.float64, copy=False)
    assert np.asarray(flow.Ragged(values[:0], np.zeros(1, np.int64))).shape == (0, 0)


def test_rows_of_several_shapes_are_none_and_can_be_pickled(ragged):
    for convert in (np.asarray, np.from_dlpack):
        with pytest.raises(ValueError, match=r"row 1 has \(0,\): .* use .to_padded\(\) or .tolist"):
            convert(ragged)
    copy = pickle.loads(pickle.dumps(ragged))
    assert copy.to_list() == ragged.to_list() and copy.row_shape == (None,)


def test_a_ragged_is_not_an_array():
    rows = flow.Ragged(np.arange(4), np.array([0, 1, 4]))
    says = r"np\.asarray\(a\) is an array where all rows are of one shape, a\.to_padded\(\)"
    for use in (
        lambda: rows[0, 1], lambda: rows[[0, 1]], lambda: rows[np.array([True, False])],
        lambda: rows + 1, lambda: 2 * rows, lambda: rows < rows, lambda: rows.mean(),
    ):  # fmt: skip
        with pytest.raises((TypeError, AttributeError), match=says):
            use()
    assert not hasattr(rows, "unheard_of") and rows[np.int64(0)].tolist() == [0]
    equal = flow.Ragged(np.arange(4), np.array([0, 2, 4]))
    np.testing.assert_array_equal(equal + np.ones((2, 2)), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.ones((2, 2)) + equal, [[1, 2], [3, 4]])


def test_arrays_of_which_no_ragged_can_be_made():
    for values, splits, says in (
        (np.arange(3), np.array([], np.int64), "row_splits is of shape"),
        ([1, 2], np.array([0, 2]), "values is a list"),
        (np.arange(3), [0, 3], "row_splits is a list"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            flow.Ragged(values, splits)
    with pytest.raises(ValueError, match="no Ragged"):
        flow.Ragged.concatenate([])


def test_operators_compute_with_the_array_of_equal_rows_and_refuse_others():
    equal = flow.Ragged(np.arange(6), np.array([0, 3, 6]))
    array = np.arange(6).reshape(2, 3)
    assert np.array_equal(equal != 0, array != 0) and np.array_equal(equal == equal, array == array)
    assert np.array_equal(equal < 4, array < 4) and np.array_equal(1 - equal, 1 - array)
    assert np.array_equal(np.int64(2) * equal, 2 * array)
    assert np.array_equal(equal == array, array == array)
    rows = flow.Ragged(np.arange(5), np.array([0, 3, 5]))
    for wrong in (lambda: rows == 0, lambda: rows != 0, lambda: rows < 1, lambda: rows + 1,
                  lambda: rows == rows, lambda: equal == rows, lambda: 2 * rows):  # fmt: skip
        with pytest.raises(TypeError, match=r"rows that differ.*to_padded\(\)"):
            wrong()
    assert (rows == None) is False and rows in {rows}  # noqa: E711
    texts = flow.Ragged(np.frombuffer("aübcü".encode(), np.uint8), np.array([0, 3, 3, 7]))
    assert (texts == "aü").tolist() == [True, False, False]
    assert (texts != b"").tolist() == [True, False, True]
    with pytest.raises(TypeError, match="no rows of bytes"):
        rows == "a"  # noqa: B015
