"""Compiles plugins with the system's compiler, into a cache, and loads them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import CompileError, FileError, InvalidArgumentError, UnsupportedError, shown
from ..native import include_dir, risk_of
from .loading import Plugin, load


@dataclass(frozen=True)
class _Language:
    suffix: str
    variable: str  # the variable of the environment that names the compiler
    compilers: tuple[str, ...]
    standard: str


_C = _Language(".c", "CC", ("cc", "gcc", "clang"), "-std=c11")
_CPP = _Language(".cpp", "CXX", ("c++", "g++", "clang++"), "-std=c++11")
_LANGUAGES = {"c": _C, "c++": _CPP}
_SUFFIXES = {".c": _C, ".cc": _CPP, ".cpp": _CPP, ".cxx": _CPP}
_FLAGS = ("-O2", "-g", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra")
_LIBRARIES = ("-lm",)
_CACHE_HINT = "set XDG_CACHE_HOME to a folder of this user's own"
_TEXT_NAME = "plugin"  # the name of the file with source text
# Flags with a path, in the same word or the next one, and files that may stand alone.
_PATH_FLAG = re.compile(r"(-I|-L|-B|-isystem|-iquote|-idirafter|-include|-imacros|--sysroot=)(.*)")
_FILES = (*_SUFFIXES, ".h", ".o", ".a", ".so")


# ---- What to compile ----------------------------------------------------------------------------


def _language_of(path: Path) -> _Language:
    if path.suffix not in _SUFFIXES:
        raise InvalidArgumentError(
            f"'{path}': the path of a source ends in one of {', '.join(_SUFFIXES)}, "
            + (
                "and a library is for load_library()"
                if path.suffix == ".so"
                else "and source text needs several lines"
            )
        )
    return _SUFFIXES[path.suffix]


def _words(text: str, owner: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as failure:  # a quote or an escape without its end
        raise InvalidArgumentError(f"{owner} = {shown(text)}: {failure}") from None


def _from_here(path: str) -> str:
    """A flag with its relative path made absolute: the compiler runs in another folder than the
    caller.
    """
    return os.path.abspath(path) if path and os.path.exists(path) else path


def _flag_list(flags: Sequence[str] | str) -> list[str]:
    words = _words(flags, "flags") if isinstance(flags, str) else flags
    if not isinstance(words, (list, tuple)) or not all(
        isinstance(word, str) and "\0" not in word for word in words
    ):
        raise InvalidArgumentError(f"flags = {shown(flags)}; it must be a str or a list of str")
    made: list[str] = []
    for word in words:
        follows_flag = bool(made) and _PATH_FLAG.fullmatch(made[-1]) is not None
        joined = _PATH_FLAG.fullmatch(word)
        if joined:
            made.append(joined[1] + _from_here(joined[2]))
        elif not word.startswith("-") and (follows_flag or word.endswith(_FILES)):
            made.append(_from_here(word))
        else:
            made.append(word)
    return made


def _compiler(language: _Language) -> list[str]:
    """The command of the compiler: from the environment, or the first compiler that is installed.
    """
    chosen = _words(os.environ.get(language.variable, ""), language.variable)
    candidates = (chosen[0],) if chosen else language.compilers
    for name in candidates:
        if shutil.which(name):
            return chosen or [name]
    where = f"{language.variable}={chosen[0]}" if chosen else "none of " + ", ".join(candidates)
    raise UnsupportedError(
        f"there is no compiler: {where} {'is not' if chosen else 'is'} on the PATH; install gcc "
        f"or clang, or name one by the environment variable {language.variable}"
    )


# ---- The cache ----------------------------------------------------------------------------------


def _open_folder(path: Path, *, make: bool = False) -> int:
    """A descriptor of a folder that only this user and root can change or replace; the same is
    checked for each folder above.

    Args:
        path: Absolute, without links.
        make: Whether folders that are missing are made, for this user alone.

    Raises:
        FileError: Another user could change it; the error names the folder.
        OSError: The folder is not there, or is not a folder.
    """
    flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC  # needs no right to list it
    folder = os.open(path.anchor, flags)
    for at in [*reversed(path.parents), path]:
        above = folder
        try:
            if make and at.name:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(at.name, 0o700, dir_fd=above)
            folder = os.open(at.name or path.anchor, flags, dir_fd=above)
        finally:
            os.close(above)
        risk = risk_of(os.fstat(folder))
        if risk:
            os.close(folder)
            raise FileError(
                "programs run the files in the cache of compiled plugins, but another user could "
                f"change them, since this folder is in their path: {risk}; change or remove it, or "
                f"{_CACHE_HINT}",
                file=str(at),
            )
    return folder


def _cache_dir() -> Path:
    """The folder of compiled plugins: $XDG_CACHE_HOME/pyflowdata/plugins, made if need be; without
    links in its path.

    The folder may be removed at any time; processes keep the plugins that they have loaded.
    """
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    # A relative one is to be ignored, as its specification says.
    base = Path(chosen if os.path.isabs(chosen) else os.path.expanduser("~/.cache"))
    folder = base / "pyflowdata" / "plugins"
    try:
        if not base.is_absolute():
            raise OSError(0, "there is no home folder")
        folder = Path(os.path.realpath(folder))
        os.close(_open_folder(folder, make=True))
    except FileError:
        raise
    except OSError as failure:
        raise FileError(
            f"the cache of compiled plugins cannot be made: {failure.strerror}; {_CACHE_HINT}",
            file=str(folder),
        ) from None
    return folder


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except OSError as failure:
        raise UnsupportedError(
            f"the compiler {command[0]} cannot be run: {failure.strerror}"
        ) from None


def _failure(command: Sequence[str], said: str) -> CompileError:
    """The error with the output of the compiler, and with the file and line of the first error."""
    first = re.search(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?error: ", said, re.MULTILINE)
    return CompileError(
        f"the source does not compile:\n{said.rstrip()}\nThe command was: {shlex.join(command)}",
        file=first[1] if first else None,
        line=int(first[2]) if first else None,
    )


def _key(command: Sequence[str], folder: Path) -> str:
    """A hash of everything that the result depends on: the compiler and its version, the flags, and
    the source with all included files and all macros, including those of the processor.
    """
    version = _run([command[0], "--version"], folder).stdout
    preprocess = [*command, "-E", "-dD", "-g0"]  # with -g the working folder would be named
    done = _run(preprocess, folder)
    if done.returncode != 0:
        raise _failure(preprocess, done.stderr)
    digest = hashlib.sha256()
    for part in (version, *command, done.stdout):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()[:32]


def _compile_into(folder: Path, command: list[str], library: str) -> str:
    """Makes the library in `folder`; returns the compiler's warnings."""
    linking = ["-shared", *_LIBRARIES, "-o", library]
    if not any(flag.startswith("-fsanitize") for flag in command):
        linking.append("-Wl,-z,defs")  # what is missing is said now, not when it is loaded
    done = _run([*command, *linking], folder)
    if done.returncode != 0:
        raise _failure([*command, *linking], done.stderr)
    return done.stderr


def _build(source: str | Path, language: _Language, flags: list[str], cache: Path) -> Path:
    """The compiled library in the cache, made there unless it is there."""
    folder = Path(tempfile.mkdtemp(prefix="new-", dir=cache))
    try:
        if isinstance(source, Path):
            name, file = source.stem, str(source)
        else:
            # A name without folder, so that the key is the same next time.
            name, file = _TEXT_NAME, _TEXT_NAME + language.suffix
            (folder / file).write_text(source, encoding="utf-8")
        command = [*_compiler(language), language.standard, *_FLAGS, "-I", include_dir()]
        command += [file, *flags]
        home = cache / _key(command, folder)
        library = home / f"{name}.so"
        if not _is_whole(library):
            # A debugger finds the source where it will be.
            command.append(f"-fdebug-prefix-map={folder}={home}")
            said = _compile_into(folder, command, library.name)
            _finish(folder, folder / library.name)
            _put_in_place(folder, library)
            if said.strip():
                warnings.warn(f"compiling the plugin gave warnings:\n{said.rstrip()}", stacklevel=3)
        return library
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _digest_file(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _finish(folder: Path, library: Path) -> None:
    """Writes the digest of a compiled library, and removes the rights of other users."""
    _digest_file(library).write_text(hashlib.sha256(library.read_bytes()).hexdigest())
    for file in folder.iterdir():
        file.chmod(file.stat().st_mode & ~0o022)


def _content(folder: int, name: str) -> bytes:
    """The bytes of a file in an open folder; OSError if another user could have written it."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(name, flags, dir_fd=folder), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or risk_of(about):
            raise OSError(errno.EPERM, "the file is not this user's alone")
        return file.read()


def _is_whole(library: Path) -> bool:
    """Whether the library is there, unchanged since it was compiled.  Nobody else can replace it,
    so it may be loaded by its path.

    Raises:
        FileError: Its folder does not belong to this user alone.
    """
    try:
        folder = _open_folder(library.parent)
    except FileError:
        raise
    except OSError:
        return False
    try:
        digest = hashlib.sha256(_content(folder, library.name)).hexdigest()
        return _content(folder, _digest_file(library).name) == digest.encode()
    except OSError:
        return False
    finally:
        os.close(folder)


def _put_in_place(folder: Path, library: Path) -> None:
    """Moves the whole folder to the place of the library.  If another process was first, its folder
    stays, and missing or damaged files in it are replaced.
    """
    home = library.parent
    try:
        try:
            folder.rename(home)
        except OSError:
            if not home.is_dir():
                raise
            if _is_whole(library):
                return
            # The digest last: until then the library counts as damaged.
            last = _digest_file(library).name
            for file in sorted(folder.iterdir(), key=lambda file: file.name == last):
                file.replace(home / file.name)
    except OSError as failure:
        raise FileError(
            f"the cache of compiled plugins cannot be written: {failure.strerror}; remove this "
            f"folder, or {_CACHE_HINT}",
            file=str(home),
        ) from None


def compile(  # noqa: A001  (named after what it does; the built-in one is not used here)
    source_or_path: str | os.PathLike[str],
    *,
    flags: Sequence[str] | str = (),
    language: str = "c",
) -> Plugin:
    """Compiles a plugin with the system's compiler, loads it, and returns its ops.

    The source includes "pyflowdata/op.h" and ends with PFD_PLUGIN(...).  A cache keeps compiled
    libraries: for the same source, headers, compiler and flags, nothing is compiled again.  The
    compiler is `$CC`, or the first of cc, gcc and clang (`$CXX`, c++, g++ and clang++ for C++); its
    warnings are shown as Python warnings.  After a change of the source, the new op replaces the
    plugin's op of that name; existing blobs and loaders keep the former op.  May be called from any
    thread.

    Args:
        source_or_path: Path of a .c, .cc, .cpp or .cxx file; or, as a str of several lines, the
            source itself.
        flags: Flags for the compiler, after the source: `["-DNDEBUG", "-lz"]`, or "-O3
            -march=native".  Relative paths start from the current folder.  The compiler also gets,
            before them, -std=c11 (C++: -std=c++11) -O2 -g -fPIC -Wall -Wextra.
        language: "c" or "c++": the language of source text; for a file its name decides.

    Returns:
        The plugin, as `load_library` returns it.

    Raises:
        CompileError: The source does not compile; the text has the output of the compiler, and
            `file` and `line` are those of the first error.
        UnsupportedError: There is no compiler.
        FileError: There is no such source, or the cache cannot be written.
        Error: What `load_library` raises, for example for a faulty descriptor.
    """
    if language not in _LANGUAGES:
        raise InvalidArgumentError(f"language = {shown(language)}; it must be 'c' or 'c++'")
    # A path has no newline, and the text of a plugin has one.
    if isinstance(source_or_path, str) and "\n" in source_or_path:
        source: str | Path = source_or_path
        chosen = _LANGUAGES[language]
    elif isinstance(source_or_path, (str, os.PathLike)):
        source = Path(source_or_path).resolve()
        chosen = _language_of(source)
        if not source.is_file():
            raise FileError("there is no such source to compile", file=str(source))
    else:
        raise InvalidArgumentError(
            f"source_or_path is of type {type(source_or_path).__name__}; it must be a path, or "
            "source text as a str of several lines"
        )
    given = _flag_list(flags)
    library = _build(source, chosen, given, _cache_dir())
    plugin = load(str(library), replace=True)
    if isinstance(source, Path):
        _sources[os.path.abspath(library)] = (str(source), tuple(given))
    return plugin


_sources: dict[str, tuple[str, tuple[str, ...]]] = {}  # file and flags, by library


def source_of(library: str) -> tuple[str, tuple[str, ...]] | None:
    """The file and flags from which this process compiled a library; None: not known."""
    return _sources.get(os.path.abspath(library))
