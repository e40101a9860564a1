"""ImageEncoder: its files against those of Pillow, and back through Pillow."""

from __future__ import annotations

import numpy as np
import pytest

import pyflowdata as flow
from images.image_files import opened, photo, saved
from support.decoder_rows import blob_of, bytes_of, load

SIZES = ((1, 1), (2, 3), (17, 31), (100, 77))


def encoded(images, **attrs):
    blob = blob_of(images, [-1, -1, *images[0].shape[2:]])
    return [bytes(file) for file in load(flow.ImageEncoder(blob, **attrs))]


def pixels(data):
    return np.asarray(opened(data))


def test_jpeg_is_that_of_pillow():
    for channels in (1, 3):
        images = [photo(*size, channels) for size in SIZES]
        for quality in (1, 50, 90, 100):
            for subsampling in ("4:2:0", "4:2:2", "4:4:4"):
                files = encoded(images, quality=quality, subsampling=subsampling)
                for image, data in zip(images, files, strict=True):
                    theirs = saved(image, "jpeg", quality=quality, subsampling=subsampling)
                    assert np.array_equal(pixels(data), pixels(theirs))
    default = encoded([photo(9, 8)])
    assert default == encoded([photo(9, 8)], format="jpeg", quality=90, subsampling="4:2:0")


def test_jpeg_with_half_the_rows_of_color():
    (data,) = encoded([photo(33, 50)], subsampling="4:4:0")
    layers = [layer[1:3] for layer in opened(data).layer]
    assert layers == [(1, 2), (1, 1), (1, 1)]
    assert np.abs(pixels(data).astype(int) - photo(33, 50)).mean() < 8


@pytest.mark.parametrize("form, channels", [("png", (1, 2, 3, 4)), ("ppm", (1, 3)),
                                            ("bmp", (1, 3))])  # fmt: skip
def test_formats_that_lose_nothing(form, channels):
    for count in channels:
        images = [photo(*size, count) for size in SIZES]
        for data, image in zip(encoded(images, format=form), images, strict=True):
            assert opened(data).format == form.upper()
            assert np.array_equal(pixels(data).reshape(image.shape), image)
    flat = [photo(*size, 1)[..., 0] for size in SIZES]
    for data, image in zip(encoded(flat, format=form), flat, strict=True):
        assert np.array_equal(pixels(data), image)


def test_levels_of_compression():
    images = [photo(40, 50)]
    files = [encoded(images, format="png", compression_level=level)[0] for level in (0, 1, 9)]
    assert len(files[0]) > len(files[1]) > len(files[2])
    assert all(np.array_equal(pixels(data), images[0]) for data in files)


def test_dense_rows_threads_and_back():
    images = np.stack([photo(31, 40, seed=i) for i in range(40)])
    for form in ("png", "bmp", "ppm"):
        files = flow.ImageEncoder(blob_of(images, batch_size=7), format=form)
        found = load(flow.ImageDecoder(files), num_threads=4)
        assert len(found) == 40 and all(map(np.array_equal, found, images))
    one = encoded(list(images), format="jpeg")
    many = load(flow.ImageEncoder(blob_of(images, batch_size=3)), num_threads=4)
    assert one == [bytes(file) for file in many]


def test_what_is_refused():
    for channels, form, said in ((4, "jpeg", "those of JPEG have 1 (gray) or 3 (RGB)"),
                                 (2, "ppm", "2 channels; those of PPM")):  # fmt: skip
        with pytest.raises(flow.InvalidArgumentError) as caught:
            flow.ImageEncoder(blob_of([photo(4, 5, channels)], [-1, -1, channels]), format=form)
        assert said in caught.value.message
    with pytest.raises(flow.InvalidArgumentError, match="they must be images"):
        flow.ImageEncoder(bytes_of([b"abc"]))
    with pytest.raises(flow.InvalidArgumentError, match="images must be of uint8"):
        flow.ImageEncoder(blob_of([photo(4, 5).astype(np.float32)], [-1, -1, 3]))
    wrong = (("quality", 0), ("quality", 101), ("compression_level", 10), ("format", "gif"))
    for attr, value in wrong:
        with pytest.raises(flow.InvalidArgumentError, match=attr):
            flow.ImageEncoder(blob_of([photo(4, 5)], [-1, -1, 3]), **{attr: value})


def test_images_that_cannot_be_written():
    images = [photo(4, 5), np.zeros((0, 5, 3), np.uint8), np.zeros((1, 65501, 3), np.uint8)]
    blob = blob_of(images, [-1, -1, 3], on_error="skip")
    assert len(load(flow.ImageEncoder(blob))) == 1
    assert len(load(flow.ImageEncoder(blob, format="bmp"))) == 2
    for bad, said in ((1, "has no pixels to encode"), (2, "cannot be written as JPEG")):
        with pytest.raises(flow.CorruptDataError, match=said) as caught:
            encoded([images[0], images[bad]])
        assert caught.value.ordinal == 1
