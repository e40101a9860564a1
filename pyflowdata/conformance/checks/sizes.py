"""Files without records, and the further samples."""

from __future__ import annotations

from pathlib import Path

from ...errors import CorruptDataError
from ..kit import FORWARD, MOST_RECORDS
from .check import Check
from .sample_files import copy_files


def sizes(check: Check) -> str:
    """Empty files, and the further samples."""
    paths = [Path(path) for path in check.kit.files()]
    folder = Path(check.job.folder, "empty")
    if paths:
        copy_files(paths, folder)
        for path in paths:
            (folder / path.name).unlink()
            (folder / path.name).touch()
        _count(check, str(folder), 0, "files of 0 bytes")
    for name, count in check.job.also:
        _count(check, name, count, f"the sample {name}")
    return f"empty files and {len(check.job.also)} further samples"


def _count(check: Check, folder: str, count: int, what: str) -> None:
    if not check.case(what):
        return
    kit = check.make_kit(check.job.spec.in_folder(folder))
    try:
        run = kit.run(order=FORWARD, range=check.range, doing=what)
    except CorruptDataError:  # of the reader before the op
        if count == 0:
            return
        raise
    if count == 0 and run.status == "PFD_CORRUPT_DATA":
        return
    said = f"{run.status}: {run.message}" if run.message else run.status
    if run.status != "PFD_OK" or run.num_records != min(count, MOST_RECORDS):
        check.tell(
            "record-count",
            f"{what}: {run.num_records} records ({said}), where {count} are expected"
            + (", or PFD_CORRUPT_DATA" if count == 0 else ""),
        )
