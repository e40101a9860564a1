"""`pyflowdata selftest`: does this installation work on this machine?"""

from __future__ import annotations

import argparse

from ..selftest import run as run_checks
from .output import say


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def run(args: argparse.Namespace) -> int:
    """Prints a line for each check, and what to report if one fails."""
    return 0 if run_checks(say) else 1
