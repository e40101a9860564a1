"""tokenizers: the limit of W15, in which nothing is packed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from bench import documents
from bench.contender import Batch, Source, contender


@contender("W15")
def encode_batch(source: Source) -> Iterator[Batch]:
    """encode_batch_fast of 64 texts in all threads, which are in memory as str."""
    found, known = documents.tokenizer(source), list(documents.texts(source))
    for at in range(0, len(known), 64):
        tokens = [each.ids for each in found.encode_batch_fast(known[at : at + 64])]
        yield _batch(tokens)


@contender("W15", cores=1)
def encode_batch_one_core(source: Source) -> Iterator[Batch]:
    """The same on one core, without threads."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    yield from encode_batch(source)


def _batch(tokens: list[list[int]]) -> Batch:
    found = documents.Tokens(sum(map(len, tokens)), lambda: np.concatenate(tokens))
    return found, found
