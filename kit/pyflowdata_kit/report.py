"""The findings of a check, and the report of all findings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from pyflowdata.words.plain_text import counted


# ---- Findings that most likely follow from an earlier one ---------------------------------------

# Groups of checks run from the plainest use of an op to the most involved, so a fault that an early
# group finds shows again in later groups, in another form. Only a finding without a cause of its
# own counts as a consequence: never a leak, a wrong status or a missing message.

# A record is not a function of its bytes alone, so any two readings of it may differ.
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
# The op uses foreign memory: what happens then is left to chance.
_MEMORY = (
    "(reads|writes)-.*|late-.*|foreign-scratch|returns-wild-pointer|null-pointer|"
    "negative-size|stack-overrun|crash"
)
_ENDS = "crash|hang|exit|null-pointer|returns-wild-pointer"
_COUNTS = "record-count|end-with-records|end-not-kept|tail-ignored|next-count"
_SEEK = "seek-wrong|stream-differs|epoch-differs|seek-past-end"

# Pairs of a cause and a consequence; the first pair that fits counts.
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


def _cause_of(id: str, earlier: Iterable[str]) -> str:
    """The id, among those of earlier faults, from which a finding follows; "": from none."""
    for one in earlier:
        for cause, consequences in _RULES:
            if re.fullmatch(cause, one) and re.fullmatch(consequences, id):
                return one
    return ""


# ---- Findings of memory: forbidden pages name the function, and --asan the line -----------------

_OF_MEMORY = re.compile(
    "(reads|writes)-(past|before|into)-.*|late-.*|returns-wild-pointer|null-pointer|stack-overrun|"
    "crash"
)


def names_line(id: str, is_source_given: bool) -> str:
    """Words to add to a finding about memory of a plugin's op; "" for other findings."""
    if not _OF_MEMORY.fullmatch(id):
        return ""
    return "; --asan names the line" if is_source_given else "; --asan --source FILE names the line"


# ---- The report ---------------------------------------------------------------------------------

_COLUMNS = 96


@dataclass(frozen=True)
class Finding:
    """One fault of an op.

    Attributes:
        id: Names the kind of fault; the same in every version.
        text: What was found, what was expected, and what to change.
        group: The group of checks that found it.
        is_warning: Whether it is worth knowing, but no fault.
        likely: Its causes, the most likely first; may be empty.
        case: The case of the group that shows it, for --only GROUP/CASE; "": all cases show it.
        repeat: The command that runs just this case again; "": there is none.
        follows_from: The id of an earlier finding that most likely has the same cause; "": there is
            none.
    """

    id: str
    text: str
    group: str
    is_warning: bool = False
    likely: tuple[str, ...] = ()
    case: str = ""
    repeat: str = ""
    follows_from: str = ""

    def __str__(self) -> str:
        head = f"{'warning' if self.is_warning else 'FAULT'} {self.id} ({self.group})"
        lines = [head, _indented(self.text, "    ")]
        for number, cause in enumerate(self.likely, 1):
            lines.append(_indented(f"likely {number}: {cause}", "      "))
        if self.repeat:  # on one line, to be copied
            lines.append(f"    again: {self.repeat}")
        return "\n".join(lines)


def _indented(text: str, indent: str) -> str:
    return textwrap.fill(text, _COLUMNS, initial_indent=indent, subsequent_indent=indent)


@dataclass
class Report:
    """All findings about an op.

    Attributes:
        op: The name of the op.
        findings: The findings, with warnings; each id once.
        groups: The groups of checks that ran, with what they looked at.
        left_out: What could not be checked, and why.
    """

    op: str
    findings: list[Finding] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[Finding]:
        """The findings that are not warnings."""
        return [finding for finding in self.findings if not finding.is_warning]

    @property
    def causes(self) -> list[Finding]:
        """The faults that follow from no other fault."""
        return [fault for fault in self.faults if not fault.follows_from]

    @property
    def passed(self) -> bool:
        return not self.faults

    def add(self, finding: Finding, ignored: Iterable[str] = ()) -> None:
        """Adds a finding, unless its id is ignored or there already."""
        known = {one.id for one in self.findings}
        if finding.id not in known and finding.id not in set(ignored):
            causes = [one.id for one in self.causes]
            self.findings.append(replace(finding, follows_from=_cause_of(finding.id, causes)))

    def __str__(self) -> str:
        return f"{self.overview()}\n{self.details()}".rstrip("\n")

    def verdict(self) -> str:
        """Says in one line how many faults the op has."""
        count = len(self.causes)
        return f"{self.op}: {counted(count, 'fault') if count else 'passed'}"

    def overview(self) -> str:
        """The verdict, each group with what it looked at, and what was left out."""
        lines = [self.verdict()]
        lines += [f"  {group}: {said}" for group, said in self.groups.items()]
        lines += [f"  left out: {what}" for what in self.left_out]
        return "\n".join(lines)

    def details(self) -> str:
        """The faults, each with its consequences, and then the warnings."""
        warnings = [one for one in self.findings if one.is_warning and not one.follows_from]
        lines = []
        for one in [*self.causes, *warnings]:
            lines.append(str(one))
            if others := [other for other in self.findings if other.follows_from == one.id]:
                named = ", ".join(f"{other.id} ({other.group})" for other in others)
                text = f"also seen, most likely for the same reason: {named}"
                lines.append(_indented(text, "    "))
        return "\n".join(lines)
