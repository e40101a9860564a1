"""What loaders promise: each record once, the same batches however they are made, and resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import ops
from ..errors import UnsupportedError
from ..loader import DataLoader
from ..nodes import Blob
from ..plugins.compiler import compile as compile_plugin
from ..pyops import register_decoder
from .check import Skipped, rows, same

RECORDS = 1000


def _numbers(folder: Path, **attrs: Any) -> Blob:
    """0 to 999, in four files."""
    for part in range(4):
        path = folder / f"part-{part}"
        if not path.exists():
            np.arange(part * 250, part * 250 + 250, dtype=np.int64).tofile(path)
    shuffled = {"shuffle": "global", "shuffle_after_epoch": True, "seed": 7}
    order = {} if attrs.pop("in_order", False) else shuffled
    made = ops.RawReader(folder, dtype="int64", shape=[], **{"batch_size": 32, **order, **attrs})
    assert isinstance(made, Blob)
    return made


def shuffled(folder: Path) -> None:
    """A shuffle gives each record once, and each epoch another order."""
    with DataLoader(_numbers(folder)) as loader:
        first, second = ([n for batch in loader for n in batch.tolist()] for _ in range(2))
    for order in (first, second):
        same(sorted(order), list(range(RECORDS)))
    same(first != list(range(RECORDS)) and first != second, True)


def threads(folder: Path) -> None:
    """Four threads give the batches of one."""
    one, four = (rows(_numbers(folder), num_threads=n)[0] for n in (1, 4))
    same(four, one)


def ranks(folder: Path) -> None:
    """Two ranks give the batches of one process, each its half of every batch."""
    whole = rows(_numbers(folder, batch_size=20, rank=0, world_size=1))[0]
    halves = [rows(_numbers(folder, batch_size=20, rank=n, world_size=2))[0] for n in (0, 1)]
    joined = [half[i : i + 10] for i in range(0, RECORDS // 2, 10) for half in halves]
    same([n for part in joined for n in part], whole)


def resumed(folder: Path) -> None:
    """A loader goes on where the state of another one was taken, in the middle of an epoch."""
    with DataLoader(_numbers(folder)) as loader:
        batches = loader.repeat()
        for _ in range(40):
            next(batches)
        state = loader.state_dict()
        wanted = [next(batches).tolist() for _ in range(40)]
    with DataLoader(_numbers(folder), num_threads=1) as loader:
        loader.load_state_dict(state)
        batches = loader.repeat()
        same([next(batches).tolist() for _ in range(40)], wanted)


def python_function(folder: Path) -> None:
    """A function of the user's, called by the threads of a loader."""

    @register_decoder(outputs={"out": ("int64", ())}, name="SelftestSquare", replace=True)
    def square(numbers: Any) -> Any:
        return numbers * numbers

    (found,) = rows(square(_numbers(folder, in_order=True)))
    same(found, [n * n for n in range(RECORDS)])


def plugin(folder: Path) -> None:
    """An op in C, with this machine's compiler."""
    source = Path(__file__).with_name("plugin.c")
    try:
        made = compile_plugin(source)
    except UnsupportedError:
        raise Skipped("there is no C compiler, which only ops of one's own in C need") from None
    (found,) = rows(made.SelftestTwice(_numbers(folder, in_order=True)))
    same(found, [2 * n for n in range(RECORDS)])
