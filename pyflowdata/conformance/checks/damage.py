"""Damaged copies of the sample."""

from __future__ import annotations

from pathlib import Path

from ...errors import Error, InternalError
from ..kit import FORWARD
from .check import Check
from .damage_trial import DamageTrial
from ..damaged_copies import KINDS
from .sample_files import copy_files, overwrite


def damage(check: Check, kind: str) -> str:
    """Damaged copies of the last file with bytes in it."""
    paths = [Path(path) for path in check.kit.files()]
    victim = next((path for path in reversed(paths) if path.stat().st_size > 0), None)
    if victim is None:
        return "no file has bytes"
    folder = Path(check.job.folder, kind)
    copy_files(paths, folder)
    kit = check.make_kit(check.job.spec.in_folder(str(folder)))
    base = kit.run(order=FORWARD, range=check.range)
    data = victim.read_bytes()
    trial = DamageTrial(check, kit, base, kind, len(data))
    for damaged, doing in KINDS[kind](data, victim.name):
        if not check.case(doing):
            continue
        overwrite(folder / victim.name, damaged)
        _propose(check, folder, doing)
        trial.look(doing, data, damaged)
    if check.is_reader:
        trial.conclude()
    return trial.summary(check.is_reader)


def _propose(check: Check, folder: Path, doing: str) -> None:
    """Makes the node again, so that propose() infers the attrs that were left out."""
    if check.given == check.job.spec:
        return
    try:
        check.given.in_folder(str(folder)).make()
    except InternalError as failure:
        check.tell("propose-status", f"with {doing}, making the node fails: {failure}")
    except Error:  # as it should
        pass
