"""The images of a conversion: what their fields become in the target."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from ...formats import Field, ImageChange, ImageFields, image_size, pixel_fields
from ...nodes import Blob

BYTES = "bytes"
_SIZE = "__size__"  # a blob that is read for its errors alone


@dataclasses.dataclass(frozen=True)
class Images:
    """The fields of images in the source and in the target.

    Attributes:
        found: What they are called in the source.
        names: What they are called in the target.
        change: What becomes of the images; None: files keep their bytes.
        is_checked: Whether files without the header of an image are damaged records.
        classes: The names of the classes, which become a field; none where they are not known.
    """

    found: ImageFields
    names: ImageFields
    change: ImageChange | None = None
    is_checked: bool = False
    classes: tuple[str, ...] = ()

    def fields(self, fields: Iterable[Field]) -> list[Field]:
        """The fields as they are written; the image is the first."""
        new = self.found.to(self.names)
        made = [dataclasses.replace(one, name=new.get(one.name, one.name)) for one in fields]
        if self.change is not None:
            made = [
                Field(one.name, BYTES) if one.name == self.names.image else one for one in made
            ]
        made.sort(key=lambda field: field.name != self.names.image)
        return [*made, Field(self.names.class_name, BYTES)] if self.classes else made

    def blobs(self, blobs: dict[str, Blob]) -> dict[str, Blob]:
        """The blobs of the source, with what ops make of the image."""
        image = blobs[self.found.image]
        if self.change is not None:
            return {**blobs, self.found.image: self.change.applied(image)}
        return {**blobs, _SIZE: image_size(image)} if self.is_checked else blobs

    def columns(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with the fields of the target."""
        new = self.found.to(self.names)
        made = {new.get(name, name): column for name, column in batch.items() if name != _SIZE}
        if self.classes:
            labels = batch[self.found.label].tolist()
            made[self.names.class_name] = [self.classes[label] for label in labels]
        return made


def names_in(found: ImageFields, usual: ImageFields | None, fields: Iterable[Field]) -> ImageFields:
    """What the fields are called in the target: the names that are usual there, where no other
    field has one of them."""
    if usual is None:
        return found
    names = ImageFields(
        usual.image,
        found.label and (usual.label or found.label),
        found.class_name and (usual.class_name or found.class_name),
    )
    new = found.to(names)
    others = {field.name for field in fields} - new.keys()
    return found if others & set(new.values()) else names


def are_pixels(fields: Iterable[Field], name: str) -> bool:
    """Whether the rows of a field are pixels, and no files."""
    return name in pixel_fields(fields)
