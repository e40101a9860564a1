"""MixUp and CutMix: against NumPy, and the same mixtures at every world size."""

from __future__ import annotations

import numpy as np
import pytest
from support.decoder_rows import load
from support.draws import seeded

import pyflowdata as flow

CHANCE = np.random.default_rng(0)
COUNT, SHAPE = 64, (3, 6, 5)
IMAGES = CHANCE.normal(size=(COUNT, *SHAPE)).astype(np.float32)
NUMBERS = np.arange(COUNT)


def one_hot(blob, dtype="float32"):
    """A vector for each record with a 1 at its own place: it tells what a mixture is made of."""
    return flow.OneHot(blob, depth=COUNT, dtype=dtype)


def batches_of(op, rows, *, world_size=1, batch_size=16, num_threads=1, resume_at=0, **attrs):
    """Mixed rows, their labels and the numbers of the records, of all ranks: a list of batches."""
    reader = {"random_shuffle": True, "order_key": "same", "batch_size": batch_size}
    parts = []
    for rank in range(world_size):
        place = {**reader, "rank": rank, "world_size": world_size}
        number = seeded(NUMBERS[: len(rows)], **place)
        mixed = op(seeded(rows, **place), one_hot(number), **attrs)
        with flow.DataLoader(*mixed, number, num_threads=num_threads) as loader:
            if resume_at:
                other = flow.DataLoader(*mixed, number)
                for _, _ in zip(range(resume_at), other, strict=False):
                    pass
                loader.load_state_dict(other.state_dict())
                other.close()
            parts.append([tuple(np.array(one) for one in batch) for batch in loader])
    return [tuple(map(np.concatenate, zip(*step, strict=True)))
            for step in zip(*parts, strict=True)]  # fmt: skip


def shares_of(labels, numbers, group):
    """The row that each row was mixed with, and the numbers that both were multiplied by."""
    for i in range(len(numbers)):
        first = i // group * group
        size = min(group, len(numbers) - first)
        other = first + (i - first - 1) % size
        yield i, other, labels[i, numbers[i]], labels[i, numbers[other]]
        assert not np.delete(labels[i], [numbers[i], numbers[other]]).any()


@pytest.mark.parametrize("group", [2, 4, 5])
def test_mix_up(group):
    seen = []
    for mixed, labels, numbers in batches_of(flow.MixUp, IMAGES, group_size=group):
        for i, other, own, rest in shares_of(labels, numbers, group):
            if other != i:
                assert abs(own + rest - 1) < 1e-6
                sum_of_both = IMAGES[numbers[i]] * own + IMAGES[numbers[other]] * rest
                assert np.array_equal(mixed[i], sum_of_both)
            else:
                assert np.array_equal(mixed[i], IMAGES[numbers[i]])
            seen.append(own)
    assert len(set(seen)) == 4 * (16 // group) + (group == 5)  # one for each group, 1 for a rest


def test_dtypes():
    blob, number = seeded(IMAGES.astype(np.float64)), seeded(NUMBERS)
    wide, labels = load(*flow.MixUp(blob, one_hot(number, "float64")))
    partner = NUMBERS ^ 1
    own, rest = labels[NUMBERS, NUMBERS], labels[NUMBERS, partner]
    shape = (-1, 1, 1, 1)
    exact = IMAGES.astype(float)
    same = exact * own.reshape(shape) + exact[partner] * rest.reshape(shape)
    assert np.array_equal(wide, same)
    halves = IMAGES.astype(np.float16)
    narrow, labels = load(*flow.MixUp(seeded(halves), one_hot(number)))
    own, rest = (labels[NUMBERS, at].reshape(shape) for at in (NUMBERS, partner))
    single = halves.astype(np.float32)
    assert np.array_equal(narrow, (single * own + single[partner] * rest).astype(np.float16))


@pytest.mark.parametrize("alpha", [0.05, 0.4, 1.0, 6.0])
def test_shares_are_of_the_beta_distribution(alpha):
    count = 4000
    number = seeded(np.zeros(count, np.int64), batch_size=500)
    x = seeded(np.tile(np.float32([0, 1]), count // 2), batch_size=500)
    mixed, _ = load(*flow.MixUp(x, flow.OneHot(number, depth=1), alpha=alpha))
    shares = mixed[1::2]  # of the rows of 1
    expected = np.random.default_rng(1).beta(alpha, alpha, 200_000)
    for at in np.linspace(0.002, 0.998, 250):  # Kolmogorov and Smirnov, 1 %
        assert abs((shares < at).mean() - (expected < at).mean()) < 1.63 / np.sqrt(len(shares))
    assert abs(shares.mean() - 0.5) < 0.04


def test_cut_mix():
    height, width = 24, 32
    rows = CHANCE.integers(0, 256, (COUNT, height, width, 3), np.uint8)
    planes = np.ascontiguousarray(rows.transpose(0, 3, 1, 2))
    found = batches_of(flow.CutMix, rows, layout="HWC", group_size=4)
    areas, edges = [], set()
    for mixed, labels, numbers in found:
        for i, other, own, rest in shares_of(labels, numbers, 4):
            image, second = rows[numbers[i]], rows[numbers[other]]
            is_other = (mixed[i] == second).all(2) & (second != image).any(2)
            if not is_other.any():
                assert own == 1 and np.array_equal(mixed[i], image)
                continue
            ys, xs = np.flatnonzero(is_other.any(1)), np.flatnonzero(is_other.any(0))
            box = np.s_[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1]
            expected = image.copy()
            expected[box] = second[box]
            assert np.array_equal(mixed[i], expected)
            area = len(ys) * len(xs) / (height * width)
            assert own == np.float32(1 - area) and rest == np.float32(1 - (1 - area))
            areas.append(area)
            edges |= {ys[0] == 0, ys[-1] == height - 1, xs[0] == 0}
    assert min(areas) < 0.1 and max(areas) > 0.3 and edges == {True, False}
    for (one, *_), (other, *_) in zip(
        found, batches_of(flow.CutMix, planes, group_size=4), strict=True
    ):
        assert np.array_equal(one, other.transpose(0, 2, 3, 1))


def cut_mix_areas(count=6000):
    rows = np.zeros((count, 1, 20, 20), np.uint8)
    rows[1::2] = 1
    labels = flow.OneHot(seeded(np.zeros(count, np.int64)), depth=1)
    mixed, _ = load(*flow.CutMix(seeded(rows), labels))
    return mixed[::2].reshape(count // 2, -1).mean(1)


def test_areas_of_cut_mix_are_those_of_torchvisions_rule():
    chance = np.random.default_rng(3)
    expected = []
    for share in chance.beta(1, 1, 3000):
        y, x = chance.integers(20), chance.integers(20)
        half = int(0.5 * np.sqrt(1 - share) * 20)
        height = min(y + half, 20) - max(y - half, 0)
        expected.append(height * (min(x + half, 20) - max(x - half, 0)) / 400)
    found = cut_mix_areas()
    assert abs(found.mean() - np.mean(expected)) < 0.02
    for part in (0.25, 0.5, 0.75, 0.95):
        assert abs(np.quantile(found, part) - np.quantile(expected, part)) < 0.05


@pytest.mark.parametrize("op", [flow.MixUp, flow.CutMix])
def test_the_world_size_changes_nothing(op):
    attrs = {"group_size": 2, "probability": 0.7}
    expected = batches_of(op, IMAGES, **attrs)
    for way in (
        {"world_size": 2}, {"world_size": 4, "num_threads": 3}, {"resume_at": 2},
    ):  # fmt: skip
        found = batches_of(op, IMAGES, **way, **attrs)
        for one, other in zip(found, expected[way.get("resume_at", 0) :], strict=True):
            assert all(map(np.array_equal, one, other))
    mixed = np.concatenate([(labels.max(1) < 1)[::2] for _, labels, _ in expected])
    assert 0.4 < mixed.mean() < 0.95


def test_a_rest_is_a_smaller_group():
    """The last of 7 rows in groups of 3 has no partner."""
    (mixed, labels, numbers), = batches_of(flow.MixUp, IMAGES[:7], batch_size=7, group_size=3)
    assert np.array_equal(mixed[6], IMAGES[numbers[6]]) and labels[6, numbers[6]] == 1
    assert (labels[:6].max(1) < 1).all()
    assert list(shares_of(labels, numbers, 3))[0][1] == 2


def test_what_is_refused():
    blob, labels = seeded(IMAGES), one_hot(seeded(NUMBERS))
    for make, found in [
        (lambda: flow.MixUp(seeded(IMAGES.astype(np.uint8)), labels), "take Normalize or Cast"),
        (lambda: flow.MixUp(blob, seeded(NUMBERS)), "'labels'.*take OneHot before"),
        (lambda: flow.CutMix(blob, seeded(NUMBERS)), "'labels'.*take OneHot before"),
        (lambda: flow.CutMix(seeded(IMAGES.transpose(0, 2, 3, 1)), labels), "layout='HWC'"),
        (lambda: flow.MixUp(blob, labels, alpha=0), "alpha"),
        (lambda: flow.MixUp(blob, labels, group_size=1), "group_size"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            make()
