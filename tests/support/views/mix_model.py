"""What a mix has to deliver, written from its definition in whole numbers and fractions.

It knows only counts: the source of a row is the one whose count rises with it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from support.oracle import permutation, random_bits, random_key

ONE = 2**64


class Row(NamedTuple):
    source: int
    epoch: int  # of the source
    record: int


@functools.cache
def shares_of(weights: tuple[float, ...]) -> list[int]:
    """Weights as whole numbers: times a power of two, and rounded."""
    bits = math.ceil(math.log2(sum(weight > 0 for weight in weights)))
    top = Fraction(max(weights))
    scale = Fraction(1)
    while top * scale < 2 ** (62 - bits):
        scale *= 2
    while top * scale >= 2 ** (63 - bits):
        scale /= 2
    return [round(Fraction(weight) * scale) for weight in weights]


@functools.cache
def part_of(shares: tuple[int, ...], half: int) -> int:
    """What the first half of the sources has, in 2^-64."""
    return math.ceil(Fraction(sum(shares[:half]) * ONE, sum(shares)))


def tree_counts(shares: tuple[int, ...], n: int) -> list[int]:
    """How many of n rows each source has; no share is 0."""
    if len(shares) == 1:
        return [n]
    half = len(shares) // 2
    left = n * part_of(shares, half) // ONE
    return tree_counts(shares[:half], left) + tree_counts(shares[half:], n - left)


def counts_by_weights(weights: Sequence[float], n: int) -> list[int]:
    """The tree has the sources from the last one to the first."""
    shares = shares_of(tuple(weights))[::-1]
    drawn = iter(tree_counts(tuple(share for share in shares if share), n))
    return [next(drawn) if share else 0 for share in shares][::-1]


def limited(weights: Sequence[float], limits: Sequence[float], length: int) -> list[float]:
    """Whole numbers that add up to the length: those of sources whose share would be above their
    limit are the limit, and the others have the rest by their weights."""
    at_limit: set[int] = set()
    while True:
        rest = float(length) - sum(limits[s] for s in at_limit)
        free = [s for s in range(len(weights)) if s not in at_limit and weights[s]]
        total = sum(weights[s] for s in free)
        above = {s for s in free if weights[s] * rest / total > limits[s]}
        if not above:
            break
        at_limit |= above
    ends = itertools.accumulate(weights[s] * rest / total for s in free)
    whole = [math.floor(end + 0.5) for end in ends]
    records = {s: end - begin for s, begin, end in zip(free, [0, *whole], whole)}
    assert all(records.values()) or not free
    return [limits[s] if s in at_limit else records.get(s, 0) for s in range(len(weights))]


class MixModel:
    """A mix of sources with these numbers of records; `changes` has the weights by first row."""

    def __init__(
        self,
        sizes: Sequence[int],
        changes: Mapping[int, Sequence[float]],
        stop: str = "first_exhausted",
        length: int | None = None,
        mean_lengths: Sequence[float] | None = None,
        block: int = 1,
        max_repeats: Sequence[float] | None = None,
    ):
        means = mean_lengths or [1.0] * len(sizes)
        self.sizes, self.block = list(sizes), block
        self.limits: list[float] | None = None
        if max_repeats:
            self.limits = [math.floor(repeats * size) if repeats else math.inf
                           for repeats, size in zip(max_repeats, sizes)]  # fmt: skip
        self.given = {
            row: [weight / mean for weight, mean in zip(changes[row], means)]
            for row in sorted(changes)
        }
        if length and self.limits:
            self.given = {row: limited(weights, self.limits, length)
                          for row, weights in self.given.items()}  # fmt: skip
        self.changes = self.given
        self.size = 0
        self.known: dict[int, list[int]] = {}
        self.changes = {self.block_from(row): self.given[row] for row in self.given}
        self.size = length or self.size_by(stop)
        self.known = {}
        self.changes = {self.block_from(row): self.given[row] for row in self.given}

    def block_from(self, row: int) -> int:
        """The first row of a block, from `row` on; epochs begin with one."""
        if not self.size:
            return -(-row // self.block) * self.block
        epoch, position = divmod(row, self.size)
        return epoch * self.size + min(self.size, -(-position // self.block) * self.block)

    def counts(self, n: int) -> list[int]:
        """Records drawn of each source before row n of the run."""
        if n in self.known:
            return self.known[n]
        total = [0] * len(self.sizes)
        starts = [*self.changes, n]
        for start, end in zip(starts, starts[1:]):
            rows = max(0, min(n, end) - start)
            drawn = counts_by_weights(self.changes[start], rows)
            total = [a + b for a, b in zip(total, drawn)]
        self.known[n] = total
        return total

    def size_by(self, stop: str) -> int:
        last = self.changes[max(self.changes)]
        n = 0
        while True:
            pairs = list(zip(self.counts(n), self.sizes))
            if self.limits and any(count > most for (count, _), most in zip(pairs, self.limits)):
                return n - 1
            first = stop == "first_exhausted" and not self.limits
            if first and any(count > size for count, size in pairs):
                return n - 1
            drawn = [pair for pair, weight in zip(pairs, last) if weight > 0]
            if stop == "all_exhausted" and all(count >= size for count, size in drawn):
                return n
            n += 1

    def row(self, row: int) -> Row:
        """The source of a row of the run, and the row's place in it, in regular turns."""
        before, after = self.counts(row), self.counts(row + 1)
        (source,) = [s for s in range(len(before)) if after[s] != before[s]]
        return Row(source, *divmod(before[source], self.sizes[source]))

    def epoch(self, epoch: int, seed: int = 0, name: str = "") -> list[Row]:
        """All rows of an epoch; seed and name are those of random turns."""
        order: list[int] = []
        for number, first in enumerate(range(0, self.size, self.block)):
            rows = min(self.block, self.size - first)
            key = random_bits(random_key(seed, epoch, name), number)
            places = permutation(key, rows) if self.block > 1 else [0]
            order += [first + place for place in places]
        return [self.row(epoch * self.size + position) for position in order]
