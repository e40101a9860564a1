"""What a group of checks runs with: the op, the sample, and who is told of findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from ..kit import FORWARD, MOST_RECORDS, Kit, Run, watched_nodes
from ..spec import Job, Spec
from pyflowdata.nodes.registry import HOST_OUTPUTS


class Teller(Protocol):
    """Takes what a group has found, in the process that runs it."""

    report_fd: int  # to which the C part writes of crashes, as lines of text

    def tell(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        """A fault.

        Args:
            likely: Its causes, the most likely one first, where this run tells more of them than
                causes.py knows.
            case: Which one shows it; None: the current one.
        """

    def warn(
        self, id: str, text: str, likely: Sequence[str] = (), case: str | None = None
    ) -> None:
        """Worth knowing, but no fault."""

    def note(self, text: str) -> None:
        """What could not be checked, and why."""

    def begin(self, case: str) -> None:
        """The case that runs from now on: what is told, or a crash, belongs to it."""


class Check:
    """One group of checks of one node.

    Attributes:
        job: With what propose() found in the sample.
        given: The node as the user gave it.
        kit: Over the node of the job.
        is_reader: The op under check is one.
        made: What making the first node did to the process: ids and texts of findings.
        outputs: Names of the outputs of the op, without those that the host fills in.
        whole_batches: A row may depend on the other rows of its call.
        has_run: A case was run.
        passed_over: The names of those that were not wanted.
    """

    def __init__(self, job: Job, teller: Teller, every: int = 1) -> None:
        """Args: the job; who is told; of so many cases one is wanted."""
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
        # What propose() found in the sample holds for copies of it that are damaged.
        self.job = replace(job, spec=self.given.with_found(node))
        self.kit = Kit(node, teller.tell, teller.report_fd, job.limit)
        self.is_reader = not job.spec.inputs
        ports = [node.op.outputs[blob.index].name for blob in node.outputs]
        self.outputs = [name for name in ports if name not in HOST_OUTPUTS]
        self.tell, self.warn, self.note = teller.tell, teller.warn, teller.note

    @property
    def is_partial(self) -> bool:
        """Whether only some cases are wanted: nothing can be said of all of them together."""
        return self.job.case is not None or self._every > 1

    @property
    def range(self) -> int:
        """Records of one call, where the check does not vary it."""
        return MOST_RECORDS if self.whole_batches else 16

    def case(self, name: str) -> bool:
        """Whether to run the case of this name: all of them, or the only one that the user asked
        for with --only GROUP/CASE, or one of several with --quick.  What is told after it belongs
        to the case."""
        self._cases += 1
        is_wanted = (self._cases - 1) % self._every == 0
        if (not is_wanted) if self.job.case is None else (self.job.case != name):
            self.passed_over.append(name)
            return False
        self.has_run = True
        self._teller.begin(name)
        return True

    def watch(self) -> AbstractContextManager[list[tuple[str, str]]]:
        """Watches the functions of the op that making a node calls; see kit.watched_nodes()."""
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
    """Runs in a separate process, so that a crash costs this group alone.

    Attributes:
        name: As docs/reference/check-findings.md lists it.
        run: The checks; returns what was looked at, in words.
        title: What groups that are left out for one reason are called together.
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


# ---- What an op may answer where the data is damaged --------------------------------------------


def tell_damage_status(check: Check, run: Run, doing: str) -> None:
    """Tells of a run over damaged data that neither passed nor refused it as it must."""
    if run.status == "PFD_OK" or run.is_refused:
        return
    check.tell(
        "damage-status",
        f"with {doing}, {run.function} gives {run.status} ({run.message}): damaged data is "
        "PFD_CORRUPT_DATA, which on_error can pass over; PFD_IO is for the file system, "
        "the others stop the program",
    )
