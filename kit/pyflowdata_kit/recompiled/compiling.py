"""Compiles plugins, and the programs of drivers/ that run the kit over them without Python."""

from __future__ import annotations

import atexit
import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyflowdata.native import include_dir, library_path


SANITIZERS = {"asan": "address", "ubsan": "undefined", "tsan": "thread"}  # their names in compilers
FUZZ = "fuzz"
NATIVE_GROUPS = (*SANITIZERS, FUZZ)


CPP_SUFFIXES = (".cc", ".cpp", ".cxx")
_SUFFIXES = (".c", *CPP_SUFFIXES)
_DRIVERS = Path(__file__).resolve().parent / "drivers"
_KIT_HEADERS = Path(__file__).resolve().parent.parent / "include"
_PROGRAMS = {
    "samples": ("samples.c", "job.c"),
    "clang_fuzz": ("clang_fuzz.c", "target.c", "job.c"),
    "own_fuzz": ("own_fuzz.c", "target.c", "job.c"),
}
_ONLY_LINKED = ("-l", "-L", "-Wl,")


class BuildError(Exception):
    """The compiler refuses; the text is its message."""


class MissingToolError(Exception):
    """This machine lacks what a check needs."""


def is_source(name: str) -> bool:
    """Whether a file has the name of a C or C++ file."""
    return name.endswith(_SUFFIXES)


class Compiler:
    """A C compiler, and the C++ compiler that goes with it."""

    def __init__(self, c: str, cpp: str) -> None:
        """Args: the two commands, as the shell takes them."""
        self._c, self._cpp = tuple(shlex.split(c)), tuple(shlex.split(cpp))

    @staticmethod
    def usual() -> Compiler:
        """The compilers of $CC and $CXX, or cc and c++."""
        return Compiler(os.environ.get("CC") or "cc", os.environ.get("CXX") or "c++")

    def library(self, sources: Sequence[str], flags: Sequence[str], library: Path) -> None:
        """Compiles C and C++ files into one shared library, and links it as C++ if one is.

        Raises:
            BuildError: The compiler refuses.
            MissingToolError: There is none.
        """
        shared = ["-fPIC", "-shared", "-o", str(library)]
        c = [source for source in sources if not source.endswith(CPP_SUFFIXES)]
        cpp = [source for source in sources if source.endswith(CPP_SUFFIXES)]
        if not cpp:
            _run([*self._c, *_FLAGS, *_headers(), *c, *flags, *shared])
            return
        objects = []
        compiled = [flag for flag in flags if not flag.startswith(_ONLY_LINKED)]
        for number, source in enumerate(c):
            objects.append(f"{library}.{number}.o")
            _run([*self._c, *_FLAGS, *_headers(), *compiled, "-fPIC", "-c", source,
                  "-o", objects[-1]])  # fmt: skip
        _run([*self._cpp, *_FLAGS, *_headers(), *cpp, *objects, *flags, *shared])

    def accepts(self, *flags: str) -> bool:
        """Whether the C compiler knows some flags."""
        return _accepts(self._c, flags)

    def driver(self, name: str, flags: Sequence[str], *, is_cpp: bool) -> Path:
        """Returns a program of drivers/; equal arguments give the same program in this process.

        Args:
            name: "samples", "clang_fuzz" or "own_fuzz".
            flags: Flags for the sanitizers.
            is_cpp: Whether the plugin has C++, whose library must be loaded from the start.

        Raises: As library().
        """
        cpp = self._cpp if is_cpp else None
        return _driver(name, self._c, cpp, tuple(flags), os.getpid())


_FLAGS = ("-D_GNU_SOURCE", "-O1", "-g", "-fno-omit-frame-pointer")


def _headers() -> list[str]:
    return ["-I", include_dir()]


def _run(command: Sequence[str], folder: Path | None = None) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, cwd=folder
        )
    except OSError as failure:
        raise MissingToolError(
            f"the compiler {command[0]} cannot be run: {failure.strerror}"
        ) from None
    if done.returncode != 0:
        raise BuildError(f"{shlex.join(command)}\n{done.stderr}")


@functools.cache
def _accepts(compiler: tuple[str, ...], flags: tuple[str, ...]) -> bool:
    command = [*compiler, *flags, "-Werror", "-x", "c", "-c", os.devnull, "-o", os.devnull]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@functools.cache
def _programs_folder(process: int) -> Path:
    """The folder of this process, which is removed when the process ends."""
    folder = tempfile.mkdtemp(prefix="pyflowdata-drivers-")
    atexit.register(_remove, folder, process)
    return Path(folder)


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # else it belongs to the parent
        shutil.rmtree(folder, ignore_errors=True)


@functools.cache
def _driver(
    name: str, c: tuple[str, ...], cpp: tuple[str, ...] | None, flags: tuple[str, ...], process: int
) -> Path:
    folder = Path(tempfile.mkdtemp(dir=_programs_folder(process)))
    sources = [str(_DRIVERS / source) for source in _PROGRAMS[name]]
    common = [*_FLAGS, *_headers(), "-I", str(_KIT_HEADERS), *flags]
    linker, linked = c, sources
    if cpp is not None:
        _run([*c, *common, "-c", *sources], folder)
        # Sanitizers cannot wrap a library that only a plugin loads.
        linker = cpp
        linked = ["-Wl,--no-as-needed", *map(str, sorted(folder.glob("*.o")))]
    from ..binding import kit_path  # imported late, because it loads the kit

    libraries = [Path(library_path()), kit_path()]
    found = [f"-Wl,-rpath,{library.parent}" for library in libraries]
    _run([*linker, *common, "-rdynamic", *linked, *map(str, libraries), *found,
          "-o", str(folder / name)])  # fmt: skip
    return folder / name


def build_plugin(sources: Sequence[str], flags: Sequence[str], library: Path) -> None:
    """Compiles a plugin.  Raises BuildError and MissingToolError."""
    Compiler.usual().library(sources, flags, library)
