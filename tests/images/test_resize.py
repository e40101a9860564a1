"""Resize: against Pillow, and against sums over pixels in NumPy."""

from __future__ import annotations


import numpy as np
import pytest
from support.decoder_rows import blob_of, load, same
from support.image_rows import PILLOW, image_blob, pillow, random_images, rows_are_first
from support.oracle import SANITIZED

import pyflowdata as flow

SIZES = [
    (1, 1), (1, 2), (2, 1), (1, 37), (41, 1), (2, 2), (3, 5), (5, 3), (4, 4), (7, 8), (8, 7),
    (16, 16), (17, 33), (31, 64), (64, 31), (100, 75), (75, 100), (99, 2), (3, 160), (120, 121),
    (224, 3), (57, 224),
]  # fmt: skip
OUT_SIZES = [(1, 1), (1, 5), (2, 2), (3, 1), (7, 9), (8, 8), (16, 30), (33, 17), (64, 64), (5, 90)]

@pytest.mark.parametrize("interpolation", PILLOW)
def test_equals_pillow(interpolation):
    for channels in (None, 2, 3, 4):
        rows = random_images(SIZES[::3] if SANITIZED else SIZES, channels, seed=channels or 1)
        blob, out_sizes = image_blob(rows), OUT_SIZES if channels == 3 else OUT_SIZES[::3]
        made = [flow.Resize(blob, size=one, interpolation=interpolation) for one in out_sizes]
        for out, out_size, found in zip(made, out_sizes, load(*made), strict=True):
            assert out.shape == (len(rows), *out_size, *rows[0].shape[2:])
            same(found, np.stack([pillow(row, out_size, interpolation) for row in rows]))


# ---- Sums over pixels ----------------------------------------------------------------------------


def linear(size, out_size):
    """Weights of the two nearest pixels, (out_size, size)."""
    place = np.clip((np.arange(out_size) + 0.5) * size / out_size - 0.5, 0, size - 1)
    return np.maximum(0, 1 - np.abs(place[:, None] - np.arange(size)))


def cover(size, out_size):
    """Which fraction of each pixel an output pixel covers."""
    edges = np.arange(out_size + 1) * size / out_size
    pixels = np.arange(size)
    covered = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.maximum(0, covered) * out_size / size


def cubic(size, out_size, a=-0.75):
    """Weights of the four nearest pixels; beyond the edge is the one at the edge."""
    out = np.zeros((out_size, size))
    for i in range(out_size):
        place = (i + 0.5) * size / out_size - 0.5
        for pixel in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
            x = abs(pixel - place)
            near, far = (a + 2) * x**3 - (a + 3) * x**2 + 1, a * (x**3 - 5 * x**2 + 8 * x - 4)
            out[i, min(max(pixel, 0), size - 1)] += near if x < 1 else far
    return out


def to_bytes(numbers):
    return np.clip(np.floor(numbers + 0.5), 0, 255)


def summed(image, out_size, weights, round_between):
    """Rows and columns summed up, and rounded after each where `round_between` says so."""
    by_row, by_column = (weights(n, m) for n, m in zip(image.shape, out_size, strict=False))
    numbers = image.astype(np.float64)
    steps = [(1, by_column), (0, by_row)]
    if rows_are_first(image.shape, out_size):
        steps.reverse()
    for axis, by in steps:
        numbers = np.moveaxis(np.tensordot(by, numbers, (1, axis)), 0, axis)
        if round_between:
            numbers = to_bytes(numbers)
    return numbers


@pytest.mark.parametrize("attrs, weights, round_between, bound", [
    # Weights and sums are rounded by less than 0.02, the result by 0.5.
    ({"interpolation": "bilinear", "antialias": False}, linear, False, 0.52),
    # Two sums of which each may be just beside a half.
    ({"interpolation": "area"}, cover, True, 1),
    ({"interpolation": "bicubic", "antialias": False}, cubic, True, 2),
], ids=["bilinear", "area", "bicubic"])  # fmt: skip
def test_equals_sums_in_numpy(attrs, weights, round_between, bound):
    differences = []
    for channels in (None, 2, 3, 4):
        rows = random_images(SIZES, channels, seed=channels or 1)
        blob, out_sizes = image_blob(rows), OUT_SIZES if channels == 3 else OUT_SIZES[1::3]
        made = [flow.Resize(blob, size=one, **attrs) for one in out_sizes]
        for out_size, found in zip(out_sizes, load(*made), strict=True):
            for row, image in zip(rows, found, strict=True):
                exact = summed(row, out_size, weights, round_between)
                differences.append(np.abs(exact - image).ravel())
    worst = np.concatenate(differences)
    assert worst.max() <= bound
    if round_between:
        assert (worst > 0).mean() < 1e-2


def test_exact_averages():
    """Twice and three times smaller, area is the mean of blocks, rounded in each direction."""
    image = random_images([(12, 18)])[0]
    out = load(flow.Resize(blob_of(image[None]), size=(4, 9), interpolation="area"))[0]
    columns = to_bytes(image.reshape(12, 9, 2, 3).mean(2))
    np.testing.assert_array_equal(out, to_bytes(columns.reshape(4, 3, 9, 3).mean(1)))


# ---- Sizes ---------------------------------------------------------------------------------------


def torchvision_size(size, shorter, most):
    """What Resize(shorter, max_size=most) makes."""
    low, high = min(size), max(size)
    new_low, new_high = shorter, int(shorter * high / low)
    if most and new_high > most:
        new_low, new_high = int(most * new_low / new_high), most
    new_low = max(new_low, 1)
    return (new_low, new_high) if size[0] < size[1] else (new_high, new_low)


def test_the_aspect_ratio_is_kept():
    rows = random_images([size for size in SIZES if max(size) < 30 * min(size)])
    for shorter, longer in [(10, 0), (33, 40), (7, 7), (1, 0), (50, 51)]:
        out = flow.Resize(image_blob(rows), shorter=shorter, longer=longer)
        assert out.shape == (len(rows), None, None, 3)
        found = load(out)
        sizes = [torchvision_size(row.shape[:2], shorter, longer) for row in rows]
        assert [image.shape[:2] for image in found] == sizes
        same(found, [pillow(row, size, "bilinear") for row, size in zip(rows, sizes, strict=True)])
    longer = load(flow.Resize(image_blob(rows), longer=20, interpolation="nearest"))
    for row, image in zip(rows, longer, strict=True):
        low, high = min(row.shape[:2]), max(row.shape[:2])
        assert sorted(image.shape[:2]) == [max(1, low * 20 // high), 20]


def test_dense_images_stay_dense():
    rows = np.stack(random_images([(6, 9)] * 5))
    out = flow.Resize(blob_of(rows), shorter=4)
    assert out.shape == (5, 4, 6, 3)
    same(load(out), np.stack([pillow(row, (4, 6), "bilinear") for row in rows]))
    same(load(flow.Resize(blob_of(rows), size=(6, 9))), rows)


def test_images_without_pixels():
    rows = random_images([(3, 3), (0, 4), (5, 5), (4, 0)])
    with pytest.raises(flow.CorruptDataError, match=r"the image is 0 x 4 \(height x width\)"
                       ) as caught:  # fmt: skip
        load(flow.Resize(image_blob(rows), size=(2, 2)))
    assert caught.value.ordinal == 1
    assert load(flow.Resize(image_blob(rows, on_error="skip"), size=(2, 2))).shape == (2, 2, 2, 3)


def test_an_image_that_would_become_huge():
    rows = random_images([(1, 300), (2, 2)])
    with pytest.raises(flow.CorruptDataError, match="would become 224 x 67200.*at most 65535"):
        load(flow.Resize(image_blob(rows), shorter=224))


def test_what_is_refused():
    blob = image_blob(random_images([(3, 3)]))
    for attrs, found in [
        ({}, r"no size is given: set size=\(height, width\), or shorter"),
        ({"size": (3, 4), "longer": 5}, "size is given, and so is longer"),
        ({"size": [3]}, r"size=\(3, 3\), or shorter=3 to keep the aspect ratio"),
        ({"size": 3}, r"must be a .*, \(height, width\): use \[3, 3\], or shorter=3 of Resize"),
        ({"size": [3, 4, 5]}, r"attr 'size' has 3 numbers; it must be \(height, width\)"),
        ({"size": (3, 0)}, r"must be in \[1, 65535\]"),
        ({"shorter": 5, "longer": 4}, "attr 'longer' = 4 is less than shorter = 5"),
        ({"size": (3, 4), "interpolation": "lanczos", "antialias": False}, "attr 'antialias'"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            flow.Resize(blob, **attrs)
    for shape, dtype in [((5, 6, 3), "int16"), ((5, 6, 5), "uint8"), ((5,), "uint8")]:
        with pytest.raises(flow.InvalidArgumentError, match="must be images|images must be of"):
            flow.Resize(blob_of(np.zeros((4, *shape), dtype)), size=(2, 2))
