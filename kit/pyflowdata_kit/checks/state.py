"""The state of the whole process: no function of the op changes it, and no row depends on it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from pyflowdata.errors import Error
from ..damaged_copies import changed, shortened
from ..kit import FORMATS, FORWARD, SHUFFLED, STREAM, Kit, Run
from .check import Check
from .failures import spread
from .sample_files import SampleCopy
from .surroundings import decimal_comma, moved_files, other_variables, slow_clocks

_MOST_FAILURES = 8  # reads, and allocations, of which each is made to fail
_CHANGES, _CUTS = 12, 4  # damaged copies
_RECORDS = 48  # looked at in each run, the first and the last ones

# What this group tells; other findings of its runs belong to other groups.
_IDS = frozenset(
    "process-state own-generator arithmetic-mode global-state prints closes-descriptor "
    "leaves-thread keeps-lock keeps-file-lock locks-twice writes-files format-differs "
    "format-score".split()
)


def state(check: Check) -> str:
    """No function of the op changes the process, and no row depends on clock or locale."""
    if check.case("making nodes"):
        _tell(check, check.made)
        _make_nodes(check)
    if check.case("formats"):
        run = check.kit.run(mode=FORMATS, watch_state=1, doing="what files begin with")
        _tell(check, run.found)
    base = check.kit.run(
        order=FORWARD, range=check.range, most_records=_RECORDS, rounds=2, watch_state=1,
        silent=True,
    )  # fmt: skip
    if check.case("as it is"):
        _tell(check, base.found)
    _pass(check)
    _fail(check, base)
    if check.case("damaged copies"):
        _damage(check)
    if base.succeeded:
        slow_clocks(check, base, _RECORDS)
        other_variables(check, base, _RECORDS)
        moved_files(check, _RECORDS)
        decimal_comma(check, _RECORDS)
    return (
        "descriptors, threads, locks, files, signals, rounding, environment, clock, decimal comma"
    )


def _tell(check: Check, found: Iterable[tuple[str, str]]) -> None:
    for id, text in found:
        if id in _IDS:
            check.tell(id, text)


def _watched(check: Check, kit: Kit, doing: str = "", **options: int) -> Run:
    given = {"order": FORWARD, "range": check.range, "most_records": _RECORDS, **options}
    run = kit.run(doing=doing, silent=True, watch_state=1, **given)
    _tell(check, run.found)
    return run


def _make_nodes(check: Check) -> None:
    """Calls infer(), companions() and propose(): the host does so where a node is made."""
    with check.watch() as found:
        for _ in range(3):
            check.given.make()
            check.job.spec.make()
    _tell(check, found)


def _pass(check: Check) -> None:
    """Other ways through the records."""
    if not check.whole_batches and check.case("shuffled, 3 at a time"):
        _watched(check, check.kit, order=SHUFFLED, range=3)
    if check.is_reader and check.case("next()"):
        _watched(check, check.kit, order=STREAM, range=5, seek=1)
    if check.case("cancelled"):
        _watched(check, check.kit, cancelled=1)


def _fail(check: Check, base: Run) -> None:
    """Functions that fail, which leave by another way."""
    for what, count in (("read", base.num_reads), ("alloc", base.num_allocs)):
        for n in spread(count, _MOST_FAILURES):
            if check.case(f"{what} number {n}"):
                doing = f"{what} number {n} failing"
                _watched(check, check.kit, doing=doing, **{f"fail_{what}": n})


def _damage(check: Check) -> None:
    """Records and files that are refused."""
    if not any(Path(path).is_file() for path in check.kit.files()):
        return
    copy = SampleCopy(check, "state")
    victim = copy.last_file()
    if victim is None:
        return
    data, name = victim.read_bytes(), victim.name
    with copy.changed(victim) as write:
        for damaged, doing in chain(changed(data, name, _CHANGES), shortened(data, name, _CUTS)):
            write(damaged)
            try:
                _watched(check, copy.kit, doing=doing)
            except Error:  # of another op of the graph
                continue
