"""Checks the state of the whole process: no function of the op may change it, and no row may depend
on it.
"""

from __future__ import annotations

import contextlib
import locale
import os
import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from ..damaged_copies import changed, shortened
from ..kit import FORMATS, FORWARD, SHUFFLED, STREAM, Kit, Run
from ..spec import has_folders
from .check import Check
from .failures import spread
from .sample_files import SampleCopy, copy_files
from pyflowdata.errors import Error


# ---- A locale with a decimal comma, on machines that have none installed ------------------------

_NAME = "pyflowdata_comma"
_MAGIC = 0x20031115  # glibc's magic of locale files; LC_NUMERIC, category 1, flips a bit


@contextlib.contextmanager
def _comma_locale(folder: Path) -> Iterator[bool]:
    """Gives strtod() and printf() of this process a decimal comma, until the process ends; False:
    it cannot, because its C library is not glibc.

    Args:
        folder: Gets the locale's file.
    """
    place = folder / "locale" / _NAME
    place.mkdir(parents=True, exist_ok=True)
    (place / "LC_NUMERIC").write_bytes(_lc_numeric())
    before, path = locale.setlocale(locale.LC_NUMERIC), os.environ.get("LOCPATH")
    os.environ["LOCPATH"] = str(place.parent)
    try:
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_NUMERIC, _NAME)
        yield locale.localeconv()["decimal_point"] == ","
    finally:
        if path is None:
            del os.environ["LOCPATH"]
        else:
            os.environ["LOCPATH"] = path
        locale.setlocale(locale.LC_NUMERIC, before)


def _lc_numeric() -> bytes:
    """The file: a header with the offset of each item; decimal point, thousands separator and
    grouping; the first two as wide characters; the character set."""
    values = [b",\0", b"\0", b"\0", struct.pack("=I", ord(",")), bytes(4), b"UTF-8\0"]
    head = 8 + 4 * len(values)
    offsets, body = [], b""
    for value in values:
        body += bytes(-len(body) % 4)
        offsets.append(head + len(body))
        body += value
    return struct.pack(f"={2 + len(values)}I", _MAGIC ^ 1, len(values), *offsets) + body


# ---- Nothing may depend on clock, environment, locale and folder --------------------------------

# Seconds by which the plugin's clocks are slow: another second, minute, hour, day and year.
_SECONDS_SLOW = (7, 1_001, 3 * 3_600, 401 * 86_400)
_REPEATS = 8  # a difference comes from the locale only after so many equal runs
_CLOCK = (
    "the time of day goes into the output",
    "the time seeds a generator of random numbers; use host->random_bits()",
)


def _slow_clocks(check: Check, base: Run, records: int) -> None:
    """Makes the plugin's clocks slow, by several amounts; `base` is a watched run with correct
    clocks.
    """
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


def _other_variables(check: Check, base: Run, records: int) -> None:
    """Changes the environment variables that the plugin reads."""
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


def _moved_files(check: Check, records: int) -> None:
    """Looks whether rows depend on the folder: the files lie in another folder of the same name."""
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


def _decimal_comma(check: Check, records: int) -> None:
    """Tries a decimal comma: a program may have called setlocale(LC_ALL, ""), in many countries."""
    if not check.case("decimal comma"):
        return

    def run() -> Run:
        return check.make_kit(check.given).run(
            silent=True, order=FORWARD, range=check.range, most_records=records
        )

    base = run()
    with _comma_locale(Path(check.job.folder)) as can:
        if not can:
            check.note("a decimal comma: the C library reads no locale that the kit writes")
            return
        try:
            different = _difference(run(), base)
        except Error as failure:
            different = f"the op cannot be used ({failure})"
    if different is None:
        return
    # A row that also differs without the comma does not depend on the comma.
    if all(_difference(run(), base) is None for _ in range(_REPEATS)):
        check.tell(
            "locale-dependent",
            f"{different} when the program has a locale with a decimal comma, in which strtod() "
            "reads 1.5 as 1 and printf() writes 1,5: parse numbers with host->parse_double(), or "
            "with strtod_l() and a locale of newlocale(LC_ALL_MASK, \"C\", 0)",
        )


def _difference(run: Run, base: Run) -> str | None:
    """A text about how a run differs from another; None: they are equal."""
    if run.status != base.status:
        return f"{run.function} fails ({run.status}: {run.message})"
    place = run.first_difference(base)
    if place is None:
        return None
    is_record = run.records[place] != base.records[place]
    failed = (run.records if is_record else run.rows)[place] == 1
    return f"{'record' if is_record else 'row'} {place} {'fails' if failed else 'is another one'}"


# ---- The check ----------------------------------------------------------------------------------

_MOST_FAILURES = 8  # reads, and allocations, that are made to fail
_CHANGES, _CUTS = 12, 4  # numbers of damaged copies
_RECORDS = 48  # records of each run: the first and the last

# Ids that this group tells; other findings of its runs belong to other groups.
_IDS = frozenset(
    "process-state own-generator arithmetic-mode global-state prints closes-descriptor "
    "leaves-thread keeps-lock keeps-file-lock locks-twice writes-files format-differs "
    "format-score".split()
)


def state(check: Check) -> str:
    """Checks that no function of the op changes the process, and no row depends on clock or
    locale."""
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
        _slow_clocks(check, base, _RECORDS)
        _other_variables(check, base, _RECORDS)
        _moved_files(check, _RECORDS)
        _decimal_comma(check, _RECORDS)
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
    """Calls infer(), companions() and propose(), as the host does when it makes a node."""
    with check.watch() as found:
        for _ in range(3):
            check.given.make()
            check.job.spec.make()
    _tell(check, found)


def _pass(check: Check) -> None:
    """Reads the records in other orders."""
    if not check.whole_batches and check.case("shuffled, 3 at a time"):
        _watched(check, check.kit, order=SHUFFLED, range=3)
    if check.is_reader and check.case("next()"):
        _watched(check, check.kit, order=STREAM, range=5, seek=1)
    if check.case("cancelled"):
        _watched(check, check.kit, cancelled=1)


def _fail(check: Check, base: Run) -> None:
    """Makes functions fail, so that the op leaves by its error paths."""
    for what, count in (("read", base.num_reads), ("alloc", base.num_allocs)):
        for n in spread(count, _MOST_FAILURES):
            if check.case(f"{what} number {n}"):
                doing = f"{what} number {n} failing"
                _watched(check, check.kit, doing=doing, **{f"fail_{what}": n})


def _damage(check: Check) -> None:
    """Tries records and files that are refused."""
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
            except Error:  # another op of the graph failed
                continue
