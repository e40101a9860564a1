"""What samplers have to draw, written from their definitions in fractions and lists.

Each model is a function of (epoch, position) with the record; `key_of(epoch)` is where its random
numbers come from.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

from support.oracle import permutation, random_bits

KeyOf = Callable[[int], int]
HALF = 2**32


class Sampler(NamedTuple):
    size: int
    record: Callable[[int, int], int]


# ---- Weighted ------------------------------------------------------------------------------------


def columns_of(weights: Sequence[float]) -> list[tuple[Fraction, int, int]]:
    """Columns of equal mass, each of one record up to a share of it, and then of another one.

    Light records in their order are filled up by heavy ones in theirs; a heavy one that fits itself
    is filled up by the next.
    """
    scale = Fraction(2) ** (62 - math.frexp(max(weights))[1])
    masses = [math.floor(Fraction(weight) * scale) for weight in weights]
    mean = Fraction(sum(masses), len(masses))
    light = [i for i, mass in enumerate(masses) if mass <= mean]
    heavy = [i for i, mass in enumerate(masses) if mass > mean]
    columns: dict[int, tuple[Fraction, int, int]] = {}
    left = {i: Fraction(mass) for i, mass in enumerate(masses)}
    for place, record in enumerate(heavy):
        while left[record] > mean:
            other = light.pop(0)
            columns[other] = (left[other] / mean, other, record)
            left[record] -= mean - left[other]
        after = heavy[place + 1] if place + 1 < len(heavy) else record
        columns[record] = (left[record] / mean, record, after)
        left[after] -= mean - left[record]
    columns |= {record: (Fraction(1), record, record) for record in light}
    return [columns[i] for i in range(len(columns))]


def weighted(weights: Sequence[float], num_samples: int, key_of: KeyOf) -> Sampler:
    columns = columns_of(weights)

    def record(epoch: int, position: int) -> int:
        place = Fraction(random_bits(key_of(epoch), position) * len(columns), 2**64)
        share, own, other = columns[math.floor(place)]
        within = math.floor((place - math.floor(place)) * HALF)
        return own if within < math.floor(share * HALF) else other

    return Sampler(num_samples or len(weights), record)


def weighted_shuffle(weights: Sequence[float], num_samples: int, key_of: KeyOf) -> Sampler:
    @functools.cache
    def order(epoch: int) -> list[int]:
        def place(record: int) -> float:
            uniform = ((random_bits(key_of(epoch), record) >> 11) + 1) / 2**53
            return -math.log(uniform) / weights[record]

        return sorted((i for i, weight in enumerate(weights) if weight > 0), key=place)

    size = num_samples or sum(weight > 0 for weight in weights)
    return Sampler(size, lambda epoch, position: order(epoch)[position])


# ---- Classes -------------------------------------------------------------------------------------


@functools.cache
def order_of(key: int, n: int) -> list[int]:
    if n > 64:
        return permutation(key, n)
    items = list(range(n))
    for i in range(n):
        bits = random_bits(key, i - i % 2) >> 32 * (i % 2)
        other = i + (bits % HALF) * (n - i) // HALF
        items[i], items[other] = items[other], items[i]
    return items


@functools.cache
def round_of(key: int, n: int, group: int, number: int) -> list[int]:
    """The items of a round.  Rounds that share a cycle take from it, one after another, the groups
    that lie in two of them; all other items come between, in an order of the round."""
    rounds = math.lcm(n, group) // n
    before = number % rounds
    cycle = order_of(random_bits(key, 2**64 - 1 - number // rounds), n)
    if rounds == 1:
        cycle = list(range(n))
    dealt = before * n % group  # of the group in which the round begins
    head = (group - dealt) % group
    tail = (n - head) % group
    begin = (before - 1) * group + dealt if before else 0
    along = [cycle[(begin + i) % n] for i in range(n)]
    rest = along[head + tail :]
    between = [rest[i] for i in order_of(random_bits(key, number), len(rest))]
    return along[:head] + between + along[head : head + tail]


def by_class(
    labels: Sequence[int], classes: int, per_class: int, num_samples: int, drops: bool,
    key_of: KeyOf,
) -> Sampler:  # fmt: skip
    members = [[i for i, label in enumerate(labels) if label == one] for one in sorted(set(labels))]
    members = [those for those in members if not drops or len(those) >= per_class]
    classes = classes or len(members)
    unit = classes * per_class
    size = num_samples or max(sum(map(len, members)) // unit, 1) * unit
    class_key, member_key = (random_bits(key_of(0), i) for i in range(2))

    def record(epoch: int, position: int) -> int:
        run, row = divmod(epoch * size + position, per_class)
        number, place = divmod(run, len(members))
        label = round_of(class_key, len(members), classes, number)[place]
        own = members[label]
        group = per_class if len(own) >= per_class else 1
        turn, place = divmod(number * per_class + row, len(own))
        return own[round_of(random_bits(member_key, label), len(own), group, turn)[place]]

    return Sampler(size, record)


# ---- Factors -------------------------------------------------------------------------------------


def by_factor(factors: Sequence[float], key_of: KeyOf) -> Sampler:
    """The line of cells is sampled at the offset and every 1 after it."""
    half = Fraction(1, 2)
    exact = [Fraction(math.floor(Fraction(factor) * HALF + half), HALF) for factor in factors]
    order = sorted(range(len(exact)), key=exact.__getitem__)
    groups: dict[int, list[int]] = {}
    for record in order:
        groups.setdefault(math.floor(exact[record] * 64), []).append(record)
    cells = [(exact[those[0]] * len(those), those) for those in groups.values()]
    for those in groups.values():
        cells += [(exact[i] - exact[those[0]], [i]) for i in those if exact[i] > exact[those[0]]]

    fractions = sum(factor % 1 for factor in exact)
    scale = math.floor(fractions + half) / fractions if fractions else Fraction(0)
    begins, whole, rest = [Fraction(0)], 0, Fraction(0)
    for length, those in cells:
        each = length / len(those)
        whole += math.floor(each) * len(those)
        rest += each % 1 * len(those)
        begins.append(whole + Fraction(math.floor(rest * scale * HALF), HALF))

    @functools.cache
    def rows(epoch: int) -> list[int]:
        key = key_of(epoch)
        offset = Fraction(random_bits(key, 2) % HALF, HALF)
        found = []
        for cell, (_, those) in enumerate(cells):
            turns = order_of(random_bits(random_bits(key, 1), cell), len(those))
            count = math.ceil(begins[cell + 1] - offset) - math.ceil(begins[cell] - offset)
            whole = count // len(those)  # turns of all; the last one is for some, at random
            found += those * whole + [those[turns[i]] for i in range(count % len(those))]
        return [found[i] for i in permutation(random_bits(key, 0), len(found))]

    return Sampler(int(begins[-1]), lambda epoch, position: rows(epoch)[position])
