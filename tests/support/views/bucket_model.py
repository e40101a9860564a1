"""What batches of similar lengths have to be, written from the definition with lists.

A batch is the list of its records, in the order of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from support.oracle import permutation, random_bits, random_key

MOST_SWAPPED = 64
LEAST_BATCHES = 4


class Bucket(NamedTuple):
    first: int  # among the records sorted by length
    records: list[int]
    rows: int
    num_batches: int


class BucketModel:
    """By `boundaries`, or chosen; by `batch_sizes`, by `max_tokens`, or by `batch_size`."""

    def __init__(
        self,
        lengths: Sequence[int],
        batch_size: int,
        *,
        boundaries: Sequence[int] = (),
        batch_sizes: Sequence[int] = (),
        max_tokens: int = 0,
        multiple_of: int = 1,
        drops: bool = False,
    ):
        self.lengths, self.batch_size, self.batch_sizes = lengths, batch_size, batch_sizes
        self.max_tokens, self.multiple_of, self.drops = max_tokens, multiple_of, drops
        self.sorted = sorted(range(len(lengths)), key=lambda record: (-lengths[record], record))
        self.buckets = [
            bucket
            for begin, end, most in self.by_boundaries(boundaries) or self.chosen()
            if (bucket := self.bucket(begin, end, most)).num_batches
        ]
        self.num_batches = sum(bucket.num_batches for bucket in self.buckets)

    def most_rows(self, longest, number):
        if self.max_tokens:
            rows = min(self.max_tokens // max(longest, 1), self.batch_size)
            return rows - rows % self.multiple_of
        return self.batch_sizes[number] if self.batch_sizes else self.batch_size

    def by_boundaries(self, boundaries):
        if not boundaries:
            return []
        found = []
        edges = [0, *boundaries, float("inf")]
        lengths = [self.lengths[record] for record in self.sorted]
        for number in reversed(range(len(edges) - 1)):
            places = [i for i, n in enumerate(lengths) if edges[number] <= n < edges[number + 1]]
            if places:
                most = self.most_rows(lengths[places[0]], number)
                found.append((places[0], places[-1] + 1, most))
        return found

    def chosen(self):
        """Lengths of a bucket differ by 1/16 at most, or it has four batches."""
        lengths = [self.lengths[record] for record in self.sorted]
        n, begin = len(lengths), 0
        while begin < n:
            longest = lengths[begin]
            most = self.most_rows(longest, 0)
            near = sum(n >= longest - longest // 17 for n in lengths[begin:])
            count = max(near, LEAST_BATCHES * most)
            if not self.max_tokens:
                count = -(-count // most) * most
            end = begin + count
            if n - end < LEAST_BATCHES * most:
                end = n
            yield begin, end, most
            begin = end

    def bucket(self, begin, end, most):
        count, rows = end - begin, most
        records = self.sorted[begin:end]
        if self.max_tokens:
            batches = -(-count // most)
            if self.drops:
                rows = count // batches // self.multiple_of * self.multiple_of
                return Bucket(begin, records, rows, batches if rows else 0)
            rows = -(-count // batches // self.multiple_of) * self.multiple_of
        if rows > count:
            rows = 0 if self.drops else count
        if not rows:
            return Bucket(begin, records, 0, 0)
        return Bucket(begin, records, rows, count // rows + (count % rows > 0 and not self.drops))

    def epoch(self, epoch: int, seed: int | None = None, order_key: str = "") -> list[list[int]]:
        """The batches of an epoch; without a seed the longest come first."""
        if seed is None:
            return [batch for bucket in self.buckets for batch in self.batches(bucket, None)]
        key = random_key(seed, epoch, order_key)
        inside = random_bits(key, 1)
        batches = [batch for bucket in self.buckets for batch in self.batches(bucket, inside)]
        return [batches[i] for i in permutation(random_bits(key, 0), len(batches))]

    def batches(self, bucket: Bucket, key: int | None) -> list[list[int]]:
        """Batch j has the j-th record of each group of neighbours, in the spread order."""
        count, rows = len(bucket.records), bucket.rows
        ends = [group * count // rows for group in range(rows + 1)]
        groups = [bucket.records[begin:end] for begin, end in zip(ends, ends[1:])]
        sorted_groups = groups
        if key is not None:
            small = count // rows
            orders = {n: random_order(random_bits(key, 2 * bucket.first + n - small), n)
                      for n in {len(group) for group in groups}}  # fmt: skip
            groups = [self.permuted(group, *orders[len(group)], i)
                      for i, group in enumerate(groups)]  # fmt: skip
        batches = []
        for j in range(bucket.num_batches):
            batch = [group[j] for group in groups if j < len(group)]
            weights = [self.weight(g) for g in sorted_groups if len(g) > j]
            batches.append([batch[i] for i in spread_order(weights)])
        return batches

    def weight(self, group):
        """The mean of the squared lengths."""
        return sum(self.lengths[record] ** 2 for record in group) / len(group)

    @staticmethod
    def permuted(group, key, order, number):
        shift = random_below(key ^ 2**64 - 1, number, len(group))
        return [group[order[(j + shift) % len(group)]] for j in range(len(group))]


def random_order(key: int, n: int) -> tuple[int, list[int]]:
    if n > MOST_SWAPPED:
        return key, permutation(key, n)
    order: list[int] = []
    for i in range(n):
        other = random_below(key, i, i + 1)
        order.append(order[other] if other < i else i)
        order[other] = i
    return key, order


def random_below(key: int, counter: int, n: int) -> int:
    """Lemire's; that a draw is rejected does not happen in tests."""
    high, low = divmod(random_bits(key, counter) * n, 2**64)
    assert low >= n
    return high


def spread_order(weights: Sequence[float]) -> list[int]:
    """Two halves of nearly the same weight, each from two halves, and so on."""

    def spread(rows: list[int]) -> list[int]:
        if len(rows) < 3:
            return rows
        halves: tuple[list[int], list[int]] = ([], [])
        difference = 0.0
        for row in rows:
            is_second = difference > 0
            for half, room in ((0, (len(rows) + 1) // 2), (1, len(rows) // 2)):
                if len(halves[half]) == room:
                    is_second = half == 0
            difference += -weights[row] if is_second else weights[row]
            halves[is_second].append(row)
        return spread(halves[0]) + spread(halves[1])

    return spread(list(range(len(weights))))
