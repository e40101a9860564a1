"""The arguments of a group of checks: the op, the sample, and the object that receives findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from ..kit import FORWARD, MOST_RECORDS, Kit, Run, watched_nodes
from ..spec import Job, Spec
from pyflowdata.nodes.registry import HOST_OUTPUTS


class Teller(Protocol):
    """Receives the findings of a group, in the process that runs the group."""

    report_fd: int  # the C part writes lines of text about crashes to it

    def tell(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        """Reports a fault.

        Args:
            likely: Causes, the most likely first, if this run tells more than causes.py knows.
            case: The case that shows the fault; None: the current case.
        """

    def warn(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        """Reports something worth knowing that is not a fault."""

    def note(self, text: str) -> None:
        """Reports what could not be checked, and why."""

    def begin(self, case: str) -> None:
        """Sets the current case; findings and crashes belong to it from now on."""


class Check:
    """One group of checks of one node.

    Attributes:
        job: The job, with what propose() found in the sample.
        given: The node as the user gave it.
        kit: A kit over the node of the job.
        is_reader: The op under check is a reader.
        made: Findings, as ids and texts, about changes of the process while the first node was
            made.
        outputs: Names of the outputs of the op, without those that the host fills in.
        whole_batches: Whether a row may depend on the other rows of its call.
        has_run: Whether a case was run.
        passed_over: The names of cases that were not wanted.
    """

    def __init__(self, job: Job, teller: Teller, every: int = 1) -> None:
        """Args: the job; who takes findings; one case of so many is wanted."""
        self._teller = teller
        self.job = job
        self._every, self._cases = every, 0
        self.has_run = False
        self.passed_over: list[str] = []
        self.whole_batches = job.spec.needs_whole_batches()
        self.given = job.spec.with_reader(rank=0, world_size=1)
        with self.watch() as made:
            node = self.given.make()
        self.made = made
        # What propose() found in the sample also holds for damaged copies of the sample.
        self.job = replace(job, spec=self.given.with_found(node))
        self.kit = Kit(node, teller.tell, teller.report_fd, job.limit)
        self.is_reader = not job.spec.inputs
        ports = [node.op.outputs[blob.index].name for blob in node.outputs]
        self.outputs = [name for name in ports if name not in HOST_OUTPUTS]
        self.tell, self.warn, self.note = teller.tell, teller.warn, teller.note

    @property
    def is_partial(self) -> bool:
        """Whether only some cases are wanted, so that no statement about all cases is possible."""
        return self.job.case is not None or self._every > 1

    @property
    def range(self) -> int:
        """The number of records of one call, if the check does not vary it."""
        return MOST_RECORDS if self.whole_batches else 16

    def case(self, name: str) -> bool:
        """Whether to run the case of this name: the user may want one case (--only GROUP/CASE), one
        of several (--quick), or all. Later findings belong to the case."""
        self._cases += 1
        is_wanted = (self._cases - 1) % self._every == 0
        if (not is_wanted) if self.job.case is None else (self.job.case != name):
            self.passed_over.append(name)
            return False
        self.has_run = True
        self._teller.begin(name)
        return True

    def watch(self) -> AbstractContextManager[list[tuple[str, str]]]:
        """Watches the functions of the op that are called while a node is made; see
        kit.watched_nodes()."""
        return watched_nodes(self.job.spec.op, self._teller.report_fd, self.job.limit)

    def make_kit(self, spec: Spec) -> Kit:
        """A kit over another node."""
        return Kit(spec.make(), self.tell, self._teller.report_fd, self.job.limit)

    def base(self, *, doing: str = "", silent: bool = False, **options: int) -> Run:
        """A run over the sample as it is."""
        return self.kit.run(doing=doing, silent=silent, order=FORWARD, range=self.range, **options)


# ---- Groups -------------------------------------------------------------------------------------


def _always(spec: Spec) -> str | None:
    return None


@dataclass(frozen=True)
class Group:
    """A group of checks, which runs in a separate process, so that a crash costs this group alone.

    Attributes:
        name: The name in docs/reference/check-findings.md.
        run: Runs the checks; returns a text about what was checked.
        title: The common name of groups that are left out for one reason.
        left_out: Why the group does not fit an op, "" if no explanation is needed; None: the group
            runs.
        is_quick: Whether it also runs with --quick.
        quick_every: With --quick, one case of this many runs; 1: all cases.
        large_every: For a sample with many bytes, one case of this many runs; 0: none, since the
            group would take minutes.
        is_alone: Whether its threads need all cores, so that no other group runs beside it.
        needs_corpus: Whether it runs only if the plugin has a corpus.
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


# ---- What an op may return for damaged data -----------------------------------------------------


def tell_damage_status(check: Check, run: Run, doing: str) -> None:
    """Reports a run over damaged data that neither passed nor failed in the required way."""
    if run.status == "PFD_OK" or run.is_refused:
        return
    check.tell(
        "damage-status",
        f"with {doing}, {run.function} gives {run.status} ({run.message}): damaged data is "
        "PFD_CORRUPT_DATA, which on_error can pass over; PFD_IO is for the file system, "
        "the others stop the program",
    )
