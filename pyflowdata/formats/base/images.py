"""Records of images: which of their fields are what, and how a conversion changes them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from ...nodes import Blob, numpy_dtype
from ...image_files import IMAGE_NAMES, LABEL_NAMES
from .fields import BYTES, Field
from .source import make_node

_CLASS_NAMES = ("image/class/text", "class/text", "class_name")


@dataclasses.dataclass(frozen=True)
class ImageFields:
    """What the fields of records of images are called.

    Attributes:
        image: The bytes of a file, or pixels.
        label: The number of the class, sometimes its name; "": there is none.
        class_name: The name of the class beside its number; "": there is none.
    """

    image: str
    label: str = ""
    class_name: str = ""

    def to(self, names: ImageFields) -> dict[str, str]:
        """What the fields are called when these are the names of others: old name -> new name."""
        pairs = zip(dataclasses.astuple(self), dataclasses.astuple(names), strict=True)
        return {old: new for old, new in pairs if old and new}


def _is_pixels(field: Field) -> bool:
    """Whether it is uint8 of shape (height, width) or (height, width, channels)."""
    is_gray = len(field.shape) == 2
    has_channels = len(field.shape) == 3 and field.shape[-1] in (1, 2, 3, 4)
    return field.dtype == "uint8" and (is_gray or has_channels)


def _is_image(field: Field) -> bool:
    return field.dtype == BYTES or _is_pixels(field)


def _is_label(field: Field) -> bool:
    is_number = field.dtype != BYTES and numpy_dtype(field.dtype).kind in "iu" and not field.shape
    return field.dtype == BYTES or is_number


def image_fields(fields: Sequence[Field]) -> ImageFields | None:
    """Which fields of records are images and labels, by their names and types; None: there is no
    image, or it has no usual name and there are several fields that may be it."""
    images = [field.name for field in fields if _is_image(field)]
    labels = [field.name for field in fields if _is_label(field)]
    texts = [field.name for field in fields if field.dtype == BYTES]
    image = next((name for name in IMAGE_NAMES if name in images), "")
    label = next((name for name in LABEL_NAMES if name in labels), "")
    class_name = next((name for name in _CLASS_NAMES if name in texts), "")
    if not image:
        others = [one for one in images if one not in (label, class_name) and one[:2] != "__"]
        image = others[0] if len(others) == 1 else ""
    return ImageFields(image, label, class_name) if image else None


@dataclasses.dataclass(frozen=True)
class ImageChange:
    """How images are decoded, made another size and encoded again.

    Attributes:
        size: (height, width), or none.
        shorter: Length of the shorter side; 0: it is not said.
        longer: Length of the longer side; 0: it is not said.
        format: Of the files.
        quality: Of JPEG.
    """

    size: tuple[int, ...] = ()
    shorter: int = 0
    longer: int = 0
    format: str = "jpeg"
    quality: int = 90

    def applied(self, blob: Blob) -> Blob:
        """The files of other images, as ops of the loader make them.

        Args:
            blob: Files, which are turned as their EXIF orientation says, which new ones do not
                have; or pixels.
        """
        if len(blob.shape) == 2:
            blob = make_node("ImageDecoder", [blob], apply_orientation=True).outputs[0]
        if self.size:
            blob = make_node("Resize", [blob], size=list(self.size)).outputs[0]
        elif self.shorter or self.longer:
            sides = {"shorter": self.shorter, "longer": self.longer}
            blob = make_node("Resize", [blob], **sides).outputs[0]
        encode = {"format": self.format, "quality": self.quality}
        return make_node("ImageEncoder", [blob], **encode).outputs[0]


def pixel_fields(fields: Iterable[Field]) -> set[str]:
    """The names of those that are images, but no files."""
    return {field.name for field in fields if _is_pixels(field)}


def image_size(blob: Blob) -> Blob:
    """Height and width in the headers of files; a row that is no image is damaged."""
    return make_node("ImageSize", [blob]).outputs[0]


def decoded_image(blob: Blob) -> Blob:
    """The pixels of files; a row that cannot be decoded is damaged."""
    return make_node("ImageDecoder", [blob]).outputs[0]
