"""Crops and padding: against models in NumPy that draw the same numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.decoder_rows import ALL_DTYPES, blob_of, load, same
from support.draws import Draws
from support.image_rows import image_blob, pillow, random_images

import pyflowdata as flow

SIZES = [(1, 1), (1, 9), (8, 1), (3, 3), (9, 10), (10, 9), (30, 12), (12, 30), (5, 40), (64, 48)]
MODES = ["edge", "reflect", "symmetric"]


def padded(image, top, left, bottom, right, mode="constant", fill=0):
    pads = [(top, bottom), (left, right)]
    if mode != "constant":
        return np.pad(image, [*pads, (0, 0)][: image.ndim], mode)
    shape = (image.shape[0] + top + bottom, image.shape[1] + left + right, *image.shape[2:])
    out = np.full(shape, fill, image.dtype)
    out[top : top + image.shape[0], left : left + image.shape[1]] = image
    return out


# ---- CenterCrop, ImagePad ------------------------------------------------------------------------


def center_cropped(image, size, fill=0):
    """torchvision's center_crop()."""
    height, width = size
    missing = [max(0, n - m) for n, m in zip(size, image.shape, strict=False)]
    top, left = (n // 2 for n in missing)
    image = padded(image, top, left, missing[0] - top, missing[1] - left, fill=fill)
    top = round((image.shape[0] - height) / 2.0)
    left = round((image.shape[1] - width) / 2.0)
    return image[top : top + height, left : left + width]


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
def test_center_crop(channels):
    rows = random_images(SIZES, channels)
    for size in [(1, 1), (4, 5), (9, 10), (11, 40), (65, 3)]:
        out = flow.CenterCrop(image_blob(rows), size=size, fill=7)
        assert out.shape[1:3] == size
        same(load(out), np.stack([center_cropped(row, size, 7) for row in rows]))


def test_crops_at_other_places():
    image = random_images([(11, 20)])[0]
    for vertical, horizontal, top, left in [(0, 0, 0, 0), (1, 1, 6, 13), (0.25, 0.9, 2, 12)]:
        out = flow.CenterCrop(blob_of(image[None]), size=(5, 7), position=(vertical, horizontal))
        same(load(out)[0], image[top : top + 5, left : left + 7])
    below = load(flow.CenterCrop(blob_of(image[None]), size=(13, 20), position=(1, 0)))[0]
    same(below[2:], image)
    assert not below[:2].any()


@pytest.mark.parametrize("mode", ["constant", *MODES])
def test_image_pad(mode):
    for padding, four in [([2], [2, 2, 2, 2]), ([1, 3], [1, 3, 1, 3]), ([0, 7, 12, 1],) * 2]:
        for channels in (None, 3):
            rows = random_images(SIZES, channels)
            out = flow.ImagePad(image_blob(rows), padding=padding, padding_mode=mode,
                                fill=9)
            same(load(out), [padded(row, *four, mode, 9) for row in rows])


def test_any_dtype():
    for dtype in ALL_DTYPES:
        rows = [row.astype(dtype) for row in random_images(SIZES, 3)]
        fill = [1, 0, 1] if dtype == bool else [1, 2, 3]
        found = load(flow.ImagePad(image_blob(rows), padding=[1, 2], fill=fill))
        same(found, [padded(row, 1, 2, 1, 2, fill=np.array(fill, dtype)) for row in rows])
        found = load(flow.CenterCrop(image_blob(rows), size=(6, 7), fill=fill))
        same(found, np.stack([center_cropped(row, (6, 7), np.array(fill, dtype)) for row in rows]))


# ---- RandomCrop ----------------------------------------------------------------------------------


def random_cropped(image, ordinal, draws, size, padding=(0, 0, 0, 0), mode="constant", fill=0):
    """torchvision's RandomCrop, with the missing rows and columns on both sides."""
    top, left, bottom, right = padding
    rows = max(0, size[0] - image.shape[0] - top - bottom)
    columns = max(0, size[1] - image.shape[1] - left - right)
    image = padded(image, top + rows, left + columns, bottom + rows, right + columns, mode, fill)
    top, left = (
        draws.integer(ordinal, draw, image.shape[draw] - size[draw] + 1) for draw in (0, 1)
    )
    return image[top : top + size[0], left : left + size[1]]


def test_random_crop():
    rows = random_images(SIZES * 4)
    draws = Draws(5, "RandomCrop")
    for mode in ("constant", *MODES):
        for padding in ([], [3], [1, 2, 0, 5]):
            four = {0: [0] * 4, 1: padding * 4}.get(len(padding), padding)
            blob = flow.RandomCrop(
                image_blob(rows, seed=5), size=(8, 9), padding=padding, pad_if_needed=True,
                padding_mode=mode, fill=[1, 2, 3],
            )  # fmt: skip
            same(load(blob), np.stack([
                random_cropped(row, i, draws, (8, 9), four, mode, [1, 2, 3])
                for i, row in enumerate(rows)
            ]))  # fmt: skip


def test_every_place_is_as_likely():
    """Chi-square over 3 x 4 places."""
    image = np.arange(30, dtype=np.uint8).reshape(5, 6)
    count = 6000
    rows = np.broadcast_to(image, (count, 5, 6))
    first = load(flow.RandomCrop(blob_of(rows, seed=1), size=(3, 3)))[:, 0, 0]
    places, counts = np.unique(first, return_counts=True)
    assert places.tolist() == [6 * y + x for y in range(3) for x in range(4)]
    assert ((counts - count / 12) ** 2 / (count / 12)).sum() < 31.3  # of 11 degrees: 1 in 1000


def test_an_image_that_is_too_small():
    rows = random_images([(9, 9), (4, 9)])
    blob = flow.RandomCrop(image_blob(rows), size=(8, 8), padding=[1])
    with pytest.raises(flow.CorruptDataError, match="is 6 x 11 with its padding; size is 8 x 8.*"
                       "pad_if_needed=True") as caught:  # fmt: skip
        load(blob)
    assert caught.value.ordinal == 1


# ---- RandomResizedCrop ---------------------------------------------------------------------------


def window(ordinal, draws, size, area=(0.08, 1), ratio=(3 / 4, 4 / 3), num_attempts=10):
    """torchvision's get_params(): top, left, height, width."""
    height, width = size
    for attempt in range(num_attempts):
        target = height * width * draws.uniform(ordinal, 2 + 2 * attempt, *area)
        aspect = draws.log_uniform(ordinal, 3 + 2 * attempt, *ratio)
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = draws.integer(ordinal, 0, height - h + 1)
            return top, draws.integer(ordinal, 1, width - w + 1), h, w
    h, w = height, width
    if width / height < ratio[0]:
        h = max(1, round(width / ratio[0]))
    elif width / height > ratio[1]:
        w = max(1, round(height * ratio[1]))
    return (height - h) // 2, (width - w) // 2, h, w


def cut(image, place):
    top, left, height, width = place
    return image[top : top + height, left : left + width]


@pytest.mark.parametrize("rule", [
    {}, {"area": (0.5, 0.5), "aspect_ratio": (1, 1)}, {"aspect_ratio": (0.1, 0.2)},
    {"num_attempts": 0}, {"num_attempts": 1, "area": (0.9, 1)},
], ids=str)  # fmt: skip
def test_random_resized_crop(rule):
    rows = random_images(SIZES * 5)
    draws = Draws(5, "RandomResizedCrop")
    blob = flow.RandomResizedCrop(image_blob(rows, seed=5), size=(7, 12), **rule)
    model = {"ratio" if name == "aspect_ratio" else name: value for name, value in rule.items()}
    places = [window(i, draws, row.shape[:2], **model) for i, row in enumerate(rows)]
    expected = [
        pillow(cut(row, place), (7, 12), "bilinear")
        for row, place in zip(rows, places, strict=True)
    ]
    same(load(blob), np.stack(expected))


@pytest.mark.slow
def test_areas_and_ratios_of_windows():
    """Where each window fits: uniform areas, and ratios with uniform logarithm."""
    draws = Draws(0, "any")
    count = 1000
    found = np.array([window(i, draws, (1000, 1000), (0.1, 0.5)) for i in range(count)], float)
    area = found[:, 2] * found[:, 3] / 1e6
    ratio = np.log(found[:, 3] / found[:, 2]) / np.log(4 / 3)
    for values, low, high in [(area, 0.1, 0.5), (ratio, -1, 1)]:
        unit = np.clip((values - low) / (high - low), 0, 1 - 1e-9)
        counts = np.bincount((unit * 20).astype(int), minlength=20)
        assert ((counts - count / 20) ** 2 / (count / 20)).sum() < 43.8  # 19 degrees: 1 in 1000


def test_image_random_crop_is_oneflows():
    rows = random_images(SIZES * 3)
    draws = Draws(5, "ImageRandomCrop")
    out = flow.ImageRandomCrop(image_blob(rows, seed=5), random_area=(0.3, 0.6))
    assert out.shape == (len(rows), None, None, 3)
    expected = [cut(row, window(i, draws, row.shape[:2], (0.3, 0.6), (0.75, 1.333333)))
                for i, row in enumerate(rows)]  # fmt: skip
    same(load(out), expected)


def test_two_crops_of_an_image_differ():
    blob = image_blob(random_images([(9, 12)] * 60), seed=1)
    one, other = load(*(flow.RandomCrop(blob, size=(3, 3)) for _ in range(2)))
    assert (one == other).all((1, 2, 3)).sum() < 10  # one of 70 places is the same by chance


def test_what_is_refused():
    blob = image_blob(random_images([(3, 3)]))
    for function, attrs, found in [
        (flow.CenterCrop, {"size": (3, 4), "position": [1]}, r"must be \(vertical, horizontal\)"),
        (flow.CenterCrop, {"size": (3, 4), "fill": [1, 2]}, "one for each of the 3 channels"),
        (flow.CenterCrop, {"size": (3, 4), "fill": 256}, "has 256; the images are uint8"),
        (flow.ImagePad, {"padding": [1, 2, 3]}, "has 3 numbers; it must have one, two"),
        (flow.RandomResizedCrop, {"size": (2, 2), "area": (0, 1)}, "attr 'area' = .0, 1.; it must"),
        (flow.RandomResizedCrop, {"size": (2, 2), "aspect_ratio": (2, 1)}, "lowest <= highest"),
        (flow.RandomResizedCrop, {"size": (2, 2), "area": [1]}, "must have two"),
        (flow.ImageRandomCrop, {"random_area": (0.5, 0.1)}, "attr 'random_area'"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            function(blob, **attrs)
    empty = image_blob(random_images([(3, 3), (0, 3)]))
    for made in (flow.CenterCrop(empty, size=(1, 1)), flow.RandomCrop(empty, size=(1, 1)),
                 flow.ImagePad(empty, padding=[1]), flow.ImageRandomCrop(empty),
                 flow.RandomResizedCrop(empty, size=(1, 1))):  # fmt: skip
        with pytest.raises(flow.CorruptDataError, match=r"0 x 3 \(height x width\): it has no"):
            load(made)
