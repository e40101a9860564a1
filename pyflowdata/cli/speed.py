"""`pyflowdata speed`: is the loader the limit of a script, or the training in it?"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import math
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

import pyflowdata

from ..insight.trials import Trials
from ..loader.iterator_hook import hook_with
from ..errors import shown
from .usage import UsageError, say, say_json
from .speed_of_script import ScriptWatch, Watched

_EPILOG = """\
The script runs in this process as it is, up to the end of the measurement.  After a few steps it
measures the loader without training, then steps as they are, then steps in which next() gives one
batch again.  Then the script ends: by an exception that `except Exception` does not catch.
docs/speed/speed.md says more.

  pyflowdata speed train.py --epochs 3
  pyflowdata speed --steps 50 --seconds 20 train.py
  pyflowdata speed --try train.py
  pyflowdata speed --blobs train:make_blobs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    add = parser.add_argument
    add("--steps", type=int, default=200, metavar="N",
        help="measure at most so many steps of each kind (%(default)s)")  # fmt: skip
    add("--seconds", type=float, default=5.0, metavar="S",
        help="at most so long for each of the three measurements (%(default)s)")  # fmt: skip
    add("--try", action="store_true", dest="tries",
        help="also try what may make the loader faster, two seconds for each change")  # fmt: skip
    add("--blobs", metavar="MODULE:FUNCTION",
        help="measure only a loader of the blobs that the function returns")  # fmt: skip
    add("--json", action="store_true",
        help="print JSON; what the script prints goes to stderr")  # fmt: skip
    add("script", nargs="?", metavar="SCRIPT", help="a Python script that trains")
    add("arguments", nargs=argparse.REMAINDER, metavar="...", help="its arguments")


def run(args: argparse.Namespace) -> int:
    """Measures, and prints a table and a sentence, or JSON."""
    if args.steps < 1 or not 0 < args.seconds < math.inf:
        raise UsageError("--steps and --seconds must be above 0, and not infinite")
    if (args.blobs is None) == (args.script is None):
        raise UsageError("give a script, or --blobs MODULE:FUNCTION")
    return _run_blobs(args) if args.script is None else _run_script(args)


# ---- Blobs --------------------------------------------------------------------------------------


def _run_blobs(args: argparse.Namespace) -> int:
    module, _, name = args.blobs.partition(":")
    if not module or not name:
        raise UsageError(f"--blobs {args.blobs}: it must be MODULE:FUNCTION")
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as failure:
        raise UsageError(f"--blobs {args.blobs}: {failure}") from None
    if not callable(found):
        raise UsageError(f"--blobs {args.blobs}: it is {shown(found)}, and not a function")
    made = found()
    is_loader = hasattr(made, "speed")  # the function has opened one
    with made if is_loader else pyflowdata.DataLoader(made) as loader:
        speed = loader.speed(seconds=args.seconds)
        trials = loader.try_remedies(seconds=min(2.0, args.seconds)) if args.tries else None
    if args.json:
        say_json({**speed.to_dict(), **_tried(trials)}, indent=2)
    else:
        _say_all(str(speed), trials)
    return 0


def _tried(trials: Trials | None) -> dict[str, Any]:
    return {} if trials is None else {"remedies": trials.to_dict()}


def _say_all(text: str, trials: Trials | None) -> None:
    for line in (text if trials is None else f"{text}\n\n{trials}").split("\n"):
        say(line)


# ---- A script -----------------------------------------------------------------------------------


def _run_script(args: argparse.Namespace) -> int:
    if not os.path.isfile(args.script):
        raise UsageError(f"{args.script}: there is no such script")
    watch = ScriptWatch(args.steps, args.seconds, tries=args.tries)
    with _as_main(args.script, args.arguments), hook_with(watch), _threads_end_quietly():
        printed = contextlib.redirect_stdout(sys.stderr) if args.json else contextlib.nullcontext()
        with printed:
            status = _run_until_measured(args.script, watch)
    if not watch.is_here:
        return status
    _report(args, watch)
    return 0 if watch.is_done else status or 1


@contextlib.contextmanager
def _threads_end_quietly() -> Iterator[None]:
    """Ends a thread of the script that trains without a message, at the end of the measurement."""
    before = threading.excepthook

    def show(failure: threading.ExceptHookArgs) -> None:
        if failure.exc_type is not Watched:
            before(failure)

    threading.excepthook = show
    try:
        yield
    finally:
        threading.excepthook = before


@contextlib.contextmanager
def _as_main(script: str, arguments: list[str]) -> Iterator[None]:
    """sys.argv and sys.path as `python script` has them."""
    before = sys.argv, sys.path
    sys.argv = [script, *arguments]
    sys.path = [os.path.dirname(os.path.realpath(script)), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = before


def _run_until_measured(script: str, watch: ScriptWatch) -> int:
    """Runs the script; returns its exit status if it ends by itself."""
    try:
        runpy.run_path(script, run_name="__main__")
    except Watched:
        return 0
    except KeyboardInterrupt:
        raise
    except SystemExit as leave:
        if isinstance(leave.code, str):
            say(leave.code, sys.stderr)
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException as failure:  # the script may raise anything
        if not watch.is_done:
            _print_traceback(failure)
            return 1
    return 0


def _print_traceback(failure: BaseException) -> None:
    """Prints an exception as Python does, without the frames of this command."""
    trace = failure.__traceback__
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename in ours:
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(failure), failure, trace))
    for line in lines.rstrip("\n").split("\n"):
        say(line, sys.stderr)


def _report(args: argparse.Namespace, watch: ScriptWatch) -> None:
    limits = watch.limits
    if args.json:
        print(json.dumps(
            {"script": args.script, "loader": watch.described, **limits.to_dict(),
             **_tried(watch.trials)}, indent=2
        ))  # fmt: skip
        return
    if watch.described is None:
        say(f"{args.script} ended after {watch.most_steps} steps with one loader; nothing was "
            f"measured, which begins after {watch.few} steps")  # fmt: skip
        return
    say(f"{watch.described}, {watch.batch_rows} records a step")
    _say_all(str(limits), watch.trials)
    if not watch.is_done:
        say(f"{args.script} ended before all was measured.")
