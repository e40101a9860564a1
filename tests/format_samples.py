"""A small good file of every format, and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import token_files
from damage import Format

import pyflowdata as flow


def mini(folder: Path) -> list[Path]:
    numbers = np.random.default_rng(1).normal(size=(20, 2)).round(3)
    path = folder / "part-0"
    path.write_text("".join(f"{a},{b}\n" for a, b in numbers.tolist()))
    return [path]


def tokens(folder: Path) -> list[Path]:
    return [token_files.write(folder / "tokens", token_files.documents(1, 20))]


def token_index(folder: Path) -> list[Path]:
    return [tokens(folder)[0].with_suffix(".idx")]


def megatron(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.MegatronReader(files=files, **attrs)


def windows(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.GPTReader(files=files, seq_length=8, **attrs)


FORMATS = {
    "MiniReader": Format(
        mini, lambda files, **attrs: flow.MiniReader(files=files, **attrs), may_be_cut=400
    ),
    "MegatronReader bin": Format(tokens, megatron),
    "MegatronReader idx": Format(token_index, megatron),
    "GPTReader bin": Format(tokens, windows),
    "GPTReader idx": Format(token_index, windows),
    "GPTReader flat": Format(
        tokens,
        lambda files, **attrs: windows(files, format="flat", file_dtype="uint16", **attrs),
        may_be_cut=10_000,
    ),
}
