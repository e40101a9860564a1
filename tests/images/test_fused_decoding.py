"""Crops that decode no more than they need deliver what they deliver of whole images."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import pyflowdata as flow
from images.image_files import photo, saved
from pyflowdata.io import TFRecordWriter
from support.decoder_rows import bytes_of, load
from support.oracle import SANITIZED
from support.paths import ROOT

NOT_COUNTED = "LD_PRELOAD" in os.environ or os.uname().machine not in ("x86_64", "aarch64")
SIZES = ((1, 1), (1, 40), (33, 2), (17, 31), (64, 48), (131, 97))


def files():
    """Images of all sizes and kinds, one of them turned by its EXIF tag."""
    exif = Image.Exif()
    exif[0x0112] = 6
    out = []
    for number, size in enumerate(SIZES):
        image = photo(*size, seed=number)
        out += [saved(image, "jpeg", quality=85, subsampling=kind) for kind in (0, 1, 2)]
        out += [saved(image[..., :1], "jpeg"), saved(image, "jpeg", progressive=True)]
        out += [saved(image, "jpeg", exif=exif.tobytes())]
        out += [saved(image, form) for form in ("png", "webp", "bmp", "ppm")]
    return out


def crop(image, **attrs):
    return flow.RandomResizedCrop(image, **{"size": (19, 23), "area": [0.05, 0.7], **attrs})


def both(contents, decoder={}, reader={}, op=crop, **attrs):  # noqa: B006
    """What is delivered, fused and, since the decoder's output is delivered too, not fused."""
    image = flow.ImageDecoder(bytes_of(contents, **{"seed": 7, **reader}), **decoder)
    return load(op(image, **attrs)), load(image, op(image, **attrs))[1]


def cut(content: bytes, part: float) -> bytes:
    return content[: int(len(content) * part)]


@pytest.mark.parametrize("decoder", [
    {}, {"color_space": "BGR"}, {"color_space": "GRAY"}, {"color_space": "RGBA"},
    {"apply_orientation": True},
], ids=str)  # fmt: skip
def test_pixels_are_those_of_the_whole_image(decoder):
    contents = files()
    for attrs in ({}, {"antialias": False}, {"interpolation": "nearest"},
                  {"area": [1, 1], "num_attempts": 0}, {"size": (1, 64)}):  # fmt: skip
        fused, whole = both(contents, decoder, **attrs)
        assert len(fused) == len(contents) and np.array_equal(fused, whole)


def test_parts_of_one_size_are_those_of_the_whole_image():
    """Also those that reach beyond the edges."""
    contents = files()
    for op, attrs in (
        (flow.CenterCrop, {"size": (24, 20), "fill": [7]}),
        (flow.CenterCrop, {"size": (1, 1), "position": [1, 0]}),
        (flow.ImageRandomCrop, {"random_area": [0.1, 0.9]}),
        (flow.RandomCrop, {"size": (16, 30), "pad_if_needed": True, "fill": [3]}),
        (flow.RandomCrop, {"size": (2, 2), "padding": [1, 2], "padding_mode": "edge"}),
        (flow.RandomCrop, {"size": (40, 40), "padding": [40, 40], "padding_mode": "symmetric"}),
    ):
        for decoder in ({}, {"color_space": "GRAY"}, {"apply_orientation": True}):
            fused, whole = both(contents, decoder, op=op, **attrs)
            assert len(fused) == len(contents)
            assert all(map(np.array_equal, fused, whole)), (op, attrs)


def test_draws_are_those_of_the_op_in_its_graph():
    """Ops without a name are told apart by their number, which fusing does not change."""
    image = flow.ImageDecoder(bytes_of(files(), seed=3))
    other = flow.ImageDecoder(bytes_of(files()[::-1], seed=3))
    first, second, third = crop(image), crop(other), crop(other)
    alone = load(first, second)
    together = load(first, second, third, image, other)
    assert all(map(np.array_equal, alone, together))
    assert not np.array_equal(together[1], together[2])


def only_the_upper_part(**attrs):
    """Crops of a cut image that lie above its end."""
    content = cut(saved(photo(400, 64), "jpeg", quality=95), 0.5)
    image = flow.ImageDecoder(bytes_of([content] * 64, seed=1, on_error="skip", max_errors=64))
    return image, crop(image, area=[0.01, 0.05], **attrs)


def test_rows_below_the_window_are_not_decoded():
    image, part = only_the_upper_part()
    assert 10 < len(load(part)) < 50
    assert 10 < len(load(flow.RandomCrop(image, size=(20, 64)))) < 50
    assert 10 < len(load(flow.ImageRandomCrop(image, random_area=[0.01, 0.02]))) < 50
    assert len(load(flow.CenterCrop(image, size=(20, 20), position=[0.2, 0.5]))) == 64


def test_both_are_computed_where_others_use_the_image():
    for others in (lambda image: [image], lambda image: [crop(image)],
                   lambda image: [flow.Resize(image, size=(3, 3))]):  # fmt: skip
        image, part = only_the_upper_part()
        assert not len(load(part, *others(image))[0]) and len(load.skipped) == 64


@pytest.mark.parametrize("damage", [
    b"", b"no image", cut(saved(photo(60, 60), "jpeg"), 0.02), cut(saved(photo(9, 9), "png"), 0.6),
    saved(photo(40, 40), "jpeg")[:300] + bytes(200),
], ids=["empty", "text", "header", "png", "zeros"])  # fmt: skip
def test_failures_are_the_decoders(damage):
    contents = [saved(photo(30, 30), "jpeg"), damage, saved(photo(31, 30), "jpeg")]
    image = flow.ImageDecoder(bytes_of(contents, seed=2), name="d")
    part = crop(image, area=[1, 1], num_attempts=0)
    found = []
    for blobs in ([part], [part, image]):
        with pytest.raises(flow.CorruptDataError) as caught:
            load(*blobs)
        error = caught.value
        found.append((error.op, error.ordinal, error.byte, error.message))
    assert found[0] == found[1] and found[0][:2] == ("ImageDecoder", 1)


def test_failures_of_the_crop_are_its_own():
    contents = [saved(photo(30, 30), "jpeg"), saved(photo(20, 30), "jpeg")]
    image = flow.ImageDecoder(bytes_of(contents))
    part = flow.RandomCrop(image, size=(25, 25))
    found = []
    for blobs in ([part], [part, image]):
        with pytest.raises(flow.CorruptDataError) as caught:
            load(*blobs)
        found.append((caught.value.op, caught.value.ordinal, caught.value.message))
    assert found[0] == found[1] and found[0][:2] == ("RandomCrop", 1)


@pytest.mark.parametrize("policy", ["skip", "pad"])
def test_policies_leave_out_the_same_rows(policy):
    good = saved(photo(30, 30), "jpeg")
    contents = [good, b"bad", good, cut(good, 0.05), good, b""]
    reader = {"on_error": policy, "max_errors": 6, "seed": 5, "batch_size": 4}
    fused, whole = both(contents, reader=reader)
    assert np.array_equal(fused, whole) and len(fused) == (3 if policy == "skip" else 6)
    assert [error.ordinal for error in load.skipped] == [1, 3, 5]


def test_attrs_of_the_decoder_are_used():
    content = saved(photo(30, 30), "jpeg")
    image = flow.ImageDecoder(bytes_of([content]), max_pixels=899)
    with pytest.raises(flow.CorruptDataError, match="max_pixels = 899") as caught:
        load(crop(image))
    assert caught.value.op == "ImageDecoder"
    half = cut(saved(photo(400, 64), "jpeg"), 0.5)
    fused, whole = both([half] * 20, {"incomplete": "fill"}, area=[0.01, 0.1])
    assert np.array_equal(fused, whole)


# ---- Memory -------------------------------------------------------------------------------------

COUNTER = """
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
_Atomic long allocations;
void *malloc(size_t n) { allocations++; return __libc_malloc(n); }
void *calloc(size_t n, size_t size) { allocations++; return __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { allocations++; return __libc_realloc(p, n); }
void *aligned_alloc(size_t a, size_t n) { allocations++; return __libc_memalign(a, n); }
"""
COUNTED = """
import ctypes, sys
import pyflowdata as flow
allocations = ctypes.c_long.in_dll(ctypes.CDLL(None), "allocations")
files = flow.TFRecordReader(files=sys.argv[1], batch_size=16, seed=1)
image = flow.RandomResizedCrop(flow.ImageDecoder(files), size=(32, 32))
with flow.DataLoader(flow.CropMirrorNormalize(image)) as loader:
    for epoch in range(8):
        began = allocations.value
        for batch in loader:
            pass
        print(allocations.value - began)
"""


@pytest.mark.skipif(NOT_COUNTED, reason="allocations cannot be counted here")
def test_no_memory_is_allocated_for_an_image(tmp_path):
    """Counts in the whole process: the first epochs allocate what the largest image needs."""
    (tmp_path / "counter.c").write_text(COUNTER)
    counter = tmp_path / "counter.so"
    command = ["cc", "-shared", "-fPIC", "-o", counter, tmp_path / "counter.c"]
    subprocess.run(command, check=True)
    with TFRecordWriter(tmp_path / "images") as writer:
        for i in range(160):
            writer.write(saved(photo(40 + i % 7, 50 - i % 5, seed=i), "jpeg"))
    command = [sys.executable, "-c", COUNTED, tmp_path / "images"]
    environment = os.environ | {"LD_PRELOAD": str(counter), "PYTHONPATH": str(ROOT)}
    output = subprocess.check_output(command, env=environment, text=True)
    assert int(output.split()[-1]) < 16, output


@pytest.mark.parametrize("op", [flow.CenterCrop, flow.Resize])
def test_few_images_are_in_memory_at_once(op):
    """Files of 2 KB of 3 MB of pixels, fused and not: a thread needs the memory of four."""
    content = saved(np.zeros((1000, 1000, 3), np.uint8), "png")
    assert len(content) < 5000
    count = 4 if SANITIZED else 20  # more than the budget holds
    small = op(flow.ImageDecoder(bytes_of([content] * count)), size=(2, 2))
    assert load(small, memory_budget=24_000_000).shape == (count, 2, 2, 3)
