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
import time
import traceback
import weakref
from collections.abc import Iterator
from typing import Any

import pyflowdata

from ..errors import shown
from ..insight.speed import (
    Limits,
    Replay,
    Speed,
    Steps,
    Usage,
    notes_of,
    other_programs,
    too_short,
    wait_for_devices,
    wait_until_idle,
)
from ..insight.trials import Trials
from ..loader.loader import hook_with
from ..native.calling_line import calling_frame
from ..nodes.batch_forms import rows_of
from .usage import UsageError, say, say_json

# ---- The steps of a script -----------------------------------------------------------------------

_clock = time.perf_counter
_SETTLE = 3  # steps that are not counted at the start of each phase
_LEAST = 3  # steps that are measured, however long they take
_TRIAL = 2.0  # seconds for each remedy


class Watched(BaseException):
    """Ends the script when everything is measured; `except Exception` does not catch it."""


class ScriptWatch:
    """Watches the first loader that is iterated over for more than a few steps.

    It sees each call of next(), and the time between two of them is a step of the script.  What
    happens between two epochs is not counted.

    Attributes:
        few: Steps after which a loader is the watched one.
        most_steps: The most steps that a loader has given.
        described: The watched loader, and where it is iterated over; None: there is none yet.
        batch_rows: Records of the largest batch.
        is_done: Whether everything is measured.
        trials: The remedies that were tried, if requested; None: not yet.
    """

    few = 3
    trials: Trials | None = None

    def __init__(self, steps: int, seconds: float, *, tries: bool = False) -> None:
        self._steps, self._seconds, self._tries = steps, seconds, tries
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._loader: weakref.ref[Any] | None = None
        self._phase: _Together | None = None  # the phase in measurement
        self._alone: Speed | None = None
        self._together: _Together | None = None
        self._training: _Training | None = None
        self._is_inside = False
        self._process = os.getpid()
        self._usage: Usage | None = None  # at the start of the measurement
        self.most_steps = 0
        self.described: str | None = None
        self.is_done = False

    def __call__(self, loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
        return _Batches(self, loader, batches) if self.is_here else batches

    @property
    def is_here(self) -> bool:
        """Whether this is the process of the command, and not one that the script has forked."""
        return os.getpid() == self._process

    @property
    def batch_rows(self) -> int:
        """The rows of a batch of this rank; 0: the script has not trained with the loader."""
        return self._together.rows if self._together else 0

    @property
    def limits(self) -> Limits:
        """The rates of loader and training, alone and together, as far as they were measured."""
        both = self._together.measured if self._together else None
        training = self._training.measured if self._training else None
        taken = [(one.steps, one.seconds) for one in (training, both) if one is not None]
        if self._alone is not None:
            taken.append((self._alone.batches, self._alone.seconds))
        longer = "give more --steps, or --seconds"
        short = too_short(*min(taken, key=lambda one: one[1]), longer) if taken else None
        return Limits(self._alone, training, both, notes_of(short, other_programs(self._usage)))

    def take(self, asked: _Batches) -> Any:
        """The next batch of an iterator; a forked child is not watched."""
        if not self.is_here:
            return next(asked.batches)
        watched = self._loader() if self._loader is not None else None
        if watched is not None and not watched.data_loader.is_open:
            watched = None
        if self._is_inside or (watched is not None and watched is not asked.loader):
            return next(asked.batches)
        self._is_inside = True
        try:
            return self._take_first(asked) if watched is None else self._take_watched(asked)
        finally:
            self._is_inside = False

    def _take_first(self, asked: _Batches) -> Any:
        """The next batch of a loader that may become the watched one."""
        loader = asked.loader
        count = self._counts.get(loader, 0)
        if count < self.few:
            batch = next(asked.batches)
            self._counts[loader] = count + 1
            self.most_steps = max(self.most_steps, count + 1)
            return batch
        self._loader = weakref.ref(loader)
        names = ", ".join(blob.name for blob in loader.data_loader.blobs)
        described = f"{_caller()}{type(loader).__name__}({names})"
        if described != self.described:  # else it is the next epoch's, of a script that makes many
            self.described = described
            self._usage = Usage.now()
            self._alone = loader.speed(seconds=self._seconds)
            self._phase = self._together = _Together(self._steps, self._seconds)
            self._training = None
        return self._take_watched(asked)

    def _take_watched(self, asked: _Batches) -> Any:
        if self.is_done or self._phase is None:
            raise Watched
        if asked.is_new:
            asked.is_new = False
            self._phase.forget_step()
        if self._phase.end_step():
            if self._training is not None or self._together is None:
                self.is_done = True
                raise Watched
            if self._tries:
                self.trials = asked.loader.try_remedies(seconds=min(_TRIAL, self._seconds))
            wait_until_idle(asked.loader)
            replay = self._together.replay
            self._phase = self._training = _Training(self._steps, self._seconds, replay)
        return self._phase.take(asked.batches)


class _Batches(Iterator[Any]):
    """An iterator of a loader that a ScriptWatch watches.

    Attributes:
        is_new: Whether the watch has not taken a batch of it during a measurement.
        is_measured: Whether its steps are not an epoch: a progress bar would count the measured
            steps.
    """

    is_measured = True

    def __init__(self, watch: ScriptWatch, loader: Any, batches: Iterator[Any]) -> None:
        self._watch, self.loader, self.batches = watch, loader, batches
        self.is_new = True

    def __next__(self) -> Any:
        return self._watch.take(self)


def _caller() -> str:
    """The file and line outside of the package that ask for a batch; "" if there are none."""
    frame = calling_frame(sys._getframe())
    if frame is None:
        return ""
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}: "


class _Together:
    """The unchanged steps of the script: each step has the wait for its batch, and the work after
    it.

    Attributes:
        rows: Records of the largest batch of the first steps.
        replay: A replay of that batch.
    """

    rows = 0
    replay: Replay

    def __init__(self, steps: int, seconds: float) -> None:
        self._steps, self._seconds = steps, seconds
        self._settling = _SETTLE
        self._before: float | None = None  # when the last batch was handed out, in a step
        self._wait = 0.0  # for that batch
        self._pending = 0  # records of it
        self._done = self._records = 0
        self._elapsed = self._waited = 0.0

    @property
    def measured(self) -> Steps | None:
        """The steps so far; None: there was none."""
        if not self._done:
            return None
        return Steps(self._done, self._records, self._elapsed, self._waited)

    def forget_step(self) -> None:
        """Forgets the time since the last batch, which is no step: the script left the loop."""
        self._before = None

    def end_step(self) -> bool:
        """The script asks for a batch again; returns whether enough is measured."""
        if self._before is None:
            return False
        now = _clock()
        if self._settling:
            self._settling -= 1
            if not self._settling:
                self._begin()
            return False
        self._elapsed += self._wait + now - self._before
        self._waited += self._wait
        self._records += self._pending
        self._done += 1
        is_late = self._done >= _LEAST and self._elapsed >= self._seconds
        if self._done < self._steps and not is_late:
            return False
        wait_for_devices()
        self._elapsed += _clock() - now
        return True

    def _begin(self) -> None:
        wait_for_devices()

    def take(self, batches: Iterator[Any]) -> Any:
        """The next batch for the script."""
        asked = _clock()
        is_in_epoch, self._before = self._before is not None, None
        batch = next(batches)  # StopIteration: what comes until the next batch is not counted
        now = _clock()
        self._wait = now - asked if is_in_epoch else 0.0
        self._pending = rows_of(batch)
        if self._settling and self._pending > self.rows:
            self.rows, self.replay = self._pending, Replay(batch)
        self._before = _clock()
        return batch


class _Training(_Together):
    """Steps of the script that get one batch again and again; next() takes none of their time."""

    def __init__(self, steps: int, seconds: float, replay: Replay) -> None:
        super().__init__(steps, seconds)
        self.replay = replay
        self._pending = rows_of(replay.take())

    def _begin(self) -> None:
        super()._begin()
        self.replay.check()

    def end_step(self) -> bool:
        """Ends a step; if batches are copied, devices finish their work first."""
        if self.replay.is_copied:
            wait_for_devices()
        return super().end_step()

    def take(self, _batches: Iterator[Any]) -> Any:
        """The one batch again, in place of the loader's next."""
        batch = self.replay.take()
        if self.replay.is_copied:
            wait_for_devices()
        self._before = _clock()
        return batch


# ---- The command ---------------------------------------------------------------------------------

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
        if not args.json:
            _say_all(str(speed))
        trials = loader.try_remedies(seconds=min(_TRIAL, args.seconds)) if args.tries else None
    if args.json:
        say_json({**speed.to_dict(), **_tried(trials)}, indent=2)
    elif trials is not None:
        _say_all(f"\n{trials}")
    return 0


def _tried(trials: Trials | None) -> dict[str, Any]:
    return {} if trials is None else {"remedies": trials.to_dict()}


def _say_all(text: str) -> None:
    for line in text.split("\n"):
        say(line)


# ---- A script -----------------------------------------------------------------------------------


def _run_script(args: argparse.Namespace) -> int:
    if not os.path.isfile(args.script):
        raise UsageError(f"{args.script}: there is no such script")
    watch = ScriptWatch(args.steps, args.seconds, tries=args.tries)
    try:
        with _as_main(args.script, args.arguments), hook_with(watch), _threads_end_quietly():
            with contextlib.redirect_stdout(sys.stderr if args.json else sys.stdout):
                status = _run_until_measured(args.script, watch)
    except KeyboardInterrupt:
        if watch.is_here:
            _report(args, watch, "Ctrl-C came")
        raise
    if not watch.is_here:
        return status
    _report(args, watch, f"{args.script} ended")
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


def _report(args: argparse.Namespace, watch: ScriptWatch, end: str) -> None:
    """Prints what was measured until the script ended, or was interrupted."""
    limits = watch.limits
    if args.json:
        print(json.dumps(
            {"script": args.script, "loader": watch.described, **limits.to_dict(),
             **_tried(watch.trials)}, indent=2
        ))  # fmt: skip
        return
    if watch.described is None:
        say(f"{end} after {watch.most_steps} steps with one loader; nothing was measured, which "
            f"begins after {watch.few} steps")  # fmt: skip
        return
    say(f"{watch.described}, {watch.batch_rows} records a step")
    _say_all(str(limits))
    if watch.trials is not None:
        _say_all(f"\n{watch.trials}")
    if not watch.is_done:
        say(f"{end} before all was measured.")
