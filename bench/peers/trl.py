"""trl: packs of token rows that datasets makes of texts."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Iterator
from typing import Any

import datasets
import numpy as np
from trl.data_utils import pack_dataset

from bench import documents, programs
from bench.contender import Batch, Source, contender

datasets.disable_progress_bars()
datasets.disable_caching()


def packs(source: Source, strategy: str, processes: int | None = None) -> Iterator[Batch]:
    found = documents.tokenizer(source)

    def tokenize(batch: Any) -> Any:
        return {"input_ids": [each.ids for each in found.encode_batch_fast(batch["text"])]}

    with tempfile.TemporaryDirectory() as folder:
        files: Any = source.files[1:]
        data = datasets.load_dataset("json", data_files=files, split="train", cache_dir=folder)
        tokens = data.map(tokenize, batched=True, remove_columns=["text"], num_proc=processes)
        packed = pack_dataset(tokens, documents.LENGTH, strategy)
        for batch in packed.with_format("numpy").iter(source.batch_size):
            yield padded(batch["input_ids"])


def packs_of_mix(source: Source, strategy: str) -> Iterator[Batch]:
    tables = [datasets.Dataset.from_file(path) for path in source.files]
    mix = datasets.interleave_datasets(tables)  # in turns, until the first one ends
    packed = pack_dataset(mix, documents.LENGTH, strategy)
    for batch in packed.with_format("numpy").iter(source.batch_size):
        yield padded(batch["input_ids"])


def padded(rows: Any) -> Batch:
    """What a collator makes of packs of up to LENGTH tokens."""
    tokens = np.zeros((len(rows), documents.LENGTH), np.int64)
    real = np.zeros((len(rows), documents.LENGTH), bool)
    for i, row in enumerate(rows):
        tokens[i, : len(row)], real[i, : len(row)] = row, True
    return documents.batch_of(tokens, real)


contender("W15", name="bfd", text="load_dataset, map(batched=True), pack_dataset, padded.")(
    functools.partial(packs, strategy="bfd")
)
contender("W15", name="wrapped", text="The same; texts are cut where a pack ends.")(
    functools.partial(packs, strategy="wrapped")
)
contender("W15", name="bfd-processes", text="bfd, with map() in a process for each core.")(
    functools.partial(packs, strategy="bfd", processes=programs.cores())
)
for strategy in ("bfd", "wrapped"):
    text = f"interleave_datasets, pack_dataset({strategy!r}), padded."
    contender("W18", name=strategy, text=text)(functools.partial(packs_of_mix, strategy=strategy))
