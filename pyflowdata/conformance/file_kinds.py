"""Which files of a sample are of one kind: those that are damaged and fuzzed one at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def _kind(path: Path) -> str:
    """The suffixes of a name, or the name without its numbers."""
    return "".join(path.suffixes) or re.sub(r"\d+", "", path.name)


def file_of_each_kind(files: Sequence[Path]) -> list[Path]:
    """The last file of each kind that has bytes, in the order of the files."""
    last = {_kind(file): file for file in files if file.stat().st_size > 0}
    return [file for file in files if file in last.values()]


def files_like(file: Path, files: Sequence[Path]) -> list[Path]:
    """All files of the kind of one."""
    return [other for other in files if _kind(other) == _kind(file)]
