"""The command `pyflowdata`, also `python -m pyflowdata`.

A subcommand is a module of this package, or a module that another distribution names by an entry
point.  COMMANDS lists the names.  The module has

    add_arguments(parser)      declares its options with argparse
    run(args) -> int           does it; returns 0: all is well, 1: a failure was found

These functions are documented by this text, so most modules add no docstrings.  A wrong call exits
with 2, by argparse or by raising UsageError; see usage.py.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
import traceback
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import Any

from ..errors import CorruptDataError, Error, OutOfMemoryError
from ..native import starting
from ..words import remedies
from .usage import UsageError, is_wrong_call, say, settable

# Module -> what it does.  Only the command that is called is imported.
COMMANDS = {
    "new": "write a reader or decoder of one's own to start from",
    "check": "check that an op keeps what the interface asks of it",
    "bench": "measure what an op costs a record, part by part",
    "speed": "measure whether a script's loader or its training is the limit",
    "ops": "list and describe ops",
    "stubs": "print the types of a plugin's ops, as a .pyi file",
    "head": "print the first records of a file",
    "stats": "count records, and describe what their fields hold",
    "verify": "check every frame and checksum of files, and name the damage",
    "seal": "write checksums of all bytes of files beside them",
    "convert": "write the records of files in another format",
    "tokenize": "write the tokens of texts in files, for training language models",
    "index": "build the index of a folder of part files, and describe it",
    "cache": "list, measure, clear or warm the cache of remote files",
    "report": "print a report of a loader, or compare those of ranks",
    "audit": "prove from the ledgers of a run that no record was lost or repeated",
    "selftest": "check that this installation works on this machine",
    "include_dir": "print the folder to give to a C compiler as -I",
}

# Commands whose modules are in another distribution: its entry points in this group.
_ENTRY_POINTS = "pyflowdata.commands"
_IN_KIT = ("new", "check", "bench")


class _Version(argparse.Action):
    """Looks for versions only if it is given."""

    def __init__(self, option_strings: Sequence[str], dest: str, help: str | None = None) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help=help)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from .about import in_lines

        for line in in_lines().split("\n"):
            say(line)
        parser.exit()


def module_of(name: str) -> Any:
    """The module of a command; an Error if its distribution is not installed."""
    if name not in _IN_KIT:
        return importlib.import_module(f".{name}", __name__)
    from importlib.metadata import entry_points  # which takes longer to import than many commands

    for found in entry_points(group=_ENTRY_POINTS, name=name):
        return found.load()
    raise Error(f"`pyflowdata {name}` is in a separate package: {remedies.KIT}")


def _listed_of_kit() -> str:
    lines = [f"    {name:<11}{COMMANDS[name]}" for name in _IN_KIT]
    return "\n".join([f"with the kit ({remedies.KIT}):", *lines])


def _parser(arguments: list[str]) -> argparse.ArgumentParser:
    chosen = next((one for one in arguments if not one.startswith("-")), "")
    commands = {module.replace("_", "-"): module for module in COMMANDS}
    if arguments[:1] == [chosen] and chosen in commands:
        commands = {chosen: commands[chosen]}  # parsers of all take as long as a small command
    parser = argparse.ArgumentParser(
        prog="pyflowdata", description="Data loading in C for models in Python.",
        epilog=_listed_of_kit(), formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action=_Version, help="show versions, and what was built in")
    # Before and after the command; the second must not undo the first.
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks"
    )
    parsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for command, module in commands.items():
        summary = COMMANDS[module]
        about = summary[0].upper() + summary[1:] + "."
        listed: dict[str, Any] = {} if module in _IN_KIT else {"help": summary}
        sub = parsers.add_parser(command, description=about, parents=[debug], **listed)
        if command == chosen:
            found = module_of(module)
            found.add_arguments(sub)
            sub.set_defaults(run=found.run, parser=sub)
    return parser


_MISFIT = (  # what is said of a record that differs from the first ones
    "types are those of the first records; --fields states others, as --fields 'x:int64[?]' "
    "for any number of values, and leaves fields out"
)


def _said(failure: BaseException, list_attrs: Collection[str], given_attrs: Collection[str]) -> str:
    """The text of a failure; for failures of the system without class and number.

    Args:
        failure: What happened.
        list_attrs: Attrs that the command made from --fields.
        given_attrs: Attrs that were set by --attr.
    """
    if isinstance(failure, OSError) and failure.strerror and not isinstance(failure, Error):
        name = f"{failure.filename}: " if failure.filename is not None else ""
        return f"{name}{failure.strerror}"
    attr = failure.attr if isinstance(failure, (Error, UsageError)) else None
    if attr in list_attrs and isinstance(failure, CorruptDataError):
        return f"{failure} ({_MISFIT})"
    if attr in list_attrs:
        return f"{failure} ({attr} is made of --fields)"
    option = f" (given as --attr {attr}=...)" if attr and attr in given_attrs else ""
    if isinstance(failure, OutOfMemoryError) or attr == "memory_budget":
        option = f"{option} (memory_budget is --memory-budget here)"
    return f"{failure}{option}"


def _print_error(said: str) -> None:
    first, *others = f"pyflowdata: error: {said}".split("\n")  # those of a compiler
    for line in (first, *others):
        say(line, sys.stderr)


def _print_traceback(
    kind: type[BaseException], failure: BaseException, trace: TracebackType | None
) -> None:
    """Prints the exception that ends the process, escaped like other output, since it may quote a
    file.
    """
    lines = "".join(traceback.format_exception(kind, failure, trace)).rstrip("\n")
    for line in lines.split("\n"):
        say(line, sys.stderr)


def _drop_output() -> None:
    """Drops further output, also at exit: the reader of a pipe has closed it."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open_output() -> bool:
    """Makes the streams print any file name; False if there is no standard output.  In that case no
    file that is opened later may become the standard output.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    is_there = sys.stdout is not None
    if not is_there:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  (until the end)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    return is_there


def _run(arguments: list[str]) -> int:
    args = argparse.Namespace(debug=False)
    try:
        starting.raise_again()
        args = _parser(arguments).parse_args(arguments)
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _drop_output()
        return 1
    except (UsageError, Error, OSError, ImportError) as failure:
        if args.debug or isinstance(failure, ImportError) and not starting.is_sentence(failure):
            raise
        is_wrong = is_wrong_call(failure, args)
        if is_wrong:
            args.parser.print_usage(sys.stderr)
        _print_error(_said(failure, getattr(args, "list_attrs", ()), settable(args)))
        try:
            sys.stdout.flush()
        except OSError:
            _drop_output()
        return 2 if is_wrong else 1
    except KeyboardInterrupt:
        if args.debug:
            raise
        return 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; returns the exit status, or argparse raises it as SystemExit.

    Args:
        argv: The arguments; None for those of the process.
    """
    is_there = _open_output()
    if argv is None:
        sys.excepthook = _print_traceback
    code = _run(list(sys.argv[1:] if argv is None else argv))
    return code if is_there else code or 1
