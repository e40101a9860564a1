"""What Python has without packages."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import numpy as np

from bench.contender import Batch, Source, contender
from bench.json_lines import Marks


@contender("W13", name="json", parts=1)
def json_lines(source: Source) -> Iterator[Batch]:
    """json.loads() of each line, lists of str, an array of float64."""
    for path in source.files:
        with open(path, "rb") as file:
            while some := list(itertools.islice(file, source.batch_size)):
                rows = [json.loads(line) for line in some]
                pairs = [(row["text"], row["meta"]["lang"]) for row in rows]
                yield np.array([row["score"] for row in rows]), Marks(pairs.copy)
