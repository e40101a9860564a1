"""What a peer's file is made of: functions that deliver the batches of a workload.

    @contender("W1a")
    def read_csv(source):
        \"\"\"read_csv of a part at a time, sliced.\"\"\"
        for path in source.files:
            ...
            yield x, y

A generator function is called again for each epoch.  Any other function is called once and returns
an object that is iterated once for each epoch.  x and y are columns of one batch: anything that has
len() and that NumPy takes.  A program (`program=True`) returns a command line instead, which prints
the measures of one epoch as a dict in JSON.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bench.data import Data

ONE_CORE = "-one-core"  # after the name of what runs on all cores

Batch = tuple[Any, Any]
Open = Callable[["Source"], Any]


@dataclasses.dataclass(frozen=True)
class Source:
    """What a contender reads in an epoch."""

    folder: str
    files: list[str]
    batch_size: int


@dataclasses.dataclass(frozen=True)
class Contender:
    workload: str
    name: str
    open: Open
    text: str  # what it does
    parts: int | None  # files that an epoch has; None: all
    data: Data | None  # None: that of the workload
    program: bool
    cores: int | None  # that its process is pinned to; None: all

    def epochs(self, source: Source) -> Iterable[Batch]:
        if inspect.isgeneratorfunction(self.open):
            return _Generators(self.open, source)
        epochs: Iterable[Batch] = self.open(source)
        return epochs


class _Generators:
    def __init__(self, function: Callable[[Source], Iterator[Batch]], source: Source) -> None:
        self._function, self._source = function, source

    def __iter__(self) -> Iterator[Batch]:
        return self._function(self._source)


registered: list[Contender] = []


def contender(
    *workloads: str,
    name: str | None = None,
    parts: int | None = None,
    data: Data | None = None,
    program: bool = False,
    cores: int | None = None,
    text: str | None = None,
) -> Callable[[Open], Open]:
    """Registers a function of a peer for workloads.

    Args:
        name: Behind the peer's name and a dot; None: the function's name.
        parts: For slow contenders: the number of files that is enough.
        data: Other data than the workload's.
        program: The function returns a command line.
        cores: On which the process runs, from its start; None: all.
        text: What it does; None: the function's docstring.
    """

    def register(function: Open) -> Open:
        what = text or " ".join((function.__doc__ or "").split())
        for workload in workloads:
            called = name or function.__name__
            registered.append(
                Contender(workload, called, function, what, parts, data, program, cores)
            )
        return function

    return register


def on_all_and_one_core(*workloads: str, name: str, **options: Any) -> Callable[[Open], Open]:
    """Registers a function twice: as it is, and as NAME-one-core, whose process has one core."""

    def register(function: Open) -> Open:
        contender(*workloads, name=name, **options)(function)
        return contender(*workloads, name=name + ONE_CORE, cores=1, **options)(function)

    return register
