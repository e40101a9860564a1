"""Normalize and CropMirrorNormalize: against NumPy."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from support.decoder_rows import blob_of, load, same

import pyflowdata as flow

CHANCE = np.random.default_rng(0)


def images(count, height, width, channels):
    return CHANCE.integers(0, 256, (count, height, width, channels), np.uint8)


def of_many_sizes(channels=3):
    """Ragged images: single pixels, odd sizes, rows longer than a block of the loops."""
    sizes = [(1, 1), (1, 7), (5, 1), (2, 8), (3, 9), (4, 17), (9, 4), (2, 256), (3, 531), (7, 31)]
    return [images(1, *size, channels)[0] for size in sizes]


def normalized(image, mean, std, layout="CHW", dtype="float32"):
    """By float32, rounded twice."""
    image = image if image.ndim == 3 else image[:, :, None]
    scale = (1 / np.asarray(std, np.float64)).astype(np.float32)
    out = (image.astype(np.float32) - np.asarray(mean, np.float32)) * scale
    return np.ascontiguousarray(out.transpose(2, 0, 1) if "CHW" in layout else out, dtype)


def cropped(image, crop_h, crop_w, pos_y=0.5, pos_x=0.5, mirror=False):
    height, width = image.shape[:2]
    crop_h, crop_w = crop_h or height, crop_w or width
    y, x = int((height - crop_h) * pos_y), int((width - crop_w) * pos_x)
    part = image[y : y + crop_h, x : x + crop_w]
    return part[:, ::-1] if mirror else part


MEAN, STD = [120.5, 3, 0.1, 77], [58.3, 1e-3, 255, 7]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_ragged_images(layout, dtype):
    for channels in (1, 2, 3, 4):
        mean, std = MEAN[:channels], STD[:channels]
        rows = of_many_sizes(channels)
        flips = np.arange(len(rows)) % 2 == 1
        blob = blob_of(rows, [-1, -1, channels])
        mirror = blob_of(flips)
        attrs = {"mean": mean, "std": std, "output_layout": layout, "output_dtype": dtype}
        with np.errstate(over="ignore"):
            plain = [normalized(row, mean, std, layout, dtype) for row in rows]
            turned = [
                normalized(cropped(row, 0, 0, mirror=flip), mean, std, layout, dtype)
                for row, flip in zip(rows, flips, strict=True)
            ]
        same(load(flow.CropMirrorNormalize(blob, **attrs)), plain)
        same(load(flow.CropMirrorNormalize(blob, mirror, **attrs)), turned)


def test_crops():
    rows = [images(1, height, width, 3)[0] for height, width in [(8, 8), (9, 20), (31, 8), (8, 9)]]
    blob = blob_of(rows, [-1, -1, 3])
    mirror = blob_of(np.array([[0], [1], [-1], [0]], np.int8))
    for y, x in [(0, 0), (1, 1), (0.5, 0.5), (0.3, 0.99)]:
        out = flow.CropMirrorNormalize(
            blob, mirror, crop_h=8, crop_w=7, crop_pos_y=y, crop_pos_x=x, mean=5, std=2
        )
        assert out.shape == (4, 3, 8, 7)
        expected = [
            normalized(cropped(row, 8, 7, y, x, flip), 5, 2)
            for row, flip in zip(rows, [0, 1, 1, 0], strict=True)
        ]
        same(load(out), np.stack(expected))
    only_width = flow.CropMirrorNormalize(blob, crop_w=3, output_layout="NHWC")
    assert only_width.shape == (4, None, 3, 3)
    same(load(only_width), [normalized(cropped(row, 0, 3), 0, 1, "NHWC") for row in rows])


def test_dense_images_and_images_without_channels():
    rows = images(6, 12, 40, 3)
    for crop_h, crop_w in [(0, 0), (12, 0), (3, 5), (1, 40)]:
        out = flow.CropMirrorNormalize(blob_of(rows), mean=MEAN[:3], crop_h=crop_h, crop_w=crop_w)
        same(load(out), np.stack(
            [normalized(cropped(row, crop_h, crop_w), MEAN[:3], 1) for row in rows]
        ))  # fmt: skip
    grey = images(3, 5, 4, 1)[..., 0]
    same(load(flow.Normalize(blob_of(grey), mean=0, std=1, layout="HWC"))[..., 0],
         load(flow.Normalize(blob_of(grey), mean=0, std=1))[:, 0])  # fmt: skip
    assert flow.CropMirrorNormalize(blob_of(grey)).shape == (3, 1, 5, 4)


def test_an_image_that_is_smaller_than_the_crop():
    rows = [np.zeros((height, width, 3), np.uint8) for height, width in [(4, 4), (3, 9), (5, 5)]]
    with pytest.raises(flow.CorruptDataError, match=r"image is 3 x 9 \(height x width\).*4 x 2"
                       ) as caught:  # fmt: skip
        load(flow.CropMirrorNormalize(blob_of(rows, [-1, -1, 3]), crop_h=4, crop_w=2))
    assert caught.value.ordinal == 1
    left = blob_of(rows, [-1, -1, 3], on_error="skip")
    assert load(flow.CropMirrorNormalize(left, crop_h=4, crop_w=2)).shape == (2, 3, 4, 2)
    with pytest.raises(flow.InvalidArgumentError, match="must not be smaller than the crop"):
        flow.CropMirrorNormalize(blob_of(np.zeros((2, 3, 4, 1), np.uint8)), crop_w=5)


def test_normalize_is_that_of_torchvision():
    """ToTensor divides by 255; then (x - mean) / std."""
    for row in of_many_sizes():
        mean, std = np.array(flow.IMAGENET_MEAN), np.array(flow.IMAGENET_STD)
        out = flow.Normalize(blob_of(row[None]), mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
        expected = ((row / 255 - mean) / std).transpose(2, 0, 1)
        np.testing.assert_allclose(load(out)[0], expected, rtol=1e-5, atol=1e-6)
        assert out.dtype == np.float32
        halves = load(flow.Normalize(blob_of(row[None]), mean=mean, std=std, dtype="float16"))
        same(halves[0], load(out)[0].astype(np.float16))


def test_normalize_of_floats_takes_them_as_they_are():
    kinds = [(3, "CHW", "float32"), (4, "HWC", "float16"), (1, "CHW", "float16")]
    for channels, layout, dtype in kinds:
        rows = [row.astype(np.float32) / 99 for row in of_many_sizes(channels)]
        mean, std = [0.5, 0.1, -3, 0][:channels], [0.2, 7, 1e-3, 1][:channels]
        out = flow.Normalize(blob_of(rows, [-1, -1, channels]), mean=mean, std=std, layout=layout,
                             dtype=dtype)  # fmt: skip
        with np.errstate(over="ignore"):
            same(load(out), [normalized(row, mean, std, layout, dtype) for row in rows])


def test_image_normalize_keeps_the_type():
    for dtype in (np.float32, np.float64):
        rows = [row.astype(dtype) / 7 for row in of_many_sizes()]
        mean, std = MEAN[:3], STD[:3]
        scale = (1 / np.array(std)).astype(dtype)
        found = load(flow.ImageNormalize(blob_of(rows, [-1, -1, 3]), mean=mean, std=std))
        same(found, [(row - np.array(mean, dtype)) * scale for row in rows])
    with pytest.raises(flow.InvalidArgumentError, match="float32 or float64"):
        flow.ImageNormalize(blob_of(images(1, 2, 2, 3)), mean=0, std=1)


def test_the_mirror_may_be_left_out():
    blob, flips = blob_of(images(4, 5, 6, 3)), blob_of(np.ones(4, np.int8))
    parameter = inspect.signature(flow.CropMirrorNormalize).parameters["mirror"]
    assert parameter.default is None
    without = [flow.CropMirrorNormalize(blob), flow.CropMirrorNormalize(blob, None)]
    assert [len(one.node.inputs) for one in without] == [1, 1]
    assert [port.name for port in without[0].node.op.inputs] == ["in"]
    named = flow.CropMirrorNormalize(in_=blob, mirror=flips)
    same(load(named), load(without[0])[:, :, :, ::-1])
    builder = flow.user_op_builder("cmn").Op("crop_mirror_normalize_from_uint8").Input("in", [blob])
    builder = builder.Input("mirror", [flips]).Output("out").Attr("color_space", "RGB")
    built = builder.Attr("output_layout", "NCHW").Attr("output_dtype", np.float32).Build()
    same(load(built.SoleOutputBlob()), load(named))
    with pytest.raises(flow.InvalidArgumentError, match="3 positional arguments"):
        flow.CropMirrorNormalize(blob, flips, flips)
    with pytest.raises(flow.InvalidArgumentError, match="input 'in' is missing"):
        flow.CropMirrorNormalize(mirror=flips)


def test_what_is_refused():
    blob = blob_of(images(4, 5, 6, 3))
    for attrs, found in [
        ({"mean": [1, 2]}, "mean has 2 numbers and std has 1"),
        ({"std": [1, 2, 3, 4]}, "std has 4; each has one"),
        ({"std": [1, 0, 1]}, "attr 'std' has the element 0; all must be above 0"),
        ({"std": [float("nan")]}, "all must be above 0"),
        ({"std": [float("inf")]}, "'std' has the element inf; all must be 1e-36 to 1e\\+36"),
        ({"std": [1, 1e-39, 1]}, "'std' has the element 1e-39"),
        ({"mean": [1, float("nan"), 1], "std": [1, 2, 3]}, "'mean' has the element nan"),
        ({"mean": float("-inf")}, "'mean' has the element -inf; all must be -1e\\+36 to 1e\\+36"),
        ({"mean": 1e39}, "'mean' has the element 1e\\+39"),
        ({"color_space": "GRAY"}, "have 1 channels; those of input 'in' have 3"),
        ({"crop_pos_x": 1.5}, r"in \[0.0, 1.0\]"),
    ]:
        with pytest.raises(flow.InvalidArgumentError, match=found):
            flow.CropMirrorNormalize(blob, **attrs)
    for attrs in ({"mean": 3e38, "std": 1}, {"mean": 0, "std": 1e-40}):
        with pytest.raises(flow.InvalidArgumentError, match="has the element"):
            flow.Normalize(blob, **attrs)
    pixel = np.full((1, 1, 1), 1e300)
    assert flow.ImageNormalize(pixel, mean=5e299, std=1e300) == 0.5  # in float64
    for mirror in (np.zeros((4, 2), np.int8), np.zeros(4, np.int32), np.zeros(4, np.float32)):
        with pytest.raises(flow.InvalidArgumentError, match="'mirror'.*one number of int8"):
            flow.CropMirrorNormalize(blob, blob_of(mirror))
    for shape, dtype in [((5, 6, 3), "int16"), ((5, 6, 5), "uint8"), ((5,), "uint8")]:
        with pytest.raises(flow.InvalidArgumentError, match="must be images|images must be of"):
            flow.Normalize(blob_of(np.zeros((4, *shape), dtype)), mean=0, std=1)
