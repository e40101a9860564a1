"""simdjson's Python binding: one object at a time, values made when they are asked for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import simdjson

from bench.contender import Batch, Source, contender
from bench.json_lines import Marks


@contender("W13")
def parse(source: Source) -> Iterator[Batch]:
    """Parser.parse() of each line, lists of str, an array of float64."""
    parser = simdjson.Parser()
    for path in source.files:
        with open(path, "rb") as file:
            while some := list(itertools.islice(file, source.batch_size)):
                scores, pairs = [], []
                for line in some:
                    row = parser.parse(line)
                    scores.append(row["score"])
                    pairs.append((row["text"], row["meta"]["lang"]))
                    del row  # the parser refuses the next line while one lives
                yield np.array(scores), Marks(pairs.copy)
