"""Damaged copies of the sample."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..damaged_copies import KINDS
from ..kit import FORWARD, Kit, Run
from .check import Check, tell_damage_status
from .sample_files import SampleCopy, Victim, victims
from pyflowdata.errors import Error, InternalError


# ---- One kind of damage, in many places of a file -----------------------------------------------

_LONGEST_NUMBER = 8  # bytes in whose place other bytes are tried
_LEAST_TAIL = 4  # bytes at a file's end that nothing may depend on
_RESIZED = "resized"


class _DamageTrial:
    """Runs over damaged copies, each compared with a run over the intact file."""

    def __init__(
        self, check: Check, kit: Kit, base: Run, kind: str, victim: Victim, size: int
    ) -> None:
        """
        Args:
            check: Takes findings.
            kit: A kit over the folder that gets the copies, one after the other.
            base: The kit's run over the intact file.
            kind: The kind of damage: a key of damaged_copies.KINDS.
            victim: The file.
            size: The bytes of the file.
        """
        self._check, self._kit, self._base = check, kit, base
        self._kind, self._victim, self._size = kind, victim, size
        self._last_read = -1  # the last place where a change of a byte made a difference
        self._tried = self._noticed = self._harmless = 0
        self._unnoticed: list[str] = []
        self._shorter: list[str] = []  # cuts after which the remaining records are as before
        self._unread = 0  # bytes at the end that nothing needs

    def look(
        self, doing: str, data: bytes, damaged: bytes, write: Callable[[bytes], None]
    ) -> None:
        """Runs over the damaged copy, which is in place; `write` replaces it."""
        self._tried += 1
        try:
            run = self._kit.run(order=FORWARD, range=self._check.range, doing=doing)
        except Error:  # another op failed
            self._noticed += 1
            return
        is_harmless = run.status == "PFD_OK" and run.equals(self._base)
        if not is_harmless and len(damaged) == len(data):
            self._last_read = max(self._last_read, _last_difference(data, damaged))
        if self._kind == _RESIZED and run.status == "PFD_OK":
            self._harmless += 1  # records may have any size: the file is whole
        elif is_harmless:
            self._harmless += 1
            self._unread = max(self._unread, len(data) - len(damaged))
        elif run.status == "PFD_OK" and len(damaged) < len(data) and run.is_subsequence_of(
            self._base
        ):
            self._shorter.append(doing)
        elif run.status == "PFD_OK" and self._is_chance(data, damaged, write):
            self._noticed += 1
        elif run.status == "PFD_OK":
            self._unnoticed.append(doing)
        else:
            self._noticed += run.is_refused
            tell_damage_status(self._check, run, doing)

    def _is_chance(self, data: bytes, damaged: bytes, write: Callable[[bytes], None]) -> bool:
        """Whether random bytes in the same place are noticed; equal bytes may form a record with a
        correct checksum.
        """
        if self._kind not in ("zeros", "lengths") or len(damaged) != len(data):
            return False
        begin, end = _first_difference(data, damaged), _last_difference(data, damaged) + 1
        if end - begin > _LONGEST_NUMBER:
            return False
        changes = random.Random(begin)
        others = bytes(byte ^ changes.randint(1, 255) for byte in data[begin:end])
        write(data[:begin] + others + data[end:])
        try:
            run = self._kit.run(order=FORWARD, range=self._check.range, silent=True)
        except Error:
            return True
        return run.status != "PFD_OK"

    def conclude(self) -> None:
        """Reports findings over all copies together."""
        check = self._check
        if self._unnoticed:
            self._conclude_unnoticed()
        if self._shorter:
            check.warn(
                "cut-unnoticed",
                f"{len(self._shorter)} of {self._tried} shorter files were read without an error, "
                f"as files of fewer records, for example {self._shorter[0]}: no checksum of a "
                "record can tell; a count of records in the file's header would",
                case=self._shorter[0],
            )
        if self._victim.is_last and not check.is_partial and self._kind != _RESIZED:
            self._conclude_tail()

    def _conclude_unnoticed(self) -> None:
        is_companion, name = self._victim.is_companion, self._victim.path.name
        tell = self._check.tell if self._check.job.checksums else self._check.warn
        tell(
            "companion-unnoticed" if is_companion else "damage-unnoticed",
            f"{len(self._unnoticed)} of {self._tried} damaged samples ({self._kind} in {name}) "
            "were read without an error and gave other data, for example with "
            f"{self._unnoticed[0]}: compare the checksum "
            + (
                "of this companion file before its numbers are used, or, where it has none, "
                "compare what it says with the records (or ignore companion-unnoticed)"
                if is_companion
                else "of what is there; where files have a header, a file of no bytes lacks it: "
                "say so by has_header = 1 in pfd_framing, or refuse it in open()"
                if " cut to 0 of " in self._unnoticed[0]
                else "before the data is used, or, where the format has none, think of adding one"
            ),
            case=self._unnoticed[0],
        )

    def _conclude_tail(self) -> None:
        record = self._size / max(self._base.num_records, 1)
        if self._kind == "flipped":
            self._unread = self._size - 1 - self._last_read
        if self._unread >= max(_LEAST_TAIL, record / 2):
            self._check.tell(
                "tail-ignored",
                f"the last {self._unread} bytes of {self._victim.path.name} can be {self._kind}, "
                "and all records are as before: is the last record forgotten, or a loop one too "
                "short? Where these "
                "bytes are a footer, look whether it is there (or ignore tail-ignored)",
                case="",
            )

    @staticmethod
    def summary(trials: Sequence[_DamageTrial], is_reader: bool) -> str:
        """A text about what was checked; for an op with inputs, the reader notices damage."""
        tried = sum(trial._tried for trial in trials)
        if not is_reader:
            return f"{tried} damaged samples"
        noticed = sum(trial._noticed for trial in trials)
        harmless = sum(trial._harmless for trial in trials)
        return f"{tried} samples, {noticed} refused, {harmless} unharmed"


def _first_difference(one: bytes, two: bytes) -> int:
    """The first place where texts of equal length differ."""
    differs = np.frombuffer(one, np.uint8) != np.frombuffer(two, np.uint8)
    return int(np.flatnonzero(differs)[0])


def _last_difference(one: bytes, two: bytes) -> int:
    """The last place where texts of equal length differ."""
    differs = np.frombuffer(one, np.uint8) != np.frombuffer(two, np.uint8)
    return int(np.flatnonzero(differs)[-1])


# ---- All files ----------------------------------------------------------------------------------


def damage(check: Check, kind: str) -> str:
    """Tries damaged copies of the first and the last non-empty file of each kind."""
    copy = SampleCopy(check, kind)
    base = copy.kit.run(order=FORWARD, range=check.range)
    names = copy.names()
    chosen = [one for one in victims(copy.paths, base) if one.path.name in names]
    if not check.is_reader:  # only records reach the op
        chosen = [one for one in chosen if one.is_last and not one.is_companion]
    trials = [_damage(check, copy, base, kind, victim) for victim in chosen]
    if not trials:
        return "no file has bytes"
    said = ", ".join(victim.path.name for victim in chosen)
    return f"{_DamageTrial.summary(trials, check.is_reader)}; of {said}"


def _damage(
    check: Check, copy: SampleCopy, base: Run, kind: str, victim: Victim
) -> _DamageTrial:
    """Damages one file in place, and restores it."""
    data = victim.path.read_bytes()
    trial = _DamageTrial(check, copy.kit, base, kind, victim, len(data))
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
    except Error:  # the op refuses the data, as it should
        pass
