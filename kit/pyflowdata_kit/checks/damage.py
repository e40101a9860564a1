"""Damaged copies of the sample."""

from __future__ import annotations

from pathlib import Path

from pyflowdata.errors import Error, InternalError
from ..damaged_copies import KINDS
from ..kit import FORWARD, Run
from .check import Check
from .damage_trial import DamageTrial
from .sample_files import SampleCopy
from .victims import Victim, victims


def damage(check: Check, kind: str) -> str:
    """Damaged copies of files with bytes in them: of each kind of files the last and the first."""
    copy = SampleCopy(check, kind)
    base = copy.kit.run(order=FORWARD, range=check.range)
    names = copy.names()
    chosen = [one for one in victims(copy.paths, base) if one.path.name in names]
    if not check.is_reader:  # whose records alone reach it
        chosen = [one for one in chosen if one.is_last and not one.is_companion]
    trials = [_damage(check, copy, base, kind, victim) for victim in chosen]
    if not trials:
        return "no file has bytes"
    said = ", ".join(victim.path.name for victim in chosen)
    return f"{DamageTrial.summary(trials, check.is_reader)}; of {said}"


def _damage(
    check: Check, copy: SampleCopy, base: Run, kind: str, victim: Victim
) -> DamageTrial:
    """Damages one file in place, and leaves it as it was."""
    data = victim.path.read_bytes()
    trial = DamageTrial(check, copy.kit, base, kind, victim, len(data))
    with copy.changed(victim.path) as write:
        for damaged, doing in KINDS[kind](data, victim.path.name, victim.layout):
            if not check.case(doing):
                continue
            write(damaged)
            _propose(check, copy.folder, doing)
            trial.look(doing, data, damaged, write)
    if check.is_reader:
        trial.conclude()
    return trial


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
