"""`pyflowdata include-dir`: for Makefiles, as in `cc -I$(pyflowdata include-dir)`."""

from __future__ import annotations

import argparse

from .. import include_dir


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares no options."""


def run(args: argparse.Namespace) -> int:
    """Prints the folder of the headers."""
    print(include_dir())
    return 0
