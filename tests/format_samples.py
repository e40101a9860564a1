"""A small good file of every format, and how it is read."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import tf_records
import token_files
from damage import Format

import pyflowdata as flow


def mini(folder: Path) -> list[Path]:
    numbers = np.random.default_rng(1).normal(size=(20, 2)).round(3)
    path = folder / "part-0"
    path.write_text("".join(f"{a},{b}\n" for a, b in numbers.tolist()))
    return [path]


def tfrecord(folder: Path) -> list[Path]:
    return [tf_records.write(folder / "a.tfrecord", [b"record" * i for i in range(20)])]


def gzipped(folder: Path) -> list[Path]:
    (path,) = mini(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


def text_lines(folder: Path) -> list[Path]:
    path = folder / "lines.txt"
    path.write_bytes(b"".join(b"line %d \xc3\xa9\r\n" % i for i in range(20)))
    return [path]


def table(folder: Path) -> list[Path]:
    path = folder / "table.csv"
    rows = "".join(f'{i},{i / 8},"say ""{i}"", twice\nor so",true\n' for i in range(20))
    path.write_text("key,value,text,flag\n" + rows)
    return [path]


def numbers(folder: Path) -> list[Path]:
    path = folder / "numbers.csv"
    path.write_text("a,b,c,d\n" + "".join(f"{i},{i / 8},{-i},{i}e-3\n" for i in range(20)))
    return [path]


def zipped_numbers(folder: Path) -> list[Path]:
    (path,) = numbers(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


CSV_COLUMNS = ["key:int32", "value", "text:bytes", "flag:bool"]


def tokens(folder: Path) -> list[Path]:
    return [token_files.write(folder / "tokens", token_files.documents(1, 20))]


def token_index(folder: Path) -> list[Path]:
    return [tokens(folder)[0].with_suffix(".idx")]


def megatron(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.MegatronReader(files=files, **attrs)


def windows(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.GPTReader(files=files, seq_length=8, **attrs)


FORMATS = {
    "TextLineReader": Format(
        text_lines,
        lambda files, **attrs: flow.TextLineReader(files=files, **attrs),
        may_be_cut=400,
    ),
    "CSVReader": Format(
        table,
        lambda files, **attrs: flow.CSVReader(
            files=files, columns=CSV_COLUMNS, multiline=True, **attrs
        ),
        may_be_cut=400,
    ),
    "CSVReader gzip": Format(
        zipped_numbers,
        lambda files, **attrs: flow.CSVReader(
            files=files, columns=["a:int32", "d"], compression="gzip", **attrs
        ),
        has_checksums=True,
    ),
    "CSVReader lines": Format(
        numbers,
        lambda files, **attrs: flow.CSVReader(files=files, columns=["x=a..d:float32[4]"], **attrs),
        may_be_cut=400,
    ),
    "MiniReader": Format(
        mini, lambda files, **attrs: flow.MiniReader(files=files, **attrs), may_be_cut=400
    ),
    "TFRecordReader": Format(
        tfrecord,
        lambda files, **attrs: flow.TFRecordReader(files=files, **attrs),
        has_checksums=True,
    ),
    "MiniReader gzip": Format(
        gzipped,
        lambda files, **attrs: flow.MiniReader(files=files, compression="gzip", **attrs),
        has_checksums=True,
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
