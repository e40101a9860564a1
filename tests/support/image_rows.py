"""Images of many sizes as rows, and what Pillow makes of them."""

from __future__ import annotations

import numpy as np
import PIL
from PIL import Image

import pyflowdata as flow
from support.decoder_rows import blob_of

Size = tuple[int, int]


def random_images(sizes: list[Size], channels: int | None = 3, seed: int = 0) -> list[np.ndarray]:
    """Noise, where it matters black and white; (height, width) where `channels` is None."""
    chance = np.random.default_rng(seed)
    tail = () if channels is None else (channels,)
    out = []
    for number, size in enumerate(sizes):
        image = chance.integers(0, 256, (*size, *tail), np.uint8)
        out.append(np.where(image > 127, 255, 0).astype(np.uint8) if number % 3 == 2 else image)
    return out


def image_blob(rows: list[np.ndarray], **reader: object) -> flow.Blob:
    """Images of any size, ragged."""
    return blob_of(rows, [-1, -1, *rows[0].shape[2:]], rows[0].dtype, **reader)


def by_channel(image: np.ndarray, change) -> np.ndarray:
    """Each channel by itself: Pillow multiplies colours by alpha."""
    if image.ndim == 2:
        return np.asarray(change(Image.fromarray(image)))
    planes = [np.ascontiguousarray(image[..., c]) for c in range(image.shape[2])]
    return np.stack([np.asarray(change(Image.fromarray(plane))) for plane in planes], -1)


PILLOW = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}


def rows_are_first(size, out_size):
    """Where Pillow resamples columns of pixels before rows, since version 13."""
    fewer_rows, fewer_columns = size[0] - out_size[0], size[1] - out_size[1]
    return fewer_rows > 0 and fewer_rows > 2 * fewer_columns


def pillow(image, out_size, interpolation):
    """Each direction by itself, so that all versions of Pillow agree."""
    height, width = out_size
    by = PILLOW[interpolation]

    def change(plane):
        if int(PIL.__version__.split(".")[0]) >= 13:
            return plane.resize((width, height), by)
        if rows_are_first(image.shape, out_size):
            return plane.resize((plane.width, height), by).resize((width, height), by)
        return plane.resize((width, plane.height), by).resize((width, height), by)

    return by_channel(image, change)
