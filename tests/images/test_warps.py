"""Rotations and affine warps: against Pillow, with torchvision's matrices."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PIL import Image
from support.decoder_rows import blob_of, load, same
from support.draws import Draws
from support.image_rows import by_channel, image_blob, random_images
from support.oracle import SANITIZED

import pyflowdata as flow

SIZES = [(1, 1), (1, 9), (8, 1), (2, 2), (3, 5), (9, 6), (7, 11), (16, 16), (40, 23), (31, 64)]
PILLOW = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR}
FILL = [10, 200, 30, 40]
ANGLES = (0, 90, 180, -90, 13.7, -101.3, 271.9, 400.1)


def filled(image, change):
    """Each channel, with its own fill."""
    fills = iter(FILL)
    return by_channel(image, lambda plane: change(plane, next(fills)))


def close(found, expected, interpolation):
    """Within one grey level where Pillow cuts the fraction off; nearest pixels are the same."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape and found.dtype == np.uint8
    difference = found.astype(int) - expected
    if interpolation == "nearest":
        assert not difference.any()
    else:
        assert difference.min() >= 0 and difference.max() <= 1


@pytest.mark.parametrize("interpolation", PILLOW)
@pytest.mark.parametrize("expand", [False, True])
def test_rotate(interpolation, expand):
    angles = (0, 90, 13.7, 271.9) if SANITIZED else ANGLES
    for channels in (None, 1, 3, 4):
        rows = random_images(SIZES, channels)
        blob = image_blob(rows)
        turned = [flow.Rotate(blob, degrees=angle, expand=expand, interpolation=interpolation,
                              fill=FILL[: channels or 1]) for angle in angles]  # fmt: skip
        for angle, images in zip(angles, load(*turned), strict=True):
            for row, found in zip(rows, images, strict=True):
                close(found, filled(row, lambda plane, fill, angle=angle: plane.rotate(
                    angle, PILLOW[interpolation], expand=expand, fillcolor=fill
                )), interpolation)  # fmt: skip


def test_quarter_turns_are_exact():
    rows = random_images([(5, 5), (12, 12)])
    ways = [(interpolation, turns) for interpolation in PILLOW for turns in range(-3, 5)]
    blob = image_blob(rows)
    turned = [flow.Rotate(blob, degrees=90 * turns, interpolation=by) for by, turns in ways]
    for (_, turns), found in zip(ways, load(*turned), strict=True):
        same(found, [np.rot90(row, turns) for row in rows])
    tall = random_images([(5, 8), (2, 7)])
    out = load(flow.Rotate(image_blob(tall), degrees=90, expand=True))
    same(out, [np.rot90(row) for row in tall])


@pytest.mark.slow
def test_random_rotation():
    rows = random_images(SIZES)
    draws = Draws(5, "RandomRotation")
    for degrees, low, high in [([30], -30, 30), ([-170, 11.5], -170, 11.5), ([7, 7], 7, 7)]:
        for expand in (False, True):
            out = flow.RandomRotation(image_blob(rows, seed=5), degrees=degrees, expand=expand)
            images = load(out)
            assert (out.shape[1] is None) and images[0].dtype == np.uint8
            for i, (row, found) in enumerate(zip(rows, images, strict=True)):
                angle = draws.uniform(i, 0, low, high)
                turned = flow.Rotate(blob_of(row[None]), degrees=angle, expand=expand)
                same(found, load(turned)[0])


# ---- Affine --------------------------------------------------------------------------------------


def inverse_matrix(center, angle, translate, scale, shear):
    """torchvision's _get_inverse_affine_matrix(); all pairs are (x, y)."""
    rot, sx, sy = math.radians(angle), math.radians(shear[0]), math.radians(shear[1])
    turn = np.array([[math.cos(rot), -math.sin(rot)], [math.sin(rot), math.cos(rot)]])
    shears = np.array([[1, 0], [-math.tan(sy), 1]]) @ np.array([[1, -math.tan(sx)], [0, 1]])
    back = np.linalg.inv(scale * turn @ shears)
    offset = np.array(center) - back @ (np.array(center) + translate)
    return [*back[0], offset[0], *back[1], offset[1]]


@pytest.mark.parametrize("interpolation", PILLOW)
@pytest.mark.parametrize("attrs", [
    {"degrees": [40]},
    {"degrees": [0], "translate": [0.3, 0.6]},
    {"degrees": [-10, 90], "scale": [0.5, 2]},
    {"degrees": [0], "shear": [20]},
    {"degrees": [5], "shear": [-30, 10]},
    {"degrees": [170], "translate": [0.1, 0.2], "scale": [0.3, 0.9], "shear": [-30, 10, -5, 40]},
], ids=lambda value: "+".join(value) if isinstance(value, dict) else value)  # fmt: skip
def test_random_affine(attrs, interpolation):
    rows = random_images(SIZES * 4)
    draws = Draws(5, "RandomAffine")
    out = flow.RandomAffine(image_blob(rows, seed=5), interpolation=interpolation, fill=FILL[:3],
                            **attrs)  # fmt: skip

    def both(numbers):
        return numbers if len(numbers) == 2 else [-numbers[0], numbers[0]]

    degrees, scale = both(attrs["degrees"]), attrs.get("scale", [1, 1])
    down, right = attrs.get("translate", [0, 0])
    shear = attrs.get("shear", [0, 0])
    shear = [*both(shear[:2]), *shear[2:], 0, 0][:4]
    for i, (row, found) in enumerate(zip(rows, load(out), strict=True)):
        height, width = row.shape[:2]
        matrix = inverse_matrix(
            (width / 2, height / 2),
            draws.uniform(i, 0, *degrees),
            [round(draws.uniform(i, 2, -right * width, right * width)),
             round(draws.uniform(i, 1, -down * height, down * height))],
            draws.uniform(i, 3, *scale),
            [draws.uniform(i, 4, *shear[:2]), draws.uniform(i, 5, *shear[2:])],
        )  # fmt: skip
        expected = filled(row, lambda plane, fill, matrix=matrix: plane.transform(
            plane.size, Image.Transform.AFFINE, matrix, PILLOW[interpolation], fillcolor=fill
        ))  # fmt: skip
        close(found, expected, interpolation)


def test_ranges_are_used():
    """Moved by whole pixels, and each distance as likely."""
    image = np.zeros((9, 9), np.uint8)
    image[4, 4] = 255
    count = 3000
    rows = np.broadcast_to(image, (count, 9, 9))
    moved = load(flow.RandomAffine(blob_of(rows, seed=1), degrees=[0], translate=[0.2, 0.4]))
    places = np.argwhere(moved == 255)
    assert len(places) == count
    for axis, most in [(1, 1.8), (2, 3.6)]:
        inner = int(most + 0.5) - 1
        share = (np.abs(places[:, axis] - 4) <= inner).mean()
        expected = (2 * inner + 1) / (2 * most)
        assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / count)
        assert abs((places[:, axis] - 4).mean()) < 5 * most / np.sqrt(count)


def test_what_is_refused():
    blob = image_blob(random_images([(3, 3)]))
    for function, attrs, found in [
        (flow.RandomRotation, {"degrees": [1, 2, 3]}, "has 3 numbers; it must have one"),
        (flow.RandomRotation, {"degrees": [2, 1]}, "the lowest number comes first"),
        (flow.RandomAffine, {"degrees": [0], "shear": [1, 2, 3]}, "attr 'shear' has 3 numbers"),
        (flow.RandomAffine, {"degrees": [0], "translate": [1]}, r"\(of the height, of the width\)"),
        (flow.RandomAffine, {"degrees": [0], "scale": [2, 1]}, "attr 'scale' must be two numbers"),
        (flow.Rotate, {"degrees": 1, "fill": [1, 2]}, "one for each of the 3 channels"),
        (flow.Rotate, {"degrees": 1, "fill": [300]}, r"must be in \[0.0, 255.0\]"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            function(blob, **attrs)
    empty = image_blob(random_images([(3, 3), (0, 3)]))
    for made in (flow.Rotate(empty, degrees=1), flow.RandomRotation(empty, degrees=[1]),
                 flow.RandomAffine(empty, degrees=[1])):  # fmt: skip
        with pytest.raises(flow.CorruptDataError, match=r"0 x 3 \(height x width\): it has no"):
            load(made)
    with pytest.raises(flow.InvalidArgumentError, match="images must be of uint8"):
        flow.Rotate(blob_of(np.zeros((1, 3, 3), np.float32)), degrees=1)
