"""Checks that the samples have records of many kinds, since checks cannot cover kinds that are
missing.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyflowdata.errors import Error
from ..kit import FORWARD, MOST_RECORDS, Run
from .check import Check
from .sample_files import is_large

_EMPTY = 8  # a record of at most so many bytes may have no content: a header, a checksum
_PAGE, _BLOCK = 4096, 65536
_MANY = 16  # if so many records in several files have one size, the format has no other size
_WORD = 4  # all sizes are multiples of this only if records are filled with numbers


def sample(check: Check) -> str:
    """Looks at the sizes and files of records, in the sample and in further samples."""
    if not check.case("records"):
        return "nothing"
    runs = [check.base(silent=True), *_further(check)]
    sizes = [int(size) for run in runs for size in run.spans["size"][run.spans["file"] >= 0]]
    num_files = max(len({int(file) for file in run.spans["file"] if file >= 0}) for run in runs)
    lacks = _lacks(sizes, num_files)
    if lacks and sizes:
        check.warn(
            "sample-poor",
            f"the sample has {', '.join(lacks)}: add what the format can have of these, large "
            "records best by --also FOLDER=COUNT (or ignore sample-poor)",
        )
    return f"{len(sizes)} records of {len(set(sizes))} sizes, in up to {num_files} files"


def _further(check: Check) -> list[Run]:
    runs = []
    for folder, _ in check.job.also:
        most = 2 if is_large(folder) else MOST_RECORDS
        try:
            kit = check.make_kit(check.job.spec.in_folder(folder))
            runs.append(
                kit.run(order=FORWARD, range=check.range, most_records=most, silent=True)
            )
        except Error:  # the group `sizes` tells of this failure
            continue
    return runs


def _lacks(sizes: Sequence[int], num_files: int) -> list[str]:
    """Texts about what a sample with records of these sizes lacks."""
    lacks = []
    longest = f"the longest has {max(sizes, default=0)}"
    if len(sizes) == 1:
        lacks.append("only one record")
    elif len(set(sizes)) == 1 and len(sizes) >= _MANY and num_files > 1:
        pass
    elif len(set(sizes)) == 1:
        lacks.append(f"records of one size alone ({sizes[0]} bytes)")
    elif sizes:
        if min(sizes) > _EMPTY:
            lacks.append(f"no empty record (the shortest has {min(sizes)} bytes)")
        has_words_alone = len(set(sizes)) > 2 and not any(size % _WORD for size in sizes)
        if not has_words_alone and not any(size % 2 for size in sizes):
            lacks.append("no record of an odd number of bytes")
        if max(sizes) <= _PAGE:
            lacks.append(f"no record longer than a page, {_PAGE} bytes ({longest})")
        elif max(sizes) <= _BLOCK:
            lacks.append(f"no record longer than a block, {_BLOCK} bytes ({longest})")
    if num_files == 1:
        lacks.append("records in one file alone")
    return lacks
