"""Images of any dtype and layout as RGB, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError

Array = npt.NDArray[Any]

_CHANNELS = (1, 3, 4)
_UINT8 = np.dtype(np.uint8)


def is_image(shape: Sequence[int | None]) -> bool:
    """Whether rows of this shape can be images; None is any size."""
    if len(shape) == 2:
        return True
    return len(shape) == 3 and (shape[-1] in _CHANNELS or shape[0] in _CHANNELS)


def channels_last(image: Array, layout: str | None) -> Array:
    """(height, width, channels), of (height, width) and (channels, height, width) as well."""
    if image.ndim == 2:
        return image[:, :, np.newaxis]
    is_first = image.shape[-1] not in _CHANNELS if layout is None else layout == "CHW"
    image = image.transpose(1, 2, 0) if is_first else image
    if image.shape[-1] not in _CHANNELS:
        raise InvalidArgumentError(
            f"an image has {image.shape[-1]} channels; 1, 3 and 4 can be shown"
        )
    return image


def to_rgb(
    images: Sequence[Array], mean: Sequence[float] | None, std: Sequence[float] | None
) -> tuple[list[Array], str]:
    """The images as uint8 RGB, and how numbers became grey levels; "" where they are as they were.

    Args:
        images: (height, width, channels), of one dtype.
        mean, std: What they were normalised with, to be undone; None: nothing.
    """
    if not images:
        return [], ""
    if images[0].dtype == _UINT8 and mean is None and std is None:
        return [_rgb(image) for image in images], ""
    numbers = [np.nan_to_num(image.astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
               for image in images]  # fmt: skip
    if mean is not None or std is not None:
        offset, factor = (
            np.asarray(default if given is None else given, np.float32)
            for given, default in ((mean, 0.0), (std, 1.0))
        )
        numbers = [number * factor + offset for number in numbers]
        is_bytes = bool(np.max(np.abs(offset), initial=0) > 1)
        low, high, said = 0.0, 255.0 if is_bytes else 1.0, ""
    else:
        low, high, said = _range(numbers, images[0].dtype)
    scale = 255 / (high - low)
    return [
        _rgb(np.clip(np.rint((number - low) * scale), 0, 255).astype(np.uint8))
        for number in numbers
    ], said


def _range(numbers: Sequence[Array], dtype: np.dtype[Any]) -> tuple[float, float, str]:
    """The numbers that become black and white."""
    filled = [number for number in numbers if number.size]
    low = float(min((number.min() for number in filled), default=0))
    high = float(max((number.max() for number in filled), default=0))
    if low >= 0 and high <= 1:
        return 0.0, 1.0, ""
    if low >= 0 and high <= 255:
        return 0.0, 255.0, ""
    if low == high:
        high = low + 1
    return low, high, f"{dtype} numbers: {low:.3g} is black, {high:.3g} is white"


def _rgb(image: Array) -> Array:
    """uint8 of 1, 3 or 4 channels; transparent parts on white."""
    if image.shape[-1] == 4:
        color, alpha = image[..., :3].astype(np.uint16), image[..., 3:].astype(np.uint16)
        image = ((color * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    rgb: Array = np.broadcast_to(image, (*image.shape[:2], 3))
    return rgb
