"""`pyflowdata check`: the conformance kit on the command line."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import glob
import itertools
import json
import math
import os
import shlex
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from .. import asking
from ..causes import CAUSES, causes_of, is_finding
from ..recompiled.compiling import (
    NATIVE_GROUPS,
    SANITIZERS,
    BuildError,
    MissingToolError,
    build_plugin,
    is_source,
)
from ..recompiled.fuzzing import FUZZERS
from ..options import TIMEOUT, Native, Options, UnknownCaseError, command_words, input_of
from ..report import Finding, Report
from ..spec import Spec
from ..testing import run_checks
from pyflowdata.cli.usage import UsageError, pairs, say
from pyflowdata.errors import Error
from pyflowdata.nodes.registry import find_op
from pyflowdata.plugins.packages import library_path


# ---- --watch: checks again whenever a file is saved ---------------------------------------------

_POLL = 0.2  # seconds between two looks at the files
_MOST_FILES = 2000  # files of the sample that are looked at
_CLEAR = "\033[H\033[2J\033[3J"

_Stamps = dict[str, tuple[int, int, int]]  # by path: time of change, size and number


def watch(
    watched: Callable[[], Sequence[Path]],
    check: Callable[[bool, bool], Report],
    kinds: Sequence[bool],
) -> int:
    """Checks now and after each change, until Ctrl-C.

    Args:
        watched: Gives the files and folders to look at, again for each look.
        check: Checks; its arguments say whether quickly, and whether to build the plugin first.
        kinds: For each check of a round, whether it is quick; a check runs if the one before
            passes.

    Returns:
        0: the last round passed; 1: it did not.

    Raises:
        UsageError: The first round was called wrongly.
    """
    passed = False
    try:
        for number in itertools.count():
            stamps = _stamps(watched())  # first: later changes are checked next
            _clear(number)
            try:
                passed = _one_round(check, kinds)
            except UsageError as failure:
                if number == 0:
                    raise
                passed = False
                say(f"not checked: {failure}")
            count = "1 file is" if len(stamps) == 1 else f"{len(stamps)} files are"
            say(f"{count} watched; Ctrl-C ends it")
            sys.stdout.flush()
            _wait(watched, stamps)
    except KeyboardInterrupt:
        say("")
    return 0 if passed else 1


def _say_lines(text: str) -> None:
    for line in text.splitlines():
        say(line)


def _one_round(check: Callable[[bool, bool], Report], kinds: Sequence[bool]) -> bool:
    """Whether all checks pass; each prints a short report."""
    for number, quick in enumerate(kinds):
        begin = time.monotonic()
        try:
            report = check(quick, number == 0)
        except (BuildError, MissingToolError) as failure:
            say(f"{time.strftime('%H:%M:%S')}  the plugin cannot be compiled:")
            _say_lines(str(failure))
            return False
        except (Error, OSError) as failure:
            say(f"{time.strftime('%H:%M:%S')}  not checked: {failure}")
            return False
        seconds = time.monotonic() - begin
        what = "quick checks" if quick else f"{len(report.groups)} groups of checks"
        say(f"{time.strftime('%H:%M:%S')}  {report.verdict()} ({what}, {seconds:.1f} s)")
        if details := report.details():
            for line in details.split("\n"):
                say(line)
        sys.stdout.flush()
        if not report.passed:
            return False
    return True


def _clear(number: int) -> None:
    if sys.stdout.isatty():
        sys.stdout.write(_CLEAR)
    elif number:
        say("")


def _wait(watched: Callable[[], Sequence[Path]], before: _Stamps) -> None:
    """Waits for a change, and then until nothing more changes: a library is written in parts."""
    last = before
    while True:
        time.sleep(_POLL)
        now = _stamps(watched())
        if now == last != before:
            return
        last = now


def _stamps(paths: Sequence[Path]) -> _Stamps:
    found: _Stamps = {}
    for path in itertools.islice(_files(paths), _MOST_FILES):
        try:
            about = os.stat(path)
        except OSError:  # it is being replaced
            continue
        found[str(path)] = (about.st_mtime_ns, about.st_size, about.st_ino)
    return found


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """The files, and all files in and below the folders."""
    for path in paths:
        if path.is_dir():
            yield from (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        else:
            yield path


# ---- The command --------------------------------------------------------------------------------

_EPILOG = """\
LIB is a plugin, or C and C++ files of one (then it is compiled first); without it the op is a
built-in one.
The sample is what the reader's attrs name: a few records, at best below 10 KB.

  pyflowdata check ./my_reader.so --op MyReader --attr data_dir=samples --records 12
  pyflowdata check my_reader.c --op MyReader --attr data_dir=samples --watch
  pyflowdata check my_reader.c --op MyReader --attr data_dir=samples --asan --tsan --fuzz 60
  pyflowdata check ./my_decoder.so --op MyDecoder --input 'MiniReader data_dir=data'
"""


_NOT_USABLE = ("attrs", "no-sample")  # findings of a wrong call, not of the op


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("library", nargs="*", metavar="LIB",
        help="the plugin, the package that has it, or its C and C++ files")  # fmt: skip
    add = parser.add_argument_group("the op").add_argument
    add("--op", required=True, metavar="NAME", help="the op to check")
    add("--attr", action="append", default=[], metavar="K=V",
        help="an attr of the op; lists have commas between")  # fmt: skip
    add("--input", action="append", default=[], metavar="'OP[.OUTPUT] K=V ...'",
        help="for an op with inputs: the reader that feeds it, with its attrs")  # fmt: skip
    add("--plugin", action="append", default=[], metavar="LIB",
        help="load this plugin, or that of this package, as well; or the C and C++ files of one, "
        "with commas between")  # fmt: skip
    add = parser.add_argument_group("its sample").add_argument
    add("--records", type=int, metavar="N", help="how many records the sample has")
    add("--checksums", action="store_true",
        help="the format has checksums: damage that is not detected is a fault")  # fmt: skip
    add("--also", action="append", default=[], metavar="FOLDER=N",
        help="a further sample, and how many records it has")  # fmt: skip
    add = parser.add_argument_group("which checks, and when").add_argument
    add("--quick", action="store_true",
        help="only what takes least and finds most, in a second or two")  # fmt: skip
    add("--watch", action="store_true",
        help="check again whenever a source, the plugin or the sample is saved: the quick checks "
        "first and all when those pass (with --quick only those); Ctrl-C ends it")  # fmt: skip
    add("--only", metavar="GROUP[/CASE]",
        help="run just this, as the finding names it")  # fmt: skip
    add("--ignore", action="append", default=[], metavar="ID", help="a finding that is wanted")
    add("--timeout", type=float, default=TIMEOUT, metavar="SECONDS",
        help="processor time that one pass over the sample may take (%(default)s)")  # fmt: skip
    add = parser.add_argument_group("of the plugin's sources, compiled again").add_argument
    add("--source", action="append", default=[], metavar="FILE",
        help="a C or C++ file of the plugin, where LIB is a library")  # fmt: skip
    add("--cflags", default="", metavar="FLAGS",
        help="for its compiler and linker: --cflags=-lz")  # fmt: skip
    for name, meaning in SANITIZERS.items():
        add(f"--{name}", action="store_true",
            help=f"compile again with the {meaning} sanitizer, and run without Python")  # fmt: skip
    add("--fuzz", type=int, default=0, metavar="SECONDS",
        help="look for inputs that show a fault: with libFuzzer, or without clang by a fuzzer of "
        "the kit's own")  # fmt: skip
    add("--fuzzer", choices=FUZZERS, help="which of the two")
    add("--corpus", metavar="FOLDER",
        help="inputs that the fuzzers keep, and that each check reads (default: NAME-corpus beside "
        "the first source, or LIB)")  # fmt: skip
    add = parser.add_argument_group("the report").add_argument
    add("--json", action="store_true", help="print JSON")


def _counts(given: Sequence[str]) -> dict[str, int]:
    counts = {}
    for folder, said in pairs(given, "--also").items():
        if not said.isdecimal():
            raise UsageError(f"--also {folder}={said}: '{said}' is not a number of records")
        if not Path(folder).is_dir():
            raise UsageError(f"--also {folder}={said}: there is no folder {folder}")
        counts[folder] = int(said)
    return counts


def _similar(id: str) -> str:
    found = difflib.get_close_matches(id, CAUSES, 1)
    return f"; did you mean {found[0]}?" if found else ""


def _split(args: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The libraries to load, and the sources."""
    libraries = [name for name in args.library if not is_source(name)]
    sources = [name for name in args.library if is_source(name)] + args.source
    if len(libraries) > 1 or (libraries and len(libraries) < len(args.library)):
        raise UsageError("LIB is one library, or C and C++ files")
    libraries = [library_path(name) for name in libraries]
    for name in [*libraries, *sources]:
        _refuse_missing_file(name)
    return libraries, sources


def _refuse_unknown_op(name: str) -> None:
    """Refuses an op that is not a built-in one, where no plugin is given."""
    try:
        find_op(name)
    except Error as unknown:
        raise UsageError(
            f"--op {name}: {unknown}. An op of a plugin needs the plugin before --op: its library, "
            "its package, or its C and C++ files"
        ) from None


def _refuse_missing_file(name: str) -> None:
    if not Path(name).is_file():
        raise UsageError(f"there is no file {name}")


def _further(
    args: argparse.Namespace, flags: Sequence[str], folder: str, build: bool
) -> dict[str, list[str]]:
    """The libraries of --plugin, and the sources of those that this command compiles."""
    found: dict[str, list[str]] = {}
    for given in args.plugin:
        sources = _sources_of(given)
        if sources:
            library = str(Path(folder, f"plugin-{len(found)}.so"))
        else:
            library = library_path(given)
        for name in sources or [library]:
            _refuse_missing_file(name)
        if sources and build:
            build_plugin(sources, flags, Path(library))
        found[library] = sources
    return found


def _sources_of(plugin: str) -> list[str]:
    """The C and C++ files of a --plugin; a library has none."""
    names = plugin.split(",")
    return names if is_source(names[-1]) else []


def _spec(args: argparse.Namespace) -> Spec:
    inputs = tuple(input_of(one) for one in args.input)
    return Spec(args.op, texts=pairs(args.attr, "--attr"), inputs=inputs)


def _refuse_wrong(args: argparse.Namespace, sources: Sequence[str]) -> None:
    wanted = [name for name in SANITIZERS if getattr(args, name)]
    group = (args.only or "").partition("/")[0]
    is_native = wanted or args.fuzz > 0 or group in NATIVE_GROUPS
    if is_native and not sources:
        raise UsageError("sanitizers and --fuzz need the plugin's sources: give --source FILE")
    if (wanted or args.fuzz > 0) and args.quick:
        raise UsageError("--quick leaves out sanitizers and --fuzz: give one or the other")
    if not 0 < args.timeout < math.inf or args.fuzz < 0:
        raise UsageError("--timeout and --fuzz are seconds: numbers that are not negative")
    if args.records is not None and args.records < 0:
        raise UsageError(f"--records {args.records}: it cannot be negative")
    for id in args.ignore:
        if not is_finding(id):
            raise UsageError(f"--ignore {id}: no finding has this id{_similar(id)}")
    if args.only == "fuzz" and args.fuzz == 0:
        raise UsageError("--only fuzz needs --fuzz SECONDS")
    if args.watch and args.json:
        raise UsageError("--watch prints for people: leave out --json")


def _options(
    args: argparse.Namespace, quick: bool, others: Mapping[str, Sequence[str]]
) -> Options:
    """Args: the arguments; whether to run the quick checks alone; the sources of each further
    library, none if it is not compiled."""
    is_whole = args.only is None and not quick
    native = Native(
        [*filter(is_source, args.library), *args.source], shlex.split(args.cflags),
        [name for name in SANITIZERS if getattr(args, name) and is_whole],
        0 if quick else args.fuzz, args.fuzzer,
        {library: files for library, files in others.items() if files},
    )  # fmt: skip
    return Options(
        args.records, args.checksums, _counts(args.also), args.ignore, args.timeout, native,
        args.only, quick, args.corpus,
    )  # fmt: skip


def _check(args: argparse.Namespace, folder: str, quick: bool, build: bool = True) -> Report:
    """Args: the arguments; where the plugin is built; whether to run the quick checks alone;
    whether to build the plugin."""
    libraries, sources = _split(args)
    _refuse_wrong(args, sources)
    if not (libraries or sources or args.plugin):
        _refuse_unknown_op(args.op)
    here = quick and asking.can_ask_here()
    if not here:
        asking.prepare()
    flags = shlex.split(args.cflags)
    others = _further(args, flags, folder, build)
    if not libraries and sources:
        library = Path(folder, "plugin.so")
        if build:
            build_plugin(sources, flags, library)
        libraries = [str(library)]
    spec, options = _spec(args), _options(args, quick, others)
    command = command_words(spec, args.library, options, args.plugin) or []
    with _progress() as progress:
        try:
            return run_checks(
                spec, [*others, *libraries], command=command, here=here, progress=progress,
                **vars(options),
            )  # fmt: skip
        except UnknownCaseError as failure:
            raise UsageError(f"--only {args.only}: {failure}") from None


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """Says on a terminal which group of checks started last."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return

    def show(group: str) -> None:
        sys.stderr.write(f"\r\033[Kchecking: {group}")
        sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _watched(args: argparse.Namespace) -> list[Path]:
    """The files and folders whose change starts another check."""
    named = [name for name in args.library if is_source(name)]
    libraries = [name for name in args.library if not is_source(name)]
    libraries += [name for name in args.plugin if not _sources_of(name)]
    sources = [*named, *(args.source if named else [])]
    sources += [name for plugin in args.plugin for name in _sources_of(plugin)]
    values = [one.partition("=")[2] for one in args.attr]
    for given in args.input:
        values += input_of(given)[0].texts.values()
    parts = [part for value in values for part in {value, *value.split(",")}]
    found = [path for part in parts for path in glob.iglob(part, recursive=True)]
    sample = [Path(path) for path in dict.fromkeys([*parts, *found])]
    folders = {Path(source).parent for source in sources}
    return [
        *(Path(library_path(name)) for name in libraries),
        *(Path(source) for source in sources),
        *(header for folder in folders for header in folder.glob("*.h*")),
        *(path for path in sample if path.exists() and str(path) not in ("", ".")),
        *(Path(folder) for folder in _counts(args.also)),
    ]


def run(args: argparse.Namespace) -> int:
    """Checks the op.  Returns 0 if it passed, 1 if it has faults, 2 if nothing could be checked."""
    with _ended_by_signals():
        return _run(args)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Lets SIGTERM and SIGHUP end the command as an error does: with its processes and folders."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in usual.items():
        if handler == signal.SIG_DFL:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)


def _run(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="pyflowdata-check-") as folder:
        if args.watch:
            kinds = [True] if args.quick else [False] if args.only else [True, False]
            return watch(
                lambda: _watched(args), lambda quick, build: _check(args, folder, quick, build),
                kinds,
            )  # fmt: skip
        try:
            report = _check(args, folder, args.quick)
        except OSError as failure:
            if failure.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            print(f"pyflowdata: error: {failure.filename}: {failure.strerror}", file=sys.stderr)
            return 2
        except (BuildError, MissingToolError) as failure:
            text = f"the plugin cannot be compiled: {failure}"
            if not args.json:
                print(text, file=sys.stderr)
                return 2
            report = Report(args.op)
            report.add(Finding("build-fails", text, "build", likely=causes_of("build-fails")), ())
    if args.json:
        print(json.dumps({**asdict(report), "passed": report.passed}, indent=2))
    else:
        print(report)
    if any(one.id in _NOT_USABLE or one.group == "build" for one in report.findings):
        return 2
    return 0 if report.passed else 1
