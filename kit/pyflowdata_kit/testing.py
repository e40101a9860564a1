"""What `pyflowdata.testing` shows: checks of an op, and their report."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .causes import causes_of
from .corpus import corpus_beside
from .job import Job
from .recompiled.native_checks import NativeChecks, NativeResult
from .memory_faults import names_line
from .only import Only, UnknownCaseError
from .repeat import TIMEOUT, command_words, repeat_command
from .report import Finding, Report
from .spec import Spec, has_python, libraries_of, spec_of
from .workers import ask, ask_here
from pyflowdata.errors import InvalidArgumentError
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


@dataclass(frozen=True)
class Native:
    """Checks for which the plugin is compiled again, with a driver in C instead of Python.

    Attributes:
        sources: The plugin's C and C++ files (.c, .cc, .cpp, .cxx).
        flags: For the compiler and linker, besides those for the headers.
        sanitizers: Some of "asan", "ubsan", "tsan".
        fuzz: Seconds of fuzzing; 0: none.
        fuzzer: "clang" for libFuzzer, "own" for that of the kit; None: libFuzzer where it is there.
        others: Sources of further plugins that the op's inputs come from, by the paths of their
            libraries; one that is not here is loaded as it is.
    """

    sources: Sequence[str | os.PathLike[str]]
    flags: Sequence[str] = ()
    sanitizers: Sequence[str] = ()
    fuzz: int = 0
    fuzzer: str | None = None
    others: Mapping[str, Sequence[str | os.PathLike[str]]] = field(default_factory=dict)


def run_checks(
    spec: Spec,
    libraries: Sequence[str] = (),
    *,
    records: int | None = None,
    checksums: bool = False,
    also: Mapping[str, int] | None = None,
    ignore: Sequence[str] = (),
    timeout: float = TIMEOUT,
    native: Native | None = None,
    groups: Collection[str] | None = None,
    only: str | None = None,
    quick: bool = False,
    command: Sequence[str] | None = None,
    here: bool = False,
    progress: Callable[[str], None] | None = None,
    corpus: str | os.PathLike[str] | None = None,
) -> Report:
    """Runs all checks, and returns their report; the other arguments are those of check_reader().

    Args:
        groups: The groups of checks to run, as docs/reference/check-findings.md names them; None:
            all.
        command: The words of the command that runs these checks, for the findings that say how to
            repeat a case; None: made of the arguments.
        here: The checks may be forks of this process, which has loaded no plugins; it saves to
            start another one.
        progress: Is told the name of each group that begins.

    Raises:
        UnknownCaseError: `only` is no group or case, or the group does not suit the op.
        OSError: No space is left for temporary files.
    """
    report = Report(spec.op)
    asked = Only(only)
    with tempfile.TemporaryDirectory(prefix="pyflowdata-check-") as folder:
        others = tuple((os.path.abspath(name), count) for name, count in (also or {}).items())
        files = tuple(os.path.abspath(path) for path in libraries)
        wanted = None if groups is None else frozenset(groups)
        kept = _corpus(corpus, native, files)
        job = asked.of(
            Job(spec, files, records, checksums, others, timeout, folder, wanted, quick=quick,
                corpus=str(kept) if kept and kept.is_dir() else None)
        )  # fmt: skip
        words = command
        if command is None:
            named = native or Native([])
            words = command_words(
                spec, files[-1:], plugins=files[:-1], sources=_paths(named.sources),
                flags=named.flags, fuzzer=named.fuzzer, records=records, checksums=checksums,
                also=also, ignore=ignore, timeout=timeout, corpus=corpus,
            )  # fmt: skip
        graph: dict[str, Any] = {}

        def take(said: dict[str, Any]) -> None:
            if "no_space" in said:
                raise OSError(
                    errno.ENOSPC, "no space is left for the samples that the checks write: make "
                    "room, or name another folder by TMPDIR", said["no_space"],
                )  # fmt: skip
            if "id" in said and files and words and not (native and "asan" in native.sanitizers):
                hint = names_line(said["id"], native is not None or bool(source_of(files[-1])))
                said = {**said, "text": said["text"] + hint}
            _take(report, said, ignore, words)
            asked.take(said)
            if "job" in said:
                graph.update(said)
                report.op = said["op"]
            if "starts" in said and progress is not None:
                progress(said["group"])

        (ask_here if here else ask)(job, take)
        if not report.findings:
            asked.look(report.op, native is not None)
        if native is not None and graph:
            checks = _native_checks(native, _writable(kept, native, report), timeout, asked)
            for result in checks.run(graph, Path(folder, "native")):
                _take_native(report, result, ignore, words)
    return report


def _take(
    report: Report, said: Mapping[str, Any], ignore: Sequence[str], words: Sequence[str] | None
) -> None:
    group = str(said["group"])
    if "id" in said:
        id, case = str(said["id"]), str(said.get("case", ""))
        likely = tuple(said.get("likely") or causes_of(id))
        repeat = repeat_command(words, group, case) if words else ""
        warning = bool(said.get("warning", False))
        finding = Finding(id, str(said["text"]), group, warning, likely, case, repeat)
        report.add(finding, ignore)
    elif "note" in said:
        report.left_out.append(str(said["note"]))
    elif "done" in said:
        report.groups[group] = str(said["done"])


def _take_native(
    report: Report, result: NativeResult, ignore: Sequence[str], words: Sequence[str] | None
) -> None:
    if result.left_out:
        report.left_out.append(f"{result.group}: {result.left_out}")
    else:
        report.groups[result.group] = result.done
    for finding in result.findings:
        likely = finding.likely or causes_of(finding.id)
        again = repeat_command(words, result.group, finding.case) if words else ""
        report.add(replace(finding, likely=likely, repeat=again), ignore)


def _corpus(
    given: str | os.PathLike[str] | None, native: Native | None, libraries: Sequence[str]
) -> Path | None:
    """Where the corpus is, or would be; None: there is no plugin."""
    if given is not None:
        return Path(given).absolute()
    names = [os.fspath(source) for source in (native.sources if native else ())]
    names += libraries[-1:]
    return corpus_beside(names[0]) if names else None


def _writable(corpus: Path | None, native: Native, report: Report) -> Path | None:
    """The corpus, or another where fuzzing cannot write to it."""
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


def _paths(files: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    return tuple(os.fspath(file) for file in files)


def _native_checks(
    native: Native, corpus: Path | None, limit: float, asked: Only
) -> NativeChecks:
    others = {path: _paths(files) for path, files in native.others.items()}
    return NativeChecks(
        sources=_paths(native.sources), others=others, flags=tuple(native.flags),
        sanitizers=tuple(native.sanitizers), fuzz=native.fuzz, fuzzer=native.fuzzer,
        corpus=corpus or Path("corpus").absolute(), limit=limit, only=asked.native,
    )  # fmt: skip


def _check(blob: Blob | Sequence[Blob], is_reader: bool, **options: Any) -> Report:
    one = blob if isinstance(blob, Blob) else next(iter(blob), None)
    if not isinstance(one, Blob):
        raise InvalidArgumentError(f"{blob!r}; it must be a Blob, or the blobs of one op")
    if one.node.op.is_reader != is_reader:
        wanted, other = ("reader", "decoder") if is_reader else ("decoder", "reader")
        raise InvalidArgumentError(f"{one.node.op.name} is not a {wanted}: use check_{other}()")
    spec = spec_of(one.node)
    if has_python(spec):  # which no other process has, and no command can name
        options.update(here=True, command=[])
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
    return _check(
        blob, True, records=records, checksums=checksums, also=also, ignore=ignore,
        timeout=timeout, native=native, only=only, quick=quick, corpus=corpus,
    )  # fmt: skip


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
        InvalidArgumentError: It is a reader.
    """
    return _check(
        blob, False, ignore=ignore, timeout=timeout, native=native, only=only, quick=quick,
        corpus=corpus,
    )  # fmt: skip
