"""Images in records: arrays that writers encode."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ....errors import Error, InvalidArgumentError, shown
from ....nodes import find_op
from ....nodes.eager import call
from .columns import column, is_bytes_like
from .lossless import refuse_masked
from .writer import Writer

_ENCODER = "ImageEncoder"
_FORMAT = "format"  # the encoder's attrs
_QUALITY = "quality"


def image_formats() -> tuple[str, ...]:
    """The formats in which arrays are encoded, the default one first."""
    declared = find_op(_ENCODER).attr(_FORMAT)
    return declared.choices if declared else ()


class ImageEncoding:
    """How arrays become files of images."""

    def __init__(self, format: Any = "jpeg", quality: Any = 90) -> None:
        """Checks the attrs of the encoder.

        Raises:
            InvalidArgumentError: One of them is wrong.
        """
        if not isinstance(format, str) or format not in image_formats():
            known = ", ".join(map(repr, image_formats()))
            raise InvalidArgumentError(f"{shown(format)} must be one of {known}")
        self._attrs = {_FORMAT: format, _QUALITY: quality}

    def __call__(self, name: str, image: Any) -> Any:
        """The file of an image; bytes and flat arrays of uint8 are files already.

        Args:
            name: Of the field, for messages.
            image: An array of uint8, (height, width) or (height, width, channels), or a file.

        Raises:
            InvalidArgumentError: It is neither.
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
    """A writer of records with fields; those of images may be given as arrays."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        images: Mapping[str, str] | None = None,
        quality: int = 90,
        **options: Any,
    ) -> None:
        """Opens the file.

        Args:
            path: The file.
            images: Name of a field -> "jpeg", "png", "ppm" or "bmp": its arrays, which are uint8 of
                shape (height, width) or (height, width, channels), are encoded so.  Bytes in it are
                files already, and stay as they are.
            quality: Of JPEG, 1 to 100.
            **options: As for every `Writer`.

        Raises:
            InvalidArgumentError: An argument is wrong.
            FileError: The folder is not there or not writable, or the file is there already.
            UnsupportedError: The compression needs a package that is not installed.
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
        """A sample with its images as bytes; what is no dict stays as it is."""
        if not self._encodings or not isinstance(sample, Mapping):
            return sample
        return {**sample} | {
            name: None if (one := self._of(sample, name)) is None else encode(name, one)
            for name, encode in self._encodings.items()
        }

    def _encoded_batch(self, batch: Any) -> Any:
        """A batch with its images as lists of bytes; what is no dict stays as it is."""
        if not self._encodings or not isinstance(batch, Mapping):
            return batch
        return {**batch} | {
            name: encoded_rows(name, self._of(batch, name), encode)
            for name, encode in self._encodings.items()
        }


def encoded_rows(name: str, given: Any, encode: Callable[[str, Any], Any]) -> list[Any]:
    """The rows of a column as files of images.

    Raises:
        InvalidArgumentError: One is none; `ordinal` is its row.
    """
    rows: list[Any] = []
    for row, one in enumerate(column(name, given)):
        try:
            rows.append(None if one is None else encode(name, one))
        except InvalidArgumentError as failure:
            raise InvalidArgumentError(failure.message, ordinal=row) from None
    return rows
