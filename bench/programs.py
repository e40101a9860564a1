"""The C and C++ programs of the benchmark: compiled when they are older than their source."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "bench"
FLAGS = ["-O3", "-g", "-Wall", "-Wextra", "-pthread"]
LIBRARIES = {"photos": ["-ljpeg"]}
FOR_ANY_PROCESSOR = {"drain"}  # valgrind, which runs it, does not know all of this one


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


@contextlib.contextmanager
def pinned(count: int | None) -> Iterator[None]:
    """What this thread starts meanwhile runs on so many of its cores from the first instruction;
    None: on all."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(allowed)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def exists(name: str) -> bool:
    return Path(path(name)).exists()


def path(name: str) -> str:
    return str(BUILD / name)


def _is_new(target: Path, source: Path) -> bool:
    """Whether a program is newer than its source and the headers."""
    headers = [*HERE.glob("*.h"), *(ROOT / "csrc" / "include" / "pyflowdata").glob("*.h")]
    sources = [source, *headers]
    return target.exists() and target.stat().st_mtime > max(s.stat().st_mtime for s in sources)


def _build(source: Path) -> str | None:
    """Compiles one program if it is out of date; returns why that is not possible."""
    target = Path(path(source.stem))
    if _is_new(target, source):
        return None
    target.unlink(missing_ok=True)
    cpp = source.suffix == ".cc"
    compiler = shlex.split(os.environ.get("CXX" if cpp else "CC", "g++" if cpp else "gcc"))
    if not shutil.which(compiler[0]):
        return f"there is no {compiler[0]}"
    library = ROOT / "pyflowdata"
    command = [*compiler, "-std=c++17" if cpp else "-std=gnu11", *FLAGS]
    command += [] if source.stem in FOR_ANY_PROCESSOR else ["-march=native"]
    command += ["-I", str(ROOT / "csrc" / "include"), "-o", str(target), str(source)]
    command += LIBRARIES.get(source.stem, [])
    if not cpp:
        command += ["-L", str(library), "-lpyflowdata", f"-Wl,-rpath,{library}"]
    done = subprocess.run(command, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr[:500]


def build(only: str = "*") -> None:
    """Compiles what is out of date, or of it only the program of that name.

    Raises:
        SystemExit: A C program, which uses our own interface, cannot be compiled.  C++ programs
            are reported and left out.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    for source in sorted([*HERE.glob(f"{only}.c"), *HERE.glob(f"{only}.cc")]):
        failure = _build(source)
        if failure and source.suffix == ".c":
            raise SystemExit(f"{source.name} cannot be compiled: {failure}")
        if failure:
            print(f"{source.name} is left out: {failure}")
