"""What --only asks for: one group of checks, or one case of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pyflowdata.errors import InvalidArgumentError, shown
from .job import Job
from .recompiled.groups import NATIVE_GROUPS

_MOST_NAMES = 4  # cases that are listed


class UnknownCaseError(InvalidArgumentError):
    """The group or case that alone is to run is not there."""


class Only:
    """One `GROUP[/CASE]`, and what the checking process says of it."""

    def __init__(self, said: str | None) -> None:
        """Args: as the user gave it; None: all groups and cases."""
        self._said = said
        self._group, slash, self._case = (said or "").partition("/")
        self._has_case = bool(slash) and bool(self._case)
        self._groups: list[str] = []  # that suit the op
        self._not_for_it: dict[str, str] = {}  # and that do not, with the reasons
        self._has_run = False
        self._cases: list[str] = []

    def of(self, job: Job) -> Job:
        """The job, of this alone."""
        if self._said is None:
            return job
        case = self._case if self._has_case else None
        return replace(job, groups=frozenset([self._group]), case=case, quick=False)

    def take(self, said: Mapping[str, Any]) -> None:
        """A message of the checking process."""
        if "groups" in said:
            self._groups, self._not_for_it = said["groups"], said["not_for_it"]
        if "has_case" in said:
            self._has_run, self._cases = said["has_case"], said["cases"]

    @property
    def native(self) -> tuple[str, str | None] | None:
        """The group, and the case or None for all; None: all groups."""
        return None if self._said is None else (self._group, self._case or None)

    def look(self, op: str, has_sources: bool) -> None:
        """After all messages, none of which is a finding; has_sources: sanitizers can run too.

        Raises:
            UnknownCaseError: There is no such group or case, or it does not suit the op.
        """
        if self._said is None or (has_sources and self._group in NATIVE_GROUPS):
            return
        if self._group in self._not_for_it:
            why = self._not_for_it[self._group]
            raise UnknownCaseError(
                f"the group '{self._group}' does not suit {op}" + (f": {why}" if why else "")
            )
        if self._group not in ("descriptor", *self._groups):
            names = ", ".join(["descriptor", *self._groups])
            raise UnknownCaseError(
                f"there is no group of checks named {shown(self._group)}; those of {op} are {names}"
            )
        if self._has_case and not self._has_run:
            raise UnknownCaseError(
                f"the group '{self._group}' has no case {shown(self._case)} for this sample"
                + (f"; it has {_some(self._cases, self._case)}" if self._cases else "")
            )


def _some(names: list[str], wanted: str) -> str:
    """Those that are most like the one that was wanted, else the first."""
    like = difflib.get_close_matches(wanted, names, _MOST_NAMES)
    some = (like or names)[:_MOST_NAMES]
    more = len(names) - len(some)
    return ", ".join(f"'{name}'" for name in some) + (f" and {more} others" if more else "")
