"""MindRecord shards written by hand, as small as they can be."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np


def pack_value(value: Any) -> bytes:
    """MessagePack of a number or a text."""
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):
        return (b"\xcf" + struct.pack(">Q", value)) if value >= 0 else (
            b"\xd3" + struct.pack(">q", value))
    text = value.encode()
    return b"\xdb" + struct.pack(">I", len(text)) + text


def pack_map(values: dict[str, Any]) -> bytes:
    body = b"".join(pack_value(k) + pack_value(values[k]) for k in sorted(values))
    return bytes([0x80 | len(values)]) + body


def pack_integers(values: np.ndarray) -> bytes:
    """As version 3.0 has them: codes of 2 bits, then as many bytes as each needs."""
    codes, data = [], b""
    for value in values.reshape(-1).tolist():
        code = next(c for c in range(4) if -(1 << (8 << c) - 1) <= value < 1 << (8 << c) - 1)
        codes.append(code)
        data += value.to_bytes(1 << code, "little", signed=True)
    codes += [0] * (-len(codes) % 4)
    packed = bytes(a << 6 | b << 4 | c << 2 | d for a, b, c, d in zip(*[iter(codes)] * 4))
    return struct.pack(">I", values.size) + packed + data


def blob_of(row: dict[str, Any], blobs: list[str], version: str) -> bytes:
    parts = []
    for name in blobs:
        value = row[name]
        if isinstance(value, np.ndarray):
            packed = version == "3.0" and value.dtype.kind == "i"
            value = pack_integers(value) if packed else value.tobytes()
        parts.append(value)
    if not parts:
        return b"\0" * 4
    return parts[0] if len(parts) == 1 else b"".join(struct.pack(">Q", len(p)) + p for p in parts)


def framed(rows: list[bytes]) -> bytes:
    return b"".join(struct.pack("<Q", len(row)) + row for row in rows)


def shard_bytes(schema: dict[str, Any], groups: list[list[dict[str, Any]]], *,
                version: str = "3.0", page_size: int = 512, names: list[str] | None = None,
                shard: int = 0, **changes: Any) -> bytes:
    """A shard with a blob page for each group, and one raw page behind the first of them.

    `changes` replace members of the header.
    """
    blobs = sorted(k for k, v in schema.items() if "shape" in v or v["type"] == "bytes")
    scalars = [k for k in schema if k not in blobs]
    raws, blob_pages = [], []
    for rows in groups:
        raws.append(framed([pack_map({k: row[k] for k in scalars} or {"id": 0}) for row in rows]))
        blob_pages.append(framed([blob_of(row, blobs, version) for row in rows]))
    entries, at = [], 0
    for i, raw in enumerate(raws):
        entries.append({"id": i, "offset": at})
        at += len(raw)
    bodies = [*blob_pages[:1], b"".join(raws), *blob_pages[1:]]
    pages, row, blob = [], 0, 0
    for number, body in enumerate(bodies):
        page = {"page_id": number, "page_size": len(body), "shard_id": shard}
        if number == 1:
            page |= {"page_type": "RAW_DATA", "page_type_id": 0, "start_row_id": 0,
                     "end_row_id": 0, "row_group_ids": entries}
        else:
            end = row + len(groups[blob])
            page |= {"page_type": "BLOB_DATA", "page_type_id": blob, "start_row_id": row,
                     "end_row_id": end, "row_group_ids": [{"id": 0, "offset": 0}]}
            row, blob = end, blob + 1
        pages.append(page)
    header: dict[str, Any] = {
        "header_size": 0, "index_fields": None, "page": pages, "page_size": page_size,
        "schema": [{"blob_fields": blobs, "desc": "by hand", "schema": schema}],
        "shard_addresses": names or ["shard"], "shard_id": shard, "statistics": None,
        "version": version,
    } | changes
    header["header_size"] = (len(json.dumps(header)) + 8 + 256) // 256 * 256
    text = json.dumps(header).encode()
    out = struct.pack("<Q", len(text)) + text
    assert len(out) <= header["header_size"] and all(len(body) <= page_size for body in bodies)
    out += b"\0" * (header["header_size"] - len(out))
    for body in bodies[:-1]:
        out += body + b"\0" * (page_size - len(body))
    return out + bodies[-1]


def small_file(folder: Path, version: str = "3.0") -> Path:
    """Eight rows in two groups, of a few types."""
    schema = {"label": {"type": "int32"}, "score": {"type": "float64"}, "data": {"type": "bytes"},
              "ids": {"type": "int64", "shape": [-1]}}
    rows = [{"label": i - 5, "score": i / 3, "data": b"x" * (i % 4) + b"\0",
             "ids": np.arange(i % 5, dtype=np.int64) * 1000 ** (i % 4) - 1} for i in range(8)]
    path = folder / "shard"
    path.write_bytes(shard_bytes(schema, [rows[:5], rows[5:]], version=version))
    return path
