"""Image folders: what is said of files that are no images."""

from __future__ import annotations

import os
from typing import Any

from ..graph import find_op
from .base.damage import Damage, Scan
from .base.format import Format
from .base.source import Source


def _count_others(folder: str, endings: tuple[str, ...]) -> int:
    """The files of a class whose names have another ending; names with a period in front are none."""
    count = 0
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        names = (name for name in files if not name.startswith("."))
        count += sum(not name.lower().endswith(endings) for name in names)
    return count


class ImageFolder(Format):
    """Files that are left out are counted, where its files are verified."""

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """The files that cannot be read."""
        found = super().damage(source, scan)
        attrs: dict[str, Any] = dict(source.attrs)
        declared = find_op(self.reader).attr("extensions")
        endings = attrs.get("extensions", declared.default if declared else ())
        others = sum(
            _count_others(os.path.join(folder, name), tuple(one.lower() for one in endings or [""]))
            for folder in source.files
            for name in attrs.get("classes", ())
        )
        if others:
            scan.notes.append(f"{others} files with other extensions left out")
        return found


FORMAT = ImageFolder
