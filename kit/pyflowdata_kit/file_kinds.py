"""Which files of a sample are of one kind; of each kind some are damaged and fuzzed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def kind_of(path: Path) -> str:
    """The suffixes of a name, or the name if it has none; numbers, as of parts, make no kinds."""
    return re.sub(r"\d+", "0", "".join(path.suffixes) or path.name)


def file_of_each_kind(files: Sequence[Path]) -> list[Path]:
    """The last file of each kind that has at least half the bytes of the longest one, since a short
    one may have no records; in the order of the files."""
    sizes = {file: file.stat().st_size for file in files}
    longest: dict[str, int] = {}
    for file, size in sizes.items():
        longest[kind_of(file)] = max(size, longest.get(kind_of(file), 0))
    last = {kind_of(file): file for file in files if 0 < longest[kind_of(file)] <= 2 * sizes[file]}
    return [file for file in files if file in last.values()]


def files_like(file: Path, files: Sequence[Path]) -> list[Path]:
    """All files of the kind of one."""
    return [other for other in files if kind_of(other) == kind_of(file)]
