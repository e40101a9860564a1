"""COCO's annotation files: commands read them in the order of the image ids, not by group."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from .base.detection import Detected
from .base.format import Format
from .base.source import Source


class COCO(Format):
    def open(self, source: Source, found: Sequence[Detected], *, as_stored: bool) -> Source:
        """Turns group_by_ratio off: groups are for batches that are padded."""
        given = {name for name, _ in source.attrs}
        if "group_by_ratio" not in given:
            attrs = (*source.attrs, ("group_by_ratio", False))
            source = dataclasses.replace(source, attrs=attrs)
        return super().open(source, found, as_stored=as_stored)


FORMAT = COCO
