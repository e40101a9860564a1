"""What makes a measurement doubtful: other programs on the processors, and too little of it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from ..plain_text import counted, seconds as seconds_text

_SHORT_SECONDS = 0.05  # less than that is noise, whatever it is of
_FEW_STEPS, _FEW_SECONDS = 10, 2.0  # so few are enough if they take long
_MUCH = 0.1  # of the processors


@dataclass(frozen=True)
class Usage:
    """How processors were used up to a moment, in seconds of a processor.

    Attributes:
        at: The moment.
        processors: Those that this process may run on.
        busy: By all programs, on these processors.
        own: By this process and those that it has started, on any.
    """

    at: float
    processors: int
    busy: float
    own: float

    @classmethod
    def now(cls) -> Usage | None:
        """None: the system does not say."""
        try:
            allowed = os.sched_getaffinity(0)
            busy = _busy_ticks(allowed)
            own = _own_ticks()
        except (OSError, ValueError, AttributeError, IndexError):
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), len(allowed), busy / ticks, own / ticks)


def _busy_ticks(allowed: set[int]) -> int:
    names = {f"cpu{number}" for number in allowed}
    with open("/proc/stat", encoding="ascii") as file:
        lines = [line.split() for line in file]
    found = [list(map(int, words[1:9])) for words in lines if words and words[0] in names]
    return sum(sum(times) - times[3] - times[4] for times in found)  # idle, and waiting for files


def _own_ticks() -> int:
    """Of this process, of those it has started, of those they have started, and so on."""
    parents: dict[int, int] = {}
    used: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    words = file.read().rpartition(b")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(name)] = int(words[1])
            used[int(name)] = sum(map(int, words[11:15]))  # also of children that have ended
    own = {os.getpid()}
    while True:
        more = {process for process, parent in parents.items() if parent in own} - own
        if not more:
            return sum(used[process] for process in own)
        own |= more


def other_programs(before: Usage | None) -> str | None:
    """Says that other programs took processors from this one since then; None: they did not."""
    now = Usage.now()
    if before is None or now is None or now.at <= before.at:
        return None
    seconds = now.at - before.at
    busy = (now.busy - before.busy) / seconds
    others = busy - (now.own - before.own) / seconds
    count = now.processors
    if seconds < _SHORT_SECONDS or others < _MUCH * count or busy < (1 - _MUCH) * count:
        return None  # the counts are of 10 ms; or no processor was missing
    return (
        f"other programs used {min(others, count):.1f} of "
        f"{counted(count, 'processor')}: measure again when it is quiet"
    )


def too_short(steps: int, seconds: float, remedy: str) -> str | None:
    """Says that so many steps in so much time tell little; None: they suffice."""
    if seconds >= _SHORT_SECONDS and (steps >= _FEW_STEPS or seconds >= _FEW_SECONDS):
        return None
    return f"{counted(steps, 'step')} in {seconds_text(seconds)} tell little: {remedy}"


def disturbed(mean: float, median: float) -> str | None:
    """Says that a few steps took most of the time; None: they did not."""
    if mean <= 2 * median or median <= 0:
        return None
    return f"a few steps were disturbed: the mean is {mean / median:.1f} times the median"


def notes_of(*notes: str | None) -> tuple[str, ...]:
    """Those that there are."""
    return tuple(note for note in notes if note is not None)
