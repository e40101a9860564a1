"""Runs the tests of one unittest module, each in a separate process with a time limit.

    python each_in_a_process.py MODULE.py RESULTS [--limit SECONDS]
        [--only PATTERN ...] [--without PATTERN ...] [--preload MODULE ...]

A test that hangs or kills its process is one result among the others.  The module is imported
once, and each test runs in a fork.  RESULTS gets a JSON line for each test: "name" (Class.test),
"status" (passed, skipped, failed, hung or crashed), "seconds" and "why" (the end of its traceback).
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import json
import os
import select
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path


def tests_of(module):
    """Name and test of each method of a TestCase in the module, by class in its order."""
    loader = unittest.defaultTestLoader
    for case in vars(module).values():
        if isinstance(case, type) and issubclass(case, unittest.TestCase):
            if case.__module__ == module.__name__:
                for method in loader.getTestCaseNames(case):
                    yield f"{case.__name__}.{method}", case(method)


def any_matches(patterns, name):
    return any(fnmatch.fnmatchcase(name, each) for each in patterns)


def run_here(test, answer):
    """Runs the test in this process, which ends with it, and writes status and reason."""
    os.setsid()
    os.dup2(answer.fileno(), 1)
    os.dup2(answer.fileno(), 2)
    result = unittest.TestResult()
    test(result)
    wrong = result.errors + result.failures
    if wrong:
        status, why = "failed", wrong[0][1]
    elif result.unexpectedSuccesses:
        status, why = "failed", "it is expected to fail and passed"
    elif result.skipped:
        status, why = "skipped", result.skipped[0][1]
    else:
        status, why = "passed", ""
    sys.stdout.flush()
    answer.truncate(0)
    answer.seek(0)
    answer.write(json.dumps([status, why]))
    answer.flush()
    os._exit(0)


def run_apart(test, limit):
    """Status and reason of the test, which runs in a fork for at most `limit` seconds."""
    with tempfile.TemporaryFile("w+") as answer:
        child = os.fork()
        if child == 0:
            try:
                run_here(test, answer)
            finally:
                os._exit(1)
        ended = os.pidfd_open(child)
        try:
            in_time = bool(select.select([ended], [], [], limit)[0])
        finally:
            os.close(ended)
            kill_group(child)
            status = os.waitpid(child, 0)[1]
        if not in_time:
            return "hung", f"it did not end in {limit:.0f} s"
        answer.seek(0)
        said = answer.read()
        if status != 0:
            return "crashed", f"its process ended with status {status}: {said[-2000:]}"
        return tuple(json.loads(said))


def kill_group(leader):
    """Ends what the test may have left: its process and the workers that it started."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def main():
    options = argparse.ArgumentParser()
    options.add_argument("module", type=Path)
    options.add_argument("results", type=Path)
    options.add_argument("--limit", type=float, default=60)
    options.add_argument("--only", nargs="+", default=["*"])
    options.add_argument("--without", nargs="+", default=[])
    options.add_argument("--preload", nargs="+", default=[], help="imported before the forks")
    given = options.parse_args()
    sys.path.insert(0, str(given.module.parent))
    for name in given.preload:
        importlib.import_module(name)
    module = importlib.import_module(given.module.stem)
    with given.results.open("w") as results:
        for name, test in tests_of(module):
            if any_matches(given.only, name) and not any_matches(given.without, name):
                start = time.monotonic()
                status, why = run_apart(test, given.limit)
                seconds = round(time.monotonic() - start, 2)
                line = {"name": name, "status": status, "seconds": seconds, "why": why[-3000:]}
                print(json.dumps(line), file=results, flush=True)


if __name__ == "__main__":
    main()
