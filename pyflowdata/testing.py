"""Checks of ops for tests: does a reader or decoder keep what the interface asks of it?

    from pyflowdata import load_library, testing

    def test_my_reader():
        plugin = load_library("build/my_reader.so")
        testing.check_reader(plugin.MyReader("samples"), records=12)

The op runs in processes of its own: a crash or an endless loop is a finding like any other.
`pyflowdata check` does the same on the command line; docs/check.md explains what is found.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ._check_job import Job, Spec, libraries_of, spec_of
from ._check_report import Finding, Report
from .errors import InvalidArgumentError
from .graph import Blob

__all__ = ["CheckFailed", "Finding", "Report", "check_decoder", "check_reader", "run_checks"]


class CheckFailed(AssertionError):  # noqa: N818  (what a test raises is no error of the package)
    """An op has faults; the text is the report.

    Attributes:
        report: All that was found.
    """

    def __init__(self, report: Report) -> None:
        self.report = report
        super().__init__(str(report))


def run_checks(
    spec: Spec,
    libraries: Sequence[str] = (),
    *,
    records: int | None = None,
    checksums: bool = False,
    also: Mapping[str, int] | None = None,
    ignore: Sequence[str] = (),
    timeout: float = 10.0,
) -> Report:
    """Runs all checks, and returns what they found; the arguments are those of check_reader()."""
    report = Report(spec.op)
    with tempfile.TemporaryDirectory(prefix="pyflowdata-check-") as folder:
        others = tuple((os.path.abspath(name), count) for name, count in (also or {}).items())
        files = tuple(os.path.abspath(path) for path in libraries)
        job = Job(spec, files, records, checksums, others, timeout, folder)
        for said in _ask(job):
            group = str(said["group"])
            if "id" in said:
                warning = bool(said.get("warning", False))
                finding = Finding(str(said["id"]), str(said["text"]), group, warning)
                report.add(finding, ignore)
            elif "note" in said:
                report.left_out.append(str(said["note"]))
            elif "done" in said:
                report.groups[group] = str(said["done"])
    return report


def _ask(job: Job) -> list[dict[str, object]]:
    """What the checking process says of a job."""
    package = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-m", "pyflowdata._check_worker"],
        input=pickle.dumps(job),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    said = [json.loads(line) for line in done.stdout.decode().splitlines()]
    if done.returncode != 0 or not said:
        text = f"the checking process ended with status {done.returncode}; see its output above"
        said.append({"group": "descriptor", "id": "kit-fails", "text": text})
    return said


def _check(blob: Blob | Sequence[Blob], is_reader: bool, **options: object) -> Report:
    one = blob if isinstance(blob, Blob) else next(iter(blob), None)
    if not isinstance(one, Blob):
        raise InvalidArgumentError(f"{blob!r}; it must be a Blob, or the blobs of one op")
    if one.node.op.is_reader != is_reader:
        wanted, other = ("reader", "decoder") if is_reader else ("decoder", "reader")
        raise InvalidArgumentError(f"{one.node.op.name} is no {wanted}: use check_{other}()")
    spec = spec_of(one.node)
    report = run_checks(replace(spec), libraries_of(spec), **options)  # type: ignore[arg-type]
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
) -> Report:
    """Checks a reader op over a sample: files of a few records, at best below 10 KB.

    Args:
        blob: What the reader's function returned.
        records: How many records the sample has; None: what the reader finds is believed.
        checksums: Whether the format has checksums, so that no damage may go unnoticed.
        also: Further folders with samples, and how many records each has: none, one, many.
        ignore: Ids of findings that are known and wanted.
        timeout: Seconds that one pass over the sample may take.

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is no reader.
    """
    return _check(
        blob, True, records=records, checksums=checksums, also=also, ignore=ignore, timeout=timeout
    )


def check_decoder(
    blob: Blob | Sequence[Blob], *, ignore: Sequence[str] = (), timeout: float = 10.0
) -> Report:
    """Checks an op with inputs over the records of the reader that it was given.

    Args:
        blob: What the op's function returned; one reader is upstream of it.
        ignore: Ids of findings that are known and wanted.
        timeout: Seconds that one pass over the sample may take.

    Returns:
        The report; it may have warnings.

    Raises:
        CheckFailed: The op has faults; the text lists each with what to change.
        InvalidArgumentError: It is a reader.
    """
    return _check(blob, False, ignore=ignore, timeout=timeout)
