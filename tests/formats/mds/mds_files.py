"""MDS datasets written by hand."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path
from typing import Any

Columns = dict[str, tuple[str, int | None]]  # name -> encoding and size


def shard_bytes(columns: Columns, samples: list[list[bytes]], **changes: Any) -> bytes:
    """A shard; a sample is the bytes of its columns.  `changes` replace members of its JSON."""
    sizes = [size for _, size in columns.values()]
    bodies = []
    for sample in samples:
        head = b"".join(struct.pack("<I", len(value))
                        for value, size in zip(sample, sizes, strict=True) if size is None)
        bodies.append(head + b"".join(sample))
    config = json.dumps(describe(columns) | changes).encode()
    at = 4 + 4 * (len(bodies) + 1) + len(config)
    offsets = list(itertools.accumulate(map(len, bodies), initial=at))
    words = struct.pack(f"<{len(offsets) + 1}I", len(bodies), *offsets)
    return words + config + b"".join(bodies)


def describe(columns: Columns) -> dict[str, Any]:
    return {
        "column_encodings": [encoding for encoding, _ in columns.values()],
        "column_names": list(columns),
        "column_sizes": [size for _, size in columns.values()],
        "compression": None, "format": "mds", "hashes": [], "size_limit": 1 << 26, "version": 2,
    }


def write(folder: Path, columns: Columns, shards: list[list[list[bytes]]],
          names: list[str] | None = None, **changes: Any) -> Path:
    """index.json and its shards; `changes` replace members of each shard in the index."""
    entries = []
    for i, samples in enumerate(shards):
        name = names[i] if names else f"shard.{i:05}.mds"
        data = shard_bytes(columns, samples)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        entries.append(describe(columns) | {
            "raw_data": {"basename": name, "bytes": len(data), "hashes": {}},
            "samples": len(samples), "zip_data": None} | changes)
    path = folder / "index.json"
    path.write_text(json.dumps({"version": 2, "shards": entries}))
    return path


SMALL: Columns = {"data": ("bytes", None), "label": ("int", 8), "text": ("str", None),
                  "x": ("ndarray:float32:2", 8)}


def small_samples(n: int = 12) -> list[list[bytes]]:
    return [[bytes([i]) * (i % 4), struct.pack("<q", -i), f"text {i}".encode(),
             struct.pack("<2f", i, i / 2)] for i in range(n)]
