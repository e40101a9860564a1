"""Tries files without records, missing files, and the further samples."""

from __future__ import annotations

from pathlib import Path

from pyflowdata.errors import Error, InternalError
from ..kit import FORWARD, MOST_RECORDS, Run
from .check import Check
from .sample_files import SampleCopy, companion_files, copy_files, is_large


def sizes(check: Check) -> str:
    """Tries empty files, missing companions, and the further samples."""
    paths = [Path(path) for path in check.kit.files()]
    folder = Path(check.job.folder, "empty")
    if paths:
        copy_files([], folder)
        for path in paths:
            (folder / path.name).touch()
        _count(check, str(folder), 0, "files of 0 bytes")
    missing = _missing(check, paths) if check.is_reader else 0
    for name, count in check.job.also:
        _count(check, name, count, f"the sample {name}")
    looked_at = f"empty files and {len(check.job.also)} further samples"
    return f"{looked_at}; {missing} companions missing" if missing else looked_at


def _count(check: Check, folder: str, count: int, what: str) -> None:
    """Checks a sample of so many records."""
    if not check.case(what):
        return
    most = 2 if is_large(folder) else MOST_RECORDS
    try:
        kit = check.make_kit(check.job.spec.in_folder(folder))
        run = kit.run(order=FORWARD, range=check.range, most_records=most, doing=what)
    except InternalError:
        raise
    except Error as failure:  # the reader before the op failed, or the host
        if count > 0:
            check.tell("record-count", f"{what} cannot be read: {failure}")
        return
    if count == 0 and run.is_refused:
        return
    said = f"{run.status}: {run.message}" if run.message else run.status
    found = run.size if run.size >= 0 else run.num_records
    if run.status != "PFD_OK" or found != (count if run.size >= 0 else min(count, most)):
        check.tell(
            "record-count",
            f"{what}: {found} records ({said}), where {count} are expected"
            + (", or PFD_CORRUPT_DATA" if count == 0 else ""),
        )


def _missing(check: Check, paths: list[Path]) -> int:
    """Takes companions away, one at a time and all together; returns the number of companions."""
    base = check.base(silent=True)
    companions = companion_files(paths, base)
    if not companions:
        return 0
    copy = SampleCopy(check, "missing")
    names = copy.names()
    companions = [i for i in companions if paths[i].name in names]
    if not companions:
        return 0
    cases = [[companions[0]], [companions[-1]], companions]
    for number, gone in enumerate(cases):
        if gone in cases[:number]:
            continue
        said = ", ".join(paths[i].name for i in gone)
        if not check.case(f"without {said}"):
            continue
        copy_files([path for i, path in enumerate(paths) if i not in gone], copy.folder)
        _look_without(check, base, str(copy.folder), said)
    return len(companions)


def _look_without(check: Check, base: Run, folder: str, names: str) -> None:
    try:
        kit = check.make_kit(check.job.spec.in_folder(folder))
        run = kit.run(order=FORWARD, range=check.range, doing=f"{names} missing")
    except InternalError:
        raise
    except Error:  # the host failed, or propose()
        return
    said = f"{run.status}: {run.message}" if run.message else run.status
    if run.status == "PFD_OK" and not run.equals(base):
        check.tell(
            "companion-missing",
            f"with {names} missing, the reader gives other data, {run.num_records} records, "
            f"without an error (with it, {base.num_records}): fail with PFD_CORRUPT_DATA in "
            "open(), or find the same records without it",
        )
    elif run.status in ("PFD_INTERNAL", "PFD_OUT_OF_MEMORY", "PFD_CANCELLED"):
        check.tell(
            "companion-missing",
            f"with {names} missing, {run.function} gives {said}: fail with PFD_IO or "
            "PFD_CORRUPT_DATA, which the user can do something about",
        )
