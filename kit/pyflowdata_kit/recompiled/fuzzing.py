"""Fuzzes a plugin by libFuzzer, or by the kit's own fuzzer, which needs no clang."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom

from ..causes import CAUSES
from ..corpus import Corpus, case_of
from ..file_layout import file_of_each_kind, files_like
from ..options import UnknownCaseError
from ..report import Finding
from .compiling import BuildError, Compiler, MissingToolError
from .rebuilt import Graph, Program, build
from .sanitizers import OPTIONS, findings_of, likely_causes, runs_of, summary
from pyflowdata.errors import shown
from pyflowdata.words.plain_text import counted


# ---- Inputs that show a fault are made smaller, and more like the sample ------------------------

_Fails = Callable[[bytes], bool]


def reduced(data: bytes, sample: bytes, fails: _Fails) -> bytes:
    """Returns an input that still fails, with as many of the sample's bytes and as few others as
    possible.

    Args:
        data: An input that fails.
        sample: The file that it stands for.
        fails: Says whether an input shows the same fault.
    """
    if not fails(data):  # it failed by chance, or because of earlier inputs
        return data
    return _like(_shorter(_like(data, sample, fails), fails), sample, fails)


def _like(data: bytes, sample: bytes, fails: _Fails) -> bytes:
    """The input with the sample's bytes in as many places as possible: in halves, quarters and so
    on."""
    if len(data) != len(sample):
        # One change of size, between equal beginnings and ends.
        head = _same(data, sample)
        tail = min(_same(data[::-1], sample[::-1]), min(len(data), len(sample)) - head)
        for other in (sample, sample[: len(data)], data[:head] + sample[len(sample) - tail :]):
            if other != data and fails(other):
                return other
        return data
    size = len(data)
    while size:
        for start in range(0, len(data), size):
            part = sample[start : start + size]
            other = data[:start] + part + data[start + len(part) :]
            if other != data and fails(other):
                data = other
        size //= 2
    return data


def _same(one: bytes, two: bytes) -> int:
    """How many bytes at the beginning are the same."""
    most = min(len(one), len(two))
    return next((i for i in range(most) if one[i] != two[i]), most)


def _shorter(data: bytes, fails: _Fails) -> bytes:
    size = len(data) // 2
    while size:
        start = len(data) - size
        while start >= 0 and len(data) > size:
            other = data[:start] + data[start + size :]
            if fails(other):
                data = other
            start -= size
        size //= 2
    return data


def _describe_change(data: bytes, sample: bytes, name: str) -> str:
    """Says in which bytes an input differs from the file that it stands for."""
    if len(data) != len(sample):
        return f"{counted(len(data), 'byte')} in place of {len(sample)}"
    places = [i for i in range(len(data)) if data[i] != sample[i]]
    if not places:
        return "the same bytes"
    first, last = places[0], places[-1]
    if first == last:
        return f"byte {first} is {data[first]:#04x} in place of {sample[first]:#04x}"
    return f"{len(places)} of its bytes {first} to {last} differ"


# ---- The fuzzers --------------------------------------------------------------------------------

FUZZERS = ("own", "clang")
_ASAN = "-fsanitize=address"
_COVERAGE = "-fsanitize-coverage=trace-pc,trace-cmp"
_MEMORY_MB = 2048
_GRACE = 120  # seconds for a last run, and for the sanitizer's report
_REDUCING = 10  # seconds

_ADVICE = (
    "look at the place that is named, and check what comes from the file before it is used; the "
    "input stays in the corpus, which `check` reads each time"
)


@dataclass(frozen=True)
class _Failure:
    """What ended a program, as a text; equal faults have equal kinds."""

    text: str
    kind: str


class Fuzzer:
    """One of FUZZERS, compiled for a graph."""

    def __init__(self, graph: Graph, folder: Path, name: str | None, limit: float) -> None:
        """
        Args:
            graph: The graph, with the sources of its plugins.
            folder: A folder to work in.
            name: One of FUZZERS; None: libFuzzer where clang has it, else the kit's own.
            limit: Seconds of processor time for one pass over the sample.

        Raises:
            BuildError: A plugin cannot be compiled.
            MissingToolError: There is no compiler, or no clang though libFuzzer is asked for.
        """
        self._graph, self._folder, self._limit = graph, folder, limit
        self.remark = ""  # what this machine lacks
        if name == "clang" or (name is None and shutil.which("clang")):
            try:
                self._program, self._is_own = self._build_clang(), False
                return
            except (BuildError, MissingToolError):
                if name == "clang":
                    raise
        self._program, self._is_own = self._build_own(), True

    @property
    def title(self) -> str:
        """The name of the fuzzer, in words."""
        return "the kit's own fuzzer" if self._is_own else "libFuzzer"

    def _build_clang(self) -> Program:
        if shutil.which("clang") is None:
            raise MissingToolError("clang is missing, which has libFuzzer: install it, or use the "
                                   "kit's own fuzzer")  # fmt: skip
        return build(
            self._graph, self._folder, Compiler("clang", "clang++"), "clang_fuzz", [_ASAN],
            plugin_only=["-fsanitize=fuzzer-no-link"], driver_only=["-fsanitize=fuzzer"],
        )  # fmt: skip

    def _build_own(self) -> Program:
        compiler = Compiler.usual()
        coverage = [_COVERAGE] if compiler.accepts(_COVERAGE) else []
        try:
            compiler.driver("own_fuzz", [_ASAN, "-fno-sanitize-recover=all"],
                            is_cpp=self._graph.is_cpp)  # fmt: skip
            sanitize = [_ASAN]
        except BuildError:  # its library is missing on this machine
            sanitize = []
            self.remark = "without AddressSanitizer, which this compiler does not have here"
        return build(self._graph, self._folder, compiler, "own_fuzz", sanitize,
                     plugin_only=coverage)  # fmt: skip

    # ---- Runs -----------------------------------------------------------------------------------

    def fuzz(self, seconds: int, corpus: Corpus) -> tuple[list[Finding], str]:
        """Fuzzes a file of each kind, one after the other; returns findings, and what was done."""
        victims = file_of_each_kind(self._graph.files)
        share = max(seconds // max(len(victims), 1), 1)
        findings: list[Finding] = []
        count = 0
        for victim in victims:
            failure, data, runs = self._search(victim, share, corpus)
            count += runs
            if failure is not None:
                findings.append(self._save(victim, data, failure, corpus))
        names = ", ".join(victim.name for victim in victims)
        inputs = f"{count:,} inputs" if count else "inputs"
        done = f"{inputs} for {names or 'no file'}, {share} s each, by {self.title}"
        return findings, ", ".join(filter(None, [done, self.remark]))

    def repeat(self, case: str, corpus: Corpus) -> tuple[list[Finding], str]:
        """Runs one input of the corpus, as a report names it.  Raises UnknownCaseError."""
        for file, path in corpus.inputs(self._graph.files, 1 << 30):
            if case_of(file, path) == case:
                failure = self._run_one(file, path.read_bytes())
                found = [] if failure is None else [self._finding(file, path, failure)]
                return found, f"{path} by {self.title}"
        raise UnknownCaseError(f"there is no input {shown(case)} in {corpus.folder}")

    def _sample(self, victim: Path) -> Path:
        """Makes a copy of the sample; returns it and its file that gets other bytes."""
        folder = self._folder / "sample"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for file in self._graph.files:
            shutil.copyfile(file, folder / file.name)
        return folder / victim.name

    def _search(
        self, victim: Path, seconds: int, corpus: Corpus
    ) -> tuple[_Failure | None, bytes, int]:
        """Returns the failure, its input, and the number of inputs that were run."""
        file = self._sample(victim)
        seeds = self._folder / "seeds"
        shutil.rmtree(seeds, ignore_errors=True)
        seeds.mkdir()
        for like in files_like(victim, self._graph.files):
            shutil.copyfile(like, seeds / like.name)
        kept = corpus.folder_of(victim)
        artifacts = self._folder / "failed-"
        if self._is_own:
            arguments = self._own_arguments(file, seconds, [kept, seeds])
        else:
            arguments = [
                kept, seeds, f"-max_total_time={seconds}", f"-timeout={int(self._limit) + 1}",
                f"-rss_limit_mb={_MEMORY_MB}", f"-artifact_prefix={artifacts}",
                "-print_final_stats=1",
            ]  # fmt: skip
        done = self._run(file, arguments, seconds + _GRACE)
        runs = runs_of(done.stdout) or runs_of(done.stderr)
        failure = self._failure(done)
        if self._is_own:
            return failure, file.read_bytes(), runs
        saved = sorted(self._folder.glob("failed-*"))
        data = saved[0].read_bytes() if saved else file.read_bytes()
        for one in saved:
            one.unlink()
        return failure, data, runs

    def _own_arguments(self, file: Path, seconds: int, folders: list[Path]) -> list[str | Path]:
        limit_ms, seed = str(int(self._limit * 1000)), str(SystemRandom().getrandbits(48))
        return [self._program.job, file, str(seconds), limit_ms, seed, *folders]

    def _run_one(self, victim: Path, data: bytes) -> _Failure | None:
        file = self._sample(victim)
        inputs = self._folder / "one"
        inputs.mkdir(exist_ok=True)
        (inputs / "input").write_bytes(data)
        if self._is_own:
            arguments = self._own_arguments(file, 0, [inputs])
        else:
            arguments = [inputs / "input", f"-timeout={int(self._limit) + 1}",
                         f"-rss_limit_mb={_MEMORY_MB}"]  # fmt: skip
        return self._failure(self._run(file, arguments, _GRACE))

    def _run(
        self, file: Path, arguments: list[str | Path], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        env: Mapping[str, str] = {
            **OPTIONS,
            "PYFLOWDATA_CHECK_JOB": str(self._program.job),
            "PYFLOWDATA_CHECK_FILE": str(file),
        }
        try:
            return self._program.run(arguments, env, timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess([], -14, "", "")

    # ---- Failures -------------------------------------------------------------------------------

    def _failure(self, done: subprocess.CompletedProcess[str]) -> _Failure | None:
        if done.returncode == 0:
            return None
        told = [(id, said) for _, id, said in findings_of(done.stdout)]
        sanitized = summary(done.stderr, self._graph.folders())
        if told:
            id, said = told[0]
            place = f" ({sanitized})" if sanitized else ""
            return _Failure(f"{id}: {said}{place}", id)
        if sanitized:
            return _Failure(sanitized, sanitized)
        if "timeout after" in done.stderr or done.returncode == -14:
            return _Failure("hang: the op did not end, and used no processor time: look for a lock "
                            "that waits for ever", "hang")  # fmt: skip
        tail = " ".join(done.stderr.split()[-40:])
        return _Failure(f"the process ended with status {done.returncode} {tail}".strip(), "end")

    def _save(self, victim: Path, data: bytes, failure: _Failure, corpus: Corpus) -> Finding:
        """Makes the input smaller, or more like the sample, as long as it shows the same fault."""
        until = time.monotonic() + _REDUCING

        def fails(changed: bytes) -> bool:
            again = self._run_one(victim, changed)
            return again is not None and again.kind == failure.kind

        smaller = reduced(data, victim.read_bytes(), _until(fails, until))
        return self._finding(victim, corpus.keep_failed(victim, smaller), failure)

    def _finding(self, victim: Path, path: Path, failure: _Failure) -> Finding:
        change = _describe_change(path.read_bytes(), victim.read_bytes(), victim.name)
        text = f"{failure.text} (with {path} as {victim.name}: {change}): {_ADVICE}"
        likely = likely_causes(failure.text) or CAUSES.get(failure.kind, ())
        return Finding("fuzz", text, "fuzz", likely=likely, case=case_of(victim, path))


def _until(fails: Callable[[bytes], bool], end: float) -> Callable[[bytes], bool]:
    """A function that answers no after a time, and as `fails` before."""
    return lambda data: time.monotonic() < end and fails(data)
