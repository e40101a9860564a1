"""Facts about files of images: first bytes, names of fields, means of well-known data sets."""

from __future__ import annotations

import re


# The training images of ImageNet: red, green and blue from 0 to 1, as models of torchvision use.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

# The ending of the name of an image file -> a pattern of its first bytes.
_BEGINNINGS = {
    "jpg": rb"\xff\xd8\xff",
    "png": rb"\x89PNG\r\n\x1a\n",
    "webp": rb"RIFF.{4}WEBP",
    "bmp": rb"BM.{4}\0{4}",
    "ppm": rb"P[36]\s",
    "pgm": rb"P[25]\s",
    "pbm": rb"P[14]\s",
    "tif": rb"II\*\0|MM\0\*",
}
_BEGINNING = re.compile(
    b"|".join(b"(?P<%b>%b)" % (name.encode(), one) for name, one in _BEGINNINGS.items()), re.DOTALL
)
ENDINGS = (*(f".{name}" for name in _BEGINNINGS), ".jpeg", ".tiff")

# Names of fields and columns, the more telling ones first.
IMAGE_NAMES = (
    "image/encoded", "encoded", "image", "img", "jpg", "jpeg", "png", "webp", "bmp", "ppm", "pgm",
    "tif", "tiff",
)  # fmt: skip
LABEL_NAMES = (
    "image/class/label", "class/label", "label", "labels", "cls", "class", "target", "targets",
    "fine_label", "y",
)  # fmt: skip


def ending_of(data: bytes) -> str | None:
    """The usual ending for the name of a file with these bytes, as jpg; None: the bytes are not a
    known image.
    """
    found = _BEGINNING.match(data)
    return found.lastgroup if found else None
