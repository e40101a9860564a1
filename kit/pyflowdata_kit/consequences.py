"""Which findings most likely follow from an earlier one.

Groups of checks run from the plainest use of an op to the most involved: a fault that the first
ones find shows again in the later ones, in another form.  Only what has no cause of its own in
sight is taken for a consequence: a leak, a wrong status or a message that is missing never is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# A record is not a function of its bytes alone, so that any two readings of it may differ.
_IMPURE = (
    "not-repeatable|at-not-pure|open-not-repeatable|global-state|range-dependent|filler-differs|"
    "order-fails|stream-differs|batch-dependent|threads-differ"
)
_DIFFERENT = (
    "range-dependent|filler-differs|order-fails|stream-differs|seek-wrong|epoch-differs|"
    "threads-differ|batch-dependent|world-coverage|resume-differs|shuffle-differs|at-not-pure|"
    "damage-unnoticed|cut-unnoticed|read-failure-ignored|alloc-failure-ignored|cancel-status|"
    "loader-fails"
)
# Memory of others is used: what happens then is left to chance.
_MEMORY = (
    "(reads|writes)-.*|late-.*|foreign-scratch|returns-wild-pointer|null-pointer|"
    "negative-size|stack-overrun|crash"
)
_ENDS = "crash|hang|exit|null-pointer|returns-wild-pointer"
_COUNTS = "record-count|end-with-records|end-not-kept|tail-ignored|next-count"
_SEEK = "seek-wrong|stream-differs|epoch-differs|seek-past-end"

# The cause, and what follows from it; the first line that fits counts.
_RULES: tuple[tuple[str, str], ...] = (
    ("sample-fails", f"{_IMPURE}|{_DIFFERENT}|{_COUNTS}|no-records|sources-mixed|call-fails"),
    (_MEMORY, f"{_ENDS}|{_DIFFERENT}"),
    ("(bytes|row)-unwritten|infer-differs",
     f"(bytes|row)-unwritten|infer-differs|not-repeatable|{_DIFFERENT}"),
    (_IMPURE, _DIFFERENT),
    ("(read|alloc)-failure-ignored", "(read|alloc)-failure-status"),
    ("huge-alloc|negative-alloc", "damage-status|crash|null-pointer"),
    ("random-ordinal|own-generator|sources-mixed",
     f"{_DIFFERENT}|not-repeatable|open-not-repeatable|own-generator"),
    ("process-state|arithmetic-mode|fast-math",
     f"{_DIFFERENT}|not-repeatable|crash|hang|waits"),
    ("keeps-lock|locks-twice", "waits|hang|threads-differ|loader-fails"),
    (_COUNTS, "world-coverage|resume-differs|cut-unnoticed|damage-unnoticed|tail-ignored"),
    (_SEEK, "seek-wrong|epoch-differs|seek-past-end|resume-differs|world-coverage|batch-dependent|"
            "threads-differ"),
    ("hang|waits", "hang|waits|crash|exit|loader-fails|threads-differ"),
    ("no-row|row-wrong|rows-not-equal|ragged-row|record-field", f"{_DIFFERENT}|tail-ignored"),
)  # fmt: skip


def cause_of(id: str, earlier: Iterable[str]) -> str:
    """The id among those of earlier faults that a finding follows from; "" where none does."""
    for one in earlier:
        for cause, consequences in _RULES:
            if re.fullmatch(cause, one) and re.fullmatch(consequences, id):
                return one
    return ""
