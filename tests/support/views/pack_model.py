"""Which records stand in which pack, written from the definition with lists.

A pack is a list of pieces (record, begin, length).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

Part = tuple[int, int, int]
LEAST_WINDOW = 8192  # records are one window below that


def chunks(lengths: Sequence[int], length: int, last: str = "pad") -> list[list[Part]]:
    """All tokens in a row, cut at every `length`."""
    tokens = [(record, i) for record, count in enumerate(lengths) for i in range(count)]
    rows = [tokens[begin : begin + length] for begin in range(0, len(tokens), length)]
    if last == "drop":
        rows = [row for row in rows if len(row) == length]
    groups = ((list(group) for _, group in itertools.groupby(row, lambda token: token[0]))
              for row in rows)  # fmt: skip
    return [[(*group[0], len(group)) for group in row] for row in groups]


def best_fit(
    lengths: Sequence[int], length: int, longer: str = "split", window: int = LEAST_WINDOW
) -> list[list[Part]]:
    """Each window by itself, the longest record first, into the pack with the least room."""
    count = max(1, len(lengths) // window)
    packs = []
    for records in np.array_split(np.arange(len(lengths)), count):
        packs += _best_fit_of(lengths, records.tolist(), length, longer)
    return packs


def _best_fit_of(
    lengths: Sequence[int], records: Sequence[int], length: int, longer: str
) -> list[list[Part]]:
    packs: list[list[Part]] = []
    parts: list[Part] = []
    for record in records:
        size = lengths[record]
        if size > length and longer == "truncate":
            size = length
        if size > length and longer == "drop":
            size = 0
        for begin in range(0, size, length):
            part = (record, begin, min(length, size - begin))
            if part[2] == length:
                packs.append([part])
            else:
                parts.append(part)
    open_packs: list[list[Part]] = []  # the one that got a record last comes last
    for part in sorted(parts, key=lambda part: (-part[2], part[0])):
        rooms = [length - sum(other[2] for other in pack) for pack in open_packs]
        fitting = [room for room in rooms if room >= part[2]]
        pack: list[Part] = []
        if fitting:
            last = max(i for i, room in enumerate(rooms) if room == min(fitting))
            pack = open_packs.pop(last)
        pack.append(part)
        open_packs.append(pack)
    packs += [sorted(pack) for pack in open_packs]
    return sorted(packs, key=lambda pack: (pack[0][0], -pack[0][2], pack[0][1]))
