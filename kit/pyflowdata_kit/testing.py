"""The names of `pyflowdata.testing`: checks of an op, and their report."""

from __future__ import annotations

import difflib
import errno
import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from .asking import ask, ask_here
from .causes import causes_of
from .corpus import Corpus, corpus_beside
from .options import TIMEOUT, Native, Options, UnknownCaseError, command_words, repeat_command
from .recompiled.compiling import FUZZ, NATIVE_GROUPS, SANITIZERS, BuildError, MissingToolError
from .recompiled.fuzzing import Fuzzer
from .recompiled.rebuilt import Graph, ended_on_failure, may_run_again
from .recompiled.sanitizers import sanitize, write_samples
from .report import Finding, Report, names_line
from .spec import PYTHON, Job, Spec, has_python, libraries_of, spec_of
from pyflowdata.errors import InvalidArgumentError, shown
from pyflowdata.nodes import Blob
from pyflowdata.plugins.compiler import source_of

__all__ = [
    "CheckFailed",
    "Finding",
    "Native",
    "Report",
    "UnknownCaseError",
    "check_decoder",
    "check_reader",
    "run_checks",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class CheckFailed(AssertionError):  # noqa: N818  (a failed assertion, not an error of the package)
    """An op has faults; the text is the report.

    Attributes:
        report: All findings.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))


def _paths(files: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    return tuple(os.fspath(file) for file in files)


_MOST_NAMES = 4  # most cases that are listed


def _some(names: list[str], wanted: str) -> str:
    """The names most like the wanted name; if none is like it, the first names."""
    like = difflib.get_close_matches(wanted, names, _MOST_NAMES)
    some = (like or names)[:_MOST_NAMES]
    more = len(names) - len(some)
    return ", ".join(f"'{name}'" for name in some) + (f" and {more} others" if more else "")


def _writable(corpus: Path | None, native: Native, report: Report) -> Path | None:
    """The corpus, or another folder if fuzzing cannot write to it."""
    if corpus is None or native.fuzz == 0:
        return corpus
    try:
        corpus.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=corpus):
            return corpus
    except OSError as failure:
        other = Path(tempfile.mkdtemp(prefix=f"{corpus.name}-"))
        report.left_out.append(
            f"keeping inputs in {corpus}, which cannot be written ({failure.strerror}): they are "
            f"in {other}; give it, or another folder, with --corpus"
        )
        return other


class _Checks:
    """One run of the checks: what is asked for, what the checking process says, and the report."""

    def __init__(
        self, spec: Spec, libraries: Sequence[str], options: Options,
        command: Sequence[str] | None,
    ) -> None:  # fmt: skip
        self.report = Report(spec.op)
        self._spec, self._options = spec, options
        self._native = options.native or Native([])
        self._libraries = _paths([os.path.abspath(path) for path in libraries])
        self._group, _, self._case = (options.only or "").partition("/")
        self._words = command
        if command is None:
            own, others = self._libraries[-1:], self._libraries[:-1]
            self._words = command_words(spec, own, options, others)
        self._heard: dict[str, Any] = {}  # messages about the graph, its groups and its cases

    def job(self, groups: Collection[str] | None, folder: str) -> Job:
        """The job for the checking process."""
        options, corpus = self._options, self._corpus()
        also = tuple((os.path.abspath(name), count) for name, count in (options.also or {}).items())
        wanted = None if groups is None else frozenset(groups)
        job = Job(
            self._spec, self._libraries, options.records, options.checksums, also, options.timeout,
            folder, wanted, quick=options.quick,
            corpus=str(corpus) if corpus and corpus.is_dir() else None,
        )  # fmt: skip
        if options.only is None:
            return job
        return replace(job, groups=frozenset([self._group]), case=self._case or None, quick=False)

    def _corpus(self) -> Path | None:
        """The folder of the corpus, which may not exist; None: there is no plugin."""
        if self._options.corpus is not None:
            return Path(self._options.corpus).absolute()
        names = [*_paths(self._native.sources), *self._libraries[-1:]]
        return corpus_beside(names[0]) if names else None

    # ---- What the checking process says ---------------------------------------------------------

    def take(self, said: Mapping[str, Any]) -> None:
        """Takes a message of the checking process. Raises OSError if no space is left."""
        if "no_space" in said:
            raise OSError(
                errno.ENOSPC, "no space is left for the samples that the checks write: make room, "
                "or name another folder by TMPDIR", said["no_space"],
            )  # fmt: skip
        if "id" in said:
            self._add(Finding(
                said["id"], said["text"] + self._hint(said["id"]), said["group"],
                said.get("warning", False), tuple(said.get("likely", ())), said.get("case", ""),
            ))  # fmt: skip
        elif "note" in said:
            self.report.left_out.append(said["note"])
        elif "done" in said:
            self.report.groups[said["group"]] = said["done"]
        elif "job" in said or "has_case" in said:
            self._heard.update(said)
            self.report.op = self._heard.get("op", self.report.op)

    def _hint(self, id: str) -> str:
        if not self._libraries or not self._words or "asan" in self._native.sanitizers:
            return ""
        is_known = bool(self._native.sources or source_of(self._libraries[-1]))
        return names_line(id, is_known)

    def _add(self, finding: Finding) -> None:
        words = self._words
        likely = finding.likely or causes_of(finding.id)
        repeat = repeat_command(words, finding.group, finding.case) if words else ""
        self.report.add(replace(finding, likely=likely, repeat=repeat), self._options.ignore)

    def look_for_case(self) -> None:
        """Called after all messages, none of which is a finding.

        Raises:
            UnknownCaseError: The only wanted group or case does not exist, or does not suit the op.
        """
        group, heard = self._group, self._heard
        is_native = self._options.native is not None and group in NATIVE_GROUPS
        if self._options.only is None or is_native:
            return
        if group in (not_for_it := heard.get("not_for_it", {})):
            why = not_for_it[group]
            raise UnknownCaseError(
                f"the group '{group}' does not suit {self.report.op}" + (f": {why}" if why else "")
            )
        if group not in (names := ["descriptor", *heard.get("groups", ())]):
            raise UnknownCaseError(
                f"there is no group of checks named {shown(group)}; those of {self.report.op} are "
                f"{', '.join(names)}"
            )
        if self._case and not heard.get("has_case"):
            cases = heard.get("cases")
            raise UnknownCaseError(
                f"the group '{group}' has no case {shown(self._case)} for this sample"
                + (f"; it has {_some(cases, self._case)}" if cases else "")
            )

    # ---- Plugins compiled again: sanitizers and fuzzing, beside each other ----------------------

    def run_native(self, folder: Path) -> None:
        """Runs sanitizers and fuzzers as the options say, once the checking process has sent the
        graph.

        Raises:
            UnknownCaseError: The group has no case like the only wanted one.
        """
        groups, heard = self._native_groups() if self._heard else [], self._heard
        if not groups:
            return
        if why := self._why_not(heard["origin"]):
            self.report.left_out += [f"{group}: {why}" for group in groups]
            return
        graph = Graph(
            job=heard["job"], files=tuple(Path(file) for file in heard["files"]),
            origin=heard["origin"], libraries=tuple(heard["libraries"]),
            sources=_paths(self._native.sources), flags=tuple(self._native.flags),
            others={path: _paths(files) for path, files in self._native.others.items()},
        )  # fmt: skip
        corpus = Corpus(
            _writable(self._corpus(), self._native, self.report) or Path("corpus").absolute()
        )
        samples: dict[str, Path] = {}
        if any(group in SANITIZERS for group in groups):
            samples = write_samples(graph.files, corpus, folder / "samples", self._case or None)
            if not samples:
                raise UnknownCaseError(f"the group '{groups[0]}' has no case {shown(self._case)}")
        run = lambda group: self._run_native(group, graph, samples, corpus, folder)  # noqa: E731
        try:
            with ThreadPoolExecutor(os.cpu_count()) as pool, ended_on_failure():
                for group, (findings, done) in zip(groups, [*pool.map(run, groups)], strict=True):
                    if findings is None:
                        self.report.left_out.append(f"{group}: {done}")
                        continue
                    self.report.groups[group] = done
                    for finding in findings:
                        self._add(finding)
        finally:
            may_run_again()

    def _native_groups(self) -> list[str]:
        fuzz = [FUZZ] if self._native.fuzz > 0 else []
        if self._options.only is None:
            return [*self._native.sanitizers, *fuzz]
        if self._group == FUZZ and not self._case:
            return fuzz
        return [self._group] if self._group in NATIVE_GROUPS else []

    def _why_not(self, origin: str) -> str:
        op = self.report.op
        if origin.startswith(PYTHON):
            return f"{op} is a function of Python or numba, which has no C or C++ files"
        if origin == "built in":
            return f"{op} is built in: `make asan` and `make fuzz` of the project check it"
        return "" if self._native.sources else f"the C or C++ files of {op} are not given"

    def _run_native(
        self, group: str, graph: Graph, samples: Mapping[str, Path], corpus: Corpus, folder: Path
    ) -> tuple[list[Finding] | None, str]:
        """The findings of a group, and what it looked at; None and the reason if it is left out."""
        work = folder / group
        try:
            if group != FUZZ:
                found = sanitize(group, graph, samples, work)
                return found, f"compiled again and run over {len(samples)} samples"
            fuzzer = Fuzzer(graph, work, self._native.fuzzer, self._options.timeout)
            if self._case:
                return fuzzer.repeat(self._case, corpus)
            return fuzzer.fuzz(self._native.fuzz, corpus)
        except MissingToolError as failure:
            return None, str(failure)
        except BuildError as failure:
            text = f"it does not compile: {failure}"
            return [Finding("build-fails", text, group)], "not compiled"


def run_checks(
    spec: Spec,
    libraries: Sequence[str] = (),
    *,
    groups: Collection[str] | None = None,
    command: Sequence[str] | None = None,
    here: bool = False,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Report:
    """Runs all checks, and returns their report; the other arguments are those of check_reader().

    Args:
        groups: The groups of checks to run, as docs/reference/check-findings.md names them; None:
            all.
        command: The words of the command that runs these checks, from which findings say how to
            repeat a case; None: made from the arguments.
        here: The checks may be forks of this process, which has loaded no plugins; this saves the
            start of another process.
        progress: Gets the name of each group that begins.

    Raises:
        UnknownCaseError: `only` is no group or case, or the group does not suit the op.
        OSError: No space is left for temporary files.
    """
    checks = _Checks(spec, libraries, Options(**options), command)

    def take(said: dict[str, Any]) -> None:
        checks.take(said)
        if "starts" in said and progress is not None:
            progress(said["group"])

    with tempfile.TemporaryDirectory(prefix="pyflowdata-check-") as folder:
        (ask_here if here else ask)(checks.job(groups, folder), take)
        if not checks.report.findings:
            checks.look_for_case()
        checks.run_native(Path(folder, "native"))
    return checks.report


def _check(blob: Blob | Sequence[Blob], is_reader: bool, options: Options) -> Report:
    one = blob if isinstance(blob, Blob) else next(iter(blob), None)
    if not isinstance(one, Blob):
        raise InvalidArgumentError(f"{blob!r}; it must be a Blob, or the blobs of one op")
    if one.node.op.is_reader != is_reader:
        wanted, other = ("reader", "decoder") if is_reader else ("decoder", "reader")
        raise InvalidArgumentError(f"{one.node.op.name} is not a {wanted}: use check_{other}()")
    spec = spec_of(one.node)
    # No other process has a Python function of this process, and no command can name it.
    own: dict[str, Any] = {"here": True, "command": []} if has_python(spec) else {}
    report = run_checks(spec, libraries_of(spec), **own, **vars(options))
    if not report.passed:
        raise CheckFailed(report)
    return report


def check_reader(
    blob: Blob | Sequence[Blob],
    *,
    records: int | None = None,
    checksums: bool = False,
    also: Mapping[str, int] | None = None,
    ignore: Sequence[str] = (),
    timeout: float = TIMEOUT,
    native: Native | None = None,
    only: str | None = None,
    quick: bool = False,
    corpus: str | os.PathLike[str] | None = None,
) -> Report:
    """Checks a reader op over a sample: files of a few records, best below 10 KB.

    Args:
        blob: What the reader's function returned.
        records: How many records the sample has; None: as many as the reader finds.
        checksums: Whether the format has checksums, so that the reader must detect all damage.
        also: Further folders with samples, and how many records each has: none, one, many.
        ignore: Ids of findings that are known and accepted.
        timeout: Seconds of CPU time that one pass over the sample may take.
        native: Sanitizers and fuzzing, for which the plugin's sources are needed.
        only: One group, or one case of it, "GROUP/CASE", as a finding names it; None: all.
        quick: Only what takes least and finds most; the report says what is left out.
        corpus: Folder of the inputs that a fuzzer kept, which are checked where it is there; None:
            NAME-corpus beside the plugin's first source, or beside its library.

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is not a reader.
    """
    options = Options(records, checksums, also, ignore, timeout, native, only, quick, corpus)
    return _check(blob, True, options)


def check_decoder(
    blob: Blob | Sequence[Blob],
    *,
    ignore: Sequence[str] = (),
    timeout: float = TIMEOUT,
    native: Native | None = None,
    only: str | None = None,
    quick: bool = False,
    corpus: str | os.PathLike[str] | None = None,
) -> Report:
    """Checks an op with inputs over the records of its reader.

    Args:
        blob: What the op's function returned; one reader is upstream of it.
        ignore: Ids of findings that are known and accepted.
        timeout, native, only, quick, corpus: As for check_reader().

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is a reader.
    """
    options = Options(None, False, None, ignore, timeout, native, only, quick, corpus)
    return _check(blob, False, options)
