"""The command `pyflowdata`, also `python -m pyflowdata`.

A subcommand is a module of this package, named in COMMANDS, with

    add_arguments(parser)      declares its options with argparse
    run(args) -> int           does it; returns 0: all is well, 1: a failure was found

Usage errors exit with 2, by argparse or by raising UsageError.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import Error
from .usage import UsageError

# Module -> what it does.  Each is imported only when it is asked for.
COMMANDS = {
    "new": "write a reader or decoder of one's own to start from",
    "check": "check that an op keeps what the interface asks of it",
    "bench": "measure what an op costs a record, part by part",
    "ops": "list and describe ops",
    "head": "print the first records of a file",
    "stats": "count records, and describe what their fields hold",
    "verify": "check every frame and checksum of files, and name the damage",
    "convert": "write the records of files in another format",
    "index": "build the index of a folder of part files, and describe it",
    "include_dir": "print the folder to give to a C compiler as -I",
}


def _parser(chosen: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyflowdata", description="Data loading in C for models in Python."
    )
    parser.add_argument("--version", action="version", version=f"pyflowdata {__version__}")
    # Before and behind the command; there it must not undo what was given here.
    parser.add_argument("--debug", action="store_true", help="show tracebacks")
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show tracebacks"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module, summary in COMMANDS.items():
        command = module.replace("_", "-")
        about = summary[0].upper() + summary[1:] + "."
        sub = commands.add_parser(command, help=summary, description=about, parents=[debug])
        if command == chosen:
            found = importlib.import_module(f".{module}", __name__)
            found.add_arguments(sub)
            sub.set_defaults(run=found.run, parser=sub)
    return parser


def _said(failure: BaseException) -> str:
    """In words; those of the system name neither a class nor a number."""
    if isinstance(failure, OSError) and failure.strerror and not isinstance(failure, Error):
        name = f"{failure.filename}: " if failure.filename is not None else ""
        return f"{name}{failure.strerror}"
    return str(failure)


def _run(args: argparse.Namespace) -> int:
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # What reads our output has enough; nothing may be written any more, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except UsageError as failure:
        if args.debug:
            raise
        args.parser.print_usage(sys.stderr)
        print(f"pyflowdata: error: {failure}", file=sys.stderr)
        return 2
    except (Error, OSError) as failure:
        if args.debug:
            raise
        print(f"pyflowdata: error: {_said(failure)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        if args.debug:
            raise
        return 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; the exit status is returned, or raised by argparse as SystemExit.

    Args:
        argv: The arguments; None for those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    chosen = next((one for one in arguments if not one.startswith("-")), None)
    return _run(_parser(chosen).parse_args(arguments))
