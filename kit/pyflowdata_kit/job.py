"""The description of a check, for the process that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyflowdata.plugins import load_library
from .spec import Spec


@dataclass(frozen=True)
class Job:
    """The input of the checking process.

    Attributes:
        spec: The node to check.
        libraries: Plugins to load before.
        records: How many records the sample has; None: not known.
        checksums: Whether the format can tell every damage.
        also: Further folders of samples, and how many records each has.
        limit: Seconds of processor time for one pass over the sample.
        folder: For damaged samples.
        groups: The groups of checks to run; None: all that there are.
        corpus: Folder of the inputs that a fuzzer kept; None: there is none.
        case: The only one to run of these groups, as a finding names it; None: all.
        part: Files of the sample that are looked at, in place of all of them; none: all.
        is_large: Even these have too many bytes for reading them hundreds of times.
        quick: Only what takes least, and finds most: see checks.Group.
    """

    spec: Spec
    libraries: tuple[str, ...]
    records: int | None
    checksums: bool
    also: tuple[tuple[str, int], ...]
    limit: float
    folder: str
    groups: frozenset[str] | None = None
    case: str | None = None
    quick: bool = False
    corpus: str | None = None
    part: tuple[str, ...] = ()
    is_large: bool = False

    def of_sample(self, part: Sequence[str], is_large: bool) -> Job:
        """The same over some files of the sample, or all where `part` is empty."""
        if not part:
            return replace(self, is_large=is_large)
        spec = self.spec.with_files(list(part))
        return replace(self, spec=spec, records=None, part=tuple(part), is_large=is_large)

    def load(self) -> None:
        for library in self.libraries:
            load_library(library)
