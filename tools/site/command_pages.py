"""The page of the command line, made of its parsers."""

from __future__ import annotations

import argparse
import re
from typing import Any

from pyflowdata.cli import COMMANDS, module_of

from .markdown import code, fenced, heading, prose, table
from .page import Page


def pages() -> list[Page]:
    """One page for all commands."""
    parsers = {module.replace("_", "-"): _parser(module, about)
               for module, about in COMMANDS.items()}  # fmt: skip
    rows = [[f"[{name}](#{name})", prose(parser.description or "")]
            for name, parser in parsers.items()]  # fmt: skip
    parts = [
        "# All commands and options\n",
        "Every command of `pyflowdata`, with its arguments.\n",
        "`python -m pyflowdata` is the same program. How the commands for files are used: [the "
        "command line for files](command-line.md). Every command has `--help`, and `--debug`, "
        "which shows tracebacks. The exit status is 0 if all is well, 1 after a failure, 2 after "
        "a usage error.\n",
        table(["command", "what it does"], rows),
        *(_section(name, parser) for name, parser in parsers.items()),
    ]
    return [Page("commands.md", "All commands", "\n".join(parts), tuple(parsers))]


def _parser(module: str, about: str) -> argparse.ArgumentParser:
    name = module.replace("_", "-")
    parser = argparse.ArgumentParser(
        prog=f"pyflowdata {name}", description=about[0].upper() + about[1:] + ".",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=88), add_help=False,
    )  # fmt: skip
    module_of(module).add_arguments(parser)
    return parser


def _section(name: str, parser: argparse.ArgumentParser) -> str:
    usage = re.sub(r"^usage: ", "", parser.format_usage())
    usage = re.sub(r"\n +", "\n    ", usage)
    parts = [heading(2, name, name), f"{prose(parser.description or '')}\n", fenced(usage, "text")]
    rows = [_row(action, parser) for action in parser._actions if action.help != "==SUPPRESS=="]
    if rows:
        parts.append(table(["argument", "what it is"], rows))
    if parser.epilog:
        parts.append(fenced(parser.epilog.strip("\n"), "text"))
    return "\n".join(parts)


def _row(action: argparse.Action, parser: argparse.ArgumentParser) -> list[str]:
    values = _values(action)
    names = list(action.option_strings) or [values]
    said = ", ".join(code(f"{one} {values}".strip() if action.option_strings else one)
                     for one in names)  # fmt: skip
    about = parser._get_formatter()._expand_help(action) if action.help else ""
    if action.choices is not None:
        about += ": one of " + ", ".join(map(str, action.choices))
    return [said, prose(about)]


def _values(action: argparse.Action) -> str:
    if action.nargs == 0 or action.choices is not None and action.option_strings:
        return ""
    metavar: Any = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    return " ".join(metavar) if isinstance(metavar, tuple) else str(metavar)
