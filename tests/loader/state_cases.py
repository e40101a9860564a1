"""Loaders whose states are kept in fixtures/states, and what each delivers after its state.

A state that a version has written must be read by the versions after it.  The files are made here
from fixed bytes, so that their fingerprints are the same on every machine.  To record the states
with the version that should be pinned, from the root of the tree:

    PYTHONPATH=/where/that/version/is .venv/bin/python tests/loader/state_cases.py [CASE ...]

Add cases with a new version, but do not record old ones again: they would prove nothing then.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from formats import flat_files
from formats.mds import mds_files
from formats.mindrecord import mindrecord_files
from formats.tfrecord import tfrecords
from support import plugin_sources
from support import stored

import pyflowdata as flow

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
STATES = FIXTURES / "states"
FOLLOWING = 12  # batches that are recorded after the state, across the end of the epoch

Blobs = tuple[flow.Blob, ...]


@dataclass(frozen=True)
class Case:
    """A loader and the place where its state is taken.

    Attributes:
        make: Writes files into a folder, which is the current one, and returns the blobs of the
            loader.
        steps: The number of batches before the state.
        options: The options of the loader.
        has_seed: Whether a seed is given; otherwise one is drawn, and only its state has it.
    """

    make: Callable[[Path], Blobs]
    steps: int
    options: dict[str, Any] = field(default_factory=dict)
    has_seed: bool = True


def open_case(case: Case, folder: Path, **options: Any) -> flow.DataLoader:
    return flow.DataLoader(*case.make(folder), **case.options, **options)


# ---- What is delivered ---------------------------------------------------------------------------


def _parts(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, flow.Ragged):
        yield from (value.values, value.row_splits)
    else:
        yield value


def _describe(blobs: tuple[flow.Blob, ...], batch: Any) -> dict[str, Any]:
    values = batch if isinstance(batch, tuple) else (batch,)
    digest = hashlib.sha256()
    ids = []
    for blob, value in zip(blobs, values, strict=True):
        if blob.name.endswith("/id"):
            ids.append(value.tolist())
        for part in _parts(value):
            digest.update(f"{part.dtype.str} {part.shape}\n".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
    return {"ids": ids, "sha256": digest.hexdigest()[:16]}


def following(loader: flow.DataLoader) -> list[dict[str, Any]]:
    """The next batches: file and record of each row, and a digest of all arrays."""
    batches = itertools.islice(loader.repeat(), FOLLOWING)
    return [_describe(loader.blobs, batch) for batch in batches]


# ---- Files ---------------------------------------------------------------------------------------


def _mini(folder: Path, counts: tuple[int, ...] = (11, 0, 13, 5)) -> str:
    folder.mkdir(exist_ok=True)
    first = 0
    for part, count in enumerate(counts):
        lines = [f"{i},{i / 8}\n" for i in range(first, first + count)]
        (folder / f"part-{part}").write_text("".join(lines), newline="")
        first += count
    return str(folder)


def _text(folder: Path) -> list[str]:
    for name, count in (("a.txt", 23), ("b.txt", 18)):
        lines = [f"{name} {'x' * (i % 5)} {i}\n" for i in range(count)]
        (folder / name).write_text("a head\n" + "".join(lines), newline="")
    return [str(folder / "b.txt"), str(folder / "a.txt")]


def _csv(folder: Path) -> str:
    flags = ["true", "false"]
    rows = [f'{i},{i / 4},"say ""{i}"",\nor so",{flags[i % 3 > 1]}\n' for i in range(31)]
    (folder / "table.csv").write_text("key,value,text,flag\n" + "".join(rows), newline="")
    return str(folder / "table.csv")


def _npy(path: Path, values: np.ndarray) -> str:
    """A file of version 1.0, its header padded as NumPy pads it today."""
    dtype, shape = values.dtype.newbyteorder("<").str, values.shape
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    head = head.ljust((len(head) + 1 + 10 + 63) // 64 * 64 - 11) + b"\n"
    path.write_bytes(
        b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + values.astype(dtype).tobytes()
    )
    return str(path)


def _examples(first: int, count: int) -> list[bytes]:
    return [
        tfrecords.example(
            x=tfrecords.floats(i / 2, -i), n=tfrecords.ints(*range(i, i + i % 4))
        )
        for i in range(first, first + count)
    ]


def _damaged_records(folder: Path) -> str:
    """Three of 26 records have a byte of their data changed."""
    frames = [tfrecords.framed(record) for record in _examples(0, 26)]
    for at in (4, 5, 17):
        frames[at] = frames[at][:14] + bytes([frames[at][14] ^ 1]) + frames[at][15:]
    (folder / "a.tfrecord").write_bytes(b"".join(frames))
    return str(folder / "a.tfrecord")


# ---- Loaders -------------------------------------------------------------------------------------

NEW_ORDERS: dict[str, Any] = {"random_shuffle": True, "shuffle_after_epoch": True, "seed": 7}
TF_FEATURES = ["x:float32[2]", "n:int64[?]"]


def mini(folder: Path, **attrs: Any) -> Blobs:
    return flow.MiniReader(_mini(folder), **{"batch_size": 4, "with_id": True, **attrs})


def drawn_seed(folder: Path) -> Blobs:
    return mini(folder, random_shuffle=True, shuffle_after_epoch=True)


def text_windows(folder: Path) -> Blobs:
    return flow.TextLineReader(
        files=_text(folder), skip_header_lines=1, batch_size=3, with_id=True, shuffle="window",
        shuffle_block_size=4, shuffle_window=3, shuffle_after_epoch=True, seed=11,
    )  # fmt: skip


def csv(folder: Path) -> Blobs:
    return flow.CSVReader(
        files=_csv(folder), columns=["key:int32", "value", "text:bytes", "flag:bool"],
        multiline=True, batch_size=5, last_batch="drop", random_shuffle=True, seed=2**62,
        with_id=True,
    )  # fmt: skip


def tfrecord_buffer(folder: Path) -> Blobs:
    for part, (first, count) in enumerate([(0, 17), (17, 12)]):
        data = b"".join(map(tfrecords.framed, _examples(first, count)))
        (folder / f"part-{part}").write_bytes(stored.gzip(data))
    record, ids = flow.TFRecordReader(
        str(folder), compression="gzip", shuffle="buffer", shuffle_buffer_size=9,
        shuffle_after_epoch=True, seed=3, batch_size=4, with_id=True,
    )  # fmt: skip
    return (*flow.ExampleDecoder(record, features=TF_FEATURES), ids)


def npy(folder: Path) -> Blobs:
    values = np.arange(21 * 6, dtype=np.float32).reshape(21, 2, 3) / 8
    files = [_npy(folder / "a.npy", values[:13]), _npy(folder / "b.npy", values[13:])]
    return flow.NpyReader(
        files=files, batch_size=4, last_batch="pad", with_mask=True, with_id=True, **NEW_ORDERS
    )


def zipped(folder: Path) -> Blobs:
    attrs: dict[str, Any] = {"batch_size": 4, "order_key": "pair", **NEW_ORDERS}
    labels = _npy(folder / "labels.npy", np.arange(35, dtype=np.int16))
    return (
        *flow.MiniReader(_mini(folder / "rows"), with_id=True, **attrs),
        *flow.NpyReader(files=labels, name="labels", with_id=True, **attrs),
    )


def mini_padded(folder: Path) -> Blobs:
    return mini(
        folder, batch_size=6, last_batch="pad", world_size=2, rank=1, with_mask=True, **NEW_ORDERS
    )


def text_wrapped(folder: Path) -> Blobs:
    return flow.TextLineReader(
        files=_text(folder), batch_size=6, last_batch="wrap", with_mask=True, with_id=True,
        **NEW_ORDERS,
    )


def damaged(folder: Path, **attrs: Any) -> Blobs:
    *records, ids = flow.TFRecordReader(
        files=_damaged_records(folder), batch_size=4, with_id=True, **attrs, **NEW_ORDERS
    )
    return (*flow.ExampleDecoder(records[0], features=TF_FEATURES), *records[1:], ids)


def skipped(folder: Path) -> Blobs:
    return damaged(folder, on_error="skip", max_errors=5)


def skipped_and_padded(folder: Path) -> Blobs:
    return damaged(folder, on_error="pad", with_mask=True)


def many_readers(folder: Path) -> Blobs:
    """More than fit into a state in words: it has their hashes."""
    readers = [
        mini(folder / str(i), name=f"a_reader_with_a_long_name_{i}", order_key="k" * 40,
             **{**NEW_ORDERS, "seed": i})
        for i in range(9)
        if not (folder / str(i)).mkdir()
    ]  # fmt: skip
    return tuple(blob for blobs in readers for blob in blobs)


def grouped(folder: Path) -> Blobs:
    (folder / "part-0").write_text("\n".join(f"{i * i % 11},{i}" for i in range(97)), newline="")
    return flow.GroupedReader(
        str(folder), batch_size=5, group_buffer_size=20, last_batch="pad", with_mask=True,
        with_id=True, **NEW_ORDERS,
    )


def objects(folder: Path) -> Blobs:
    return flow.GeneratorReader(
        [{"x": i, "name": f"no. {i}"} for i in range(33)], fields=["x:int64", "name:bytes"],
        batch_size=4, with_id=True, **NEW_ORDERS,
    )


def idx(folder: Path) -> Blobs:
    images = np.arange(25 * 12, dtype=np.uint16).astype(np.uint8).reshape(25, 3, 4)
    (folder / "images").write_bytes(flat_files.idx(images))
    (folder / "labels").write_bytes(flat_files.idx(np.arange(25, dtype=np.int32)))
    return flow.IDXReader(
        files="images", labels="labels", batch_size=4, with_id=True, **NEW_ORDERS
    )  # a state has the path of the labels as it is given: so relative to the folder


def cifar(folder: Path) -> Blobs:
    images = (np.arange(7 * 3072) % 251).astype(np.uint8).reshape(7, 3, 32, 32)
    (folder / "train.bin").write_bytes(flat_files.cifar(images, np.arange(7), np.arange(7) * 9))
    return flow.CIFARReader(
        files=str(folder / "train.bin"), with_coarse_label=True, layout="HWC", batch_size=2,
        with_id=True, **NEW_ORDERS,
    )


def raw(folder: Path) -> Blobs:
    (folder / "rows.raw").write_bytes(b"head" + np.arange(22 * 6, dtype=">i2").tobytes())
    return flow.RawReader(
        files=str(folder / "rows.raw"), shape=(2, 3), dtype="int16", byte_order="big",
        header_bytes=4, batch_size=4, with_id=True, **NEW_ORDERS,
    )


def tar(folder: Path) -> Blobs:
    return flow.TarReader(
        files=str(FIXTURES / "webdataset" / "written.tar"), fields=["key=__key__"], batch_size=4,
        with_id=True, **NEW_ORDERS,
    )


def mds(folder: Path) -> Blobs:
    samples = mds_files.small_samples(19)
    index = mds_files.write(folder, mds_files.SMALL, [samples[:12], samples[12:]])
    return flow.MDSReader(files=str(index), batch_size=4, with_id=True, **NEW_ORDERS)


def mindrecord(folder: Path) -> Blobs:
    shard = mindrecord_files.small_file(folder)
    return flow.MindRecordReader(files=str(shard), batch_size=3, with_id=True, **NEW_ORDERS)


def megatron(folder: Path) -> Blobs:
    return flow.MegatronReader(
        files=str(FIXTURES / "megatron" / "uint16.bin"), batch_size=4, with_id=True, **NEW_ORDERS
    )


def gpt(folder: Path) -> Blobs:
    return flow.GPTReader(
        files=str(FIXTURES / "megatron" / "uint16.bin"), seq_length=16, batch_size=4, with_id=True,
        **NEW_ORDERS,
    )


def gpt_of_megatron(folder: Path) -> Blobs:
    return flow.GPTReader(
        files=str(FIXTURES / "megatron" / "uint16.bin"), seq_length=16, order="megatron",
        num_samples=60, split=[80, 20], seed=5, batch_size=4, with_id=True,
    )


def ofrecord(folder: Path) -> Blobs:
    record, ids = flow.OFRecordReader(
        files=str(FIXTURES / "protobuf" / "packed.ofrecord"), batch_size=3, with_id=True,
        **NEW_ORDERS,
    )
    return flow.OFRecordBytesDecoder(record, blob_name="image"), ids


def onerec(folder: Path) -> Blobs:
    record, ids = flow.OneRecReader(
        files=str(FIXTURES / "flatbuffers" / "features.onerec"), batch_size=3, with_id=True,
        **NEW_ORDERS,
    )
    return flow.OneRecDecoder(record, features=["ids:int64[?]", "odd:int32=-1"])[0], ids


def mini_shuffled(folder: Path) -> Blobs:
    return mini(folder, **NEW_ORDERS)


def mini_in_order(folder: Path) -> Blobs:
    return mini(folder, seed=5)


CASES = {
    "mini-shuffled": Case(mini_shuffled, steps=12),
    "mini-in-order": Case(mini_in_order, steps=3),
    "drawn-seed": Case(drawn_seed, steps=10, has_seed=False),
    "text-windows": Case(text_windows, steps=5),
    "csv": Case(csv, steps=2),
    "tfrecord-gzip-buffer": Case(tfrecord_buffer, steps=4),
    "npy-pad": Case(npy, steps=3),
    "zipped": Case(zipped, steps=4, options={"zip": "shortest"}),
    "mini-pad-rank-1-of-2": Case(mini_padded, steps=2),
    "text-wrap": Case(text_wrapped, steps=4),
    "tfrecord-skip": Case(skipped, steps=3),
    "tfrecord-damaged-pad": Case(skipped_and_padded, steps=3),
    "many-readers": Case(many_readers, steps=5),
    "grouped": Case(grouped, steps=6),
    "objects": Case(objects, steps=4),
    "idx": Case(idx, steps=3),
    "cifar": Case(cifar, steps=2),
    "raw": Case(raw, steps=3),
    "tar": Case(tar, steps=1),
    "mds": Case(mds, steps=2),
    "mindrecord": Case(mindrecord, steps=1),
    "megatron": Case(megatron, steps=5),
    "gpt": Case(gpt, steps=5),
    "gpt-order-of-megatron": Case(gpt_of_megatron, steps=5),
    "ofrecord": Case(ofrecord, steps=1),
    "onerec": Case(onerec, steps=1),
}


def record(case: Case) -> str:
    """The fixture of a case, a line for each batch."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        return _record(case, Path(folder))


def _record(case: Case, folder: Path) -> str:
    with open_case(case, folder) as loader:
        for _ in itertools.islice(loader.repeat(), case.steps):
            pass
        state = json.dumps(loader.state_dict(), indent=1)
        lines = ",\n".join(json.dumps(one) for one in following(loader))
    return f'{{"state": {state},\n"following": [\n{lines}\n]}}\n'


def main(names: list[str]) -> None:
    os.environ.setdefault("PYFLOWDATA_INDEX_DIR", "none")
    with tempfile.TemporaryDirectory() as folder:
        plugin_sources.load_test_ops(Path(folder))
        for name in names or CASES:
            (STATES / f"{name}.json").write_text(record(CASES[name]))
    print(f"recorded with {Path(flow.__file__).parent}")


if __name__ == "__main__":
    main(sys.argv[1:])
