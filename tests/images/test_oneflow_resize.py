"""OneFlow's ops that resize: sizes by its rules, (height, width) first, pixels as sums in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from images.test_resize import SIZES, cover, cubic, linear, summed
from support.decoder_rows import blob_of, load, same
from support.image_rows import image_blob, pillow, random_images

import pyflowdata as flow

WEIGHTS = {"bilinear": (linear, 0.52), "area": (cover, 1), "bicubic": (cubic, 2)}


def kind_of(interpolation, size, out_size):
    if interpolation == "auto":
        return "bilinear" if np.prod(out_size) >= np.prod(size) else "area"
    return interpolation


def check_pixels(row, found, interpolation="bilinear"):
    out_size = found.shape[:2]
    if interpolation in ("nn", "nearest_neighbor"):
        same(found, pillow(row, out_size, "nearest"))
        return
    weights, bound = WEIGHTS[kind_of(interpolation, row.shape[:2], out_size)]
    exact = summed(row, out_size, weights, weights is not linear)
    assert np.abs(exact - found).max() <= bound


def scales(size, out_size):
    return [np.float32(n) / np.float32(m) for n, m in zip(out_size, size, strict=True)]


@pytest.mark.parametrize("interpolation", [
    "bilinear", "nearest_neighbor", "nn", "bicubic", "area", "auto"
])  # fmt: skip
def test_resize_to_fixed(interpolation):
    for channels, out_size in [(3, (20, 30)), (1, (7, 5))]:
        rows = random_images(SIZES, channels)
        attrs = {"target_width": out_size[1], "target_height": out_size[0], "channels": channels}
        blobs = flow.ImageResizeToFixed(image_blob(rows), interpolation_type=interpolation, **attrs)
        assert [blob.shape[1:] for blob in blobs] == [(*out_size, channels), (2,)]
        found, scale = load(*blobs)
        for row, image, both in zip(rows, found, scale, strict=True):
            check_pixels(row, image, interpolation)
            assert both.tolist() == scales(row.shape[:2], out_size)
        floats = flow.ImageResizeToFixed(image_blob(rows), interpolation_type=interpolation,
                                         data_type="float32", **attrs)  # fmt: skip
        same(load(floats[0]), found.astype(np.float32))


def kept(size, target, low=0, high=0, longer=False):
    """OneFlow's size, (height, width)."""
    ratio = min(size) / max(size)
    short, long = round(target * ratio), target
    if longer and short < low:
        short, long = low, round(low / ratio)
    if not longer:
        short, long = target, round(target / ratio)
        if high and long > high:
            short, long = round(high * ratio), high
    short, long = max(short, 1), max(long, 1)
    return (long, short) if size[1] < size[0] else (short, long)


@pytest.mark.parametrize("target, attrs", [
    (20, {}), (33, {"max_size": 40}), (16, {"resize_longer": True}),
    (30, {"resize_longer": True, "min_size": 12}),
], ids=str)  # fmt: skip
def test_resize_keep_aspect_ratio(target, attrs):
    rows = random_images([size for size in SIZES if max(size) < 40 * min(size)])
    blobs = flow.ImageResizeKeepAspectRatio(image_blob(rows), target_size=target,
                                            interpolation_type="auto", **attrs)  # fmt: skip
    out, size, scale = load(*blobs)
    assert size.dtype == np.int32 and scale.dtype == np.float32
    for row, image, both, by in zip(rows, out, size, scale, strict=True):
        expected = kept(row.shape[:2], target, attrs.get("min_size", 0), attrs.get("max_size", 0),
                        attrs.get("resize_longer", False))  # fmt: skip
        assert image.shape[:2] == expected and both.tolist() == list(expected)
        assert by.tolist() == scales(row.shape[:2], expected)
        check_pixels(row, image, "auto")


def test_target_resize():
    rows = random_images([size for size in SIZES if max(size) < 40 * min(size)], None)
    for target, most in [(20, 1000), (33, 40), (8, 8)]:
        blobs = flow.ImageTargetResize(image_blob(rows), target_size=target, max_size=most)
        out, size, scale = load(*blobs)
        for row, image, both, by in zip(rows, out, size, scale, strict=True):
            low, high = sorted(row.shape)
            short, long = target, round(high / low * target)
            if long > most:
                short, long = max(1, round(most * low / high)), most
            expected = (long, short) if row.shape[1] < row.shape[0] else (short, long)
            assert image.shape == expected and both.tolist() == list(expected)
            assert by.tolist() == scales(row.shape, expected)
            check_pixels(row, image)


def test_they_have_the_names_of_oneflow():
    rows = random_images([(8, 6), (5, 9)])
    builder = flow.user_op_builder("resize").Op("image_resize_to_fixed")
    builder = builder.Input("in", [image_blob(rows)]).Output("out").Output("scale")
    for name, value in [("target_width", 4), ("target_height", 3), ("channels", 3),
                        ("data_type", np.uint8), ("interpolation_type", "bilinear")]:  # fmt: skip
        builder = builder.Attr(name, value)
    blobs = builder.Build().InferAndTryRun().RemoteBlobList()
    assert load(*blobs)[0].shape == (2, 3, 4, 3)
    for name in ("image_resize_keep_aspect_ratio", "image_target_resize", "image_flip",
                 "image_random_crop"):  # fmt: skip
        assert flow.user_op_builder(name).Op(name)


def test_what_is_refused():
    blob = image_blob(random_images([(3, 3)]))
    fixed = {"target_width": 3, "target_height": 3}
    for function, attrs, found in [
        (flow.ImageResizeToFixed, {**fixed, "channels": 1}, "'channels' = 1; those of.*have 3"),
        (flow.ImageResizeToFixed, {"target_width": 3}, "target_height"),
        (flow.ImageResizeKeepAspectRatio, {"target_size": 5, "max_size": 4}, "less than target"),
        (flow.ImageResizeKeepAspectRatio, {"target_size": 5, "min_size": 6}, "more than target"),
        (flow.ImageTargetResize, {"target_size": 5, "max_size": 4}, "less than target_size = 5"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            function(blob, **attrs)
    empty = image_blob(random_images([(3, 3), (0, 3)]))
    for made in (flow.ImageResizeToFixed(empty, **fixed)[0],
                 flow.ImageResizeKeepAspectRatio(empty, target_size=4)[0],
                 flow.ImageTargetResize(empty, target_size=4, max_size=9)[0]):  # fmt: skip
        with pytest.raises(flow.CorruptDataError, match=r"0 x 3 \(height x width\): it has no"):
            load(made)
    dense = flow.ImageTargetResize(blob_of(np.zeros((2, 4, 6), np.uint8)), target_size=2,
                                   max_size=9)  # fmt: skip
    assert dense[0].shape == (2, None, None)
