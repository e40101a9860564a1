"""`pyflowdata stubs`: the types of a plugin's ops, for editors and type checkers."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..nodes import find_op, registered_ops
from ..plugins.packages import load_named
from ..nodes.stubs import make_plugin_stubs


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("library", metavar="LIB", help="the plugin, or the package that has it")
    parser.add_argument(
        "-o", "--out", type=Path, metavar="FILE", help="write this file (default: print)"
    )


def run(args: argparse.Namespace) -> int:
    """Prints or writes the text of a .pyi file."""
    plugin = load_named(args.library)
    own = [find_op(function.__name__) for function in plugin]
    stubs = make_plugin_stubs(own, registered_ops())
    if args.out is None:
        print(stubs, end="")
    else:
        args.out.write_text(stubs, encoding="utf-8")
    return 0
