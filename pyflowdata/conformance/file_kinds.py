"""Which files of a sample are of one kind: those that are damaged and fuzzed one at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def _kind(path: Path) -> str:
    """The suffixes of a name, or the name without its numbers."""
    return "".join(path.suffixes) or re.sub(r"\d+", "", path.name)


def file_of_each_kind(files: Sequence[Path]) -> list[Path]:
    """The last file of each kind that has at least half the bytes of the longest one, since a short
    one may have no records; in the order of the files."""
    sizes = {file: file.stat().st_size for file in files}
    longest: dict[str, int] = {}
    for file, size in sizes.items():
        longest[_kind(file)] = max(size, longest.get(_kind(file), 0))
    last = {_kind(file): file for file in files if 0 < longest[_kind(file)] <= 2 * sizes[file]}
    return [file for file in files if file in last.values()]


def files_like(file: Path, files: Sequence[Path]) -> list[Path]:
    """All files of the kind of one."""
    return [other for other in files if _kind(other) == _kind(file)]
