"""The images of a file: which field has them, and which of them cannot be decoded."""

from __future__ import annotations

import contextlib
from typing import Any

from ..errors import Error
from ..formats import FORMATS, Damage, Scan, Source, decoded_image, image_fields, read_all
from ..loader import DataLoader
from ..insight.sheet import has_images

_FIRST = 16  # records that tell whether bytes are files of images


def image_field(source: Source) -> tuple[Source, str] | None:
    """A source with a field of files of images, and the name of that; None: it has no images."""
    format = FORMATS[source.format.name]
    source = format.with_images(source)
    found = image_fields(source.fields)
    types = {field.name: field.type for field in source.fields}
    if found is None or types[found.image] != "bytes":
        return None
    if format.is_image_name(found.image):
        return source, found.image
    with contextlib.suppress(Error):
        rows = source.batches([found.image], batch_size=_FIRST, on_error="skip")
        if has_images(next(rows, {found.image: []})[found.image]):
            return source, found.image
    return None


def damaged_images(source: Source, name: str, known: list[Damage], scan: Scan) -> list[Damage]:
    """Decodes all images of the source's only file; returns the damage that was not known before.

    Args:
        source: With a field of files of images.
        name: Of the field.
        known: Damage that was found already.
        scan: Counts the records that are whole, those with damaged images not any more.
    """

    def opener(**attrs: Any) -> DataLoader[Any]:
        file = source.blobs(**attrs)[name]
        return DataLoader({name: decoded_image(file)}, memory_budget=source.memory_budget)

    decoded = Scan()
    found = read_all(source.files[0], opener, source.compression is not None, decoded)
    places = {_place(one) for one in known}
    new = [one for one in found if _place(one) not in places]
    scan.good = max(scan.good - len(new), decoded.good)
    if scan.good > decoded.good:
        scan.notes.append(
            f"{scan.good - decoded.good} images were not decoded: readers stop at that damage"
        )
    return new


def _place(damage: Damage) -> tuple[str, int | None]:
    return damage.file, damage.byte if damage.record is None else damage.record
