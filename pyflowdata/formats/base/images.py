"""Records of images: the roles of their fields, and how a conversion changes them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import Error, InvalidArgumentError, shown
from ...nodes.image_files import IMAGE_NAMES, LABEL_NAMES, ending_of
from ...nodes import Blob, find_op, numpy_dtype
from ...nodes.eager import call
from .columns import column, each_row, is_bytes_like, refuse_masked
from .fields import BYTES, Field
from .source import make_node
from .writer import Writer

# ---- Fields of images ---------------------------------------------------------------------------

_CLASS_NAMES = ("image/class/text", "class/text", "class_name")


class ImageFields(NamedTuple):
    """The names of the fields in records of images.

    Attributes:
        image: The field of files or pixels.
        label: The field of class numbers (in some formats of class names); "": there is none.
        class_name: The field of class names beside the numbers; "": there is none.
    """

    image: str
    label: str = ""
    class_name: str = ""

    def to(self, names: ImageFields) -> dict[str, str]:
        """The changes of names to those of other records: old name -> new name."""
        return {old: new for old, new in zip(self, names, strict=True) if old and new}


def _is_pixels(field: Field) -> bool:
    """Whether a field is uint8 of shape (height, width) or (height, width, channels)."""
    is_gray = len(field.shape) == 2
    has_channels = len(field.shape) == 3 and field.shape[-1] in (1, 2, 3, 4)
    return field.dtype == "uint8" and (is_gray or has_channels)


def _is_image(field: Field) -> bool:
    return field.dtype == BYTES or _is_pixels(field)


def _is_label(field: Field) -> bool:
    is_number = field.dtype != BYTES and numpy_dtype(field.dtype).kind in "iu" and not field.shape
    return field.dtype == BYTES or is_number


def image_fields(fields: Sequence[Field]) -> ImageFields | None:
    """The images and labels among fields, found by name and type; None: there is no field of
    images, or several fields with unusual names may be it.
    """
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
    """How images are decoded, resized and encoded again.

    Attributes:
        size: (height, width), or ().
        shorter: Length of the shorter side; 0: not given.
        longer: Length of the longer side; 0: not given.
        format: The format of the new files.
        quality: The quality of JPEG.
    """

    size: tuple[int, ...] = ()
    shorter: int = 0
    longer: int = 0
    format: str = "jpeg"
    quality: int = 90

    def applied(self, blob: Blob) -> Blob:
        """The files of the changed images, made by ops of the loader.

        Args:
            blob: Pixels; or files, which are rotated as their EXIF orientation says, since the new
                files have no EXIF data.
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
    """The names of the fields that are pixels of images."""
    return {field.name for field in fields if _is_pixels(field)}


def image_size(blob: Blob) -> Blob:
    """Height and width in the headers of files; a row that is no image is damaged."""
    return make_node("ImageSize", [blob]).outputs[0]


def decoded_image(blob: Blob) -> Blob:
    """The pixels of files; a row that cannot be decoded is damaged."""
    return make_node("ImageDecoder", [blob]).outputs[0]


_END_MARKS = {"jpg": b"\xff\xd9", "png": b"\0\0\0\0IEND\xaeB`\x82"}


def end_problem(data: bytes) -> str | None:
    """The fault at the end of a JPEG, PNG or WebP file; None: no fault, or another kind of file.
    Decoders do not look beyond the end of an image.  A JPEG file of several pictures has an end
    mark after the last picture.
    """
    kind = ending_of(data)
    size = len(data)
    if kind in _END_MARKS:
        mark = _END_MARKS[kind]
        size = data.rfind(mark) + len(mark)
        if size < len(mark):
            return "the mark of the image's end is missing; was the file cut?"
    elif kind == "webp":
        size = int.from_bytes(data[4:8], "little") + 8
    return f"{len(data) - size} bytes follow the end of the image" if len(data) > size else None


# ---- Images that are written --------------------------------------------------------------------

_ENCODER = "ImageEncoder"


def image_formats() -> tuple[str, ...]:
    """The formats in which arrays are encoded, the default one first."""
    declared = find_op(_ENCODER).attr("format")
    return declared.choices if declared else ()


class ImageEncoding:
    """Encodes arrays as files of images."""

    def __init__(self, format: Any = "jpeg", quality: Any = 90) -> None:
        if not isinstance(format, str) or format not in image_formats():
            known = ", ".join(map(repr, image_formats()))
            raise InvalidArgumentError(f"{shown(format)} must be one of {known}")
        self._attrs = {"format": format, "quality": quality}

    def __call__(self, name: str, image: Any) -> Any:
        """The file of an image; bytes and flat arrays of uint8 are files already.

        Args:
            name: The name of the field, for messages.
            image: An array of uint8, (height, width) or (height, width, channels), or a file.

        Raises:
            InvalidArgumentError: The image is neither.
        """
        refuse_masked(name, image)
        is_file = is_bytes_like(image) and not isinstance(image, str)
        if is_file and getattr(image, "ndim", 1) == 1:
            return image
        if not isinstance(image, np.ndarray) or image.dtype != np.uint8:
            said = f"of {image.dtype}" if isinstance(image, np.ndarray) else shown(image)
            raise InvalidArgumentError(
                f"{name} is {said}; an image is an array of uint8, (height, width) or (height, "
                "width, channels), or the bytes of a file"
            )
        try:
            return call(find_op(_ENCODER), None, dict(self._attrs), {"in": image}).tobytes()
        except Error as failure:
            raise InvalidArgumentError(f"{name}: {failure.message}") from None


class ImageWriter(Writer):
    """A writer of records with fields; images may be given as arrays."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        images: Mapping[str, str] | None = None,
        quality: int = 90,
        **options: Any,
    ) -> None:
        """Opens the file; raises as `Writer`.

        Args:
            path: The file.
            images: Name of a field -> "jpeg", "png", "ppm" or "bmp", in which its arrays are
                encoded: uint8 of shape (height, width) or (height, width, channels). Bytes in the
                field are files already, and stay as they are.
            quality: The quality of JPEG, 1 to 100.
            **options: As for every `Writer`.
        """
        whole = self._whole("quality", quality, 1, 100)
        self._encodings = self._checked_images({} if images is None else images, whole)
        super().__init__(path, **options)

    def _checked_images(self, images: Any, quality: int | None) -> dict[str, ImageEncoding]:
        if not isinstance(images, Mapping):
            raise InvalidArgumentError(
                f"images = {shown(images)}; it must be a dict of fields and formats, as "
                "{'image': 'jpeg'}",
                op=type(self).__name__,
            )
        found = {}
        for name, format in images.items():
            try:
                found[name] = ImageEncoding(format, 90 if quality is None else quality)
            except InvalidArgumentError as failure:
                raise InvalidArgumentError(
                    f"images[{shown(name)}] = {failure.message}", op=type(self).__name__
                ) from None
        return found

    def _of(self, fields: Mapping[str, Any], name: str) -> Any:
        if name not in fields:
            raise InvalidArgumentError(
                f"images names the field {shown(name)}, and there are "
                f"{', '.join(map(str, fields)) or 'none'}"
            )
        return fields[name]

    def _encoded_sample(self, sample: Any) -> Any:
        """A sample with its images as bytes; a value that is not a dict stays as it is."""
        if not self._encodings or not isinstance(sample, Mapping):
            return sample
        return {**sample} | {
            name: None if (one := self._of(sample, name)) is None else encode(name, one)
            for name, encode in self._encodings.items()
        }

    def _encoded_batch(self, batch: Any) -> Any:
        """A batch with its images as lists of bytes; a value that is not a dict stays as it is."""
        if not self._encodings or not isinstance(batch, Mapping):
            return batch
        return {**batch} | {
            name: encoded_rows(name, self._of(batch, name), encode)
            for name, encode in self._encodings.items()
        }


def encoded_rows(name: str, given: Any, encode: Callable[[str, Any], Any]) -> list[Any]:
    """The rows of a column as files of images.

    Raises:
        InvalidArgumentError: A row is not an image; `ordinal` is the row.
    """
    return each_row(lambda one: None if one is None else encode(name, one), column(name, given))
