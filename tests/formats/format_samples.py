"""A small good file of every format, and how it is read."""

from __future__ import annotations

import functools
import gzip
import io
import json
import tarfile
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
from formats.damage import Format
from formats.flat_files import cifar, idx
from formats.mds import mds_files
from formats.megatron import token_files
from formats.mindrecord import mindrecord_files
from formats.tfrecord import tfrecords
from support.paths import ROOT

import pyflowdata as flow


def mini(folder: Path) -> list[Path]:
    numbers = np.random.default_rng(1).normal(size=(20, 2)).round(3)
    path = folder / "part-0"
    path.write_text("".join(f"{a},{b}\n" for a, b in numbers.tolist()))
    return [path]


def tfrecord(folder: Path) -> list[Path]:
    return [tfrecords.write(folder / "a.tfrecord", [b"record" * i for i in range(20)])]


FIXTURES = ROOT / "tests/fixtures"
MDS_COLUMNS = ["data", "label:int64", "text", "x:float32[2]"]


def mds_shard(folder: Path) -> list[Path]:
    """A shard, and the index that is named."""
    index = mds_files.write(folder, mds_files.SMALL, [mds_files.small_samples()])
    return [folder / "shard.00000.mds", index]


def mds_index(folder: Path) -> list[Path]:
    return mds_shard(folder)[::-1]


def mds_alone(folder: Path) -> list[Path]:
    return mds_shard(folder)[:1]


def mds_zstd(folder: Path) -> list[Path]:
    shutil.copytree(FIXTURES / "streaming" / "zstd", folder, dirs_exist_ok=True)
    return [folder / "shard.00000.mds.zstd", folder / "index.json"]


def read_mds(
    files: list[str], columns: list[str] | None = MDS_COLUMNS, **attrs: object
) -> flow.Blob:
    named = [file for file in files if file.endswith(".json")] or files
    return flow.MDSReader(files=named, columns=columns, **attrs)


def mindrecord(folder: Path, version: str = "3.0") -> list[Path]:
    return [mindrecord_files.small_file(folder, version)]


def read_mindrecord(files: list[str], **attrs: object) -> flow.Blob:
    columns = ["label:int32", "score:float64", "data", "ids:int64[?]"]
    return flow.MindRecordReader(files=files, columns=columns, **attrs)


def found(reader: str) -> Callable[..., flow.Blob | tuple[flow.Blob, ...]]:
    """Reads files of which nothing is said."""
    return lambda files, **attrs: getattr(flow, reader)(files=files, **attrs)


def gzipped(folder: Path) -> list[Path]:
    (path,) = mini(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


def shard(folder: Path) -> list[Path]:
    """A tar file of WebDataset, with long names, without the zeros that fill up its last block."""
    path = folder / "shard.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for i in range(4):
            for ending, content in (("txt", b"text" * i), ("cls", b"%d" % i)):
                info = tarfile.TarInfo(f"{i}/{'long' * 30 * (i == 1)}name.{ending}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        end = tar.offset
    path.write_bytes(path.read_bytes()[: end + 2 * tarfile.BLOCKSIZE])
    return [path]


def text_lines(folder: Path) -> list[Path]:
    path = folder / "lines.txt"
    path.write_bytes(b"".join(b"line %d \xc3\xa9\r\n" % i for i in range(20)))
    return [path]


def json_lines(folder: Path) -> list[Path]:
    path = folder / "records.jsonl"
    rows = ({"key": i, "meta": {"text": "é" * i}, "ids": [i, -i][: i % 3]} for i in range(20))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [path]


JSON_FIELDS = ["key:int32", "text=meta.text:bytes", "ids:int64[?]", "x:float32=0.5"]


def table(folder: Path) -> list[Path]:
    path = folder / "table.csv"
    rows = "".join(f'{i},{i / 8},"say ""{i}"", twice\nor so",true\n' for i in range(20))
    path.write_text("key,value,text,flag\n" + rows)
    return [path]


def numbers(folder: Path) -> list[Path]:
    path = folder / "numbers.csv"
    path.write_text("a,b,c,d\n" + "".join(f"{i},{i / 8},{-i},{i}e-3\n" for i in range(20)))
    return [path]


def manifest(folder: Path) -> list[Path]:
    lines = []
    for i in range(12):
        (folder / f"{i}.png").write_bytes(b"\x89PNG" * (i + 1))
        label = f'[{{"name": "class {i % 3}"}}]'
        lines.append(f'{{"source": "{i}.png", "usage": "train", "annotation": {label}}}\n')
    (folder / "all.manifest").write_text("".join(lines))
    return [folder / "all.manifest"]


def coco(folder: Path) -> list[Path]:
    images, objects = [], []
    for i in range(9):
        (folder / f"{i}.jpg").write_bytes(b"\xff\xd8\xff" * (i + 1))
        images.append({"id": i, "file_name": f"{i}.jpg", "height": 30, "width": 20 + i})
        for j in range(i % 4):
            shape = [[1.5, 2, 3, 4, 5.25, j], [1, 2, 3, 4, 5, 6, 7, 8]]
            objects.append({"image_id": i, "category_id": j + 3, "bbox": [j, 2.5, 7, 9],
                            "iscrowd": 0, "segmentation": shape})  # fmt: skip
    categories = [{"id": i} for i in (3, 4, 5)]
    document = {"images": images, "annotations": objects, "categories": categories}
    (folder / "instances.json").write_text(json.dumps(document))
    return [folder / "instances.json"]


def read_coco(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.COCOReader(files=files, group_by_ratio=False, **attrs)


def zipped_numbers(folder: Path) -> list[Path]:
    (path,) = numbers(folder)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return [path]


FIXTURES = ROOT / "tests/fixtures"
NUMBERS = np.random.default_rng(2).integers(0, 100, (20, 3, 4))


def copy_of(path: str, folder: Path) -> list[Path]:
    (folder / "part-0").write_bytes((FIXTURES / path).read_bytes())
    return [folder / "part-0"]


def raw(folder: Path) -> list[Path]:
    (folder / "rows.bin").write_bytes(b"head" + NUMBERS.astype(">i2").tobytes())
    return [folder / "rows.bin"]


def mnist(folder: Path) -> list[Path]:
    (folder / "images").write_bytes(idx(NUMBERS.astype(np.uint8)))
    (folder / "labels").write_bytes(idx(np.arange(20, dtype=np.int32)))
    return [folder / "images", folder / "labels"]


def mnist_gzip(folder: Path) -> list[Path]:
    paths = mnist(folder)
    for path in paths:
        path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return paths


def read_mnist(files, **attrs):
    return flow.IDXReader(files=files[0], labels=files[1], shape=(3, 4), label_dtype="int32",
                          **attrs)


def read_mnist_found(files, **attrs):
    return flow.IDXReader(files=files[0], labels=files[1], **attrs)


def cifar_100(folder: Path) -> list[Path]:
    images = np.random.default_rng(3).integers(0, 256, (3, 3, 32, 32), np.uint8)
    (folder / "train.bin").write_bytes(cifar(images, np.arange(3), np.arange(3) * 30))
    return [folder / "train.bin"]


def read_ofrecord(files, **attrs):
    record, ids = flow.OFRecordReader(files=files, **attrs)
    return (
        flow.OFRecordRawDecoder(record, blob_name="float", shape=(3,), dtype="float32"),
        flow.OFRecordRawDecoder(record, blob_name="int64", shape=(4,), dtype="int64"),
        flow.OFRecordBytesDecoder(record, blob_name="image"),
        ids,
    )


ONEREC = ["dense:float32[2,3]", "ids:int64[?]", "matrix:int16[?,?]", "text:bytes", "odd:int32=-1"]


def read_onerec(files, **attrs):
    record, ids = flow.OneRecReader(files=files, **attrs)
    return *flow.OneRecDecoder(record, features=ONEREC), ids


CSV_COLUMNS = ["key:int32", "value", "text:bytes", "flag:bool"]


def tokens(folder: Path) -> list[Path]:
    return [token_files.write(folder / "tokens", token_files.documents(1, 20))]


def token_index(folder: Path) -> list[Path]:
    return [tokens(folder)[0].with_suffix(".idx")]


def megatron(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.MegatronReader(files=files, **attrs)


def windows(files: list[str], **attrs: Any) -> flow.Blob | tuple[flow.Blob, ...]:
    return flow.GPTReader(files=files, seq_length=8, **attrs)


ARROW = {
    "types.arrow": ["int64:int64", "string_view", "matrix:int64[?,?]", "null_text:bytes=",
                    "dictionary_int8", "struct.number:int64", "list_bool:bool[?]"],
    "types.arrows": ["int64:int64", "string", "list:float32[?]"],
    "types-lz4.feather": ["int64:int64", "string", "list:float32[?]"],
    "types-zstd.arrows": ["int64:int64", "string", "pairs:float64[?,2]"],
}  # fmt: skip


def arrow(name: str) -> Format:
    columns = ARROW[name]
    return Format(
        lambda folder: copy_of(f"arrow/{name}", folder),
        lambda files, **attrs: flow.ArrowReader(files=files, columns=columns, **attrs),
    )


def parquet(folder):
    """Row groups of 7, 7 and 6 rows, with a checksum of each page."""
    path = folder / "part-0.parquet"
    table = pyarrow.table({
        "n": pyarrow.array(range(20), pyarrow.int32()),
        "text": [None if i % 4 == 3 else "x" * (i % 9) for i in range(20)],
        "lists": [[0.5] * (i % 3) for i in range(20)],
        "s": [{"a": [i, -i]} for i in range(20)],
    })  # fmt: skip
    pyarrow.parquet.write_table(table, path, row_group_size=7, write_page_checksum=True)
    return [path]


def read_parquet(files, **attrs):
    columns = ["n:int32", "text:bytes=", "lists:float64[?]", "s.a:int64[?]"]
    return flow.ParquetReader(files=files, columns=columns, **attrs)


FORMATS = {
    "ParquetReader": Format(parquet, read_parquet, has_checksums=True),
    "ArrowReader": arrow("types.arrow"),
    "ArrowReader stream": arrow("types.arrows"),
    "ArrowReader LZ4": arrow("types-lz4.feather"),
    "ArrowReader zstd": arrow("types-zstd.arrows"),
    "MDSReader": Format(mds_shard, read_mds),
    "MDSReader index": Format(mds_index, read_mds),
    "MDSReader alone": Format(mds_alone, read_mds),
    "MDSReader zstd": Format(
        mds_zstd, functools.partial(read_mds, columns=["a_int:int64", "b_bytes"])
    ),
    "MDSReader index found": Format(mds_index, functools.partial(read_mds, columns=None)),
    "MDSReader alone found": Format(mds_alone, functools.partial(read_mds, columns=None)),
    "MindRecordReader found": Format(mindrecord, found("MindRecordReader")),
    "MindRecordReader": Format(mindrecord, read_mindrecord),
    "MindRecordReader 2.0": Format(functools.partial(mindrecord, version="2.0"), read_mindrecord),
    "TextLineReader": Format(
        text_lines,
        lambda files, **attrs: flow.TextLineReader(files=files, **attrs),
        may_be_cut=400,
    ),
    "JSONLinesReader": Format(
        json_lines,
        lambda files, **attrs: flow.JSONLinesReader(files=files, fields=JSON_FIELDS, **attrs),
        ends=2,
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
    "COCOReader": Format(coco, read_coco),
    "ManifestReader": Format(
        manifest,
        lambda files, **attrs: flow.ManifestReader(
            files=files, classes=["class 0", "class 1", "class 2"], **attrs
        ),
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
    "TarReader": Format(
        shard,
        lambda files, **attrs: flow.TarReader(
            files=files, fields=["key=__key__", "txt", "cls"], **attrs
        ),
        end_mark=2 * tarfile.BLOCKSIZE,
    ),
    "RawReader": Format(
        raw,
        lambda files, **attrs: flow.RawReader(
            files=files, shape=(3, 4), dtype="int16", byte_order="big", header_bytes=4, **attrs
        ),
    ),
    "NpyReader": Format(
        lambda folder: copy_of("numpy/float32-version-2.npy", folder),
        lambda files, **attrs: flow.NpyReader(
            files=files, dtype="float32", shape=(2, 3), **attrs
        ),
    ),
    "NpyReader found": Format(
        lambda folder: copy_of("numpy/float32-version-2.npy", folder), found("NpyReader")
    ),
    "IDXReader found": Format(mnist_gzip, read_mnist_found),
    "IDXReader": Format(mnist, read_mnist),
    "IDXReader labels": Format(
        lambda folder: mnist(folder)[::-1],
        lambda files, **attrs: read_mnist(files[::-1], **attrs),
    ),
    "IDXReader gzip": Format(
        mnist_gzip,
        lambda files, **attrs: read_mnist(files, compression="gzip", **attrs),
        has_checksums=True,
    ),
    "CIFARReader": Format(
        cifar_100, lambda files, **attrs: flow.CIFARReader(files=files, version=100, **attrs)
    ),
    "OFRecordReader": Format(
        lambda folder: copy_of("protobuf/packed.ofrecord", folder), read_ofrecord
    ),
    "OneRecReader": Format(
        lambda folder: copy_of("flatbuffers/features.onerec", folder),
        read_onerec,
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
