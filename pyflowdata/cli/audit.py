"""`pyflowdata audit`: shows from ledgers whether each record was delivered exactly once."""

from __future__ import annotations

import argparse

from ..loader.audit import audit
from .usage import say, say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "directory", metavar="DIR",
        help="what PYFLOWDATA_LEDGER or DataLoader(ledger=) named, with the files of all ranks",
    )  # fmt: skip
    parser.add_argument(
        "--one-run", action="store_true",
        help="several histories of a loader are a fault, too: a start did not load the state, and "
        "the last line is NOT one run",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    found = audit(args.directory)
    if args.json:
        say_json(found.to_dict())
    else:
        for line in str(found).split("\n"):
            say(line)
        if args.one_run and not found.is_one_run:
            say(f"NOT one run: {max(len(loader.histories) for loader in found.loaders)} histories")
    return 0 if found.is_exact and (found.is_one_run or not args.one_run) else 1
