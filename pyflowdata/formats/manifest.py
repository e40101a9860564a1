"""Manifests of images: the names of their fields."""

from __future__ import annotations

from .base.format import Format
from .base.images import ImageFields


class Manifest(Format):
    """Its reader has the outputs of the reader of image folders."""

    image_names = ImageFields("image", "label")


FORMAT = Manifest
