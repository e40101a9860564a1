"""The part of a large sample that is checked: a check reads the sample hundreds of times."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pyflowdata.errors import Error
from pyflowdata.words.plain_text import counted
from .spec import Spec

MOST_FILES = 64
MOST_BYTES = 1 << 25


def bytes_of(files: Sequence[str]) -> int:
    """Of all these files together."""
    return sum(os.path.getsize(file) for file in files if os.path.isfile(file))


def part_of(files: Sequence[str]) -> list[str]:
    """The first and the last files, as many as a check can read often; [] for all of them, or
    where a part is no smaller.

    Args:
        files: Those of the reader, in its order, with the companions, which have other suffixes
            than the first file.
    """
    if len(files) <= MOST_FILES and bytes_of(files) <= MOST_BYTES:
        return []
    own = [file for file in files if _suffix(file) == _suffix(files[0])]
    for half in range(MOST_FILES // 2, 0, -1):
        part = [*own[:half], *own[-half:]]
        if len(part) < len(own) and (half == 1 or bytes_of(part) <= MOST_BYTES):
            return part
    return []


def can_be_checked(spec: Spec, part: Sequence[str]) -> bool:
    """Whether the reader takes these files alone."""
    try:
        spec.with_files(list(part)).make()
    except Error:
        return False
    return True


def in_words(files: Sequence[str], part: Sequence[str]) -> str:
    """What of the sample is looked at."""
    half = len(part) // 2
    return (
        f"most of the sample, which has {counted(len(files), 'file')}: the checks look at the "
        f"first {half} and the last {half}, and do not count all records"
    )


def _suffix(file: str) -> str:
    """Of a file's name; numbers of parts make no kinds."""
    return re.sub(r"\d+", "0", "".join(Path(file).suffixes))
