"""JPEG files taken to batches by simplejpeg and OpenCV, which peers have that bring no decoder."""

from __future__ import annotations

import math
import random
from typing import Any

import cv2
import numpy as np
import simplejpeg

from bench import photos

cv2.setNumThreads(0)

FAST = "fast IDCT, plain upsampling"
SCALE = [1 / each for each in photos.STD]
SHIFT = [-mean / std for mean, std in zip(photos.MEAN, photos.STD)]


def window(height: int, width: int) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random part, by torchvision's rule."""
    logs = [math.log(each) for each in photos.ASPECT_RATIO]
    for _ in range(10):
        area = height * width * random.uniform(*photos.AREA)
        ratio = math.exp(random.uniform(*logs))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, height - h), random.randint(0, width - w), h, w
    return 0, 0, height, width


def decode(path: str) -> Any:
    with open(path, "rb") as file:
        return simplejpeg.decode_jpeg(file.read(), "RGB", fastdct=True, fastupsample=True)


def resize(path: str) -> Any:
    return cv2.resize(decode(path), (photos.SIZE, photos.SIZE))


def crop(path: str) -> Any:
    """Decoded whole: simplejpeg decodes no parts."""
    pixels = decode(path)
    y, x, height, width = window(*pixels.shape[:2])
    pixels = cv2.resize(pixels[y : y + height, x : x + width], (photos.SIZE, photos.SIZE))
    if random.random() < 0.5:
        pixels = pixels[:, ::-1]
    out = np.empty(photos.Normalised.SHAPE, np.float32)
    for plane, channel, scale, shift in zip(out, pixels.transpose(2, 0, 1), SCALE, SHIFT):
        np.multiply(channel, np.float32(scale), out=plane)
        plane += np.float32(shift)
    return out
