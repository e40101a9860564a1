"""Texts of log-normal lengths as JSON lines, and a byte-pair tokenizer that is trained on some."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import numpy as np

from bench.contender import Source
from bench.data import Data, Truth

LENGTH = 2048  # tokens of a pack; no text has more
VOCABULARY = 4000
TOKENIZER = "tokenizer.json"
_WORDS = 20_000


@dataclasses.dataclass(frozen=True)
class Documents(Data):
    """A row of the truth is a token, twice."""

    parts: int = 4  # of texts; one more file is the tokenizer

    KIND: ClassVar[str] = "documents"
    FILE: ClassVar[str] = "part-{:03}.jsonl"
    VERSION: ClassVar[int] = 1
    ROW_BYTES: ClassVar[float] = 2900

    @property
    def part_records(self) -> int:
        return max(16, super().part_records)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / TOKENIZER), *super().files(parts)]

    def truth(self, parts: int | None = None) -> tuple[Truth, int]:
        truth, size = super().truth()
        return truth, size - os.path.getsize(self.files()[0])

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        trained = _trained()
        if part == 0:
            yield trained.to_str().encode(), Truth()
            return
        texts = list(_texts(self.part_records, part))
        tokens = [each.ids for each in trained.encode_batch_fast(texts)]
        assert max(map(len, tokens)) <= LENGTH
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        found = np.concatenate(tokens)
        yield lines.encode(), Truth.of(found, found)


def _texts(count: int, seed: int) -> Iterator[str]:
    """Words of one to four syllables, the i-th of them about i times rarer than the first."""
    syllables = [a + b + c for a in "bdfgklmnprstvw" for b in "aeiou" for c in ("", "n", "r", "st")]
    random = np.random.RandomState(7000)
    words = ["".join(random.choice(syllables, random.randint(1, 5))) for _ in range(_WORDS)]
    random = np.random.RandomState(7001 + seed)
    lengths = np.clip(random.lognormal(np.log(300), 0.8, count), 1, 900).astype(int)
    for length in lengths.tolist():
        drawn = np.floor(np.exp(random.random_sample(length) * np.log(_WORDS))).astype(int) - 1
        yield " ".join([words[i] for i in drawn]) + "."


def _trained() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, show_progress=False)
    made.train_from_iterator(_texts(200, -1), trainer)
    return made


class Tokens:
    """Those of a batch that are no padding; only what checks the epoch makes an array of them."""

    def __init__(self, count: int, array: Callable[[], Any]) -> None:
        self._count, self._array = count, array

    def __len__(self) -> int:
        return self._count

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.asarray(self._array()).astype(dtype or np.float64)


def batch_of(tokens: Any, segments: Any) -> tuple[Tokens, Tokens]:
    """A batch of packs as a contender yields it: segment 0 is padding."""
    count = int(np.count_nonzero(segments))
    found = Tokens(count, lambda: tokens[np.asarray(segments) > 0])
    return found, found


def tokenizer(source: Source) -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(source.files[0])


def texts(source: Source) -> Iterable[str]:
    for path in source.files[1:]:
        with open(path, encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)["text"]
