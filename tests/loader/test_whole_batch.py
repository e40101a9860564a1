"""Ops that see the whole batch of a rank at once, in chains with ops over row ranges."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from pyflowdata import ops
from support.ragged_ops import bad_folder, folder, lines, read, write_lines  # noqa: F401

pytestmark = pytest.mark.usefixtures("ragged_ops")

# Lines that LineReader, UpperCase and Center (at a length of 57) find damaged.
SPECIAL = {5: "!bad", 17: "why?", 18: "x" * 57, 300: "??", 301: "y" * 57, 302: "!", 599: "z" * 57}
BAD_LENGTH = 57.0


@pytest.fixture(scope="module")
def bad_lines(bad_folder):
    return write_lines(bad_folder, special=SPECIAL)


def centered(folder, op="LineReader", **attrs):
    rows, mask, ids = getattr(ops, op)(str(folder), with_mask=True, with_id=True, **attrs)
    upper = ops.UpperCase(rows)
    return ops.Center(ops.Lengths(upper), bad=BAD_LENGTH), upper, mask, ids


def expected_centers(ids, lines):
    sizes = np.array([len(lines[i]) for i in ids[:, 1]], np.float64)
    return sizes - sizes.mean()


def close(found, expected):
    """As np.allclose, which takes ten times as long for a row; of finite numbers only."""
    return bool((np.abs(found - expected) <= 1e-8 + 1e-5 * np.abs(expected)).all())


OPS = ["LineReader", "LineStream", "LineCopies"]


@pytest.mark.parametrize("batch_size", [1, 30, 400])
@pytest.mark.parametrize("op", OPS)
def test_minus_the_mean_of_the_batch(folder, lines, op, batch_size):
    num_threads = (1, 2, 7)[(OPS.index(op) + len(str(batch_size))) % 3]
    attrs = dict(op=op, batch_size=batch_size, random_shuffle=True, seed=2)
    batches = read(centered, folder, num_threads=num_threads, epochs=2, **attrs)
    seen = [int(i) for *_, ids in batches for i in ids[:, 1]]
    assert sorted(seen) == sorted(2 * list(range(len(lines))))
    for centers, upper, _, ids in batches:
        assert close(centers, expected_centers(ids, lines))
        assert [t.decode() for t in upper.to_bytes_list()] == [lines[i].upper() for i in ids[:, 1]]


@pytest.mark.parametrize("world_size", [2, 3])
def test_the_batch_is_that_of_the_rank(folder, lines, world_size):
    for rank in range(world_size):
        attrs = dict(batch_size=60, rank=rank, world_size=world_size)
        batches = read(centered, folder, **attrs)
        assert [len(ids) for *_, ids in batches] == [60 // world_size] * 10
        for centers, _, _, ids in batches:
            assert close(centers, expected_centers(ids, lines))


def chained(folder, **attrs):
    """Stages 0 to 4: rows, whole, rows, whole, rows."""
    rows = ops.LineReader(str(folder), **attrs)
    lengths = ops.Lengths(rows)
    scaled = flow.Affine(ops.Center(lengths), scale=2, shift=10)
    again = ops.Center(scaled)
    return rows, lengths, scaled, again, flow.Affine(again, shift=1, dtype="float32")


@pytest.mark.parametrize("num_threads", [1, 7])
def test_stage_after_stage(folder, lines, num_threads):
    batches = read(chained, folder, batch_size=350, num_threads=num_threads)
    assert len(batches) == 2
    for rows, lengths, scaled, again, last in batches:
        assert np.array_equal(lengths, rows.lengths)
        assert close(scaled, 2 * (lengths - lengths.mean()) + 10)
        assert close(again, scaled - 10)
        assert close(last, again + 1) and last.dtype == np.float32


def first_bytes(folder, op, **attrs):
    rows = getattr(ops, op)(str(folder), **attrs)
    centers = ops.Center(ops.Lengths(rows), bad=BAD_LENGTH)
    return rows, ops.FirstByte(centers), ops.FirstBytes(centers)


@pytest.mark.parametrize("op", ["LineReader", "LineStream", "LineCopies"])
@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_later_stages_see_the_records_of_their_rows(bad_folder, bad_lines, op, on_error):
    batches = read(
        first_bytes, bad_folder, op, batch_size=400, random_shuffle=True, seed=1,
        on_error=on_error,
    )  # fmt: skip
    assert sum(len(rows) for rows, *_ in batches) == (600 if on_error == "pad" else 595)
    for rows, *both in batches:
        for first in both:
            assert first.tolist() == [row[0] if len(row) else 0 for row in rows]


def sorted_lines(folder, **attrs):
    rows = ops.LineReader(str(folder), **attrs)
    in_order = ops.Sorted(ops.UpperCase(rows))
    return rows, in_order, ops.Lengths(ops.Echo(in_order)), ops.Grid(in_order, form="free")


@pytest.mark.parametrize("batch_size", [20, 600])
def test_ragged_rows_through_the_whole_batch(folder, lines, batch_size):
    for rows, in_order, lengths, grid in read(sorted_lines, folder, batch_size=batch_size):
        expected = sorted((t.upper() for t in rows.to_bytes_list()), key=lambda t: (len(t), t))
        assert in_order.to_bytes_list() == expected
        assert lengths.tolist() == [len(text) for text in expected]
        assert grid.shapes.tolist() == [[len(text), len(text) % 4] for text in expected]


# ---- Damaged records ---------------------------------------------------------------------------


def damaged(folder, on_error, num_threads, **attrs):
    blobs = centered(folder, on_error=on_error, **attrs)
    more = flow.Affine(blobs[0], scale=2, shift=10)
    with flow.DataLoader(*blobs, more, num_threads=num_threads) as loader:
        batches = list(loader)
        return batches, [(error.op, error.ordinal) for error in loader.skipped]


@pytest.mark.parametrize("batch_size", [1, 50, 600])
@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("on_error", ["skip", "pad"])
def test_bad_rows_are_seen_by_no_op(bad_folder, bad_lines, on_error, op, batch_size):
    num_threads = (1, 7)[(OPS.index(op) + len(str(batch_size)) + len(on_error)) % 2]
    batches, skipped = damaged(bad_folder, on_error, num_threads, op=op, batch_size=batch_size)
    assert [ordinal for _, ordinal in skipped] == sorted(SPECIAL)
    assert [name for name, _ in skipped] == [
        op, "UpperCase", "Center", "UpperCase", "Center", op, "Center",
    ]  # fmt: skip
    kept = [i for i in range(600) if on_error == "pad" or i not in SPECIAL]
    assert [int(i) for batch in batches for i in batch[3][:, 1]] == kept
    assert len(batches) == -(-600 // batch_size)
    for centers, upper, mask, ids, more in batches:
        assert mask.tolist() == [i not in SPECIAL for i in ids[:, 1]]
        assert not centers[~mask].any() and not more[~mask].any()
        if mask.any():
            assert close(centers[mask], expected_centers(ids[mask], bad_lines))
        assert close(more[mask], centers[mask] * 2 + 10)
        expected = [bad_lines[i].upper() * int(m) for i, m in zip(ids[:, 1], mask, strict=True)]
        assert [text.decode() for text in upper.to_bytes_list()] == expected


def side_by_side(first, second, **attrs):
    attrs["with_id"] = True  # and an order for each
    rows, ids = ops.LineReader(str(first), on_error="pad", order_key="first", **attrs)
    others, other_ids = ops.LineReader(str(second), order_key="second", **attrs)
    return rows, ids, other_ids, ops.Center(ops.Lengths(others)), ops.FirstByte(ops.Sorted(rows))


def test_padding_keeps_the_ids_of_all_readers(bad_folder, bad_lines, folder, lines):
    attrs = dict(batch_size=200, random_shuffle=True, seed=4)
    seen = [[], []]
    for rows, *ids, centers, _ in read(side_by_side, bad_folder, folder, **attrs):
        is_padded = np.array([bad_lines[i].startswith("!") for i in ids[0][:, 1]])
        assert rows.lengths.tolist() == [
            0 if padded else len(bad_lines[i])
            for i, padded in zip(ids[0][:, 1], is_padded, strict=True)
        ]
        assert not centers[is_padded].any()
        real = ids[1][~is_padded]
        assert close(centers[~is_padded], expected_centers(real, lines))
        for reader in range(2):
            seen[reader] += ids[reader][:, 1].tolist()
    assert sorted(seen[0]) == sorted(seen[1]) == list(range(600)) and seen[0] != seen[1]


def failures(folder):
    blobs = centered(folder, batch_size=10, random_shuffle=False)
    found = []
    with flow.DataLoader(*blobs, num_threads=2) as loader:
        batches = iter(loader)
        while True:
            try:
                next(batches)
            except flow.CorruptDataError as error:
                found.append((error.op, error.ordinal))
            except StopIteration:
                return found


def test_with_raise_the_first_of_a_batch_is_told(bad_folder, bad_lines):
    assert failures(bad_folder) == [
        ("LineReader", 5), ("UpperCase", 17), ("LineReader", 302), ("Center", 599),
    ]  # fmt: skip


def test_fillers_are_rows_like_others(folder, lines):
    centers, _, mask, ids = read(centered, folder, batch_size=64, last_batch="pad")[-1]
    assert mask.tolist() == [True] * 24 + [False] * 40 and ids[24:, 1].tolist() == [599] * 40
    assert close(centers, expected_centers(ids, lines))


def resumed(folder, step):
    def make():
        return centered(folder, batch_size=70, random_shuffle=True, seed=1)[0]

    with flow.DataLoader(make(), num_threads=2) as loader:
        whole = [batch.tolist() for _ in range(2) for batch in loader]
    with flow.DataLoader(make(), num_threads=1, prefetch=1) as loader:
        batches = loader.repeat()
        for _ in range(step):
            next(batches)
        state = loader.state_dict()
    with flow.DataLoader(make(), num_threads=2, prefetch=5) as loader:
        loader.load_state_dict(state)
        batches = loader.repeat()
        return [next(batches).tolist() for _ in whole[step:]] == whole[step:]


@pytest.mark.parametrize("step", [0, 4, 9, 11])
def test_resuming(folder, lines, step):
    assert resumed(folder, step)


def closing(folder):
    for steps in range(12):
        with flow.DataLoader(*centered(folder, batch_size=90), num_threads=3) as loader:
            for _, batch in zip(range(steps), loader.repeat()):
                assert len(batch[0]) > 0
    return True


def test_closing_at_any_time(folder, lines):
    assert closing(folder)
