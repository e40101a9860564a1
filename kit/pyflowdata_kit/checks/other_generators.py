"""Random numbers of other generators than host->random_bits()."""

from __future__ import annotations

import numpy as np

from ..kit import FIX_SEEDED, FIX_SYSTEM, FORWARD, NAME_GENERATORS, Run
from .check import Check

_MOST_RECORDS = 32


def generators(check: Check, size: int) -> None:
    """Tells where rows depend on a generator that is not seeded with args->random_key; rand() and
    others with a state of the process are told by the C part.

    Args: the check; records of one call.
    """

    def run(generators: int, *, seed: int = 1, silent: bool = True) -> Run:
        return check.kit.run(
            silent=silent, order=FORWARD, range=size, most_records=_MOST_RECORDS,
            seed=seed, generators=NAME_GENERATORS | generators,
        )  # fmt: skip

    plain = run(0, silent=False)
    name = plain.generator
    if not name or plain.found:
        return
    every = FIX_SYSTEM | FIX_SEEDED
    fixed, again = run(every), run(every)
    record = plain.first_difference(fixed)
    if record is None or not again.equals(fixed):
        return
    if plain.first_difference(run(FIX_SYSTEM)) is None and not np.array_equal(
        plain.rows, run(0, seed=2).rows
    ):
        return  # seeded with random_key
    check.tell(
        "own-generator",
        f"the row of record {record} depends on what {name}() gives, which is not made of "
        "args->random_key: nobody can repeat an epoch, or every epoch is the same; take "
        "host->random_bits(args->random_key, args->records[row].ordinal, draw)",
        likely=[f"numbers of {name}() in place of host->random_bits()"],
    )
