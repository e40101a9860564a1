"""Flips, and channels first: against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from support.decoder_rows import ALL_DTYPES, blob_of, load, same
from support.draws import Draws
from support.image_rows import image_blob, random_images

import pyflowdata as flow

SIZES = [(1, 1), (1, 9), (8, 1), (3, 5), (9, 6), (2, 7), (7, 11), (6, 16), (2, 17), (30, 33)]


def flipped(image, code):
    image = image[:, ::-1] if code & 1 else image
    return image[::-1] if code & 2 else image


def test_image_flip():
    for channels in (None, 1, 2, 3, 4):
        rows = random_images(SIZES * 4, channels)
        codes = np.repeat([0, 1, 2, 3], len(SIZES)).astype(np.int8)
        blob = flow.ImageFlip(image_blob(rows), blob_of(codes))
        same(load(blob), [flipped(row, code) for row, code in zip(rows, codes, strict=True)])
        of_oneflow = np.array([0, 1, 16, 17], np.int8)[codes]
        same(load(flow.ImageFlip(image_blob(rows), blob_of(of_oneflow[:, None]))), load(blob))


def test_any_dtype():
    for dtype in ALL_DTYPES:
        rows = np.stack([row.astype(dtype) for row in random_images([(4, 7)] * 4)])
        out = flow.ImageFlip(blob_of(rows), blob_of(np.arange(4, dtype=np.int8)))
        same(load(out), np.stack([flipped(row, code) for code, row in enumerate(rows)]))
        same(load(flow.HWC2CHW(blob_of(rows))), rows.transpose(0, 3, 1, 2).copy())


def test_the_code_is_checked():
    rows = np.zeros((2, 3, 3), np.uint8)
    with pytest.raises(flow.CorruptDataError, match="flip_code is 4; it must be 0"):
        load(flow.ImageFlip(blob_of(rows), blob_of(np.array([1, 4], np.int8))))
    for codes in (np.zeros(2, np.int32), np.zeros((2, 2), np.int8)):
        with pytest.raises(flow.InvalidArgumentError, match="'flip_code'.*one number of int8"):
            flow.ImageFlip(blob_of(rows), blob_of(codes))


def test_random_flip():
    rows = random_images(SIZES * 8)
    for horizontal, vertical in [(0.5, 0.0), (0.0, 0.5), (0.3, 0.8), (1.0, 1.0)]:
        draws = Draws(5, "RandomFlip")
        blob = flow.RandomFlip(image_blob(rows, seed=5), horizontal=horizontal, vertical=vertical)
        codes = [
            (draws.uniform(i, 0) < horizontal) + 2 * (draws.uniform(i, 1) < vertical)
            for i in range(len(rows))
        ]
        same(load(blob), [flipped(row, code) for row, code in zip(rows, codes, strict=True)])


def test_how_often():
    count = 4000
    rows = np.broadcast_to(np.arange(4, dtype=np.uint8).reshape(2, 2), (count, 2, 2))
    blob = blob_of(rows, seed=2)
    one, other = load(flow.RandomFlip(blob, vertical=0.25), flow.RandomFlip(blob))
    sides, tops = one[:, 0, 0] % 2 == 1, one[:, 0, 0] >= 2
    bound = 5 / (2 * np.sqrt(count))  # five standard deviations of a fair coin
    assert abs(sides.mean() - 0.5) < bound and abs(tops.mean() - 0.25) < bound
    assert abs((sides & tops).mean() - 0.125) < bound
    assert abs((sides == other[:, 0, 0] % 2).mean() - 0.5) < bound  # two nodes


def test_two_flips_one_behind_the_other_are_independent():
    count = 4000
    rows = np.broadcast_to(np.arange(2, dtype=np.uint8).reshape(1, 2), (count, 1, 2))
    once = flow.RandomFlip(blob_of(rows, seed=2))
    first, second = load(once, flow.RandomFlip(once))
    again = (first != second).any((1, 2))
    counts = np.bincount(2 * (first[:, 0, 0] == 1) + again, minlength=4)
    assert (abs(counts / count - 0.25) < 5 * np.sqrt(0.1875 / count)).all()


def test_channels_first():
    for channels in (1, 2, 3, 4):
        rows = random_images(SIZES, channels)
        out = flow.HWC2CHW(image_blob(rows))
        assert out.shape == (len(rows), channels, None, None)
        same(load(out), [row.transpose(2, 0, 1).copy() for row in rows])
    grey = random_images(SIZES, None)
    same(load(flow.HWC2CHW(image_blob(grey))), [row[None] for row in grey])
    same(load(flow.HWC2CHW(blob_of(np.stack([grey[4]] * 3)))), np.stack([grey[4][None]] * 3))


def test_images_without_pixels_stay():
    rows = random_images([(0, 3), (2, 0), (2, 2)])
    ones = blob_of(np.array([1, 1, 1], np.int8))
    same(load(flow.ImageFlip(image_blob(rows), ones)), [row[:, ::-1] for row in rows])
    same(load(flow.HWC2CHW(image_blob(rows))), [row.transpose(2, 0, 1).copy() for row in rows])
