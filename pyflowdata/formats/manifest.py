"""Manifests of images: what their fields are called."""

from __future__ import annotations

from .base.format import Format
from .base.images import ImageFields


class Manifest(Format):
    """The outputs of its reader are those of the reader of image folders."""

    image_names = ImageFields("image", "label")


FORMAT = Manifest
