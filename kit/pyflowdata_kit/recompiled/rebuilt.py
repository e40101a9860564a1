"""Compiles the plugins of a graph again, for a program of drivers/."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from .compiling import CPP_SUFFIXES, Compiler


# ---- Programs that threads of this process wait for; they end with it ---------------------------

_lock = threading.Lock()
_running: set[subprocess.Popen[str]] = set()
_is_stopped = False


class _StoppedError(RuntimeError):
    """No program is started any more."""


def _run_program(
    command: Sequence[str | Path], env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Runs a program; returns its result, with its output as text.

    Raises:
        subprocess.TimeoutExpired: It did not end in so many seconds, and was ended.
        StoppedError: The checks end.
    """
    with _lock:
        if _is_stopped:
            raise _StoppedError
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            errors="replace",
        )  # fmt: skip
        _running.add(process)
    try:
        out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, err)
    except BaseException:
        process.kill()
        process.communicate()
        raise
    finally:
        with _lock:
            _running.discard(process)


@contextlib.contextmanager
def ended_on_failure() -> Iterator[None]:
    """Ends all programs if its block is interrupted, so that no thread waits for one."""
    try:
        yield
    except BaseException:
        _stop(True)
        raise


def may_run_again() -> None:
    """Called once the threads have ended."""
    _stop(False)


def _stop(is_stopped: bool) -> None:
    global _is_stopped
    with _lock:
        _is_stopped = is_stopped
        for process in _running if is_stopped else ():
            process.kill()


# ---- Plugins and programs -----------------------------------------------------------------------

_TRAPS = "-fno-sanitize-recover=all"


@dataclass(frozen=True)
class Graph:
    """A node to check, as a program without Python makes it.

    Attributes:
        job: The text that drivers/job.h reads, without libraries.
        files: Paths of the sample.
        origin: The library of the op under check.
        libraries: All libraries that have the ops.
        sources: The C and C++ files of the plugin under check.
        others: The sources of further libraries, by the libraries' paths; without sources, a
            library is used as it is.
        flags: Arguments for the compiler and linker.
    """

    job: str
    files: tuple[Path, ...]
    origin: str
    libraries: tuple[str, ...]
    sources: tuple[str, ...]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def is_cpp(self) -> bool:
        """Whether a plugin has C++."""
        sources = [*self.sources, *(one for other in self.others.values() for one in other)]
        return any(source.endswith(CPP_SUFFIXES) for source in sources)

    def folders(self) -> list[str]:
        """The folders of the sources; files that they include may lie elsewhere."""
        sources = [*self.sources, *(one for other in self.others.values() for one in other)]
        return sorted({os.path.dirname(os.path.abspath(source)) for source in sources})


@dataclass(frozen=True)
class Program:
    """A program that runs the kit over the graph.

    Attributes:
        path: The file to run.
        job: The file with the job, and with the libraries that were built for it.
    """

    path: Path
    job: Path

    def run(
        self, arguments: Sequence[str | Path], env: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Runs it; returns the result. Raises subprocess.TimeoutExpired."""
        command = [*_fixed_addresses(), self.path, *arguments]
        return _run_program(command, {**os.environ, **env}, timeout)


def build(
    graph: Graph, folder: Path, compiler: Compiler, name: str, sanitize: Sequence[str],
    *, plugin_only: Sequence[str] = (), driver_only: Sequence[str] = (),
) -> Program:  # fmt: skip
    """Compiles the program and the plugins; each plugin by itself, since all define the same entry.

    Args:
        folder: Gets the libraries and the job; it is made.
        name: The program in drivers/, see Compiler.driver().
        sanitize: Flags for plugins and program.
        plugin_only, driver_only: Flags for plugins, and for the program.

    Raises:
        BuildError, MissingToolError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    flags = [*sanitize, *([_TRAPS] if sanitize else [])]
    if graph.is_cpp and "-fsanitize=undefined" in sanitize:
        flags.append("-fno-sanitize=vptr")  # needs a runtime library that only C++ programs have
    sources = {os.path.realpath(path): files for path, files in graph.others.items()}
    sources[os.path.realpath(graph.origin)] = graph.sources
    libraries: list[Path] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        driver = pool.submit(
            compiler.driver, name, [*flags, *driver_only], is_cpp=graph.is_cpp
        )  # fmt: skip
        built = []
        for number, path in enumerate(graph.libraries):
            files = sources.get(os.path.realpath(path))
            libraries.append(folder / f"plugin-{number}.so" if files else Path(path))
            if files:
                built.append(
                    pool.submit(compiler.library, [os.path.abspath(file) for file in files],
                                [*flags, *plugin_only, *graph.flags], libraries[-1])
                )  # fmt: skip
        for one in built:
            one.result()
        program = driver.result()
    job = folder / "job"
    loaded = "".join(f"library {str(path).encode().hex()}\n" for path in libraries)
    job.write_text(loaded + graph.job, encoding="utf-8")
    return Program(program, job)


_launcher: list[str] | None = None


def _fixed_addresses() -> list[str]:
    """Words before a command, because older sanitizers fail with randomised addresses."""
    global _launcher  # noqa: PLW0603  (found out once)
    if _launcher is None:
        words = ["setarch", "-R"]
        try:
            works = subprocess.run([*words, "true"], capture_output=True, check=False)
            _launcher = words if works.returncode == 0 else []
        except OSError:
            _launcher = []
    return _launcher
