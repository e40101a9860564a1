"""Looks for leaks when a record fails and the source stays open."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from pyflowdata.errors import Error
from ..damaged_copies import inverted, spread
from ..file_layout import spread_over
from ..kit import Kit, Run
from .check import Check
from .leaks import confirmed_leak
from .sample_files import SampleCopy, Victim, victims

_PLACES = 16  # places to damage in a file without known records
_INPUTS = (  # the kinds of damage of inputs.c, from number 1 on
    "all bytes 0", "all bytes 0xff", "the first byte inverted", "the byte in the middle inverted",
    "the last byte inverted", "the second half 0", "random bytes", "other random bytes",
)  # fmt: skip
_MOST_FAILURES = 4  # failures with different messages
_FIRST_ROUNDS = 6  # rounds that make a leak suspected
_LIKELY = (
    "a return where the record is refused, between malloc() or open() and free() or close()",
    "a buffer that grows with each failure",
)


def failing_records(check: Check) -> str:
    """Looks for leaks of memory and descriptors over many rounds of calls that fail for a
    record."""
    found = _of_inputs(check) if not check.is_reader else _of_files(check)
    messages: set[tuple[str, str]] = set()
    for doing, kit, options in found:
        if check.job.case not in (None, doing):
            continue
        run = _run(check, kit, doing, 1, options)
        if run is None or run.num_failed == 0 or run.function == "open()":
            continue
        said = (run.function, _without_numbers(run.message))
        if said in messages or len(messages) == _MOST_FAILURES or not check.case(doing):
            continue
        messages.add(said)
        _look(check, kit, doing, run, options)
    if not messages:
        return "nothing: no record could be made to fail"
    return f"{_FIRST_ROUNDS} rounds of each message with which a record fails: {len(messages)}"


def _without_numbers(text: str) -> str:
    """The text without its numbers: equal for all records that fail at the same place of the op."""
    return re.sub(r"\d+", "", text)


def _run(
    check: Check, kit: Kit, doing: str, rounds: int, options: dict[str, Any]
) -> Run | None:
    try:
        return kit.run(
            silent=True, doing=doing, range=check.range, rounds=rounds, most_records=64, **options
        )
    except Error:  # the reader before the op failed
        return None


def _look(check: Check, kit: Kit, doing: str, failed: Run, options: dict[str, Any]) -> None:
    record = np.flatnonzero((failed.rows == 1) | (failed.records == 1))
    if len(record):
        doing += f", so that record {record[0]} fails"

    def run_rounds(rounds: int) -> Run | None:
        return _run(check, kit, doing, rounds, options)

    first = (run_rounds(_FIRST_ROUNDS) for _ in range(2))
    if not any(run is not None and run.leaks for run in first):
        return
    leak = confirmed_leak(run_rounds)
    for id, text in leak.leaks if leak else ():
        check.tell(id, text, likely=list(_LIKELY))


Trial = tuple[str, Kit, dict[str, Any]]  # words for the damage, a kit over it, further options


def _of_inputs(check: Check) -> Iterator[Trial]:
    for way, said in enumerate(_INPUTS):
        yield f"{said} in each row of the inputs", check.kit, {"damaged_inputs": way + 1}


def _of_files(check: Check) -> Iterator[Trial]:
    """Yields copies of the sample, each with one damaged place in a record."""
    copy = SampleCopy(check, "failing")
    names = copy.names()
    for victim in victims(copy.paths, check.base(silent=True)):
        if victim.is_companion or victim.path.name not in names:
            continue
        data = victim.path.read_bytes()
        with copy.changed(victim.path) as write:
            for damaged, doing in inverted(data, victim.path.name, _places(victim, len(data))):
                write(damaged)
                yield doing, copy.kit, {}


def _places(victim: Victim, size: int) -> list[int]:
    """The places to damage: head, middle and tail of some records; if no records are known, places
    over the file."""
    chosen = {
        place
        for record in spread_over(tuple(one for one in victim.layout.records if one.size > 0), 4)
        for place in (record.offset, record.offset + record.size // 2, record.end - 1)
        if 0 <= place < size
    }
    return sorted(chosen or spread(size, _PLACES if victim.is_last else _PLACES // 2))
