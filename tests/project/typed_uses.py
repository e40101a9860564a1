"""What type checkers make of the public names: mypy and Pyright check it, and nobody runs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyflowdata as flow
from numpy.typing import NDArray
from typing_extensions import assert_type

if TYPE_CHECKING:
    from pyflowdata.ops import Blobs


def ops(flag: bool, data: flow.Dataset) -> None:
    record = flow.MiniReader("data", batch_size=6)
    assert_type(record, flow.Blob)
    assert_type(flow.MiniDecoder(record), tuple[flow.Blob, flow.Blob])
    x, label = flow.ExampleDecoder(record, features=["x:float32[4]", "label:int64"])
    alone = flow.ExampleDecoder(record, features=["x:float32[4]"])
    both = flow.Concat(alone, alone.is_ragged and x or label)
    mean, std = np.ones(4), np.ones(4)
    assert_type(flow.Affine(alone, scale=1 / std, shift=-mean / std), flow.Blob)
    assert_type(both, flow.Blob)
    image, number = flow.ImageFolderReader("photos")
    _, _, mask = flow.ImageFolderReader("photos", with_mask=True)
    assert_type((image, number, mask), tuple[flow.Blob, flow.Blob, flow.Blob])
    chosen = flow.MiniReader("data", with_mask=flag)
    assert_type(chosen, "Blobs")
    rows, is_real = chosen
    flow.MiniDecoder(chosen)
    flow.MiniDecoder(rows)
    xs, ys = data.batch(8)
    assert_type(data.batch(8)["x"], flow.Blob)
    for blob in data.batch(8)[["x", "y"]]:
        assert_type(blob, flow.Blob)
    flow.DataLoader(xs, ys, is_real)


def on_rows(pixels: NDArray[np.uint8]) -> None:
    assert_type(flow.OneHot(3, depth=5), NDArray[Any])
    assert_type(flow.OneHot([3, 4], depth=5), list[NDArray[Any]])
    assert_type(flow.Resize(pixels, size=(8, 8)), NDArray[Any])


def loaders(x: flow.Blob, y: flow.Blob, data: flow.Dataset) -> None:
    for one in flow.DataLoader(x):
        assert_type(one, NDArray[Any])
        if isinstance(one, flow.Ragged):
            one.lengths.sum()
        one = one.reshape(-1, 2)
    for x_batch, y_batch in flow.DataLoader(x, y):
        assert_type(np.concatenate([x_batch, y_batch]).ndim, int)
    for batch in flow.DataLoader({"x": x, "y": y}):
        assert_type(batch, dict[str, NDArray[Any]])
        print(batch["x"].shape)
    for columns in flow.DataLoader(data.batch(8)):
        assert_type(columns, tuple[NDArray[Any], ...])
    wide: flow.DataLoader[Sequence[object]] = flow.DataLoader(x, y)
    print(wide.state_dict())


@flow.register_decoder(outputs={"out": "float32"})
def scaled(x: NDArray[np.float32], *, scale: float = 1.0) -> NDArray[np.float32]:
    return np.multiply(x, scale, dtype=np.float32)


def python_ops(x: flow.Blob) -> None:
    blob = scaled(x, scale=2.0)
    flow.DataLoader(blob)
    first, second = scaled(x, name="several")
    assert_type((first, second), tuple[flow.Blob, flow.Blob])
    assert_type(scaled.function(np.zeros(3, np.float32)), NDArray[np.float32])
    assert_type(scaled.__name__, str)


def records(data: flow.Dataset) -> None:
    longer = data.map(lambda r: {**r, "n": len(r["text"])}, outputs={"n": "int64"})
    assert_type(longer.filter(lambda r: r["n"] > 3).enumerate(), flow.Dataset)
    columns = data.map(lambda r, i: {"n": r["x"] + i}, batched=100, with_index=True, processes=2)
    assert_type(columns.project(["n"]).rename({"n": "m"}).drop("x"), flow.Dataset)


def regrouped(data: flow.Dataset) -> None:
    parts = data.explode(lambda r: [{"c": one} for one in r["x"]], outputs={"c": "int64"})
    assert_type(parts.flat_map(lambda r: [r], processes=2), flow.Dataset)
    assert_type(data.explode(["tags", "boxes"]).windows(3, step=1, key="video"), flow.Dataset)
    assert_type(data.windows(3, last="pad", padding={"x": 1}, mask="m"), flow.Dataset)
    assert_type(data.group_by(["user", "day"]), flow.Dataset)
    assert_type(data.distinct("user"), flow.Dataset)
    assert_type(flow.open("a.parquet", fields=["n:int64=0", ...]), flow.Dataset)


def ragged(rows: flow.Ragged) -> None:
    assert_type(np.asarray(rows), NDArray[Any])
    assert_type(rows.tolist(), list[Any])


def small_words(data: flow.Dataset, truths: NDArray[np.bool_]) -> None:
    first, second = data.split([0.9, 0.1], stratify="label")
    assert_type(data.folds(5)[0], tuple[flow.Dataset, flow.Dataset])
    assert_type(data.split({"train": 0.9, "val": 0.1})["val"], flow.Dataset)
    assert_type(flow.leaks(first, second, key=["user"]), flow.Leaks)
    assert_type(data.where(truths).sort("x", reverse=True).shard(2, 0).repeat(), flow.Dataset)
    assert_type(data.select(number for number in (1, 2)), flow.Dataset)
    assert_type(flow.range(10).to_numpy(3), dict[str, Any])
    values: NDArray[Any] = data["x"][:5]
    flow.Affine(data["x"], scale=float(values[0]))
