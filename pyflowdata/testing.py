"""Checks of ops for tests: does a reader or decoder follow the rules of the interface?

    from pyflowdata import load_library, testing

    def test_my_reader():
        plugin = load_library("build/my_reader.so")
        testing.check_reader(plugin.MyReader("samples"), records=12)

The op runs in separate processes: a crash or an endless loop is a finding like any other.
`pyflowdata check` does the same on the command line; docs/reference/check.md explains the findings.
"""

from __future__ import annotations

import functools
import os
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .conformance.causes import CAUSES
from .conformance.job import Job
from .conformance.only import Only, UnknownCaseError
from .conformance.repeat import command_words, repeat_command
from .conformance.report import Finding, Report
from .conformance.sanitizers import BuildError, MissingToolError, NativeChecks
from .conformance.spec import Spec, libraries_of, spec_of
from .conformance.workers import ask, ask_here
from .errors import InvalidArgumentError
from .nodes import Blob

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


@dataclass(frozen=True)
class Native:
    """Checks for which the plugin is compiled again, with a driver in C instead of Python.

    Attributes:
        sources: The plugin's C files.
        flags: For the compiler and linker, besides those for the headers.
        sanitizers: Some of "asan", "ubsan", "tsan".
        fuzz: Seconds for libFuzzer, which needs clang; 0: no fuzzing.
    """

    sources: Sequence[str | os.PathLike[str]]
    flags: Sequence[str] = ()
    sanitizers: Sequence[str] = ()
    fuzz: int = 0


def run_checks(
    spec: Spec,
    libraries: Sequence[str] = (),
    *,
    records: int | None = None,
    checksums: bool = False,
    also: Mapping[str, int] | None = None,
    ignore: Sequence[str] = (),
    timeout: float = 10.0,
    native: Native | None = None,
    groups: Collection[str] | None = None,
    only: str | None = None,
    quick: bool = False,
    command: Sequence[str] | None = None,
    here: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Runs all checks, and returns their report; the other arguments are those of check_reader().

    Args:
        groups: The groups of checks to run, as docs/reference/check.md names them; None: all.
        command: The words of the command that runs these checks, for the findings that say how to
            repeat a case; None: made of the arguments.
        here: The checks may be forks of this process, which has loaded no plugins; it saves to
            start another one.
        progress: Is told the name of each group that begins.

    Raises:
        UnknownCaseError: `only` is no group or case, or the group does not suit the op.
    """
    report = Report(spec.op)
    asked = Only(only)
    with tempfile.TemporaryDirectory(prefix="pyflowdata-check-") as folder:
        others = tuple((os.path.abspath(name), count) for name, count in (also or {}).items())
        files = tuple(os.path.abspath(path) for path in libraries)
        wanted = None if groups is None else frozenset(groups)
        job = asked.of(
            Job(spec, files, records, checksums, others, timeout, folder, wanted, quick=quick)
        )
        words = command if command is not None else command_words(spec, files)
        graph: dict[str, Any] = {}

        def take(said: dict[str, Any]) -> None:
            _take(report, said, ignore, words)
            asked.take(said)
            if "job" in said:
                graph.update(said)
                report.op = said["op"]
            if "starts" in said and progress is not None:
                progress(said["group"])

        (ask_here if here else ask)(job, take)
        if not report.findings:
            asked.look(report.op)
        if native is not None and graph:
            sources = [os.fspath(source) for source in native.sources]
            work = Path(folder, "native")
            checks = NativeChecks(sources, native.flags, graph["job"], graph["files"], work)
            _run_native(report, checks, native, ignore, timeout)
    return report


def _take(
    report: Report, said: Mapping[str, Any], ignore: Sequence[str], words: Sequence[str] | None
) -> None:
    group = str(said["group"])
    if "id" in said:
        id, case = str(said["id"]), str(said.get("case", ""))
        likely = tuple(said.get("likely") or CAUSES.get(id, ()))
        repeat = repeat_command(words, group, case) if words else ""
        warning = bool(said.get("warning", False))
        finding = Finding(id, str(said["text"]), group, warning, likely, case, repeat)
        report.add(finding, ignore)
    elif "note" in said:
        report.left_out.append(str(said["note"]))
    elif "done" in said:
        report.groups[group] = str(said["done"])


def _run_native(
    report: Report, checks: NativeChecks, native: Native, ignore: Sequence[str], timeout: float
) -> None:
    runs: dict[str, Callable[[], list[Finding]]] = {
        name: functools.partial(checks.sanitize, name) for name in native.sanitizers
    }
    if native.fuzz > 0:
        runs["fuzz"] = functools.partial(checks.fuzz, native.fuzz, timeout)
    for name, run in runs.items():
        try:
            findings = run()
        except MissingToolError as failure:
            report.left_out.append(f"{name}: {failure}")
            continue
        except BuildError as failure:
            findings = [Finding("build-fails", f"it does not compile: {failure}", name)]
        except subprocess.TimeoutExpired:
            findings = [Finding("hang", f"the run under {name} did not end: look for a loop "
                                "that does not end with a damaged length", name)]  # fmt: skip
        report.groups[name] = "compiled again and run"
        for finding in findings:
            report.add(finding, ignore)


def _check(blob: Blob | Sequence[Blob], is_reader: bool, **options: Any) -> Report:
    one = blob if isinstance(blob, Blob) else next(iter(blob), None)
    if not isinstance(one, Blob):
        raise InvalidArgumentError(f"{blob!r}; it must be a Blob, or the blobs of one op")
    if one.node.op.is_reader != is_reader:
        wanted, other = ("reader", "decoder") if is_reader else ("decoder", "reader")
        raise InvalidArgumentError(f"{one.node.op.name} is not a {wanted}: use check_{other}()")
    spec = spec_of(one.node)
    report = run_checks(spec, libraries_of(spec), **options)
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
    timeout: float = 10.0,
    native: Native | None = None,
    only: str | None = None,
    quick: bool = False,
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

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is not a reader.
    """
    return _check(
        blob, True, records=records, checksums=checksums, also=also, ignore=ignore,
        timeout=timeout, native=native, only=only, quick=quick,
    )  # fmt: skip


def check_decoder(
    blob: Blob | Sequence[Blob],
    *,
    ignore: Sequence[str] = (),
    timeout: float = 10.0,
    native: Native | None = None,
    only: str | None = None,
    quick: bool = False,
) -> Report:
    """Checks an op with inputs over the records of its reader.

    Args:
        blob: What the op's function returned; one reader is upstream of it.
        ignore: Ids of findings that are known and accepted.
        timeout: Seconds of CPU time that one pass over the sample may take.
        native: Sanitizers and fuzzing, for which the plugin's sources are needed.
        only: One group, or one case of it, "GROUP/CASE", as a finding names it; None: all.
        quick: Only what takes least and finds most; the report says what is left out.

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is a reader.
    """
    return _check(
        blob, False, ignore=ignore, timeout=timeout, native=native, only=only, quick=quick
    )
