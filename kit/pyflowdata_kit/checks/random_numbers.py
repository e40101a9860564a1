"""Checks that random numbers come from host->random_bits(), with the given key and the computed
record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..kit import FIX_SEEDED, FIX_SYSTEM, FORWARD, NAME_GENERATORS, Draws, Run
from .check import Check


# ---- Other generators than host->random_bits() --------------------------------------------------

_MOST_RECORDS = 32


def _generators(check: Check, size: int) -> None:
    """Reports rows that depend on a generator that is not seeded with args->random_key.  The C part
    reports rand() and other generators whose state belongs to the process.

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


# ---- Numbers of host->random_bits() -------------------------------------------------------------

_MOST_DRAWS = 4096
_MOST_PAIRS = 6  # pairs of draws with one number; each draw is changed
_REPEATED = (
    "the draw of another decision was copied: number the draws in one enum",
    "a helper draws for itself and is called for each output: draw once, and hand it the number",
)


def random_numbers(check: Check) -> str:
    """Checks that each draw has args->random_key and the record of its row, and serves one
    decision."""
    draws = _draw(check, seed=1)
    if check.case("the key"):
        _keys(check, draws, _draw(check, seed=2))
    if check.case("the ordinal"):
        _ordinals(check, draws)
    if check.case("equal draws"):
        _equal_draws(check, draws)
    if check.case("other generators"):
        _generators(check, _range(check))
    return f"{len(draws)} random numbers drawn" if len(draws) else "no random numbers drawn"


def _range(check: Check) -> int:
    """Records of one call: 1, unless rows depend on each other."""
    return 4 if check.whole_batches else 1


def _draw(check: Check, seed: int, range: int = 0) -> Draws:
    return check.kit.draws(
        _MOST_DRAWS, order=FORWARD, range=range or _range(check), seed=seed,
        most_records=_MOST_RECORDS,
    )  # fmt: skip


def _called(draw: Any) -> str:
    return f"random_bits({_key(draw['key'])}, {draw['ordinal']}, {draw['draw']})"


def _key(key: int) -> str:
    return f"{key}" if key < 2**32 else f"{key:#x}"


# ---- The key ------------------------------------------------------------------------------------


def _keys(check: Check, one: Draws, two: Draws) -> None:
    """Reports keys that are not made from args->random_key: they stay the same with another seed.
    """
    constant = one[np.isin(one["key"], two["key"])]
    if not len(constant):
        return
    draw = constant[0]
    ordinals = np.array_equal(constant["key"], constant["first"].astype(np.uint64))
    if ordinals and len(set(constant["key"])) > 1:
        what, likely = "the record's ordinal as the key", "the arguments are in another order"
    elif draw["key"] == 0:
        what, likely = "the key 0", "args->random_key is not handed on to where the draw is made"
    else:
        what = f"the key {_key(draw['key'])}"
        likely = "a constant, or an attr such as `seed`, in place of args->random_key"
    check.tell(
        "random-key",
        f"compute() draws with {what}: {_called(draw)} for record {draw['first']}, draw "
        f"{draw['draw']}, and the same with another random_key (seeds 1 and 2); numbers then stay "
        "the same in every epoch and with every seed: call host->random_bits(args->random_key, "
        "args->records[row].ordinal, draw)",
        likely=[likely],
    )


# ---- The ordinal --------------------------------------------------------------------------------


def _ordinals(check: Check, single: Draws) -> None:
    """Checks the ordinals that random_bits() gets, in calls of one row and of several rows."""
    records = len(set(single["first"]))
    rows = min(4, (int(single["first"].max()) + 1) // 2) if len(single) else 0
    if rows < 2:
        return
    several = _draw(check, seed=1, range=rows)
    later = several[several["first"] >= rows]  # rows that cannot be ordinals
    place = [one for one in later if 0 <= one["ordinal"] < one["num_rows"]]
    if len({int(one["ordinal"]) for one in place}) > 1 and len(place) == len(later):
        draw = place[1]
        return _tell_ordinal(
            check, f"the row in the call: {_called(draw)} in a call for the {draw['num_rows']} "
            f"records from {draw['first']} on", "`row` in place of args->records[row].ordinal",
        )  # fmt: skip
    if records < 3:
        return None
    last = single[-1]
    if len(set(single["ordinal"])) == 1:
        return _tell_ordinal(
            check, f"{last['ordinal']} for each of {records} records: {_called(last)} for record "
            f"{last['first']}", "a constant in place of args->records[row].ordinal",
        )  # fmt: skip
    if np.array_equal(single["ordinal"], single["first_offset"]):
        return _tell_ordinal(
            check, f"the record's offset: {_called(last)} for record {last['first']}, which files "
            "have in common", "records[row].offset in place of records[row].ordinal",
        )  # fmt: skip
    return None


def _tell_ordinal(check: Check, what: str, likely: str) -> None:
    check.tell(
        "random-ordinal",
        f"compute() draws not for the record's ordinal, but for {what} (seed 1); records then "
        "get equal numbers, and others when threads or batches are cut differently: call "
        "host->random_bits(args->random_key, args->records[row].ordinal, draw)",
        likely=[likely],
    )


# ---- One draw for several decisions -------------------------------------------------------------


def _pairs(draws: Draws) -> Iterator[tuple[int, int]]:
    """Places of two draws with equal arguments in one call."""
    seen: dict[tuple[int, ...], int] = {}
    for place, draw in enumerate(draws):
        said = tuple(int(draw[name]) for name in ("key", "ordinal", "draw", "first"))
        if said in seen:
            yield seen[said], place
        seen.setdefault(said, place)


def _equal_draws(check: Check, draws: Draws) -> None:
    """Whether one output depends on the first of two equal draws, and another on the second."""
    outputs = check.outputs
    pairs = list(_pairs(draws))[:_MOST_PAIRS]
    if len(outputs) < 2 or not pairs:
        return
    before = [_rows_of(check, output) for output in range(len(outputs))]
    for first, second in pairs:
        changed = [
            {
                output
                for output, rows in enumerate(before)
                if not np.array_equal(_rows_of(check, output, place + 1), rows)
            }
            for place in (first, second)
        ]
        if not all(changed) or changed[0] & changed[1]:
            continue
        draw = draws[first]
        one, two = (outputs[min(each)] for each in changed)
        return check.tell(
            "random-draw-twice",
            f"compute() draws {_called(draw)} twice for record {draw['first']} (seed 1), for "
            f"output '{one}' and for output '{two}': the two are made of one number, and depend "
            "on each other; give each decision its own draw, and draw once for a decision "
            "that outputs share",
            likely=list(_REPEATED),
        )
    return None


def _rows_of(check: Check, output: int, changed_draw: int = 0) -> Any:
    return check.kit.run(
        silent=True, order=FORWARD, range=_range(check), most_records=_MOST_RECORDS,
        only_output=output + 1, changed_draw=changed_draw,
    ).rows  # fmt: skip
