"""Checks under sanitizers and a fuzzer: the plugin is compiled again, with a driver in C."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from ..native import include_dir, library_path
from .damage import KINDS
from .kit_path import kit_path
from .report import Finding

SANITIZERS = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}
_DRIVER = Path(__file__).resolve().parent / "driver.c"
_DAMAGED = 24  # samples of each kind of damage
_SECONDS = 300

_ADVICE = {
    "asan": "memory was used that is not the op's, or was given back: look at the place that is "
    "named",
    "ubsan": "the C standard does not define this: look at the place that is named, and use "
    "memcpy() for numbers in a record",
    "tsan": "two threads use the same memory, one of them writing: keep no state that calls share, "
    "or make it atomic",
}


_LEAK = "malloc() memory is not given back: free all of it in close(), and where open() fails"


class BuildError(Exception):
    """The compiler refuses; the text is what it said."""


class MissingToolError(Exception):
    """What a check needs is not on this machine."""


def _compile(compiler: str, arguments: Sequence[str]) -> None:
    command = [*shlex.split(compiler), "-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer",
               "-I", include_dir(), *arguments]  # fmt: skip
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as failure:
        raise MissingToolError(
            f"the compiler {command[0]} cannot be run: {failure.strerror}"
        ) from None
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(command)}\n{done.stderr}")


def _compiler() -> str:
    return os.environ.get("CC", "cc")


def build_plugin(sources: Sequence[str], flags: Sequence[str], library: Path) -> None:
    """Compiles a plugin.  Raises BuildError and MissingToolError."""
    _compile(_compiler(), ["-fPIC", "-shared", *sources, *flags, "-o", str(library)])


class NativeChecks:
    """Builds and runs of one plugin."""

    def __init__(
        self,
        sources: Sequence[str],
        flags: Sequence[str],
        job: str,
        files: Sequence[str],
        folder: Path,
    ) -> None:
        """Args: C files of the plugin; flags for its compiler; the job as the driver reads it,
        without libraries; the sample's files; a folder to work in."""
        self._sources = [os.path.abspath(source) for source in sources]
        self._flags = list(flags)
        self._job = job
        self._files = [Path(file) for file in files]
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    # ---- Building -------------------------------------------------------------------------------

    def _build(self, name: str, compiler: str, sanitize: str, driver: Sequence[str]) -> Path:
        """The driver; a job file beside it names the plugin that was built for it."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        plugin, program = folder / "plugin.so", folder / "driver"
        libraries = [library_path(), kit_path()]
        kept = ["-fno-sanitize-recover=all"]
        _compile(
            compiler,
            [sanitize, *kept, "-fPIC", "-shared", *self._sources, *self._flags, "-o", str(plugin)],
        )
        _compile(
            compiler,
            [*driver, *kept, str(_DRIVER), *map(str, libraries),
             f"-Wl,-rpath,{libraries[0].parent}", "-o", str(program)],
        )  # fmt: skip
        said = f"library {str(plugin).encode().hex()}\n{self._job}"
        (folder / "job").write_text(said, encoding="utf-8")
        return program

    # ---- Sanitizers -----------------------------------------------------------------------------

    def sanitize(self, name: str) -> list[Finding]:
        """What "asan", "ubsan" or "tsan" finds over the sample and damaged copies of it.

        Raises:
            BuildError: The plugin cannot be compiled with it.
        """
        flag = f"-fsanitize={SANITIZERS[name]}"
        program = self._build(name, _compiler(), flag, [flag])
        samples = self._samples()
        done = self._run(program, [str(program.parent / "job"), *map(str, samples)])
        findings = [
            Finding(id, said, name) for id, said in _told(done.stdout) if id and said
        ]
        summary = _summary(done.stderr)
        if summary:
            advice = _LEAK if "leak" in summary else _ADVICE[name]
            findings.append(Finding(name, f"{summary}: {advice}", name))
        elif done.returncode != 0 and not findings:
            tail = " ".join(done.stderr.split()[-60:])
            text = f"the driver ended with status {done.returncode}: {tail}"
            findings.append(Finding("crash" if done.returncode < 0 else "kit-fails", text, name))
        return findings

    def _run(self, program: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
        # Older sanitizers trip over randomised addresses.
        launcher = ["setarch", "-R"] if _can_fix_addresses() else []
        options = {
            "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:allow_user_segv_handler=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
            "TSAN_OPTIONS": "halt_on_error=1",
        }
        return subprocess.run(
            [*launcher, str(program), *arguments],
            env={**os.environ, **options},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )

    def _samples(self) -> list[Path]:
        """Folders: the sample, then damaged ones."""
        folder = self._folder / "samples"
        if folder.exists():
            return sorted(folder.iterdir())
        victim = next((file for file in reversed(self._files) if file.stat().st_size), None)
        damaged: list[bytes | None] = [None]
        if victim is not None:
            data = victim.read_bytes()
            for kind in KINDS.values():
                damaged += [bytes_ for bytes_, _ in islice(kind(data, victim.name), _DAMAGED)]
        for number, bytes_ in enumerate(damaged):
            one = folder / f"{number:04}"
            one.mkdir(parents=True)
            for file in self._files:
                shutil.copyfile(file, one / file.name)
            if bytes_ is not None and victim is not None:
                (one / victim.name).write_bytes(bytes_)
        return sorted(folder.iterdir())

    # ---- Fuzzing --------------------------------------------------------------------------------

    def fuzz(self, seconds: int, limit: float) -> list[Finding]:
        """What libFuzzer finds in so many seconds; the input is left in the working folder.

        Raises:
            MissingToolError: clang is missing.
            BuildError: The plugin cannot be compiled.
        """
        clang = shutil.which("clang")
        if clang is None:
            raise MissingToolError("clang is missing, which has libFuzzer: install it")
        program = self._build(
            "fuzz", clang, "-fsanitize=fuzzer-no-link,address",
            ["-fsanitize=fuzzer,address", "-DPFD_CHECK_FUZZ"],
        )  # fmt: skip
        sample, corpus = self._folder / "fuzz" / "sample", self._folder / "fuzz" / "corpus"
        for folder in (sample, corpus):
            folder.mkdir(exist_ok=True)
        for file in self._files:
            shutil.copyfile(file, sample / file.name)
            shutil.copyfile(file, corpus / file.name)
        victim = self._files[-1].name
        done = subprocess.run(
            [str(program), str(corpus), f"-max_total_time={seconds}", f"-timeout={int(limit) + 1}",
             "-rss_limit_mb=2048", "-artifact_prefix=pyflowdata-fuzz-", "-print_final_stats=1"],
            env={**os.environ, "PYFLOWDATA_CHECK_JOB": str(program.parent / "job"),
                 "PYFLOWDATA_CHECK_FILE": str(sample / victim),
                 "ASAN_OPTIONS": "detect_leaks=1:allow_user_segv_handler=1"},
            capture_output=True, text=True, errors="replace", timeout=seconds + _SECONDS,
            check=False,
        )  # fmt: skip
        if done.returncode == 0:
            return []
        kept = re.search(r"Test unit written to (\S+)", done.stderr)
        where = f"; the input is in {kept[1]}" if kept else ""
        told = [f"{id}: {said}" for id, said in _told(done.stdout)]
        found = told[0] if told else _summary(done.stderr) or "the process ended"
        return [Finding("fuzz", f"{found}{where}: put this file among the tests' samples, and "
                        "look at the place that is named", "fuzz")]  # fmt: skip


def _told(output: str) -> list[tuple[str, str]]:
    """Findings of the driver, each id once."""
    found: dict[str, str] = {}
    for line in output.splitlines():
        id, tab, said = line.partition("\t")
        if tab and re.fullmatch(r"[a-z][a-z-]*", id):
            found.setdefault(id, said)
    return list(found.items())


def _summary(output: str) -> str:
    """The line in which a sanitizer says what it found, and the nearest place in the sources."""
    line = re.search(r"^(?:==\d+==)?.*(?:runtime error: .*|ERROR: \w+Sanitizer.*)$", output, re.M)
    line = line or re.search(r"^WARNING: ThreadSanitizer.*$", output, re.M)
    summary = re.search(r"^SUMMARY: (.*)$", output, re.M)
    parts = [re.sub(r"^==\d+==\s*", "", found[0]) for found in (line,) if found]
    parts += [summary[1]] if summary else []
    return "; ".join(part.strip() for part in parts)


def _can_fix_addresses() -> bool:
    setarch = shutil.which("setarch")
    if setarch is None:
        return False
    return subprocess.run([setarch, "-R", "true"], capture_output=True, check=False).returncode == 0
