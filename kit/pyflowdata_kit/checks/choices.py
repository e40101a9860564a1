"""Reads the sample with each choice of each attr of the op, changing one attr at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyflowdata.errors import Error
from ..kit import FORWARD, SHUFFLED, Kit, Run
from ..spec import with_attr
from .check import Check
from .leaks import confirmed_leak, tell_found

_MOST_RECORDS = 32
_MOST_VALUES = 12  # for one attr


def choices(check: Check) -> str:
    """Runs with each choice of an attr, and with both values of a bool."""
    tried = refused = 0
    for name, value in _changes(check):
        if not check.case(f"{name}={value}"):
            continue
        tried += 1
        try:
            kit = check.make_kit(with_attr(check.job.spec, name, value))
            refused += not _look(check, kit, f"{name}={value}")
        except Error:  # the node refuses values that do not fit
            refused += 1
    return f"{tried} values of attrs, {refused} of them refused"


def _changes(check: Check) -> Iterator[tuple[str, str | bool]]:
    """The name and value of each choice that differs from the node's."""
    node = check.job.spec.make()
    own = check.kit.own_attrs()
    for attr in node.op.attrs:
        if attr.name not in own or attr.type.element is not None:
            continue
        now = node.values.get(attr.name, attr.default)
        switches = any(node.op.switch(port.name) == attr for port in node.op.outputs)
        is_bool = isinstance(attr.default, bool) or isinstance(now, bool)
        # Without the output that the attr turns on, there would be nothing to look at.
        bools = (True,) if switches else (False, True)
        values: tuple[str | bool, ...] = bools if is_bool else attr.choices
        for value in values[:_MOST_VALUES]:
            if value != now:
                yield attr.name, value


def _look(check: Check, kit: Kit, doing: str) -> bool:
    """Whether the op could be used so."""
    whole = check.whole_batches

    def run_rounds(rounds: int, **options: int) -> Run:
        return kit.run(doing=doing, order=FORWARD, range=check.range, rounds=rounds, silent=True,
                       most_records=_MOST_RECORDS, **options)  # fmt: skip

    base = run_rounds(6, twice=1)
    tell_found(check, base, confirmed_leak(run_rounds) if base.leaks else None)
    if not base.succeeded or whole:
        return base.status == "PFD_OK"
    for order, size in ((SHUFFLED, 5), (FORWARD, 1)):
        run = kit.run(doing=doing, order=order, range=size, most_records=_MOST_RECORDS)
        if run.succeeded and not np.array_equal(run.rows, base.rows):
            check.tell(
                "range-dependent",
                f"with {doing}, outputs change with how many records compute() gets at once "
                f"({size} instead of {check.range}) or which: a row must depend on its own record "
                "alone",
            )
            break
    return True
