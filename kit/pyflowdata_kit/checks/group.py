"""A group of checks: what a report names, and what --only runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..spec import Spec
from .check import Check


def _always(spec: Spec) -> str | None:
    return None


@dataclass(frozen=True)
class Group:
    """Runs in a process of its own, so that a crash costs this group alone.

    Attributes:
        name: As docs/reference/check-findings.md lists it.
        run: The checks; returns what was looked at, in words.
        title: Of groups that are left out for one reason, in words.
        left_out: Why it does not suit an op, "" where that needs no word; None: it runs.
        is_quick: It also runs with --quick.
        quick_every: With --quick, one case of so many; 1: all of them.
        large_every: Over a sample with many bytes that is one case of so many; 0: the group is left
            out, since it would take minutes.
        is_alone: It needs all cores for its own threads, so no other group runs beside it.
        needs_corpus: It runs only where the plugin has a corpus.
    """

    name: str
    run: Callable[[Check], str]
    left_out: Callable[[Spec], str | None] = _always
    title: str = ""
    is_quick: bool = False
    quick_every: int = 1
    large_every: int = 0
    is_alone: bool = False
    needs_corpus: bool = False
