"""`pyflowdata report`: prints a report that was saved as JSON, or compares the reports of ranks."""

from __future__ import annotations

import argparse

from ..insight.report import RankReport, Report
from .usage import say, say_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE",
        help="what Report.save() wrote as .json; several: one for each rank of a job",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--save", metavar="PATH", help="also write the report there, as its ending says"
    )


def run(args: argparse.Namespace) -> int:
    reports = [Report.load(path) for path in args.files]
    found = reports[0] if len(reports) == 1 else RankReport(reports)
    if args.save:
        found.save(args.save)
    if args.json:
        say_json(found.to_dict())
        return 0
    for line in str(found).split("\n"):
        say(line)
    return 0
