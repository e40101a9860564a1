"""A flat file of uint16 tokens, and the order in which peers take windows of it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench import data

SEQ_LENGTH = 2048  # a window has one token more
AT_ONCE = 1 << 22  # tokens that are made together


@dataclasses.dataclass(frozen=True)
class Tokens:
    """What bench.data.Text is for text.  A row of the truth is a token of a window and the one
    behind it."""

    megabytes: float
    parts: int = 1

    @property
    def name(self) -> str:
        return f"tokens-{self.megabytes:g}mb"

    @property
    def folder(self) -> Path:
        return data.FOLDER / self.name

    def scaled(self, scale: float) -> Tokens:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / "train.bin")]

    def truth(self, parts: int | None = None) -> tuple[data.Truth, int]:
        manifest = json.loads((self.folder / "manifest.json").read_text())
        return data.Truth(**manifest["truth"]), manifest["bytes"]

    def prepare(self) -> str:
        """Makes the file where it is not there; returns its digest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        manifest = self.folder / "manifest.json"
        if not manifest.exists():
            self._write()
            manifest.write_text(json.dumps(self._look()))
        digest = data._digest(self.files()[0])
        if digest != json.loads(manifest.read_text())["sha256"]:
            raise SystemExit(f"{self.files()[0]} was changed; remove the folder")
        with open(self.files()[0], "rb") as file:  # into the page cache
            while file.read(1 << 24):
                pass
        return digest

    def _write(self) -> None:
        windows = max(16, round(self.megabytes * 1e6 / 2 / SEQ_LENGTH))
        random = np.random.RandomState(3000)
        left = windows * SEQ_LENGTH + 1
        with open(self.files()[0], "wb") as file:
            while left > 0:
                some = random.randint(0, 50257, min(left, AT_ONCE)).astype(np.uint16)
                file.write(some.tobytes())
                left -= len(some)

    def _look(self) -> dict[str, Any]:
        tokens = load(self.files()[0])
        truth = data.Truth()
        for begin in range(0, num_windows(tokens), 1024):
            end = min(begin + 1024, num_windows(tokens))
            numbers = np.arange(begin, end)[:, None] * SEQ_LENGTH + np.arange(SEQ_LENGTH + 1)
            truth += data.Truth.of(*columns(tokens[numbers]))
        content = tokens.tobytes()
        return {
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "truth": dataclasses.asdict(truth),
        }


class Following:
    """Of each token the one behind it; only what checks the epoch makes an array of it."""

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
