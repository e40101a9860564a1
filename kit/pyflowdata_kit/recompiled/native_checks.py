"""The checks for which plugins are compiled again: sanitizers and fuzzing, beside each other."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ..corpus import Corpus, case_of
from ..damaged_copies import KINDS
from ..file_layout import file_of_each_kind
from ..only import UnknownCaseError
from ..report import Finding
from ..spec import PYTHON
from .compiling import FUZZ, NATIVE_GROUPS, SANITIZERS, BuildError, MissingToolError
from .fuzzing import Fuzzer
from .rebuilt import Graph, ended_on_failure, may_run_again
from .sanitizers import sanitize
from pyflowdata.errors import shown


# ---- Samples: folders with the files, and with damaged copies of one ----------------------------

_DAMAGED = 16  # of each kind of damage, over all kinds of files
_KEPT = 64  # inputs of a corpus
_WHOLE = "the sample"


def _damaged(files: Sequence[Path], corpus: Corpus) -> Iterator[tuple[str, Path, bytes]]:
    """The case, the file that has other bytes, and these."""
    victims = file_of_each_kind(files)
    for victim in victims:
        data = victim.read_bytes()
        for kind in KINDS.values():
            for damaged, doing in islice(kind(data, victim.name), _DAMAGED // len(victims)):
                yield doing, victim, damaged
    for file, path in corpus.inputs(files, _KEPT):
        yield case_of(file, path), file, path.read_bytes()


def write_samples(
    files: Sequence[Path], corpus: Corpus, folder: Path, only: str | None
) -> dict[str, Path]:
    """Folders with files of these names, by their cases.

    Args:
        files: Of the sample.
        corpus: What a fuzzer kept.
        folder: In which they are made.
        only: The only case that is wanted; None: all.
    """
    made: dict[str, Path] = {}

    def add(case: str) -> Path:
        made[case] = folder / f"{len(made):04}"
        made[case].mkdir(parents=True)
        for file in files:
            shutil.copyfile(file, made[case] / file.name)
        return made[case]

    if only in (None, _WHOLE):
        add(_WHOLE)
    for case, victim, data in _damaged(files, corpus):
        if only in (None, case) and case not in made:
            (add(case) / victim.name).write_bytes(data)
    return made


# ---- The checks ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class NativeResult:
    """What one of these checks found.

    Attributes:
        group: One of NATIVE_GROUPS.
        done: What was looked at, in words; "" if nothing was.
        findings: Without the commands that repeat them.
        left_out: Why it was not done; "" if it was.
    """

    group: str
    done: str = ""
    findings: tuple[Finding, ...] = ()
    left_out: str = ""


@dataclass(frozen=True)
class NativeChecks:
    """What is asked for.

    Attributes:
        sources: C and C++ files of the plugin under check.
        others: Those of further plugins, by the paths of their libraries.
        flags: For the compiler and linker.
        sanitizers: Of SANITIZERS.
        fuzz: Seconds; 0: no fuzzing.
        fuzzer: One of fuzzing.FUZZERS; None: what this machine has.
        corpus: Folder of the inputs that a fuzzer kept; it need not be there.
        limit: Seconds of processor time for one pass over the sample.
        only: A group of these checks, and a case of it or None for all; None: as asked for.
    """

    sources: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]]
    flags: tuple[str, ...]
    sanitizers: tuple[str, ...]
    fuzz: int
    fuzzer: str | None
    corpus: Path
    limit: float
    only: tuple[str, str | None] | None = None

    def run(self, said: Mapping[str, Any], folder: Path) -> list[NativeResult]:
        """Runs them in a folder; `said` is what the checking process says of the graph.

        Raises:
            UnknownCaseError: The only case is none of the group.
        """
        groups = self._groups()
        if not groups:
            return []
        why = self._why_not(str(said["op"]), str(said["origin"]))
        if why:
            return [NativeResult(group, left_out=why) for group in groups]
        graph = Graph(
            job=said["job"], files=tuple(Path(file) for file in said["files"]),
            origin=said["origin"], libraries=tuple(said["libraries"]), sources=self.sources,
            others=self.others, flags=self.flags,
        )  # fmt: skip
        case = self.only[1] if self.only else None
        samples: dict[str, Path] = {}
        if any(group in SANITIZERS for group in groups):
            samples = write_samples(graph.files, Corpus(self.corpus), folder / "samples", case)
            if not samples:
                raise UnknownCaseError(f"the group '{groups[0]}' has no case {shown(case)}")
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool, ended_on_failure():
                return list(pool.map(
                    lambda group: self._result(group, graph, samples, case, folder), groups
                ))  # fmt: skip
        finally:
            may_run_again()

    def _groups(self) -> list[str]:
        if self.only is None:
            return [*self.sanitizers, *([FUZZ] if self.fuzz > 0 else [])]
        group, case = self.only
        if group == FUZZ and case is None and self.fuzz <= 0:
            return []
        return [group] if group in NATIVE_GROUPS else []

    def _why_not(self, op: str, origin: str) -> str:
        if origin.startswith(PYTHON):
            return f"{op} is a function of Python or numba, which has no C or C++ files"
        if origin == "built in":
            return f"{op} is built in: `make asan` and `make fuzz` of the project check it"
        return "" if self.sources else f"the C or C++ files of {op} are not given"

    def _result(
        self, group: str, graph: Graph, samples: Mapping[str, Path], case: str | None, folder: Path
    ) -> NativeResult:
        work = folder / group
        try:
            if group == FUZZ:
                findings, done = self._run_fuzzer(graph, case, work)
            else:
                findings = sanitize(group, graph, samples, work)
                done = f"compiled again and run over {len(samples)} samples"
        except MissingToolError as failure:
            return NativeResult(group, left_out=str(failure))
        except BuildError as failure:
            done, text = "not compiled", f"it does not compile: {failure}"
            findings = [Finding("build-fails", text, group)]
        return NativeResult(group, done, tuple(findings))

    def _run_fuzzer(
        self, graph: Graph, case: str | None, work: Path
    ) -> tuple[list[Finding], str]:
        fuzzer = Fuzzer(graph, work, self.fuzzer, self.limit)
        corpus = Corpus(self.corpus)
        if case is not None:
            return fuzzer.repeat(case, corpus)
        return fuzzer.fuzz(self.fuzz, corpus)
