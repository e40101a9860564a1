"""Random ops of images: rates, models in NumPy and Pillow, the same draws for a record."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps
from support.decoder_rows import load
from support.draws import seeded

import pyflowdata as flow

CHANCE = np.random.default_rng(0)
PICTURES = CHANCE.integers(0, 256, (40, 8, 9, 3), np.uint8)


def test_coin_flips():
    count = 2000
    rows = np.arange(count)
    for probability in (0.0, 0.2, 0.5, 1.0):
        flips = load(flow.CoinFlip(seeded(rows, batch_size=64), probability=probability))
        assert flips.dtype == np.int8 and set(flips.tolist()) <= {0, 1}
        assert abs(flips.mean() - probability) < 4 * np.sqrt(0.25 / count)
    blob = seeded(rows)
    first, second = load(flow.CoinFlip(blob), flow.CoinFlip(blob))
    assert 0.4 < (first == second).mean() < 0.6  # independent
    with pytest.raises(flow.InvalidArgumentError, match="probability"):
        flow.CoinFlip(blob, probability=1.1)


def test_coin_flips_without_an_input():
    """OneFlow's, with the batch_size of the readers."""
    build = flow.user_op_builder("coin").Op("coin_flip").Output("out").Attr("batch_size", 16)
    coin = build.Attr("probability", 0.5).Build().SoleOutputBlob()
    assert (coin.shape, coin.dtype) == ((16,), np.int8)
    reader = seeded(PICTURES, batch_size=16)
    flips, images = load(coin, flow.CropMirrorNormalize(reader, coin, output_layout="NHWC"))
    assert len(flips) == len(PICTURES) and {*flips} == {0, 1}
    mirrored = np.where(flips[:, None, None, None], PICTURES[:, :, ::-1], PICTURES)
    assert (images == mirrored).all()
    same, _ = load(flow.CoinFlip(reader, name="coin"), reader)
    assert (same == flips).all()  # the records are those of the reader
    assert pickle.loads(pickle.dumps(coin)).shape == (16,)
    for make, found in [
        (flow.CoinFlip, "input 'in' is missing; without it, give batch_size"),
        (lambda: flow.CoinFlip(reader, batch_size=8), "= 8, and input 'in' comes in batches of 16"),
        (lambda: flow.DataLoader(flow.CoinFlip(batch_size=8), reader), "has batch_size = 8, read"),
        (lambda: flow.DataLoader(coin), "no blob comes from a reader"),
    ]:
        with pytest.raises(flow.Error, match=found):
            make()


# ---- RandAugment and TrivialAugment -------------------------------------------------------------

NAMES = (
    "identity shear_x shear_y translate_x translate_y rotate brightness color contrast sharpness "
    "posterize solarize autocontrast equalize"
).split()
SIGNED = NAMES[1:10]


def rand_augment_strengths(bins, height, width):
    """The tables of torchvision, without signs."""
    return {
        "shear_x": np.linspace(0, 0.3, bins), "shear_y": np.linspace(0, 0.3, bins),
        "translate_x": np.linspace(0, 150 / 331 * width, bins),
        "translate_y": np.linspace(0, 150 / 331 * height, bins),
        "rotate": np.linspace(0, 30, bins),
        **{name: np.linspace(0, 0.9, bins) for name in NAMES[6:10]},
        "posterize": 8 - np.round(np.arange(bins) / ((bins - 1) / 4)),
        "solarize": np.linspace(255, 0, bins),
    }  # fmt: skip


def trivial_augment_strengths(bins):
    return {
        "shear_x": np.linspace(0, 0.99, bins), "shear_y": np.linspace(0, 0.99, bins),
        "translate_x": np.linspace(0, 32, bins), "translate_y": np.linspace(0, 32, bins),
        "rotate": np.linspace(0, 135, bins),
        **{name: np.linspace(0, 0.99, bins) for name in NAMES[6:10]},
        "posterize": 8 - np.round(np.arange(bins) / ((bins - 1) / 6)),
        "solarize": np.linspace(255, 0, bins),
    }  # fmt: skip


def augmented(row, name, strength, fill=0):
    """_apply_op() of torchvision, by Pillow."""
    image = Image.fromarray(row)
    places = {
        "shear_x": (1, strength, 0, 0, 1, 0), "shear_y": (1, 0, 0, strength, 1, 0),
        "translate_x": (1, 0, -int(strength), 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, -int(strength)),
    }  # fmt: skip
    if name in places:
        image = image.transform(image.size, Image.Transform.AFFINE, places[name],
                                Image.Resampling.NEAREST, fillcolor=fill)  # fmt: skip
    elif name == "rotate":
        image = image.rotate(strength, Image.Resampling.NEAREST, fillcolor=fill)
    elif name in ("brightness", "color", "contrast", "sharpness"):
        enhancer = getattr(ImageEnhance, name.capitalize())
        image = enhancer(image).enhance(1 + strength)
    elif name == "posterize":
        image = ImageOps.posterize(image, int(strength))
    elif name == "solarize":
        image = ImageOps.solarize(image, strength)
    elif name != "identity":
        image = getattr(ImageOps, name)(image)
    return np.asarray(image)


def outcomes(row, strengths, bins, fill=0):
    """What a change of these strengths can make of an image, by name, bin and sign."""
    out = {}
    for name in NAMES:
        for at in bins:
            for sign in (1, -1) if name in SIGNED else (1,):
                strength = sign * strengths[name][at] if name in strengths else 0
                out[name, at if name in strengths else 0, sign] = augmented(
                    row, name, strength, fill
                )
    return out


def recognized(image, out):
    """Which of these images it is; a few pixels of a warped image may be their neighbours."""
    for key, other in out.items():
        if np.array_equal(image, other):
            return key
    warps = {key: other for key, other in out.items() if key[0].startswith(("shear", "rotate"))}
    wrong = (np.stack([*warps.values()]) != image).any(3).mean((1, 2))
    assert wrong.min() <= 0.01, wrong.min()
    return [*warps][wrong.argmin()]


def picture(height=40, width=66):
    soft = np.mgrid[:height, :width].sum(0)[..., None] + CHANCE.integers(0, 99, (height, width, 3))
    return (soft + 5).astype(np.uint8)


@pytest.mark.parametrize("magnitude, bins, fill", [(9, 31, 0), (10, 11, 77)])
def test_one_change_of_rand_augment(magnitude, bins, fill):
    row = picture()
    out = outcomes(row, rand_augment_strengths(bins, *row.shape[:2]), [magnitude], (fill,) * 3)
    found = load(flow.RandAugment(seeded(np.stack([row] * 600)), num_ops=1, magnitude=magnitude,
                                  num_magnitude_bins=bins, fill=fill))  # fmt: skip
    keys = [recognized(image, out) for image in found]
    for name in NAMES:
        signs = [sign for other, _, sign in keys if other == name]
        assert 20 < len(signs) < 75, name  # of 600 / 14
        assert name not in SIGNED or 0.2 < np.mean(np.array(signs) > 0) < 0.8


@pytest.mark.slow
def test_changes_of_rand_augment_follow_each_other():
    row = picture(20, 21)
    strengths = rand_augment_strengths(31, 20, 21)
    first = outcomes(row, strengths, [15])
    both = {}
    for key, image in first.items():
        for other, out in outcomes(image, strengths, [15]).items():
            both[f"{key[0]} {other[0]}", 0, (key[2], other[2])] = out
    found = load(flow.RandAugment(seeded(np.stack([row] * 50)), num_ops=2, magnitude=15))
    expected = np.stack([*both.values()])
    for image in found:
        assert (image != expected).any(3).mean((1, 2)).min() < 0.02
    none = flow.RandAugment(seeded(row[None]), num_ops=0)
    assert (load(none)[0] == row).all()


@pytest.mark.slow
def test_trivial_augment():
    row = picture(25, 31)
    out = outcomes(row, trivial_augment_strengths(31), range(31))
    found = load(flow.TrivialAugment(seeded(np.stack([row] * 250))))
    keys = [recognized(image, out) for image in found]
    assert {name for name, _, _ in keys} == set(NAMES)
    assert len({at for _, at, _ in keys}) > 25
    grey = load(flow.TrivialAugment(seeded(row[None, ..., :1]), interpolation="bilinear"))
    assert grey.shape == (1, 25, 31, 1)


def test_what_augmentations_refuse():
    blob = seeded(PICTURES)
    for op, attrs, found in [
        (flow.RandAugment, {"magnitude": 31}, r"magnitude' = 31; with num_magnitude_bins = 31"),
        (flow.RandAugment, {"fill": [1, 2]}, "'fill'"),
        (flow.TrivialAugment, {"num_magnitude_bins": 1}, "num_magnitude_bins"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            op(blob, **attrs)


# ---- RandomErasing ------------------------------------------------------------------------------


def erased_parts(found, rows):
    """Top, left, height and width of what differs, for each image; None where nothing does."""
    out = []
    for image, row in zip(found, rows, strict=True):
        changed = (image != row).any(0)
        if not changed.any():
            out.append(None)
            continue
        ys, xs = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        part = (ys[0], xs[0], len(ys), len(xs))
        assert changed[ys[0] : ys[-1] + 1, xs[0] : xs[-1] + 1].all()  # a rectangle, all of it
        out.append(part)
    return out


@pytest.mark.slow
def test_random_erasing():
    count, height, width = 700, 32, 48
    rows = np.full((count, 3, height, width), 7, np.float32)
    found = load(flow.RandomErasing(seeded(rows, batch_size=100), fill=[1, 2, 3]))
    parts = erased_parts(found, rows)
    kept = [part for part in parts if part is not None]
    assert 0.45 < len(kept) / count < 0.55
    areas = np.array([part[2] * part[3] / (height * width) for part in kept])
    ratios = np.log([part[3] / part[2] for part in kept])
    assert 0.015 < areas.min() < 0.03 and 0.3 < areas.max() < 0.34
    assert abs(areas.mean() - 0.175) < 0.02 and abs(ratios.mean()) < 0.1
    assert np.log(0.3) - 0.2 < ratios.min() < -1 and 1 < ratios.max() < np.log(3.3) + 0.2
    for axis, side in ((0, height), (1, width)):  # at the edges too, and everywhere alike
        room = np.array([part[axis] / (side - part[axis + 2]) for part in kept])
        assert room.min() == 0 and room.max() == 1 and abs(room.mean() - 0.5) < 0.05
    for image, part in zip(found, parts, strict=True):
        if part is not None:
            assert image[:, part[0], part[1]].tolist() == [1, 2, 3]


def test_erasing_is_the_same_in_both_layouts_and_dtypes():
    rows = CHANCE.integers(0, 200, (60, 3, 9, 14), np.uint8)
    attrs = {"probability": 0.8, "fill": [201, 202, 203]}
    planes = load(flow.RandomErasing(seeded(rows), **attrs))
    pixels = np.ascontiguousarray(rows.transpose(0, 2, 3, 1))
    found = load(flow.RandomErasing(seeded(pixels), layout="HWC", **attrs))
    assert (found == planes.transpose(0, 2, 3, 1)).all() and (planes != rows).any()
    halves = load(flow.RandomErasing(seeded(rows.astype(np.float16)), **attrs))
    assert halves.dtype == np.float16 and (halves == planes).all()


def test_erasing_of_any_aspect_ratio():
    """No window fits: the image stays."""
    rows = CHANCE.integers(0, 200, (60, 3, 9, 14), np.uint8)
    for ratio in (5e-324, 1e-300, 1e-40, 1e6):
        attrs = {"aspect_ratio": [ratio, ratio], "area": [1, 1], "probability": 1}
        assert (load(flow.RandomErasing(seeded(rows), fill=[255], **attrs)) == rows).all()


def test_noise():
    rows = np.full((200, 1, 30, 30), 300, np.float32)
    found = load(flow.RandomErasing(seeded(rows), noise=True, probability=1))
    noise = found[found != 300]
    assert abs(noise.mean()) < 0.02 and abs(noise.std() - 1) < 0.02
    assert abs((noise**4).mean() - 3) < 0.2 and len(np.unique(noise)) > 0.99 * len(noise)
    rows = np.zeros((200, 30, 30, 2), np.uint8)
    found = load(flow.RandomErasing(seeded(rows), noise=True, probability=1, layout="HWC"))
    times = np.bincount(found.ravel(), minlength=256)[1:]
    assert times.min() > 0.75 * times.mean() and times.max() < 1.25 * times.mean()


def test_what_erasing_refuses():
    blob = seeded(np.zeros((2, 9, 8, 3), np.uint8))
    for attrs, found in [
        ({}, "images of bytes have layout='HWC'"),
        ({"layout": "HWC", "area": [0.5, 0.1]}, "'area'"),
        ({"layout": "HWC", "fill": [1, 2]}, "'fill' has 2 numbers"),
        ({"layout": "HWC", "fill": 256}, "uint8, which holds 0 to 255"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            flow.RandomErasing(blob, **attrs)
    with pytest.raises(flow.InvalidArgumentError, match="uint8, float16, bfloat16 or float32"):
        flow.RandomErasing(seeded(np.zeros((2, 3, 9, 8), np.int32)))
    tiny = np.zeros((4, 3, 1, 1), np.uint8)  # no rectangle is smaller
    assert (load(flow.RandomErasing(seeded(tiny), probability=1, fill=9)) == 0).all()
