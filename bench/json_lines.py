"""JSON lines of 12 fields and 1.2 kB, as of a corpus of web pages; the readers take text, meta.lang
and score."""

from __future__ import annotations

import dataclasses
import json
import random
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from bench.data import Data, Truth

Pairs = Iterable[tuple[Any, Any]]  # of a text and its language: str, bytes or arrays of bytes


def _bytes(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode()
    return text if isinstance(text, bytes) else bytes(text.tobytes())


class Marks:
    """A number for the text and the language of each row, computed when an epoch is checked."""

    def __init__(self, pairs: Callable[[], Pairs]) -> None:
        self._pairs = pairs

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        marks = [zlib.crc32(_bytes(lang), zlib.crc32(_bytes(text))) for text, lang in self._pairs()]
        return np.array(marks, dtype or np.float64)


@dataclasses.dataclass(frozen=True)
class JsonLines(Data):
    parts: int = 4

    KIND: ClassVar[str] = "json"
    FILE: ClassVar[str] = "part-{:03}.jsonl"
    ROW_BYTES: ClassVar[float] = 1194

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        numbers = random.Random(6000 + part)
        words = _words(numbers)
        for begin in range(0, self.part_records, 1024):
            rows = [_row(numbers, words) for _ in range(min(1024, self.part_records - begin))]
            marks = Marks(lambda: ((row["text"], row["meta"]["lang"]) for row in rows))
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            yield "".join(lines).encode(), Truth.of([row["score"] for row in rows], marks)


def _words(numbers: random.Random) -> list[str]:
    """One word of a hundred is beyond ASCII."""
    beyond = ["café", "naïve", "–", "it’s", "Zürich", "“the", "one”", "don’t"]
    sizes = [2, 3, 3, 4, 4, 5, 6, 7, 9]
    words = ["".join(numbers.choices("etaoinshrdlucmfwyp", k=size)) for size in sizes * 600]
    words[::100] = numbers.choices(beyond, k=len(words[::100]))
    return words


def _sentence(numbers: random.Random, words: list[str]) -> str:
    said = " ".join(numbers.choices(words, k=numbers.randint(8, 18))).capitalize() + "."
    return f'"{said}"' if numbers.random() < 0.1 else said


def _text(numbers: random.Random, words: list[str]) -> str:
    size, text = numbers.randint(200, 1000), ""
    while len(text) < size:
        text += _sentence(numbers, words) + ("\n" if numbers.random() < 0.15 else " ")
    return text


def _row(numbers: random.Random, words: list[str]) -> dict[str, Any]:
    def some(least: int, most: int) -> list[str]:
        return numbers.choices(words, k=numbers.randint(least, most))

    def hexadecimal(digits: int) -> str:
        return f"{numbers.getrandbits(4 * digits):0{digits}x}"

    return {
        "id": hexadecimal(16),
        "url": f"https://www.{'-'.join(some(1, 3))}.com/{'/'.join(some(1, 4))}",
        "text": _text(numbers, words),
        "timestamp": f"2024-{numbers.randint(10, 12)}-{numbers.randint(10, 28)}T10:20:30Z",
        "score": numbers.random(),
        "tokens": numbers.randint(40, 400),
        "is_duplicate": numbers.random() < 0.1,
        "title": " ".join(some(4, 12)),
        "meta": {
            "lang": numbers.choice(["en", "de", "fr"]),
            "lang_score": round(numbers.random(), 4),
            "source": f"crawl-2024-{numbers.randint(10, 50)}",
            "digest": f"sha1:{hexadecimal(40)}",
            "length": numbers.randint(100, 9999),
        },
        "tags": some(0, 6),
        "author": None if numbers.random() < 0.5 else " ".join(some(2, 2)),
        "label": numbers.randint(0, 9),
    }
