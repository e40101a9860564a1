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
_MOST = 1e300  # of a float that is shown


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
    numbers = [_finite(image) for image in images]
    if mean is not None or std is not None:
        numbers = [_with_mean_std(number, mean or [0.0], std or [1.0]) for number in numbers]
        is_bytes = max(map(abs, mean or [0.0])) > 1
        low, high, said = 0.0, 255.0 if is_bytes else 1.0, ""
    else:
        low, high, said = _range(numbers, images[0].dtype)
    return [
        _rgb(np.clip(np.rint((number - low) / (high - low) * 255), 0, 255).astype(np.uint8))
        for number in numbers
    ], said


def _finite(image: Array) -> Array:
    """As floats whose differences are finite too; what is NaN or infinite is 0."""
    numbers = np.nan_to_num(image.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    finite: Array = np.clip(numbers, -_MOST, _MOST)
    return finite


def _with_mean_std(image: Array, mean: Sequence[float], std: Sequence[float]) -> Array:
    """What was normalised with them."""
    channels = image.shape[-1]
    for name, given in (("mean", mean), ("std", std)):
        if len(given) not in (1, channels):
            raise InvalidArgumentError(
                f"{name} has {len(given)} numbers and an image has {channels} channels; give one "
                "number, or one for each channel"
            )
    with np.errstate(over="ignore"):
        undone: Array = np.clip(image * np.asarray(std) + np.asarray(mean), -_MOST, _MOST)
    return undone


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
        high = low + max(1.0, abs(low))
    return low, high, f"{dtype} numbers: {low:.3g} is black, {high:.3g} is white"


def _rgb(image: Array) -> Array:
    """uint8 of 1, 3 or 4 channels; transparent parts on white."""
    if image.shape[-1] == 4:
        color, alpha = image[..., :3].astype(np.uint16), image[..., 3:].astype(np.uint16)
        image = ((color * alpha + 255 * (255 - alpha) + 127) // 255).astype(np.uint8)
    rgb: Array = np.broadcast_to(image, (*image.shape[:2], 3))
    return rgb
