"""Nothing that an op gives depends on the clock or the locale of the program."""

from __future__ import annotations

from pathlib import Path

from ...errors import Error
from ..comma_locale import comma_locale
from ..kit import FORWARD, Run
from .check import Check

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
