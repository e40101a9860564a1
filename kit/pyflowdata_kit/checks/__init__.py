"""The groups of checks, in the order in which they run: a file for each."""

from __future__ import annotations

import functools

from pyflowdata.native import lib
from ..spec import Spec, flags_of
from .check import Check, Teller
from .corpus import corpus
from .damage import damage
from .choices import choices
from ..damaged_copies import KINDS
from .failing_records import failing_records
from .failures import failures
from .group import Group
from .large import large
from .leaks import leaks
from .loader import has_groups, loader
from .many import many
from .random_numbers import random_numbers
from .ranges import ranges
from .records import records
from .sample import sample
from .sizes import sizes
from .sources import sources
from .state import state
from .threads import threads
from .types import types

__all__ = ["GROUPS", "Check", "Group", "Teller"]


def _reads_no_files(spec: Spec) -> str | None:
    flags = flags_of(spec.reader().op)
    if not flags & lib.PFD_READS_FILES:
        return f"{spec.reader().op} reads no files through the host"
    if flags & lib.PFD_READS_FOLDERS:
        return f"{spec.reader().op} takes whole folders"
    return None


def _cannot_be_damaged(spec: Spec) -> str | None:
    return None if spec.inputs else _reads_no_files(spec)


def _no_inputs(spec: Spec) -> str | None:
    return None if spec.inputs else ""


def _has_inputs(spec: Spec) -> str | None:
    return "" if spec.inputs or _reads_no_files(spec) else None


def _makes_groups(spec: Spec) -> str | None:
    reader = spec.reader()
    return f"{reader.op} makes batches by group" if has_groups(reader.make()) else None


_DAMAGED = "damaged samples"

GROUPS: tuple[Group, ...] = (
    Group("random numbers", random_numbers, is_quick=True, large_every=1),
    Group("records", records, is_quick=True, large_every=16),
    Group("ranges", ranges, is_quick=True, large_every=1),
    Group("leaks", leaks, is_quick=True),
    Group("threads", threads, is_quick=True, is_alone=True),
    Group("state", state, is_quick=True),
    Group("two sources", sources, large_every=1),
    Group("types", types, _no_inputs, is_quick=True, quick_every=4, large_every=1),
    Group("choices", choices, large_every=4),
    Group("failures", failures, is_quick=True, quick_every=4),
    Group("failing records", failing_records, _cannot_be_damaged, _DAMAGED),
    *(
        Group(
            f"damage: {kind}", functools.partial(damage, kind=kind), _reads_no_files, _DAMAGED,
            is_quick=kind in ("cut", "flipped"), quick_every=6,
        )  # fmt: skip
        for kind in KINDS
    ),
    Group("corpus", corpus, _reads_no_files, _DAMAGED, needs_corpus=True),
    Group("sizes", sizes, _reads_no_files, _DAMAGED),
    Group("sample", sample, _has_inputs, large_every=1),
    Group("large files", large, _has_inputs),
    Group("many records", many, _has_inputs),
    Group("loader", loader, _makes_groups, "the loader", is_alone=True),
)
