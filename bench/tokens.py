"""A flat file of uint16 tokens, and the order in which peers take windows of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bench.data import Data, Truth

SEQ_LENGTH = 2048  # a window has one token more
AT_ONCE = 1 << 22  # tokens that are made together


@dataclasses.dataclass(frozen=True)
class Tokens(Data):
    """A row of the truth is a token of a window and the one after it."""

    parts: int = 1

    KIND: ClassVar[str] = "tokens"
    FILE: ClassVar[str] = "train.bin"
    ROW_BYTES: ClassVar[float] = 2 * SEQ_LENGTH  # a record is a window
    ROWS: ClassVar[int] = SEQ_LENGTH + 1

    @property
    def part_records(self) -> int:
        return max(16, super().part_records)

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(3000)
        left = self.part_records * SEQ_LENGTH + 1
        started = np.zeros(0, np.uint16)  # the first tokens of a window that the next block ends
        while left > 0:
            some = random.randint(0, 50257, min(left, AT_ONCE)).astype(np.uint16)
            left -= len(some)
            tokens = np.concatenate([started, some])
            whole = num_windows(tokens)
            started = tokens[whole * SEQ_LENGTH :]
            yield some.tobytes(), sum(_truths(tokens, whole), Truth())


def _truths(tokens: npt.NDArray[np.uint16], windows: int) -> Iterator[Truth]:
    for begin in range(0, windows, 1024):
        numbers = np.arange(begin, min(begin + 1024, windows))[:, None] * SEQ_LENGTH
        yield Truth.of(*columns(tokens[numbers + np.arange(SEQ_LENGTH + 1)]))


class Following:
    """Of each token the one after it; only what checks the epoch makes an array of it."""

    def __init__(self, windows: Any) -> None:
        self._windows = windows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.roll(np.asarray(self._windows), -1, axis=1).ravel()


def columns(windows: Any) -> tuple[Any, Any]:
    """A batch as a contender yields it."""
    return windows.reshape(-1), Following(windows)


def load(path: str) -> npt.NDArray[np.uint16]:
    """The mapped file as a plain array, which is quicker to slice than a memmap."""
    return np.asarray(np.memmap(path, np.uint16, "r"))


def num_windows(tokens: npt.NDArray[np.uint16]) -> int:
    return (len(tokens) - 1) // SEQ_LENGTH


def batches(tokens: npt.NDArray[np.uint16], size: int) -> Iterator[list[int]]:
    """The first tokens of the windows of each batch, in a new random order."""
    order = np.random.permutation(num_windows(tokens)) * SEQ_LENGTH
    for at in range(0, len(order), size):
        yield order[at : at + size].tolist()
