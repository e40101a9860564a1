"""Random pipelines of views: the same seed makes the same files, the same data set, and its model.

A pipeline is a data set of up to three levels over small files of several formats, with ops between
views, random ones too, then batches.  Each record has values of its own.
"""

from __future__ import annotations

import bisect
import itertools
import os
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import pyflowdata as flow
from support.views import pack_model
from support.views import view_model as model
from support.views.bucket_model import BucketModel
from formats.mds import mds_files
from formats.tfrecord import tfrecords
from pyflowdata.datasets.base import named_view, several_view
from pyflowdata.nodes.tables import Table

Type = tuple[str, tuple[int, ...]]  # dtype, shape with -1 where it varies
Schema = Mapping[str, Type]

V: Schema = {"v": ("float64", (2,))}
N: Schema = {"n": ("int64", ())}
T: Schema = {"t": ("uint8", (-1,))}
NT: Schema = {**N, **T}
NS: Schema = {**N, "s": ("int64", (-1,))}
F: Schema = {"f": ("float64", ())}  # what a view makes of V, and of T
P: Schema = {"p": ("uint8", (12,)), "segment_ids": ("int32", (12,))}
W: Schema = {"w": ("float64", (3, 2)), "m": ("bool", (3,))}  # windows of V
G: Schema = {"g": ("int64", (-1,))}  # runs of N
E: Schema = {"n": ("int64", ()), "e": ("int64", ())}  # elements of NS
SCHEMAS = (V, N, T, NT, NS, F, P, W, G, E)
MADE = (F, P, W, G, E)  # no format has them: views make them

WORLD_SIZES = (1, 3, 8)
BATCH_SIZES = (24, 24, 24, 48, 1, 2, 3, 4, 6, 8, 16)  # not all world sizes divide all of them


class Made(NamedTuple):
    """A data set, its definition, and how many records it has."""

    data: flow.Dataset
    node: model.Node
    size: int
    schema: Schema


def _view(op: str, of: Made, **attrs: Any) -> flow.Dataset:
    return flow.Dataset(named_view(op, of.data.blobs, attrs))


class Pipeline(NamedTuple):
    """`blobs(rank, world_size)` are those of a loader, by name."""

    blobs: Callable[[int, int], dict[str, flow.Blob]]
    model: model.Model
    schema: Schema
    batching: model.Batching
    text: str  # what it is, for messages
    raises: bool  # some records are damaged, and that is an error of their batch


# ---- Values and files ----------------------------------------------------------------------------


def values_of(schema: Schema, number: int) -> dict[str, np.ndarray]:
    """The fields of a record; whole numbers over 8, which every format keeps exactly."""
    made = {
        "v": np.array([number / 8, number * -1.5]),
        "n": np.int64(number),
        "t": np.frombuffer(b"%d:%s" % (number, b"x" * (number % 5)), np.uint8),
        "s": np.arange(number, number + number % 4, dtype=np.int64),
    }
    return {name: np.asarray(made[name]) for name in schema}


def _num_parts(v: np.ndarray) -> int:
    return int(abs(v[0]) * 8) % 3


def _parts_of(record):
    for i in range(_num_parts(record["v"])):
        yield {"f": record["v"][0] + i}


Rows = Sequence[Mapping[str, np.ndarray]]


def _csv(path: Path, rows: Rows, damage: Mapping[int, str]) -> None:
    lines = []
    for i, row in enumerate(rows):
        cells = []
        for name, value in row.items():
            cells += [bytes(value).decode()] if name == "t" else map(repr, value.ravel().tolist())
        cells[0] = "?" if i in damage else cells[0]
        lines.append(",".join(cells) + "\n")
    path.write_text("".join(lines))


def _tfrecord(path: Path, rows: Rows, damage: Mapping[int, str]) -> None:
    frames = []
    for i, row in enumerate(rows):
        features = {
            "v": lambda value: tfrecords.floats(*value.tolist()),
            "n": lambda value: tfrecords.ints(int(value)),
            "t": lambda value: tfrecords.strings(bytes(value)),
            "s": lambda value: tfrecords.ints(*value.tolist()),
        }
        frame = tfrecords.framed(
            tfrecords.example(**{name: features[name](value) for name, value in row.items()})
        )
        if i in damage:
            frame = frame[:-1] + bytes([frame[-1] ^ 1])  # in the checksum
        frames.append(frame)
    path.write_bytes(b"".join(frames))


def _mds(folder: Path, schema: Schema, shards: Sequence[Rows]) -> Path:
    columns: mds_files.Columns = {"n": ("int", 8), "t": ("bytes", None)}
    used = {name: columns[name] for name in schema}
    samples = [
        [[struct.pack("<q", row["n"]) if name == "n" else bytes(row["t"]) for name in used]
         for row in rows]
        for rows in shards
    ]  # fmt: skip
    return mds_files.write(folder, used, samples)


def _arrow_table(schema: Schema, rows: Rows) -> Any:
    import pyarrow as pa

    types = {"v": pa.list_(pa.float64()), "n": pa.int64(), "t": pa.binary(),
             "s": pa.list_(pa.int64())}  # fmt: skip
    columns = {
        name: [bytes(row[name]) if name == "t" else row[name].tolist() for row in rows]
        for name in schema
    }
    return pa.table(columns, pa.schema([(name, types[name]) for name in schema]))


def _blocks(path: Path, schema: Schema, format_: str, rows: Rows) -> list[int]:
    """Compressed record batches, or row groups, of up to 4 records; the sizes of the groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = _arrow_table(schema, rows)
    if format_ == "parquet":
        pq.write_table(table, path, row_group_size=4)
        facts = pq.read_metadata(path)
        return [facts.row_group(i).num_rows for i in range(facts.num_row_groups)]
    options = pa.ipc.IpcWriteOptions(compression="zstd" if len(rows) % 2 else "lz4")
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=4)
    return []


FORMATS: dict[str, tuple[Schema, ...]] = {
    "mini": (V,),
    "npy": (V, N),
    "raw": (V, N),
    "csv": (V, N, T, NT),
    "tfrecord": (V, N, T, NT, NS),
    "mds": (N, T, NT),
    "text": (T,),
    "arrow": (V, N, T, NT, NS),
    "parquet": (V, N, T, NT, NS),
}
if "tsan" in os.environ.get("PYFLOWDATA_LIBRARY", ""):  # pyarrow has threads of its own
    FORMATS = {name: FORMATS[name] for name in FORMATS if name not in ("arrow", "parquet")}
CAN_BE_DAMAGED = ("csv", "tfrecord")


def _blobs(schema: Schema, format_: str, files: list[str]) -> dict[str, flow.Blob]:
    """The fields of files, without flow.open: by the readers themselves."""
    if format_ == "mini":
        return {"v": flow.MiniReader(files=files)}
    if format_ == "npy":
        return {name: flow.NpyReader(files=files) for name in schema}
    if format_ == "raw":
        ((name, (dtype, shape)),) = schema.items()
        return {name: flow.RawReader(files=files, dtype=dtype, shape=list(shape))}
    if format_ == "text":
        return {"t": flow.TextLineReader(files=files)}
    if format_ in ("arrow", "parquet"):
        columns = {"v": "v:float64[2]", "n": "n:int64", "t": "t:bytes", "s": "s:int64[?]"}
        reader = flow.ArrowReader if format_ == "arrow" else flow.ParquetReader
        blobs = reader(files=files, columns=[columns[name] for name in schema])
    elif format_ == "csv":
        columns = {"v": "v=0|1:float64", "n": "n=0:int64", "t": f"t={len(schema) - 1}:bytes"}
        blobs = flow.CSVReader(files=files, columns=[columns[name] for name in schema])
    elif format_ == "tfrecord":
        features = {"v": "v:float32[2]", "n": "n:int64", "t": "t:bytes", "s": "s:int64[?]"}
        rows = flow.TFRecordReader(files=files)
        blobs = flow.ExampleDecoder(rows, features=[features[name] for name in schema])
    else:
        columns = {"n": "n:int64", "t": "t:bytes"}
        blobs = flow.MDSReader(files=files, columns=[columns[name] for name in schema])
    blobs = blobs if isinstance(blobs, tuple) else (blobs,)
    named = dict(zip(schema, blobs, strict=True))
    if format_ == "tfrecord" and "v" in schema:
        named["v"] = flow.Cast(named["v"], dtype="float64")
    return named


def file_name(first: int, format_: str, number: int) -> str:
    return f"{first}-{format_}-{number}"


def write_source(
    folder: Path, schema: Schema, format_: str, counts: Sequence[int], first: int,
    damage: Mapping[int, str],
) -> tuple[flow.Dataset, list[int]]:  # fmt: skip
    """Records first, first + 1 ... in a file for each count; damage by record.  Also the sizes of
    the blocks that the source has."""
    files, begin, blocks = [], 0, []
    shards = []
    for i, count in enumerate(counts):
        rows = [values_of(schema, first + begin + k) for k in range(count)]
        own = {k - begin: damage[k] for k in damage if begin <= k < begin + count}
        path = folder / file_name(first, format_, i)
        path.parent.mkdir(exist_ok=True)
        if format_ == "csv":
            _csv(path, rows, own)
        elif format_ == "mini":
            path.write_text("".join("{!r},{!r}\n".format(*row["v"].tolist()) for row in rows))
        elif format_ == "tfrecord":
            _tfrecord(path, rows, own)
        elif format_ == "text":
            path.write_bytes(b"".join(bytes(row["t"]) + b"\n" for row in rows))
        elif format_ in ("arrow", "parquet"):
            blocks += _blocks(path, schema, format_, rows)
        elif format_ in ("npy", "raw"):
            ((name, (dtype, shape)),) = schema.items()
            array = np.array([row[name] for row in rows], dtype).reshape(count, *shape)
            with path.open("wb") as file:
                np.save(file, array) if format_ == "npy" else file.write(array.tobytes())
        files.append(str(path))
        shards.append(rows)
        begin += count
    if format_ == "mds":
        index = folder / f"{first}-mds"
        index.mkdir()
        files = [str(_mds(index, schema, shards))]
    return flow.Dataset(_blobs(schema, format_, files)), blocks


# ---- Pipelines -----------------------------------------------------------------------------------


class Generator:
    """Makes one pipeline; with `changes` its outermost view is a mix, whose weights change at some
    rows, and are drawn from these numbers."""

    def __init__(self, seed: int, folder: Path, changes: Mapping[int, int] | None) -> None:
        self.rng = random.Random(seed)
        self.folder, self.changes = folder, changes
        self.seed = self.rng.choice((0, 7, 2**40 + 3))
        self.num_sources = self.num_flips = 0
        self.made: list[Made] = []
        self.is_steady = False  # orders must not depend on which views are around them
        self.is_fixed = False  # nor on the epoch
        self.may_damage = self.rng.random() < 0.6
        self.has_damage = False
        self.words: list[str] = []

    # ---- Sources ------------------------------------------------------------------------------

    def source(self, schema: Schema) -> Made:
        rng = self.rng
        format_ = rng.choice([name for name in FORMATS if schema in FORMATS[name]])
        counts = [rng.choice((0, 1, 2, 5, 9, 14)) for _ in range(rng.randint(1, 3))]
        counts[rng.randrange(len(counts))] = rng.randint(1, 20)
        size, first = sum(counts), 1000 * self.num_sources
        self.num_sources += 1
        damage: dict[int, str] = {}
        is_text = format_ == "csv" and "t" in schema and len(schema) == 1
        if self.may_damage and format_ in CAN_BE_DAMAGED and not is_text and rng.random() < 0.5:
            ends = list(itertools.accumulate(counts))
            for k in rng.sample(range(size), rng.randint(0, min(2, size))):
                damage[k] = file_name(first, format_, bisect.bisect_right(ends, k))
            self.has_damage = True
        data, blocks = write_source(self.folder, schema, format_, counts, first, damage)
        if format_ == "mds":
            counts = [0, *counts]  # the index is a file, too
        rows = [values_of(schema, first + k) for k in range(size)]
        columns = {name: [row[name] for row in rows] for name in schema}
        self.words.append(f"{format_}{counts}")
        return Made(data, model.Source(counts, columns, damage, blocks), size, schema)

    # ---- Views --------------------------------------------------------------------------------

    def make(self, schema: Schema, depth: int, *, at_top: bool = False) -> Made:
        if schema in MADE and (depth < 2 or self.rng.random() < 0.3):
            kinds = {"f": [self.divide, self.parts], "p": [self.pack], "w": [self.windows],
                     "g": [self.runs], "n": [self.elements]}[next(iter(schema))]  # fmt: skip
            return self.rng.choice(kinds)(max(0, depth - 1))
        if depth == 0:
            source = self.source(schema)
            return self.with_ops(source) if self.rng.random() < 0.3 else source
        known = [made for made in self.made if made.schema is schema]
        if known and self.rng.random() < 0.2:
            self.words.append("again")
            return self.rng.choice(known)
        kinds = [self.cache] if depth < 3 and not self.is_steady else []
        kinds += [self.of_one] * 6 + [self.concat] * 2 + [self.ops] * 2
        kinds += [] if self.is_fixed else [self.mix] * 3
        if schema in (NT, NS):
            kinds += [self.zip] * 4
        kind = self.mix if at_top and self.changes is not None else self.rng.choice(kinds)
        made = kind(schema, depth, at_top)
        self.made.append(made)
        return made

    def of_one(self, schema: Schema, depth: int, at_top: bool) -> Made:
        inner = self.make(schema, depth - 1)
        views = [self.take, self.skip, self.slice, self.repeat, self.shuffle, self.select,
                 self.bitmap, self.split, self.weighted_sample, self.weighted_shuffle,
                 self.class_sample, self.repeat_factor, self.flat, self.explode]  # fmt: skip
        if self.is_steady:
            views = [self.take, self.skip, self.slice, self.repeat, self.shuffle, self.select,
                     self.bitmap, self.split, self.flat, self.explode]  # fmt: skip
        view = self.rng.choice(views)
        self.words.append(view.__name__)
        return view(inner)

    def _made(self, inner: Made, data: flow.Dataset, node: model.Node) -> Made:
        opened = node.open(model.Opening(0), [0])
        return Made(data, node, opened.size, inner.schema)

    def take(self, of: Made) -> Made:
        count = self.rng.randint(1, of.size + 3)
        return self._made(of, of.data.take(count), model.take(of.node, count))

    def skip(self, of: Made) -> Made:
        count = self.rng.randint(0, of.size - 1)
        return self._made(of, of.data.skip(count), model.skip(of.node, count))

    def slice(self, of: Made) -> Made:
        begin, end = (self.rng.choice((None, self.rng.randint(-of.size - 2, of.size + 2)))
                      for _ in range(2))  # fmt: skip
        step = self.rng.choice((None, 1, 2, 3, -1, -2))
        if not range(of.size)[begin:end:step]:
            begin = end = None
        return self._made(of, of.data[begin:end:step], model.cut(of.node, begin, end, step))

    def repeat(self, of: Made) -> Made:
        times = self.rng.randint(1, 4)
        if times <= 3:
            return self._made(of, of.data.repeat(times), model.Repeat(of.node, times))
        count = self.rng.randint(1, 3 * of.size)  # of those without end
        node = model.take(model.Repeat(of.node, 2**62 // of.size), count)
        return self._made(of, of.data.repeat().take(count), node)

    def _seed(self) -> int:
        return self.rng.choice((-1, -1, 5))

    def shuffle(self, of: Made) -> Made:
        keys = ("key",) if self.is_steady else ("", "key")
        attrs = {"seed": self._seed(), "order_key": self.rng.choice(keys),
                 "reshuffle": self.rng.random() < 0.8}  # fmt: skip
        if self.is_fixed:
            attrs |= {"seed": 5, "reshuffle": False}
        data = _view("ShuffleDataset", of, **attrs)
        return self._made(of, data, model.Shuffle(of.node, **attrs))

    def select(self, of: Made) -> Made:
        indexes = [self.rng.randrange(of.size) for _ in range(self.rng.randint(1, 20))]
        if self.rng.random() < 0.5:
            indexes = list(dict.fromkeys(indexes))
        dtype = self.rng.choice(("int32", "uint32", "int64"))
        data = _view("SelectDataset", of, table=Table(np.array(indexes, dtype)))
        return self._made(of, data, model.Select(of.node, indexes))

    def bitmap(self, of: Made) -> Made:
        bits = [self.rng.random() < 0.7 for _ in range(of.size)]
        bits[self.rng.randrange(of.size)] = True
        words = [sum(bit << i for i, bit in enumerate(bits[k : k + 64]))
                 for k in range(0, of.size, 64)]  # fmt: skip
        data = _view("SelectDataset", of, table=Table(np.array(words, np.uint64)))
        return self._made(of, data, model.select_bits(of.node, bits))

    def split(self, of: Made) -> Made:
        parts = self.rng.choice(((8, 8), (12, 4), (5, 5, 6), (1, 15)))
        fractions = [Fraction(part, 16) for part in parts]
        made = [
            self._made(of, _view("SplitDataset", of, fractions=[part / 16 for part in parts],
                                 part=i), model.split(of.node, fractions, i))
            for i in range(len(parts))
        ]  # fmt: skip
        return self.rng.choice([part for part in made if part.size])

    def _weights(self, n: int, most: int = 9) -> list[float]:
        weights = [self.rng.choice((0.0, 1.0, self.rng.uniform(0.1, most))) for _ in range(n)]
        weights[self.rng.randrange(n)] = 1.5
        return weights

    def weighted_sample(self, of: Made) -> Made:
        weights, seed = self._weights(of.size), self._seed()
        num_samples = self.rng.choice((0, self.rng.randint(1, 40)))
        data = _view("WeightedSampleDataset", of, weights=Table(np.array(weights)),
                     num_samples=num_samples, seed=seed)  # fmt: skip
        return self._made(of, data, model.WeightedSample(of.node, weights, num_samples, seed))

    def weighted_shuffle(self, of: Made) -> Made:
        weights, seed = self._weights(of.size), self._seed()
        most = sum(weight > 0 for weight in weights)
        num_samples = self.rng.choice((0, self.rng.randint(1, most)))
        data = _view("WeightedShuffleDataset", of, weights=Table(np.array(weights)),
                     num_samples=num_samples, seed=seed)  # fmt: skip
        return self._made(of, data, model.WeightedShuffle(of.node, weights, num_samples, seed))

    def repeat_factor(self, of: Made) -> Made:
        rng, seed = self.rng, self._seed()
        kinds = (lambda: rng.choice((0.0, 0.5, 1.0, 2.0)), lambda: rng.uniform(0, 3), lambda: 1.3)
        kind = rng.choice(kinds)
        factors = [kind() for _ in range(of.size)]
        factors[rng.randrange(of.size)] = 1.0
        data = _view("RepeatFactorDataset", of, factors=Table(np.array(factors)), seed=seed)
        return self._made(of, data, model.RepeatFactor(of.node, factors, seed))

    def class_sample(self, of: Made) -> Made:
        labels = [self.rng.randint(-2, 2) for _ in range(of.size)]
        drops = self.rng.random() < 0.3
        per_class = self.rng.randint(1, 3)
        sizes = [labels.count(label) for label in set(labels)]
        usable = sum(size >= per_class for size in sizes) if drops else len(sizes)
        if not usable:
            drops, usable = False, len(sizes)
        classes = self.rng.randint(0, usable)
        num_samples = self.rng.choice((0, 2, 5)) * (classes or usable) * per_class
        seed = self._seed()
        data = _view("ClassSampleDataset", of, labels=Table(np.array(labels, np.int64)),
                     classes=classes, per_class=per_class, num_samples=num_samples,
                     too_few="drop" if drops else "wrap", seed=seed)  # fmt: skip
        node = model.ClassSample(of.node, labels, classes, per_class, num_samples, drops, seed)
        return self._made(of, data, node)

    # ---- Views of several ---------------------------------------------------------------------

    def several(self, schema: Schema, depth: int) -> list[Made]:
        return [
            self.make(schema, self.rng.randint(0, depth - 1))
            for _ in range(self.rng.choice((1, 2, 2, 3, 4)))
        ]

    def concat(self, schema: Schema, depth: int, at_top: bool) -> Made:
        sources = self.several(schema, depth)
        data = sources[0].data.concat(*(made.data for made in sources[1:]))
        node = model.Concat([made.node for made in sources])
        self.words.append(f"concat{len(sources)}")
        return self._made(sources[0], data, node)

    def mix(self, schema: Schema, depth: int, at_top: bool) -> Made:
        sources = self.several(schema, depth)
        names = ("first_exhausted", "all_exhausted")
        stop, length = self.rng.choice(names), self.rng.choice((0, self.rng.randint(1, 60)))
        if at_top and self.changes is not None:
            length = 40  # else a change of weights would change it
        block, seed = self.rng.choice((1, 1, 2, 7)), self._seed()
        block = 1 if self.is_steady else block
        draws = random.Random(self.rng.random())
        weights = {0: self.weights_of_mix(draws, len(sources))}
        if length == 0 and stop == "first_exhausted":
            weights[0] = [1 + weight for weight in weights[0]]
        changes = self.changes or {} if at_top else {}
        for row in changes:
            weights[row] = self.weights_of_mix(random.Random(changes[row]), len(sources))
        sizes = [made.size for made in sources]
        repeats: list[float] = []
        if not changes and self.changes is None and self.rng.random() < 0.3:
            repeats = self.repeats_of_mix(sizes, weights[0], length)
        node = model.Mix([made.node for made in sources], weights, stop, length, block, seed,
                         repeats)  # fmt: skip
        given = {"weights": [weight for row in sorted(weights) for weight in weights[row]],
                 "segments": [row for row in sorted(weights) if row], "stop": stop,
                 "length": length, "seed": seed, "max_repeats": repeats}  # fmt: skip
        if block > 1:
            given |= {"interleave": "random", "block_size": block}
        data = type(sources[0].data)(
            several_view("MixDataset", [made.data.blobs for made in sources], given)
        )
        self.words.append(f"mix{len(sources)}")
        return self._made(sources[0], data, node)

    def repeats_of_mix(
        self, sizes: list[int], weights: list[float], length: int
    ) -> list[float]:
        """Limits that leave enough for an epoch; each source that is drawn has a record of it."""
        drawn = [s for s, weight in enumerate(weights) if weight]
        repeats: list[float] = [self.rng.choice((0, 1, 2, 3)) for _ in sizes]
        repeats[drawn[0]] = 0 if length else 1.5
        if sizes[drawn[0]] == 1 or (length and length < 20 * len(sizes)):
            return []
        return repeats

    # ---- Views that make rows of others -------------------------------------------------------

    def flat(self, of: Made) -> Made:
        fan_out = self.rng.randint(1, 3)
        data = _view("FlatDataset", of, fan_out=fan_out, divided=[])
        return self._made(of, data, model.Flat(of.node, fan_out, {}))

    def explode(self, of: Made) -> Made:
        counts = [self.rng.choice((0, 0, 1, 2, 3)) for _ in range(of.size)]
        counts[self.rng.randrange(of.size)] = 1
        dtype = self.rng.choice(("int32", "int64"))
        data = _view("ExplodeDataset", of, counts=Table(np.array(counts, dtype)), divided=[])
        return self._made(of, data, model.Explode(of.node, counts, lambda values, _: values))

    def elements(self, depth: int) -> Made:
        """The elements of a field, counted by the method of data sets."""
        of = self.lasting(NS, depth)
        opened = of.node.open(model.Opening(self.seed), [0])
        counts = [len(opened.at(0, i, 0).values["s"]) for i in range(of.size)]
        if not any(counts):
            more, its = self.source_with_elements()
            data, counts = of.data.concat(more.data), [*counts, *its]
            of = self._made(of, data, model.Concat([of.node, more.node]))
        data = of.data.rename(s="e").explode("e")
        node = model.Explode(of.node, counts, lambda values, i: {
            "n": values["n"], "e": np.asarray(values["s"][i])})  # fmt: skip
        self.words.append("elements")
        return self._made(of, data, node)._replace(schema=E)

    def source_with_elements(self) -> tuple[Made, list[int]]:
        first = 1000 * self.num_sources
        self.num_sources += 1
        data, _ = write_source(self.folder, NS, "tfrecord", [5], first, {})
        rows = [values_of(NS, first + k) for k in range(5)]
        columns = {name: [row[name] for row in rows] for name in NS}
        return (Made(data, model.Source([5], columns, {}), 5, NS), [len(row["s"]) for row in rows])

    def parts(self, depth: int) -> Made:
        """Rows that a function of records makes."""
        of = self.lasting(V, depth)
        opened = of.node.open(model.Opening(self.seed), [0])
        counts = [_num_parts(opened.at(0, i, 0).values["v"]) for i in range(of.size)]
        if not any(counts):
            return self.divided(of)
        data = of.data.explode(_parts_of, outputs={"f": "float64"}).project("f")
        node = model.Explode(of.node, counts, lambda values, i: {
            "f": np.asarray(values["v"][0] + i)})  # fmt: skip
        self.words.append("parts")
        return self._made(of, data, node)._replace(schema=F)

    def _runs(self, size: int) -> list[int]:
        return [0, *(i for i in range(1, size) if self.rng.random() < 0.3)]

    def windows(self, depth: int) -> Made:
        of = self.make(V, depth)
        runs = self._runs(of.size) if self.rng.random() < 0.5 else [0]
        step, last = self.rng.randint(1, 4), self.rng.choice(("drop", "pad"))
        found = model.windows_of(of.size, runs, 3, step, last)
        if not found:
            last, found = "pad", model.windows_of(of.size, runs, 3, step, "pad")
        attrs = {"length": 3, "step": 0 if step == 3 else step, "last": last, "kept": [],
                 "runs": Table(np.array(runs))}  # fmt: skip
        data = flow.Dataset(named_view("WindowDataset", {"w": of.data.blobs["v"]}, attrs, ["m"]))
        self.words.append("windows")
        node = model.Windows(of.node, found, {"v": "w"}, num_runs=len(runs), padded=3, mask="m")
        return self._made(of, data, node)._replace(schema=W)

    def runs(self, depth: int) -> Made:
        of = self.make(N, depth)
        runs, length = self._runs(of.size), self.rng.choice((0, 0, 2, 3))
        found = model.windows_of(of.size, runs, length, max(1, length), "short")
        attrs = {"length": length, "last": "short", "kept": [], "runs": Table(np.array(runs))}
        data = flow.Dataset(named_view("WindowDataset", {"g": of.data.blobs["n"]}, attrs))
        self.words.append("runs")
        node = model.Windows(of.node, found, {"n": "g"}, num_runs=len(runs))
        return self._made(of, data, node)._replace(schema=G)

    def divide(self, depth: int) -> Made:
        return self.divided(self.make(V, depth))

    def divided(self, of: Made) -> Made:
        given = {"fan_out": 2, "divided": [0]}
        data = flow.Dataset(named_view("FlatDataset", {"f": of.data.blobs["v"]}, given))
        self.words.append("divide")
        made = self._made(of, data, model.Flat(of.node, 2, {"v": "f"}))
        return made._replace(schema=F)

    def steady(self, schema: Schema, depth: int) -> Made:
        """A data set that is the same wherever it stands."""
        made, self.made = self.made, []
        was_steady, self.is_steady = self.is_steady, True
        of = self.make(schema, depth)
        self.made, self.is_steady = made, was_steady
        return of

    def lasting(self, schema: Schema, depth: int) -> Made:
        """A data set whose records can be looked at once for all epochs."""
        may_damage, self.may_damage = self.may_damage, False
        was_fixed, self.is_fixed = self.is_fixed, True
        of = self.steady(schema, depth)
        self.may_damage, self.is_fixed = may_damage, was_fixed
        return of

    def cache(self, schema: Schema, depth: int, at_top: bool) -> Made:
        """The records in a file that the first loader makes; it is a reader then."""
        of = self.lasting(schema, depth - 1)
        opened = of.node.open(model.Opening(self.seed), [0])
        rows = [opened.at(0, i, 0).values for i in range(of.size)]
        columns = {name: [row[name] for row in rows] for name in schema}
        data = of.data.cache(self.folder / "cache")
        self.words.append("cache")
        return Made(data, model.Source([of.size], columns, {}), of.size, schema)

    def pack(self, depth: int) -> Made:
        """Packs of records in the order of any views; their lengths are counted, or given."""
        is_counted = self.is_steady or self.rng.random() < 0.7
        made, may_damage, steady = self.made, self.may_damage, (self.is_steady, self.is_fixed)
        if is_counted:  # a damaged record has no length
            self.made, self.may_damage = [], False
        self.is_steady = self.is_fixed = False
        of = self.make(T, depth)
        self.made, self.may_damage, (self.is_steady, self.is_fixed) = made, may_damage, steady
        opened = of.node.open(model.Opening(model.PLANNED), [0])
        lengths = [len(opened.at(0, i, 0).values["t"]) for i in range(of.size)]
        rule = self.rng.choice(("best_fit", "chunk"))
        longer = self.rng.choice(("split", "truncate"))
        packs = (pack_model.chunks(lengths, 12) if rule == "chunk"
                 else pack_model.best_fit(lengths, 12, longer))  # fmt: skip
        data = flow.Dataset({"p": of.data["t"]}).pack(
            12, field="p", rule=rule, longer=longer, add="segment_ids",
            lengths=None if is_counted else lengths,
        )  # fmt: skip
        self.words.append("pack" if is_counted else "pack with lengths")
        made_of_it = self._made(of, data, model.Pack(of.node, packs, 12, "p"))
        return made_of_it._replace(schema=P)

    def weights_of_mix(self, rng: random.Random, n: int) -> list[float]:
        weights = [rng.choice((0.0, 1.0, 3.0, rng.uniform(0.5, 5))) for _ in range(n)]
        weights[rng.randrange(n)] = 1.0
        return weights

    def zip(self, schema: Schema, depth: int, at_top: bool) -> Made:
        names = list(schema)
        parts = [next(one for one in SCHEMAS if list(one) == [name]) if name != "s" else None
                 for name in names]  # fmt: skip
        if None in parts:  # nothing but one format has lists of numbers: beside them comes a text
            left = self.make(schema, depth - 1)
            return self._made(left, left.data.take(left.size), model.take(left.node, left.size))
        legs = [self.make(part, self.rng.randint(0, depth - 1)) for part in parts if part]
        least = min(leg.size for leg in legs)
        data = [leg.data.take(least) for leg in legs]
        nodes = [model.take(leg.node, least) for leg in legs]
        self.words.append("zip")
        made = Made(legs[0].data, legs[0].node, least, schema)
        return self._made(made, data[0].zip(*data[1:]), model.Zip(nodes))

    # ---- Ops ----------------------------------------------------------------------------------

    def ops(self, schema: Schema, depth: int, at_top: bool) -> Made:
        return self.with_ops(self.make(schema, depth - 1))

    def with_ops(self, inner: Made) -> Made:
        blobs: dict[str, flow.Blob] = {}
        formulas: dict[str, model.Formula] = {}
        for name in inner.schema:
            blobs[name], formulas[name] = self.op_on(name, inner.data.blob(name))
        self.words.append("ops")
        return self._made(inner, flow.Dataset(blobs), model.Ops(inner.node, formulas))

    def op_on(self, name: str, blob: flow.Blob) -> tuple[flow.Blob, model.Formula]:
        if name == "v" and not self.is_steady and self.rng.random() < 0.7:
            flip_name = f"flip{self.num_flips}"
            self.num_flips += 1
            flip = model.coin_flip(flip_name, 0.5, self.seed)
            flipped = flow.Cast(flow.CoinFlip(blob, name=flip_name), dtype="float64")
            return flow.Concat(flipped, flow.Slice(blob, start=[1], stop=[2])), (
                lambda values, drawn, epoch: np.array(
                    [float(flip(values, drawn, epoch)), values["v"][1]]
                )
            )
        if name == "v":
            return flow.Affine(blob, scale=2.0, shift=-1.0), lambda values, *_: (
                values["v"] * 2.0 - 1.0
            )
        if name == "f":
            return flow.Affine(blob, scale=2.0, shift=-1.0), lambda values, *_: (
                np.asarray(values["f"] * 2.0 - 1.0)
            )
        if name in (*P, *W, *G, "e"):
            return blob, lambda values, *_: values[name]
        if name == "n":
            return flow.Cast(flow.Affine(blob, scale=-1.0, shift=3.0), dtype="int64"), (
                lambda values, *_: np.asarray(3 - values["n"])
            )
        if name == "t":
            return flow.Slice(blob, start=[0], stop=[6]), lambda values, *_: values["t"][:6]
        return flow.Slice(blob, start=[1], stop=[9]), lambda values, *_: values["s"][1:9]

    # ---- Batches ------------------------------------------------------------------------------

    def pipeline(self) -> Pipeline:
        rng = self.rng
        schema = rng.choice((V, V, *SCHEMAS))
        made = self.make(schema, rng.choice((1, 2, 3, 3, 3)), at_top=True)
        shuffle = rng.choice(("none", "none", "global", "window"))
        shuffle = "none" if self.changes is not None else shuffle
        batching = model.Batching(
            batch_size=rng.choice(BATCH_SIZES),
            last=rng.choice(("short", "drop", "pad", "wrap")),
            seed=self.seed,
            on_error=rng.choice(("skip", "pad", "raise")) if self.has_damage else "raise",
            shuffle=shuffle,
            order_key="shuffle",
            reshuffle=rng.random() < 0.8,
            block_size=rng.randint(1, 6),
            window=rng.randint(1, 4),
        )
        divisors = [n for n in range(2, 9) if batching.batch_size % n == 0]
        batching = batching._replace(lanes=rng.choice((1, *divisors)))
        data = made.data
        if shuffle != "none":
            window = {"block_size": batching.block_size, "window": batching.window,
                      "lanes": batching.lanes}  # fmt: skip
            data = data.shuffle(kind=shuffle, reshuffle=batching.reshuffle,
                                **(window if shuffle == "window" else {}))  # fmt: skip

        text = " ".join(self.words)
        ragged = [name for name, (_, shape) in schema.items() if -1 in shape]
        if ragged and self.changes is None and rng.random() < 0.3:
            return self.buckets(made, batching, ragged[0], text)

        def blobs(rank: int, world_size: int) -> dict[str, flow.Blob]:
            return data.batch(batching.batch_size, last=batching.last, seed=self.seed, rank=rank,
                              world_size=world_size, with_mask=True, with_id=True,
                              on_error=batching.on_error, max_skipped=-1).blobs  # fmt: skip

        raises = self.has_damage and batching.on_error == "raise"
        batches = model.Model(made.node, batching, schema)
        return Pipeline(blobs, batches, schema, batching, text, raises)


    def buckets(
        self, made: Made, batching: model.Batching, field: str, text: str
    ) -> Pipeline:
        """Batches of records of similar lengths."""
        rng = self.rng
        opened = made.node.open(model.Opening(model.PLANNED), [0])
        lengths = [len(opened.at(0, i, 0).values.get(field, ())) for i in range(made.size)]
        last = rng.choice(("short", "drop"))
        shuffle = rng.choice(("none", "global"))
        batching = batching._replace(last=last, shuffle=shuffle)
        rule: dict[str, Any] = {}
        if rng.random() < 0.5:
            rule["boundaries"] = sorted(rng.sample(range(1, 12), rng.randint(1, 3)))
        if rng.random() < 0.5:
            rule["max_tokens"] = rng.randint(12, 100)
        found = BucketModel(lengths, batching.batch_size, drops=last == "drop", **rule)
        data = made.data
        if shuffle != "none":
            data = data.shuffle(reshuffle=batching.reshuffle)
        # A damaged record has no length, nor has a run of records that are drawn.
        given = lengths if self.has_damage or field == "g" else None

        def blobs(rank: int, world_size: int) -> dict[str, flow.Blob]:
            attrs = {"field": field, "last": last, "seed": self.seed, "lengths": given,
                     "boundaries": rule.get("boundaries", ()), "rank": rank,
                     "world_size": world_size, "with_mask": True, "with_id": True,
                     "on_error": batching.on_error, "max_skipped": -1}  # fmt: skip
            if "max_tokens" in rule:
                return data.batch_by_tokens(
                    rule["max_tokens"], most_rows=batching.batch_size, **attrs
                ).blobs
            return data.batch_by_length(batching.batch_size, **attrs).blobs

        batches = model.BucketBatches(made.node, batching, made.schema, found)
        raises = self.has_damage and batching.on_error == "raise"
        return Pipeline(blobs, batches, made.schema, batching, f"{text} buckets {rule}", raises)


def make_pipeline(seed: int, folder: Path, changes: Mapping[int, int] | None = None) -> Pipeline:
    """The same for the same seed, but for the weights that change; the files are written again."""
    return Generator(seed, folder, changes).pipeline()
