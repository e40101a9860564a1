"""What views have to deliver: each written from its definition, in lists and whole numbers.

A data set is a function of (epoch, position, draw).  `draw` tells apart the times that an epoch has
a record: views that have one more often than once change it by the number of the time.  Random
numbers, permutations and orders of windows come from the model in support/oracle.py, mixes from
mix_model.py, batches of similar lengths from bucket_model.py.

A definition is a tree of the classes below.  It is opened as a loader does it: readers and views
are numbered from the outermost view on, the first source of a view before the second.
"""

from __future__ import annotations

import collections
import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from support.views.bucket_model import BucketModel
from support.views.mix_model import MixModel
from support.oracle import (
    block_order,
    lanes_order,
    permutation,
    random_bits,
    random_key,
    window_order,
)

ONE = 2**64


class Row(NamedTuple):
    """A record on its way up."""

    values: dict[str, np.ndarray]
    file: int  # among those of all readers
    ordinal: int
    drawn: int  # what random ops know the record by
    damage: frozenset[str] = frozenset()  # the files of the records of it that are damaged


def count_draw(draw: int, number: int) -> int:
    """Draws that were counted stay apart from those that an inner view counts."""
    return random_bits(draw, number) | 1 if number or draw else 0


PLANNED = 0  # the seed of views under packs, and under batches of similar lengths


class Opening:
    """What a loader knows while it opens a data set."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.num_leaves = self.num_files = 0


def key_name(node: Node) -> str:
    """What the order of a view without a name depends on, besides seed and epoch."""
    return f"{node.op}_0"


class Keys(NamedTuple):
    """Where a view's random numbers come from."""

    seed: int
    name: str

    def of(self, epoch: int) -> int:
        return random_key(self.seed, epoch, self.name)


At = Callable[[int, int, int], Row]


class Opened(NamedTuple):
    """A data set that can be asked."""

    size: int
    at: At


class Node(ABC):
    """A definition.  `order` is what decides its rows: itself, but for ops on its fields."""

    op = ""

    @property
    def order(self) -> Node:
        return self

    @abstractmethod
    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        """The size, and the function from places to rows."""


# ---- Readers and ops -----------------------------------------------------------------------------


class Source(Node):
    """Records in files; `files` has how many each has."""

    def __init__(
        self, files: Sequence[int], rows: Mapping[str, Sequence[Any]], damage: Mapping[int, str],
        blocks: Sequence[int] = (),
    ) -> None:  # fmt: skip
        """`damage`: the name of the file, of each damaged record; `blocks`: sizes of those, such as
        row groups, that a shuffle in windows keeps together in batches of the source itself."""
        self.files, self.rows, self.damage, self.blocks = files, rows, damage, blocks
        self.size = sum(files)

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        leaf, first = opening.num_leaves, opening.num_files
        opening.num_leaves += 1
        opening.num_files += len(self.files)
        file_of = [first + i for i, count in enumerate(self.files) for _ in range(count)]

        def at(epoch: int, position: int, draw: int) -> Row:
            values = {name: np.asarray(column[position]) for name, column in self.rows.items()}
            drawn = position
            if leaf or draw:
                drawn = random_bits(random_bits(draw, leaf), position) >> 1
            damage = frozenset([self.damage[position]] if position in self.damage else [])
            return Row(values, file_of[position], position, drawn, damage)

        return Opened(self.size, at)


Formula = Callable[[dict[str, np.ndarray], int, int], np.ndarray]


class Ops(Node):
    """Other fields of the same records; a formula has the fields, the record and the epoch."""

    def __init__(self, inner: Node, formulas: Mapping[str, Formula]) -> None:
        self.inner, self.formulas = inner, formulas

    @property
    def order(self) -> Node:
        return self.inner.order

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        inner = self.inner.open(opening, batch_epoch)

        def at(epoch: int, position: int, draw: int) -> Row:
            row = inner.at(epoch, position, draw)
            if row.damage:
                return row
            values = {
                name: formula(row.values, row.drawn, batch_epoch[0])
                for name, formula in self.formulas.items()
            }
            return row._replace(values=values)

        return Opened(inner.size, at)


def coin_flip(name: str, probability: float, seed: int) -> Formula:
    """The random numbers of a node with a name: functions of (seed, epoch, name, record)."""

    def formula(_values: dict[str, np.ndarray], drawn: int, epoch: int) -> np.ndarray:
        bits = random_bits(random_bits(random_key(seed, epoch, name), drawn), 0)
        return np.int8((bits >> 11) * 2.0**-53 < probability)

    return formula


# ---- Views of one data set -----------------------------------------------------------------------


class View(Node):
    """A view of one data set: `places` makes the function that finds its rows there."""

    def __init__(self, op: str, inner: Node) -> None:
        self.op, self.inner = op, inner

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        keys = Keys(opening.seed, key_name(self))
        inner = self.inner.open(opening, batch_epoch)
        size, find = self.rows(inner.size, keys)

        def at(epoch: int, position: int, draw: int) -> Row:
            assert 0 <= position < size
            return inner.at(*find(epoch, position, draw))

        return Opened(size, at)

    @abstractmethod
    def rows(self, n: int, keys: Keys) -> tuple[int, Callable[[int, int, int], Any]]:
        """How many rows `n` inner records make, and where each row is from."""


class Listed(View):
    """The records whose positions are in a list, each once: what slices of lists give."""

    def __init__(self, op: str, inner: Node, pick: Callable[[range], Sequence[int]]) -> None:
        super().__init__(op, inner)
        self.pick = pick

    def rows(self, n: int, keys: Keys) -> Any:
        chosen = self.pick(range(n))
        return len(chosen), lambda epoch, position, draw: (epoch, chosen[position], draw)


def take(inner: Node, count: int) -> Node:
    return Listed("TakeDataset", inner, lambda all_: all_[:count])


def skip(inner: Node, count: int) -> Node:
    return Listed("SkipDataset", inner, lambda all_: all_[count:])


def cut(inner: Node, begin: int | None, end: int | None, step: int | None) -> Node:
    return Listed("SliceDataset", inner, lambda all_: all_[begin:end:step])


def split(inner: Node, fractions: Sequence[Fraction], part: int) -> Node:
    """Largest remainders; of equal ones the first."""

    def pick(all_: range) -> range:
        shares = [fraction * len(all_) for fraction in fractions]
        sizes = [math.floor(share) for share in shares]
        by_rest = sorted(range(len(sizes)), key=lambda i: (sizes[i] - shares[i], i))
        for i in by_rest[: len(all_) - sum(sizes)]:
            sizes[i] += 1
        begin = sum(sizes[:part])
        return all_[begin : begin + sizes[part]]

    return Listed("SplitDataset", inner, pick)


def select_bits(inner: Node, bits: Sequence[bool]) -> Node:
    return Listed("SelectDataset", inner, lambda all_: [i for i in all_ if bits[i]])


class Select(View):
    """Rows by index.  Where one is there twice, each place of the list is a separate draw."""

    def __init__(self, inner: Node, indexes: Sequence[int]) -> None:
        super().__init__("SelectDataset", inner)
        self.indexes = indexes

    def rows(self, n: int, keys: Keys) -> Any:
        counts = len(set(self.indexes)) < len(self.indexes)
        return len(self.indexes), lambda epoch, position, draw: (
            epoch,
            self.indexes[position],
            count_draw(draw, position) if counts else draw,
        )


class Repeat(View):
    """Repeat r of epoch e is epoch e * times + r of what is repeated."""

    def __init__(self, inner: Node, times: int) -> None:
        super().__init__("RepeatDataset", inner)
        self.times = times

    def rows(self, n: int, keys: Keys) -> Any:
        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            number, place = divmod(position, n)
            inner = (epoch * self.times + number) % 2**63
            return inner, place, count_draw(draw, number)

        return n * self.times, find


class Shuffle(View):
    """A permutation for each epoch."""

    def __init__(self, inner: Node, seed: int, order_key: str, reshuffle: bool) -> None:
        super().__init__("ShuffleDataset", inner)
        self.seed, self.order_key, self.reshuffle = seed, order_key, reshuffle

    def rows(self, n: int, keys: Keys) -> Any:
        own = Keys(keys.seed if self.seed < 0 else self.seed, self.order_key or keys.name)
        orders: dict[int, list[int]] = {}

        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            key = epoch if self.reshuffle else 0
            if key not in orders:
                orders[key] = permutation(own.of(key), n)
            return epoch, orders[key][position], draw

        return n, find


# ---- Samplers ------------------------------------------------------------------------------------


def alias_columns(weights: Sequence[float]) -> list[tuple[int, int]]:
    """(share in 2^-32, alias) of each column: weights as whole numbers of which the largest has 62
    bits, light columns filled by the heavy records in order, a heavy one by the next."""
    _, exponent = math.frexp(max(weights))
    wholes = [math.floor(Fraction(weight) * Fraction(2) ** (62 - exponent)) for weight in weights]
    n, full = len(wholes), sum(wholes)
    masses = [n * whole for whole in wholes]
    light = [i for i in range(n) if masses[i] <= full]
    heavy = [i for i in range(n) if masses[i] > full]
    filled = [(full, i) for i in range(n)]
    while heavy:
        first = heavy[0]
        if masses[first] > full:
            i = light.pop(0)
            filled[i] = masses[i], first
            masses[first] -= full - masses[i]
        else:
            heavy.pop(0)
            if heavy:
                filled[first] = masses[first], heavy[0]
                masses[heavy[0]] -= full - masses[first]
    columns = []
    for i, (own, alias) in enumerate(filled):
        share = own * 2**32 // full
        columns.append((share, alias) if share < 2**32 else (2**32 - 1, i))
    return columns


class WeightedSample(View):
    """With replacement: row p of an epoch is the p-th draw of its key, its own draw, of the
    records of epoch 0."""

    def __init__(self, inner: Node, weights: Sequence[float], num_samples: int, seed: int) -> None:
        super().__init__("WeightedSampleDataset", inner)
        self.weights, self.num_samples, self.seed = weights, num_samples, seed

    def rows(self, n: int, keys: Keys) -> Any:
        own = keys if self.seed < 0 else keys._replace(seed=self.seed)
        columns = alias_columns(self.weights)

        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            column, rest = divmod(random_bits(own.of(epoch), position) * n, ONE)
            share, alias = columns[column]
            record = column if rest >> 32 < share else alias
            return 0, record, count_draw(draw, position)

        return self.num_samples or n, find


class WeightedShuffle(View):
    """Without replacement: ascending -ln(u) / weight, u in (0, 1] by epoch and record."""

    def __init__(self, inner: Node, weights: Sequence[float], num_samples: int, seed: int) -> None:
        super().__init__("WeightedShuffleDataset", inner)
        self.weights, self.num_samples, self.seed = weights, num_samples, seed

    def rows(self, n: int, keys: Keys) -> Any:
        own = keys if self.seed < 0 else keys._replace(seed=self.seed)
        size = self.num_samples or sum(weight > 0 for weight in self.weights)
        orders: dict[int, list[int]] = {}

        def order_of(epoch: int) -> list[int]:
            key, times = own.of(epoch), {}
            for i, weight in enumerate(self.weights):
                u = ((random_bits(key, i) >> 11) + 1) * 2.0**-53
                times[i] = -math.log(u) / weight if weight else math.inf
            return sorted(times, key=lambda i: (times[i], i))

        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            if epoch not in orders:
                orders[epoch] = order_of(epoch)
            return 0, orders[epoch][position], draw

        return size, find


def item_order(key: int, n: int) -> list[int]:
    """Up to 64 items are shuffled as Fisher and Yates do it, from the first on; each number of the
    key has the chances of two items."""
    if n > 64:
        return permutation(key, n)
    items = list(range(n))
    for i in range(n - 1):
        chance = random_bits(key, i // 2 * 2) >> 32 * (i % 2) & 2**32 - 1
        other = i + (chance * (n - i) >> 32)
        items[i], items[other] = items[other], items[i]
    return items


@functools.cache
def deal(key: int, n: int, group: int, round_: int) -> list[int]:
    """The items of a round: see csrc/views/sampling.c, whose picture this builds as lists."""
    rounds = group // math.gcd(n, group)
    set_, number = divmod(round_, rounds)
    body_key = random_bits(key, round_)
    if rounds == 1:
        return item_order(body_key, n)
    cycle = item_order(random_bits(key, ONE - 1 - set_), n)
    across = [  # the groups across the ends of the rounds, one run of the cycle after another
        [cycle[place % n] for place in range(i * group, (i + 1) * group)] for i in range(rounds - 1)
    ]

    def tail_size(round_number: int) -> int:  # draws of a group that the next round completes
        return (round_number + 1) * n % group

    head = across[number - 1][tail_size(number - 1) :] if number else []
    tail = across[number][: tail_size(number)] if number < rounds - 1 else []
    begin = (number - 1) * group + tail_size(number - 1) if number else 0
    rest = [cycle[(begin + i) % n] for i in range(len(head) + len(tail), n)]
    assert sorted(head + tail + rest) == list(range(n))
    return [*head, *(rest[i] for i in item_order(body_key, len(rest))), *tail]


class RepeatFactor(View):
    """Systematic sampling: factors end to end on a line, of which each epoch has the points offset,
    offset + 1 ...; see csrc/views/repeat_factor_dataset.c.  All in 2^-32 of a row.  Records of a
    cell take turns, the last ones in a random order."""

    def __init__(self, inner: Node, factors: Sequence[float], seed: int) -> None:
        super().__init__("RepeatFactorDataset", inner)
        self.factors, self.seed = factors, seed

    def cells(self) -> list[tuple[int, list[int]]]:
        """(end, records) of each cell: those of like factors, then rests of single records."""
        one = 2**32
        wholes = [math.floor(Fraction(factor) * one + Fraction(1, 2)) for factor in self.factors]
        by_factor = sorted(range(len(wholes)), key=lambda i: wholes[i])
        groups = [list(group) for _, group in itertools.groupby(
            by_factor, key=lambda i: wholes[i] >> 26)]  # fmt: skip
        cells = [(wholes[group[0]], group) for group in groups]
        for group in groups:
            rests = [(wholes[i] - wholes[group[0]], [i]) for i in group]
            cells += [cell for cell in rests if cell[0]]
        fractions = sum(whole % one for whole in wholes)
        rows = (2 * fractions + one) // (2 * one)  # rounded
        ends, whole, part = [], 0, 0
        for factor, records in cells:
            whole += len(records) * (factor // one)
            part += len(records) * (factor % one)
            scaled = part * rows * one // fractions if fractions else 0
            ends.append((whole * one + scaled, records))
        return ends

    def rows(self, n: int, keys: Keys) -> Any:
        own = keys if self.seed < 0 else keys._replace(seed=self.seed)
        cells = self.cells()
        size = cells[-1][0] >> 32
        lists: dict[int, list[int]] = {}

        def list_of(epoch: int) -> list[int]:
            key = own.of(epoch)
            offset = random_bits(key, 2) % 2**32
            listed, row = [], 0
            for number, (end, records) in enumerate(cells):
                order = item_order(random_bits(random_bits(key, 1), number), len(records))
                draws = 0
                while row + draws < size and (row + draws << 32) + offset < end:
                    draws += 1
                turns, others = divmod(draws, len(records))  # all of them, and some at random
                listed += records * turns + [records[order[i]] for i in range(others)]
                row += draws
            return [listed[i] for i in permutation(random_bits(key, 0), size)]

        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            if epoch not in lists:
                lists[epoch] = list_of(epoch)
            return 0, lists[epoch][position], count_draw(draw, position)

        return size, find


class ClassSample(View):
    """Runs of `per_class` records of one class; classes and their records are dealt in rounds."""

    def __init__(
        self,
        inner: Node,
        labels: Sequence[int],
        classes: int,
        per_class: int,
        num_samples: int,
        drops: bool,
        seed: int,
    ) -> None:
        super().__init__("ClassSampleDataset", inner)
        self.labels, self.classes, self.per_class = labels, classes, per_class
        self.num_samples, self.drops, self.seed = num_samples, drops, seed

    def rows(self, n: int, keys: Keys) -> Any:
        own = (keys if self.seed < 0 else keys._replace(seed=self.seed)).of(0)
        members = [
            [i for i, other in enumerate(self.labels) if other == label]
            for label in sorted(set(self.labels))
        ]
        least = self.per_class if self.drops else 1
        members = [records for records in members if len(records) >= least]
        classes = self.classes or len(members)
        unit = classes * self.per_class
        records = sum(map(len, members))
        size = self.num_samples or records // unit * unit or unit

        def find(epoch: int, position: int, draw: int) -> tuple[int, int, int]:
            run = (epoch * size + position) // self.per_class
            round_, place = divmod(run, len(members))
            label = deal(random_bits(own, 0), len(members), classes, round_)[place]
            of_class = members[label]
            group = self.per_class if len(of_class) >= self.per_class else 1
            use = round_ * self.per_class + position % self.per_class
            deal_round, item = divmod(use, len(of_class))
            key = random_bits(random_bits(own, 1), label)
            record = of_class[deal(key, len(of_class), group, deal_round)[item]]
            return 0, record, count_draw(draw, position)

        return size, find


# ---- Views of several data sets ------------------------------------------------------------------


class Concat(Node):
    """One after another."""

    op = "ConcatDataset"

    def __init__(self, sources: Sequence[Node]) -> None:
        self.sources = sources

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        opened = [source.open(opening, batch_epoch) for source in self.sources]
        places = [(source, i) for source in opened for i in range(source.size)]

        def at(epoch: int, position: int, draw: int) -> Row:
            source, place = places[position]
            return source.at(epoch, place, draw)

        return Opened(len(places), at)


class Mix(Node):
    """By weights: draw d of a source of n records is record d % n of its epoch d // n."""

    op = "MixDataset"

    def __init__(
        self,
        sources: Sequence[Node],
        changes: Mapping[int, Sequence[float]],
        stop: str,
        length: int,
        block: int,
        seed: int,
        max_repeats: Sequence[float] = (),
    ) -> None:
        self.sources, self.changes, self.stop = sources, changes, stop
        self.length, self.block, self.seed = length, block, seed
        self.max_repeats = max_repeats

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        keys = Keys(opening.seed if self.seed < 0 else self.seed, key_name(self))
        opened = [source.open(opening, batch_epoch) for source in self.sources]
        sizes = [source.size for source in opened]
        model = MixModel(sizes, self.changes, self.stop, self.length, block=self.block,
                         max_repeats=self.max_repeats)  # fmt: skip
        blocks: dict[tuple[int, int], list[int]] = {}

        def in_block(epoch: int, position: int) -> int:
            number, place = divmod(position, self.block)
            first = number * self.block
            if (epoch, number) not in blocks:
                rows = min(self.block, model.size - first)
                blocks[epoch, number] = permutation(random_bits(keys.of(epoch), number), rows)
            return first + blocks[epoch, number][place]

        def at(epoch: int, position: int, draw: int) -> Row:
            if self.block > 1:
                position = in_block(epoch, position)
            row = model.row(epoch * model.size + position)
            return opened[row.source].at(row.epoch, row.record, count_draw(draw, row.epoch))

        return Opened(model.size, at)


class Zip(Node):
    """Side by side.  A row is named after the record of the first, and damaged where any is."""

    op = "ZipDataset"

    def __init__(self, legs: Sequence[Node]) -> None:
        self.legs = legs

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        opened = [leg.open(opening, batch_epoch) for leg in self.legs]
        assert len({leg.size for leg in opened}) == 1

        def at(epoch: int, position: int, draw: int) -> Row:
            rows = [leg.at(epoch, position, draw) for leg in opened]
            values = {name: value for row in rows for name, value in row.values.items()}
            damage = frozenset().union(*(row.damage for row in rows))
            return rows[0]._replace(values=values, damage=damage)

        return Opened(opened[0].size, at)


# ---- Views whose rows are made of other rows -----------------------------------------------------


def drawn_from(row: Row, begin: int) -> int:
    """A row that begins inside of a record is another one for random ops than its first."""
    return random_bits(row.drawn, begin) >> 1 if begin else row.drawn


class Pack(Node):
    """Rows of one length: packs of (record, begin, length), of the records of epoch 0."""

    op = "PackDataset"

    def __init__(
        self, inner: Node, packs: Sequence[Sequence[tuple[int, int, int]]], length: int, name: str
    ) -> None:
        self.inner, self.packs, self.length, self.name = inner, packs, length, name

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        seed, opening.seed = opening.seed, PLANNED
        inner = self.inner.open(opening, batch_epoch)
        opening.seed = seed
        (field,) = inner.at(0, 0, 0).values

        def at(epoch: int, position: int, draw: int) -> Row:
            parts = self.packs[position]
            rows = [inner.at(0, record, draw) for record, _, _ in parts]
            first = rows[0]._replace(drawn=drawn_from(rows[0], parts[0][1]))
            damage = frozenset().union(*(row.damage for row in rows))
            if damage:
                return first._replace(damage=damage)
            kind = first.values[field].dtype
            packed, segments = np.zeros(self.length, kind), np.zeros(self.length, np.int32)
            place = 0
            for number, (row, (_, begin, length)) in enumerate(zip(rows, parts)):
                packed[place : place + length] = row.values[field][begin : begin + length]
                segments[place : place + length] = number + 1
                place += length
            return first._replace(values={self.name: packed, "segment_ids": segments})

        return Opened(len(self.packs), at)


class Flat(Node):
    """`fan_out` rows of each record, which divide the fields in `divided`."""

    op = "FlatDataset"

    def __init__(self, inner: Node, fan_out: int, divided: Mapping[str, str]) -> None:
        """`divided`: the new names of the fields that are divided; the others stay."""
        self.inner, self.fan_out, self.divided = inner, fan_out, divided

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        inner = self.inner.open(opening, batch_epoch)

        def at(epoch: int, position: int, draw: int) -> Row:
            record, piece = divmod(position, self.fan_out)
            row = inner.at(epoch, record, draw)
            row = row._replace(drawn=drawn_from(row, piece))
            if row.damage:
                return row
            values = {
                self.divided.get(name, name): value[piece] if name in self.divided else value
                for name, value in row.values.items()
            }
            return row._replace(values=values)

        return Opened(inner.size * self.fan_out, at)


class Explode(Node):
    """Rows of each record: as many as `counts` says, each made of the record's fields."""

    op = "ExplodeDataset"

    def __init__(
        self,
        inner: Node,
        counts: Sequence[int],
        part: Callable[[dict[str, np.ndarray], int], dict[str, np.ndarray]],
    ) -> None:
        self.inner, self.part = inner, part
        self.places = [(record, i) for record, count in enumerate(counts) for i in range(count)]

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        inner = self.inner.open(opening, batch_epoch)

        def at(epoch: int, position: int, draw: int) -> Row:
            record, piece = self.places[position]
            row = inner.at(0, record, draw)
            row = row._replace(drawn=drawn_from(row, piece))
            return row if row.damage else row._replace(values=self.part(row.values, piece))

        return Opened(len(self.places), at)


def windows_of(
    size: int, runs: Sequence[int], length: int, step: int, last: str
) -> list[list[int]]:
    """The records of each window; length 0: each run is one."""
    found = []
    for begin, end in itertools.pairwise([*runs, size]):
        for first in range(begin, end, step if length else end - begin):
            records = list(range(first, min(end, first + length) if length else end))
            if length == 0 or last != "drop" or len(records) == length:
                found.append(records)
    return found


class Windows(Node):
    """Records in windows, stacked; `names` are the new names of the fields."""

    op = "WindowDataset"

    def __init__(
        self, inner: Node, windows: Sequence[Sequence[int]], names: Mapping[str, str],
        *, num_runs: int, padded: int = 0, mask: str = "",
    ) -> None:  # fmt: skip
        """`padded`: the records of a window with its padding; 0: there is none."""
        self.inner, self.windows, self.names = inner, windows, names
        self.num_runs, self.padded, self.mask = num_runs, padded, mask

    def open(self, opening: Opening, batch_epoch: list[int]) -> Opened:
        inner = self.inner.open(opening, batch_epoch)

        def at(epoch: int, position: int, draw: int) -> Row:
            records = self.windows[position]
            of = 0 if self.num_runs > 1 else epoch
            rows = [inner.at(of, record, draw) for record in records]
            damage = frozenset().union(*(row.damage for row in rows))
            if damage:
                return rows[0]._replace(damage=damage)
            missing = max(0, self.padded - len(rows))
            values = {}
            for name, new in self.names.items():
                own = [row.values[name] for row in rows]
                values[new] = np.stack(own + [np.zeros_like(own[0])] * missing)
            if self.mask:
                values[self.mask] = np.array([True] * len(rows) + [False] * missing)
            return rows[0]._replace(values=values)

        return Opened(len(self.windows), at)


# ---- Batches -------------------------------------------------------------------------------------


class Batching(NamedTuple):
    """The attrs of BatchDataset."""

    batch_size: int
    last: str
    seed: int
    on_error: str
    shuffle: str = "none"  # global or window
    order_key: str = ""
    reshuffle: bool = True
    block_size: int = 0
    window: int = 0
    lanes: int = 1


class Model:
    """The batches of a data set, of all ranks together and of each."""

    def __init__(
        self, node: Node, batching: Batching, types: Mapping[str, tuple[str, tuple[int, ...]]]
    ) -> None:
        self.batching, self.types = batching, types
        self._epoch = [0]  # of the batch that is made, which random ops depend on
        self.data = node.open(Opening(batching.seed), self._epoch)
        self._orders: dict[int, Sequence[int]] = {}
        self.blocks = node.order.blocks if isinstance(node.order, Source) else ()
        size, rest = divmod(self.data.size, batching.batch_size)
        self.num_batches = size + (rest > 0 and batching.last != "drop")

    def _order(self, epoch: int) -> Sequence[int]:
        at, n = self.batching, self.data.size
        key = epoch if at.reshuffle else 0
        if key not in self._orders:
            if at.shuffle == "none" or (n < 2 and at.shuffle == "global"):
                order: Sequence[int] = range(n)
            elif at.shuffle == "global":
                order = permutation(random_key(at.seed, key, at.order_key), n)
            elif self.blocks:
                order = block_order(at.seed, key, at.order_key, self.blocks, at.block_size,
                                    at.window, at.lanes, at.batch_size)  # fmt: skip
            elif at.lanes == 1:
                order = window_order(at.seed, key, at.order_key, n, at.block_size, at.window)
            else:
                order = lanes_order(at.seed, key, at.order_key, n, at.block_size, at.window,
                                    at.lanes, at.batch_size)  # fmt: skip
            self._orders[key] = order
        return self._orders[key]

    def places(self, epoch: int, step: int) -> list[tuple[int, int, bool]]:
        """(epoch, position, is real) of the rows of a batch."""
        size, at = self.data.size, self.batching
        first = step * at.batch_size
        places = [
            (epoch, self._order(epoch)[i], True)
            for i in range(first, min(size, first + at.batch_size))
        ]
        missing = at.batch_size - len(places)
        if at.last == "pad":
            places += [(epoch, self._order(epoch)[size - 1], False)] * missing
        elif at.last == "wrap":
            following = ((e, i) for e in range(epoch + 1, epoch + 2 + missing) for i in range(size))
            places += [(e, self._order(e)[i], False) for e, i in list(following)[:missing]]
        return places

    def rows(self, epoch: int, step: int, rank: int, world_size: int) -> list[tuple[Row, bool]]:
        """The records of a rank, and whether each is of this epoch; else it only fills the
        batch."""
        places = self.places(epoch, step)
        chosen = np.array_split(np.arange(len(places)), world_size)[rank]
        self._epoch[0] = epoch
        rows = []
        for epoch_, position, is_real in (places[i] for i in chosen):
            rows.append((self.data.at(epoch_, position, 0), is_real))
        return rows

    def damage(self, epoch: int, step: int, rank: int, world_size: int) -> frozenset[str]:
        """The files of damaged records in a rank's rows."""
        rows = self.rows(epoch, step, rank, world_size)
        return frozenset().union(*(row.damage for row, _ in rows))

    def batch(self, epoch: int, step: int, rank: int, world_size: int) -> dict[str, list[Any]]:
        """The rows of a rank, by field; mask and id with them."""
        fields: dict[str, list[Any]] = {name: [] for name in (*self.types, "mask", "id")}
        for row, is_real in self.rows(epoch, step, rank, world_size):
            if row.damage and self.batching.on_error == "skip":
                continue
            fields["mask"].append(is_real and not row.damage)
            fields["id"].append((row.file, row.ordinal))
            for name, (dtype, shape) in self.types.items():
                blank = np.zeros([max(0, size) for size in shape], dtype)
                fields[name].append(blank if row.damage else row.values[name])
        return fields


class BucketBatches(Model):
    """Batches of records of similar lengths; all fields of a batch are of epoch 0's records."""

    def __init__(
        self,
        node: Node,
        batching: Batching,
        types: Mapping[str, tuple[str, tuple[int, ...]]],
        buckets: BucketModel,
    ) -> None:
        super().__init__(node, batching, types)
        self.data = node.open(Opening(PLANNED), self._epoch)
        self.buckets, self.num_batches = buckets, buckets.num_batches
        self._epochs: dict[int, list[list[int]]] = {}

    def places(self, epoch: int, step: int) -> list[tuple[int, int, bool]]:
        at = self.batching
        key = epoch if at.reshuffle else 0
        if key not in self._epochs:
            seed = None if at.shuffle == "none" else at.seed
            self._epochs[key] = self.buckets.epoch(key, seed, at.order_key)
        return [(0, record, True) for record in self._epochs[key][step]]
