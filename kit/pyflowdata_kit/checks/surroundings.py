"""Nothing that an op gives depends on the clock, the environment or the locale of the program, or
on where its files lie."""

from __future__ import annotations

from pathlib import Path

from pyflowdata.errors import Error
from ..comma_locale import comma_locale
from ..kit import FORWARD, Run
from ..spec import has_folders
from .check import Check
from .sample_files import copy_files

# Seconds that the plugin's clocks are slow: another second, minute, hour; another day and year.
_SECONDS_SLOW = (7, 1_001, 3 * 3_600, 401 * 86_400)
_REPEATS = 8  # equal runs before a difference is put down to the locale
_CLOCK = (
    "the time of day goes into the output",
    "the time seeds a generator of random numbers; use host->random_bits()",
)


def slow_clocks(check: Check, base: Run, records: int) -> None:
    """The plugin's clocks are slow, by some amounts; `base` is a watched run over so many records
    with clocks as they are."""
    if base.clock_reads <= 0:
        return
    for seconds in _SECONDS_SLOW:
        if not check.case(f"clocks {seconds} s slow"):
            continue
        run = check.kit.run(
            order=FORWARD, range=check.range, most_records=records, rounds=2, watch_state=1,
            clock_delay_s=seconds, silent=True,
        )  # fmt: skip
        different = _difference(run, base)
        if different is not None:
            check.tell(
                "not-repeatable",
                f"{different} when the clocks that the plugin reads are {seconds} s slow: what it "
                "gives must depend on the files, the attrs and random_key only, never on the time",
                likely=_CLOCK,
            )


def other_variables(check: Check, base: Run, records: int) -> None:
    """Variables of the environment that the plugin asks for are others."""
    if not base.variable or not check.case("other variables"):
        return

    def run(other: int) -> Run:
        return check.kit.run(
            order=FORWARD, range=check.range, most_records=records, watch_state=1,
            other_variables=other, silent=True,
        )  # fmt: skip

    found = run(1)
    different = _difference(found, base) if found.succeeded else None
    if different is not None and _difference(run(0), base) is None:
        check.tell(
            "environment-dependent",
            f"{different} when environment variables that the plugin asks for, the first "
            f"{base.variable}, are others: on another machine the same files give other data; "
            "make it an attr, which is saved with the state of a loader",
        )


def moved_files(check: Check, records: int) -> None:
    """The same files in a folder of another path, whose last part is as before."""
    paths = [Path(path).absolute() for path in check.kit.files()]
    folders = {path.parent for path in paths}
    if not check.is_reader or has_folders(check.job.spec) or len(folders) != 1:
        return
    if not check.case("in another folder"):
        return
    folder = Path(check.job.folder, "moved") / folders.pop().name
    copy_files(paths, folder)
    try:
        kit = check.make_kit(check.job.spec.in_folder(str(folder)))
    except Error:
        return
    options = {"order": FORWARD, "range": check.range, "most_records": records}
    found, base = kit.run(silent=True, **options), check.kit.run(silent=True, **options)
    different = _difference(found, base) if found.succeeded else None
    if different is not None and _difference(check.kit.run(silent=True, **options), base) is None:
        check.tell(
            "path-dependent",
            f"{different} when the same files lie in {folder}: what a row is must come from the "
            "bytes of the files, or at most from their names, not from the path of the folder, "
            "which is another one on each machine",
        )


def decimal_comma(check: Check, records: int) -> None:
    """A program may have called setlocale(LC_ALL, "") on a machine of many countries."""
    if not check.case("decimal comma"):
        return

    def run() -> Run:
        return check.make_kit(check.given).run(
            silent=True, order=FORWARD, range=check.range, most_records=records
        )

    base = run()
    with comma_locale(Path(check.job.folder)) as can:
        if not can:
            check.note("a decimal comma: the C library reads no locale that the kit writes")
            return
        try:
            different = _difference(run(), base)
        except Error as failure:
            different = f"the op cannot be used ({failure})"
    if different is None:
        return
    # What differs without the comma as well does not depend on it.
    if all(_difference(run(), base) is None for _ in range(_REPEATS)):
        check.tell(
            "locale-dependent",
            f"{different} when the program has a locale with a decimal comma, in which strtod() "
            "reads 1.5 as 1 and printf() writes 1,5: parse numbers with host->parse_double(), or "
            "with strtod_l() and a locale of newlocale(LC_ALL_MASK, \"C\", 0)",
        )


def _difference(run: Run, base: Run) -> str | None:
    """What a run gives otherwise than another, in words; None: nothing."""
    if run.status != base.status:
        return f"{run.function} fails ({run.status}: {run.message})"
    place = run.first_difference(base)
    if place is None:
        return None
    is_record = run.records[place] != base.records[place]
    failed = (run.records if is_record else run.rows)[place] == 1
    return f"{'record' if is_record else 'row'} {place} {'fails' if failed else 'is another one'}"
