"""Which files of a sample are of one kind; of each kind some are damaged and fuzzed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def kind_of(path: Path) -> str:
    """The suffixes of a name, or the name if it has none; numbers, as of parts, make no kinds."""
    return re.sub(r"\d+", "0", "".join(path.suffixes) or path.name)


def file_of_each_kind(files: Sequence[Path]) -> list[Path]:
    """The last file of each kind that has bytes, in the order of the files."""
    last = {kind_of(file): file for file in files if file.stat().st_size > 0}
    return [file for file in files if file in last.values()]


def files_like(file: Path, files: Sequence[Path]) -> list[Path]:
    """All files of the kind of one."""
    return [other for other in files if kind_of(other) == kind_of(file)]
