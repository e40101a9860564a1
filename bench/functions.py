"""Cheap functions of records, ours and torch's: the CPU of a record.

    python -m bench.functions
    python -m bench.functions --peers --rounds 1

Records of a text of 50 to 145 bytes, or of two numbers, in batches of 256, on one core.  Nothing
else is done, so that the cost around the call shows.  Contenders take turns in processes of their
own: the loader makes batches of the next epoch ahead, for which a peer in the same process would
pay.  `alone` calls the function with dicts made before, and drops the results.  The figures are the
least and the median of the passes of all rounds.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterable
from statistics import median
from typing import Any

import numpy as np

from bench import own_process, programs
from bench.environments import OURS, interpreter, versions

ROWS, BATCH, PASSES = 100_000, 256, 5
Record = dict[str, Any]
Function = Callable[[Record], Record]


def with_length(record: Record) -> Record:
    """{**r, "n": len(r["text"])}"""
    return {**record, "n": len(record["text"])}


def length(record: Record) -> Record:
    """{"n": len(r["text"])}"""
    return {"n": len(record["text"])}


def upper(record: Record) -> Record:
    """{"text": r["text"].upper()}"""
    return {"text": record["text"].upper()}


def of_numbers(record: Record) -> Record:
    """{**r, "y": r["x"] * 2 + r["n"]}"""
    return {**record, "y": record["x"] * 2 + record["n"]}


FUNCTIONS = {one.__name__: one for one in (with_length, length, upper, of_numbers)}


def columns_of(function: Function) -> dict[str, Any]:
    if function is of_numbers:
        random = np.random.RandomState(1)
        return {"x": random.random_sample(ROWS), "n": random.randint(0, 8, ROWS)}
    return {"text": [b"word " * (10 + i % 20) for i in range(ROWS)]}


# ---- Contenders: for a function, what an epoch iterates over ------------------------------------


def ours(function: Function) -> Iterable[Any]:
    import pyflowdata as flow

    made = flow.from_arrays(columns_of(function)).map(function)
    return flow.DataLoader(made.batch(BATCH).blobs)


def torch(function: Function) -> Iterable[Any]:
    from torch.utils.data import DataLoader, Dataset

    class Rows(Dataset[Record]):
        def __init__(self, **columns: Any) -> None:
            self.__dict__.update(columns)

        def __len__(self) -> int:
            return ROWS

    class Texts(Rows):
        def __getitem__(self, row: int) -> Record:
            return function({"text": self.text[row]})

    class Numbers(Rows):
        def __getitem__(self, row: int) -> Record:
            return function({"x": self.x[row], "n": self.n[row]})

    rows = Numbers if function is of_numbers else Texts
    return DataLoader(rows(**columns_of(function)), batch_size=BATCH)


def alone(function: Function) -> Iterable[Any]:
    columns = columns_of(function)
    records = [dict(zip(columns, row)) for row in zip(*map(list, columns.values()))]

    class Calls:
        def __iter__(self) -> Any:
            return map(function, records)

    return Calls()


CONTENDERS = {"ours": (OURS, ours), "alone": (OURS, alone), "torch": ("torch", torch)}


def measure(name: str, function: Function) -> dict[str, float]:
    """The CPU ns of a record in each pass, by the number of the pass."""
    batches, passes = CONTENDERS[name][1](function), {}
    for number in range(PASSES):
        began = time.process_time()
        for _ in batches:
            pass
        passes[str(number)] = (time.process_time() - began) / ROWS * 1e9
    return passes


def main() -> None:
    parser = argparse.ArgumentParser(description="Cheap functions of records.")
    parser.add_argument("--peers", nargs="*", default=["torch"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(FUNCTIONS), choices=list(FUNCTIONS))
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        name, function = arguments.child
        own_process.answer(lambda: measure(name, FUNCTIONS[function]))
    print(versions(arguments.peers))
    names = [one for one, (peer, _) in CONTENDERS.items() if peer in (OURS, *arguments.peers)]
    print(f"| CPU ns of a record | {' | '.join(names)} |\n|---{'|---' * len(names)}|")
    for function in arguments.only:
        passes: dict[str, list[float]] = {name: [] for name in names}
        for _, name in itertools.product(range(arguments.rounds), names):
            python, _problem = interpreter(CONTENDERS[name][0])
            with programs.pinned(1):
                found = own_process.run(python, "bench.functions", name, function) if python else {}
            passes[name] += (found or {}).values()
        cells = [f"{min(one):.0f}, {median(one):.0f}" if one else "" for one in passes.values()]
        print(f"| `{FUNCTIONS[function].__doc__}` | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
