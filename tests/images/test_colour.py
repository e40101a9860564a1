"""Changes of colour: against Pillow, and torchvision's rules in NumPy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from support.decoder_rows import blob_of, load, same
from support.draws import seeded

import pyflowdata as flow

CHANCE = np.random.default_rng(0)


def pictures(channels=3):
    """Noise of many sizes, soft colours, few values, one value."""
    sizes = [(1, 1), (1, 5), (2, 2), (3, 3), (3, 1), (7, 33), (19, 3), (31, 40), (64, 5)]
    out = [CHANCE.integers(0, 256, (*size, channels), np.uint8) for size in sizes]
    y, x = np.mgrid[:40, :50]
    soft = np.stack([x * 5 % 256, y * 6 % 256, (x + y) * 2 % 256], 2)[..., :channels]
    out += [soft.astype(np.uint8), (soft // 50 * 9 + 20).astype(np.uint8)]
    out += [np.full((6, 7, channels), value, np.uint8) for value in (0, 200)]
    return out


def every_colour(step=5):
    """An image of RGB values all over the cube, the corners too."""
    values = np.unique(np.r_[0 : 256 : step, 255]).astype(np.uint8)
    return np.stack(np.meshgrid(values, values, values), -1).reshape(len(values), -1, 3)


def by_pillow(function, rows):
    out = []
    for row in rows:
        image = Image.fromarray(row[..., 0] if row.shape[2] == 1 else row)
        out.append(np.asarray(function(image)).reshape(row.shape))
    return out


def check(op, function, channels=(1, 3), more=(), **attrs):
    """The op gives what a function of Pillow gives, bit for bit."""
    for count in channels:
        rows = [*pictures(count), *(more if count == 3 else ())]
        found = load(getattr(flow, op)(blob_of(rows, [-1, -1, count]), **attrs))
        same(found, by_pillow(function, rows))


def test_tables():
    check("Invert", ImageOps.invert)
    check("Equalize", ImageOps.equalize)
    check("AutoContrast", ImageOps.autocontrast)
    for threshold in (0, 1, 128, 200.5, 256):
        check("Solarize", lambda image, at=threshold: ImageOps.solarize(image, at),
              threshold=threshold)  # fmt: skip
    for bits in range(1, 9):
        check("Posterize", lambda image, n=bits: ImageOps.posterize(image, n), bits=bits)
    assert not load(flow.Posterize(blob_of(pictures()[5][None]), bits=0)).any()


def test_grey():
    for channels, more in ((3, [every_colour()]), (1, ())):
        rows = [*pictures(channels), *more]
        blob = blob_of(rows, [-1, -1, channels])
        greys = [grey[..., None] for grey in
                 (np.asarray(Image.fromarray(row.squeeze(2) if channels == 1 else row).convert("L"))
                  for row in rows)]  # fmt: skip
        same(load(flow.Grayscale(blob)), greys)
        same(load(flow.Grayscale(blob, channels=3)), [grey.repeat(3, 2) for grey in greys])
    assert flow.Grayscale(blob_of(np.zeros((2, 5, 6), np.uint8)), channels=3).shape == (2, 5, 6, 3)


FACTORS = [0, 0.3, 0.5, 0.999, 1, 1.001, 1.7, 2, 9.3]


@pytest.mark.parametrize("factor", FACTORS)
def test_factors(factor):
    for attr, enhancer in [
        ("brightness", ImageEnhance.Brightness),
        ("contrast", ImageEnhance.Contrast),
        ("saturation", ImageEnhance.Color),
    ]:
        check("ColorJitter", lambda image, by=enhancer: by(image).enhance(factor),
              more=[every_colour(15)], **{attr: [factor, factor]})  # fmt: skip
    check("AdjustSharpness", lambda image: ImageEnhance.Sharpness(image).enhance(factor),
          more=[every_colour(15)], factor=factor)  # fmt: skip


def turned(image, turn):
    """adjust_hue() of torchvision."""
    if image.mode == "L":
        return image
    hue, saturation, value = image.convert("HSV").split()
    numbers = np.array(hue, np.uint8)
    numbers += np.int32(turn * 255).astype(np.uint8)
    hue = Image.fromarray(numbers)
    return Image.merge("HSV", (hue, saturation, value)).convert("RGB")


def test_hue():
    for turn in (-0.5, -0.21, -1e-9, 0.003, 0.1, 0.3333, 0.5):
        check("ColorJitter", lambda image, by=turn: turned(image, by),
              more=[every_colour(7)], hue=[turn, turn])  # fmt: skip


def jittered(row, order, amounts):
    image = Image.fromarray(row)
    for change in order:
        amount = amounts[change]
        if change == 3:
            image = turned(image, amount)
        else:
            enhancer = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color)[change]
            image = enhancer(image).enhance(amount)
    return np.asarray(image)


def test_the_order_of_changes_is_random():
    """Each result is that of one of the 24 orders; all of them occur, about equally often."""
    count, amounts = 480, (1.3, 0.6, 1.8, 0.2)
    row = every_colour(60)
    rows = np.stack([row] * count)
    names = ("brightness", "contrast", "saturation", "hue")
    attrs = {name: [amount] * 2 for name, amount in zip(names, amounts, strict=True)}
    found = load(flow.ColorJitter(seeded(rows), **attrs))
    orders = {jittered(row, order, amounts).tobytes() for order in itertools.permutations(range(4))}
    times = {}
    for image in found:
        times[image.tobytes()] = times.get(image.tobytes(), 0) + 1
    assert len(orders) == 24 and times.keys() == orders
    assert all(5 <= value <= 45 for value in times.values())


def test_amounts_are_uniform_in_their_ranges():
    white = np.full((2000, 1, 1, 3), 100, np.uint8)
    for given, low, high in [(0.4, 60, 140), ([0.2, 0.5], 20, 50), (1.5, 0, 250)]:
        found = load(flow.ColorJitter(seeded(white), brightness=given))[:, 0, 0, 0].astype(int)
        assert low <= found.min() < low + 3 and high - 3 < found.max() <= high
        assert abs(found.mean() - (low + high) / 2) < 0.03 * (high - low) + 0.5


def gaussian(row, kernel, sigma):
    """By float64: torchvision's kernel and border, first along columns."""
    out = row.astype(np.float64)
    for axis, size in enumerate(kernel):
        distance = np.arange(size) - size // 2
        weights = np.exp(-0.5 * (distance / sigma) ** 2)
        weights /= weights.sum()
        pad = [(size // 2, size // 2) if one == axis else (0, 0) for one in range(3)]
        wide = np.pad(out, pad, mode="reflect")
        out = sum(
            weight * np.take(wide, range(k, k + out.shape[axis]), axis)
            for k, weight in enumerate(weights)
        )
    return out


def test_blur():
    for channels in (1, 2, 3, 4):
        sizes = [(9, 12), (30, 5), (1, 40), (2, 3), (1, 1), (5, 300)]
        rows = [CHANCE.integers(0, 256, (*size, channels), np.uint8) for size in sizes]
        rows.append(np.full((20, 20, channels), 255, np.uint8))
        blob = blob_of(rows, [-1, -1, channels])
        for kernel, sigma in [((3, 3), 0.5), ((23, 23), 2.0), ((1, 7), 1e-3), ((9, 1), 900.0)]:
            found = load(flow.GaussianBlur(blob, kernel_size=kernel, sigma=[sigma]))
            for one, row in zip(found, rows, strict=True):
                error = np.abs(one - gaussian(row, kernel, sigma))
                assert error.max() < 0.5 + 0.02 and one.shape == row.shape
        same(load(flow.GaussianBlur(blob, kernel_size=[1])), rows)


def test_sigma_is_drawn_from_its_range():
    dot = np.zeros((500, 1, 31, 1), np.uint8)
    dot[:, :, 15] = 255
    top = load(flow.GaussianBlur(seeded(dot), kernel_size=[31], sigma=[0.5, 3]))[:, 0, 15, 0]
    sigmas = 255 / np.maximum(top, 1) / np.sqrt(2 * np.pi)  # where they are not small
    assert top.max() > 190 and top.min() < 36
    assert abs(np.median(sigmas) - 1.75) < 0.2


@pytest.mark.slow
def test_probability():
    rows = np.stack([CHANCE.integers(9, 200, (20, 21, 3), np.uint8)] * 400)
    blob = seeded(rows)
    for op, attrs in [
        ("Invert", {}), ("Solarize", {}), ("Posterize", {"bits": 2}), ("Equalize", {}),
        ("AutoContrast", {}), ("AdjustSharpness", {"factor": 3}), ("Grayscale", {"channels": 3}),
        ("ColorJitter", {"brightness": [0.5, 0.5]}),
        ("GaussianBlur", {"kernel_size": [3], "sigma": 2}),
    ]:  # fmt: skip
        always = load(getattr(flow, op)(blob, **attrs))
        assert (always == always[0]).all() and (always[0] != rows[0]).any(), op
        found = load(getattr(flow, op)(blob, probability=0.3, **attrs))
        changed = (found != rows).any((1, 2, 3))
        same(found, np.where(changed[:, None, None, None], always, rows))
        assert 0.2 < changed.mean() < 0.4, op
        same(load(getattr(flow, op)(blob, probability=0, **attrs)), rows)


def test_two_random_changes_differ():
    ragged = [CHANCE.integers(0, 256, (n % 5 + 2, 6, 3), np.uint8) for n in range(40)]
    twice = flow.ColorJitter(flow.ColorJitter(seeded(ragged, [-1, -1, 3]), hue=0.1), hue=0.1)
    once = flow.ColorJitter(seeded(ragged, [-1, -1, 3]), hue=0.2)
    assert any((one != other).any() for one, other in zip(load(twice), load(once), strict=True))


def test_what_is_refused():
    blob = blob_of(np.zeros((2, 4, 5, 3), np.uint8))
    for op, attrs, found in [
        ("ColorJitter", {"hue": 0.6}, "attr 'hue' gives the range -0.6 to 0.6"),
        ("ColorJitter", {"brightness": -0.1}, "attr 'brightness' gives the range"),
        ("ColorJitter", {"contrast": [2, 1]}, "attr 'contrast' gives the range 2 to 1"),
        ("ColorJitter", {"saturation": [1, 2, 3]}, "one number, or minimum and maximum"),
        ("GaussianBlur", {"kernel_size": [4]}, "has the number 4; it must be odd"),
        ("GaussianBlur", {"kernel_size": [3, 3, 3]}, "height and width"),
        ("GaussianBlur", {"kernel_size": [3], "sigma": [2, 1]}, "minimum and maximum"),
        ("GaussianBlur", {"kernel_size": [3], "sigma": 0}, "sigma"),
        ("Posterize", {"bits": 9}, r"in \[0, 8\]"),
        ("Grayscale", {"channels": 2}, "must be 1 or 3"),
        ("Grayscale", {"probability": 0.5}, "set channels to those of the input"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            getattr(flow, op)(blob, **attrs)
    with pytest.raises(flow.InvalidArgumentError, match="1 or 3 channels, grey or RGB"):
        flow.Invert(blob_of(np.zeros((2, 4, 5, 4), np.uint8)))
