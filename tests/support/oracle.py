"""An independent model of what a loader must deliver, and the tools to hold a loader against it.

The model knows nothing of the library's ways: it takes the order of an epoch as a list and cuts it
with list slices.  Files are made so that every row tells its ordinal: record i is "i,3i+0.25".
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest

import pyflowdata as flow

SANITIZED = "san" in os.environ.get("PYFLOWDATA_LIBRARY", "")
"""A sanitizer's own memory and slowness say nothing about the library's."""


class _Mallinfo(ctypes.Structure):
    """struct mallinfo2 of glibc."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]  # fmt: skip


_LIBC = ctypes.CDLL(None)
COUNTS_BYTES = hasattr(_LIBC, "mallinfo2") and not SANITIZED


def allocated_bytes() -> int:
    """What this process has allocated of the C library, and of Python, whose objects are taken for
    64 bytes each; 0 if the C library does not count it.  Memory that is resident tells less: what
    was freed stays, and hides what is lost."""
    if not COUNTS_BYTES:
        return 0
    _LIBC.mallinfo2.restype = _Mallinfo
    found = _LIBC.mallinfo2()
    return int(found.uordblks + found.hblkhd) + 64 * sys.getallocatedblocks()


def fewer(count: int) -> int:
    """How many random values to try: all of them in `make soak`, which sets SOAK.  A sanitizer
    looks at the same code with each of them."""
    return count if "SOAK" in os.environ else count // 20 if SANITIZED else count // 6


LAST_BATCH = ("short", "drop", "pad", "wrap", "even")
WORLD_SIZES = (1, 2, 3, 4, 5, 8)
MODES: dict[str, dict[str, Any]] = {
    "in order": {"random_shuffle": False},
    "one order": {"random_shuffle": True, "shuffle_after_epoch": False},
    "new orders": {"random_shuffle": True, "shuffle_after_epoch": True},
    "in windows": {
        "shuffle": "window",
        "shuffle_block_size": 4,
        "shuffle_window": 3,
        "shuffle_after_epoch": True,
    },
    "from a buffer": {"shuffle": "buffer", "shuffle_buffer_size": 9, "shuffle_after_epoch": True},
}


def examples(count: int) -> hypothesis.settings:
    """The same examples in every run, however slow the machine."""
    return hypothesis.settings(
        max_examples=max(1, count // 4) if SANITIZED else count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )


# ---- Files ---------------------------------------------------------------------------------------


class Table:
    """Part files in which record i is the line "i,3i+0.25", one part per count."""

    def __init__(self, folder: Path, counts: Sequence[int]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.size = sum(counts)
        ordinals = np.arange(self.size, dtype=np.float64)
        self.rows = np.stack([ordinals, 3 * ordinals + 0.25], axis=1)
        self.file_of = np.repeat(np.arange(len(counts)), counts)
        first = 0
        for part, count in enumerate(counts):
            lines = [f"{i},{3 * i + 0.25}" for i in range(first, first + count)]
            # Every other part ends without a newline: that must never matter.
            text = "\n".join(lines) + ("\n" if lines and part % 2 else "")
            (self.folder / f"part-{part}").write_text(text)
            first += count

    def __repr__(self) -> str:
        return f"Table({np.bincount(self.file_of).tolist() if self.size else []})"


# ---- The model -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A function of the number of records, which are split over three parts."""

    @functools.cache
    def get(size: int) -> Table:
        counts = [size // 2, size // 3, size - size // 2 - size // 3]
        return Table(tmp_path_factory.mktemp("parts"), counts)

    return get


class Step(NamedTuple):
    """What one step delivers: ordinals of its rows, and which of them are records of this epoch."""

    ordinals: tuple[int, ...]
    mask: tuple[bool, ...]


def logical_batches(
    order: Sequence[int], batch_size: int, last_batch: str, following: Sequence[int] = (),
    world_size: int = 1,
) -> list[Step]:
    """The steps of an epoch over all ranks; `following` are the next epochs' orders, for "wrap",
    and the world size is for "even"."""
    order = list(order)
    whole = len(order) // batch_size * batch_size
    steps = [
        Step(tuple(order[i : i + batch_size]), (True,) * batch_size)
        for i in range(0, whole, batch_size)
    ]
    rest = order[whole:]
    while last_batch == "even" and len(rest) % world_size:
        rest.pop()
    if rest and last_batch != "drop":
        missing = batch_size - len(rest)
        filler: list[int] = []
        if last_batch == "pad":
            filler = [rest[-1]] * missing
        elif last_batch == "wrap":
            filler = list(following[:missing])
            assert len(filler) == missing, "the model was given too few orders"
        mask = (True,) * len(rest) + (False,) * len(filler)
        steps.append(Step(tuple(rest + filler), mask))
    return steps


def rank_part(step: Step, rank: int, world_size: int) -> Step:
    """Split(0): runs whose lengths differ by at most one, the longer ones first."""
    ordinals = np.array_split(np.array(step.ordinals, dtype=np.int64), world_size)[rank]
    mask = np.array_split(np.array(step.mask, dtype=bool), world_size)[rank]
    return Step(tuple(ordinals.tolist()), tuple(mask.tolist()))


def joined(parts: Iterable[Step]) -> Step:
    """The ranks' rows of one step, put together again."""
    parts = list(parts)
    return Step(
        tuple(i for part in parts for i in part.ordinals),
        tuple(m for part in parts for m in part.mask),
    )


# ---- Holding a loader against it -----------------------------------------------------------------


def open_loader(
    table: Table,
    *,
    num_threads: int = 1,
    prefetch: int = 1,
    name: str | None = None,
    **attrs: Any,
) -> flow.DataLoader:
    """A loader of (rows, mask, ids) over all parts of a table."""
    blobs = flow.MiniReader(str(table.folder), with_mask=True, with_id=True, name=name, **attrs)
    return flow.DataLoader(*blobs, num_threads=num_threads, prefetch=prefetch)


def step_of(table: Table, batch: tuple[np.ndarray, ...]) -> Step:
    """A delivered batch as the model's Step, with its rows compared to the file's."""
    rows, mask, ids = batch
    ordinals = ids[:, 1]
    assert rows.dtype == np.float64 and mask.dtype == np.bool_ and ids.dtype == np.int64
    assert rows.shape == (len(ids), 2) and mask.shape == (len(ids),)
    assert np.array_equal(rows, table.rows[ordinals])
    assert np.array_equal(ids[:, 0], table.file_of[ordinals])
    return Step(tuple(ordinals.tolist()), tuple(mask.tolist()))


def deliver(table: Table, batches: Iterable[tuple[np.ndarray, ...]]) -> list[Step]:
    """The steps of one pass over a loader (or over what is left of an iterator)."""
    found = [tuple(array.copy() for array in batch) for batch in batches]
    if not found:
        return []
    for arrays in zip(*found):
        assert len({(array.dtype, array.shape[1:]) for array in arrays}) == 1
    step_of(table, tuple(np.concatenate(arrays) for arrays in zip(*found)))
    assert all(len(rows) == len(mask) == len(ids) for rows, mask, ids in found)
    return [Step(tuple(ids[:, 1].tolist()), tuple(mask.tolist())) for _, mask, ids in found]


def deliver_epochs(table: Table, epochs: int, **options: Any) -> list[list[Step]]:
    with open_loader(table, **options) as loader:
        result = [deliver(table, loader) for _ in range(epochs)]
        assert all(len(steps) == len(loader) for steps in result)
    return result


def orders_of_numbers(
    size: int, epochs: int, batch_size: int | None = None, **shuffle: Any
) -> list[np.ndarray]:
    """The orders of the first epochs of numbers in memory, which take no time to read; `shuffle`:
    as `Dataset.shuffle()` takes it, or no shuffle."""
    data = flow.from_arrays({"i": np.arange(size, dtype=np.int32)})
    if shuffle:
        data = data.shuffle(**shuffle)
    with flow.DataLoader(data.batch(batch_size or size)["i"], num_threads=2) as loader:
        return [np.concatenate([*loader]) for _ in range(epochs)]


def plain_orders(table: Table, epochs: int, **attrs: Any) -> list[list[int]]:
    """The orders of the first epochs: one rank, one thread, all records in a batch."""
    return [
        [i for step in steps for i in step.ordinals]
        for steps in deliver_epochs(table, epochs, batch_size=max(1, table.size), **attrs)
    ]


# ---- The model of the orders ---------------------------------------------------------------------
#
# The same functions as csrc/core/random.h promises, without its tricks: division instead of
# reciprocals, 128-bit products as they are.  In Python integers, and for all places of an order at
# once in NumPy's of 64 bits, which hold the products of two of 32.

_WORD = 2**64
_GOLDEN = 0x9E3779B97F4A7C15


def _mix13(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB % _WORD
    return x ^ x >> 31


def _mix_murmur(x: int) -> int:
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD % _WORD
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 % _WORD
    return x ^ x >> 33


def _absorb(hash_: int, word: int) -> int:
    return _mix13(((hash_ ^ word) + _GOLDEN) % _WORD)


def random_key(seed: int, epoch: int, name: str) -> int:
    hash_ = _absorb(_absorb(0, seed % _WORD), epoch % _WORD)
    text = name.encode()
    words = [int.from_bytes(text[i : i + 8], "little") for i in range(0, len(text), 8)]
    if len(text) % 8 == 0:
        words.append(0)
    for word in words:
        hash_ = _absorb(hash_, word)
    return _mix_murmur(_absorb(hash_, len(text)))


def random_bits(key: int, counter: int) -> int:
    rotated = key >> 32 | key << 32 & _WORD - 1
    return _mix_murmur(_mix13((counter * _GOLDEN + key) % _WORD) ^ rotated)


def permutation(key: int, n: int) -> list[int]:
    """The keyed permutation of [0, n): a Feistel network over two digits, walked into range."""
    bits = next(b for b in range(4, 32) if 4**b >= n)
    left, right = max(16, -(-n // 2**bits)), 2**bits
    keys = [random_bits(key, counter) for counter in range(8)]

    def hash_(digit: np.ndarray, key: int) -> np.ndarray:
        high, low = divmod((digit ^ key % 2**32) * (key >> 32 | 1), 2**32)
        return high ^ low

    def once(i: np.ndarray) -> np.ndarray:
        l, r = divmod(i, right)  # noqa: E741
        for even, odd in zip(keys[::2], keys[1::2]):
            l = (l + (hash_(r, even) * left >> 32)) % left  # noqa: E741
            r = (r + (hash_(l, odd) >> 32 - bits)) % right
        return l * right + r

    after = once(np.arange(left * right, dtype=np.uint64)).tolist()
    order = []
    for i in range(n):
        i = after[i]
        while i >= n:
            i = after[i]
        order.append(i)
    return order


def epoch_order(seed: int, epoch: int, order_key: str, n: int, *, reshuffle: bool) -> list[int]:
    """What an epoch's order has to be where random_shuffle is on."""
    if n < 2:
        return list(range(n))
    return permutation(random_key(seed, epoch if reshuffle else 0, order_key), n)


def window_order(
    seed: int, epoch: int, order_key: str, n: int, block_size: int, window: int
) -> list[int]:
    """What an epoch's order has to be where shuffle is "window"."""
    return _window_order(random_key(seed, epoch, order_key), n, block_size, window)


def _window_order(key: int, n: int, block_size: int, window: int) -> list[int]:
    """By lists, block after block."""
    if n == 0:
        return []
    blocks = [list(range(first, min(first + block_size, n))) for first in range(0, n, block_size)]
    last = len(blocks) - 1
    order = permutation(random_bits(key, 2), last) if last else []
    order.insert(random_bits(key, 0) * len(blocks) >> 64, last)
    windows_key = random_bits(key, 1)
    result = []
    for number, first in enumerate(range(0, len(order), window)):
        records = [i for block in order[first : first + window] for i in blocks[block]]
        places = permutation(random_bits(windows_key, number), len(records))
        result += [records[place] for place in places]
    return result


def lanes(
    seed: int, order_key: str, n: int, block_size: int, num_lanes: int
) -> list[list[int]]:
    """The records of each lane: as many whole blocks as the others, and a share of the rest."""
    blocks = [list(range(first, min(first + block_size, n))) for first in range(0, n, block_size)]
    last = len(blocks) - 1
    order = permutation(random_bits(random_key(seed, 0, order_key), 3), last) if last else []
    whole = last // num_lanes
    rest = [i for block in [*order[whole * num_lanes :], last] for i in blocks[block]]
    parts = np.array_split(np.array(rest), num_lanes)
    return [
        [i for block in order[lane * whole : (lane + 1) * whole] for i in blocks[block]]
        + parts[lane].tolist()
        for lane in range(num_lanes)
    ]


def lanes_order(
    seed: int,
    epoch: int,
    order_key: str,
    n: int,
    block_size: int,
    window: int,
    num_lanes: int,
    batch_size: int,
) -> list[int]:
    """What an epoch's order has to be with lanes: each in its own window order."""
    key = random_key(seed, epoch, order_key)
    queues = []
    for lane, records in enumerate(lanes(seed, order_key, n, block_size, num_lanes)):
        order = _window_order(random_bits(key, 4 + lane), len(records), block_size, window)
        queues.append([records[place] for place in order])
    return _dealt(queues, batch_size // num_lanes)


def _dealt(queues: list[list[int]], rows: int) -> list[int]:
    """As many rows of each lane in turn."""
    result = []
    while all(len(queue) >= rows for queue in queues):
        for queue in queues:
            result += queue[:rows]
            del queue[:rows]
    return result + [i for queue in queues for i in queue]


def block_order(
    seed: int,
    epoch: int,
    order_key: str,
    sizes: Sequence[int],
    block_size: int,
    window: int,
    num_lanes: int,
    batch_size: int,
) -> list[int]:
    """What an epoch's order has to be where the source has blocks, of these sizes."""
    blocks: list[list[int]] = []
    for size in sizes:
        if not blocks or len(blocks[-1]) >= block_size:
            blocks.append([])
        first = sum(map(len, blocks))
        blocks[-1] += range(first, first + size)
    laid = range(len(blocks))
    if num_lanes > 1:
        laid = permutation(random_bits(random_key(seed, 0, order_key), 3), len(blocks))
    ends = [(i, block) for block in laid for i in blocks[block]]
    lanes = []  # the whole blocks of each, and its pieces of others
    for part in np.array_split(np.array(ends), num_lanes):
        pieces = [part[part[:, 1] == k, 0].tolist() for k in dict.fromkeys(part[:, 1].tolist())]
        whole = [one for one in pieces if one in blocks]
        lanes.append((whole, [one for one in pieces if one not in blocks]))
    key, queues = random_key(seed, epoch, order_key), []
    starts = min(len(whole) // window + 1 for whole, _ in lanes)
    start = window * (random_bits(key, 0) * starts >> 64)
    for lane, (whole, pieces) in enumerate(lanes):
        of_lane = random_bits(key, 4 + lane) if num_lanes > 1 else key
        slots = [whole[i] for i in permutation(random_bits(of_lane, 3), len(whole))]
        slots[start:start] = pieces
        queue = []
        for number, first in enumerate(range(0, len(slots), window)):
            records = [i for slot in slots[first : first + window] for i in slot]
            places = permutation(random_bits(random_bits(of_lane, 1), number), len(records))
            queue += [records[place] for place in places]
        queues.append(queue)
    return _dealt(queues, batch_size // num_lanes)
