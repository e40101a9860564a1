"""tf.data: its forms that stream, and the faster one that holds whole files."""

from __future__ import annotations

import os
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from bench import photos, programs, reservoir
from bench.columns import VALUES, values_and_label
from bench.contender import Source, contender

Dataset = Any
DEFAULTS = [tf.constant([], tf.float64)] * 2


def parse(lines: Any) -> Any:
    return tuple(tf.io.decode_csv(lines, DEFAULTS))


@contender("W1a", parts=2)
def serial(source: Source) -> Dataset:
    """TextLineDataset, batch, decode_csv of a batch, prefetch; no tuning, streams."""
    lines = tf.data.TextLineDataset(source.files, buffer_size=1 << 20)
    return lines.batch(source.batch_size).map(parse).prefetch(2)


@contender("W1a", parts=4)
def csv_interleaved(source: Source) -> Dataset:
    """A CsvDataset for each core, batches of them interleaved; streams."""

    def rows(path: Any) -> Dataset:
        return tf.data.experimental.CsvDataset(path, [tf.float64] * 2, buffer_size=1 << 20).batch(
            source.batch_size
        )

    cores = programs.cores()
    paths = tf.data.Dataset.from_tensor_slices(source.files)
    return paths.interleave(rows, cores, num_parallel_calls=cores, deterministic=False).prefetch(2)


@contender("W1a", parts=4)
def whole_files(source: Source) -> Dataset:
    """A whole file an element, read, split and decoded on all cores, batched again."""

    def read(path: Any) -> Any:
        return parse(tf.strings.split(tf.strings.strip(tf.io.read_file(path)), "\n"))

    paths = tf.data.Dataset.from_tensor_slices(source.files)
    return paths.map(read, programs.cores()).rebatch(source.batch_size).prefetch(2)


@contender("W1b", parts=2)
def shuffle_lines(source: Source) -> Dataset:
    """TextLineDataset, shuffle, batch, decode_csv of a batch, prefetch; no tuning."""
    lines = tf.data.TextLineDataset(source.files, buffer_size=1 << 20)
    shuffled = lines.shuffle(reservoir.SIZE, seed=7)
    return shuffled.batch(source.batch_size).map(parse).prefetch(2)


@contender("W1b", parts=2)
def shuffle_lines_parallel(source: Source) -> Dataset:
    """The same with decode_csv of several batches at a time, tuned."""
    lines = tf.data.TextLineDataset(source.files, buffer_size=1 << 20)
    shuffled = lines.shuffle(reservoir.SIZE, seed=7)
    tuned = tf.data.AUTOTUNE
    return shuffled.batch(source.batch_size).map(parse, tuned).prefetch(tuned)


@contender("W1b", parts=2)
def shuffle_csv_interleaved(source: Source) -> Dataset:
    """CsvDatasets interleaved row by row, shuffle, batch, prefetch."""

    def rows(path: Any) -> Dataset:
        return tf.data.experimental.CsvDataset(path, [tf.float64] * 2, buffer_size=1 << 20)

    cores = programs.cores()
    paths = tf.data.Dataset.from_tensor_slices(source.files)
    mixed = paths.interleave(rows, cores, block_length=1024, num_parallel_calls=cores)
    return mixed.shuffle(reservoir.SIZE, seed=7).batch(source.batch_size).prefetch(2)


class Wide:
    """A dataset of batches of 64 columns and a label: the columns are stacked in the graph."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset.map(lambda *all: (tf.stack(all[:-1], axis=1), all[-1]))

    def __iter__(self) -> Any:
        return (values_and_label(x, y) for x, y in self._dataset.prefetch(2))


WIDE = [tf.constant([], tf.float32)] * VALUES + [tf.constant([], tf.int64)]


@contender("W1c", parts=1)
def wide_lines(source: Source) -> Wide:
    """TextLineDataset without headers, batch, decode_csv of a batch on all cores."""
    paths = tf.data.Dataset.from_tensor_slices(source.files)
    lines = paths.flat_map(lambda path: tf.data.TextLineDataset(path, buffer_size=1 << 20).skip(1))
    batches = lines.batch(source.batch_size)
    return Wide(batches.map(lambda some: tuple(tf.io.decode_csv(some, WIDE)), programs.cores()))


@contender("W1c", parts=1)
def wide_csv(source: Source) -> Wide:
    """CsvDataset, batch."""
    types = [tf.float32] * VALUES + [tf.int64]
    rows = tf.data.experimental.CsvDataset(source.files, types, header=True, buffer_size=1 << 20)
    return Wide(rows.batch(source.batch_size))


FEATURES = {
    "x": tf.io.FixedLenFeature([VALUES], tf.float32),
    "y": tf.io.FixedLenFeature([], tf.int64),
}


class Parsed:
    """A dataset of parsed batches as columns."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __iter__(self) -> Any:
        return (values_and_label(batch["x"], batch["y"]) for batch in self._dataset)


def parse_examples(records: Any) -> Any:
    return tf.io.parse_example(records, FEATURES)


@contender("W2a", parts=2)
def examples_serial(source: Source) -> Parsed:
    """TFRecordDataset, batch, parse_example of a batch, prefetch; no tuning."""
    records = tf.data.TFRecordDataset(source.files, buffer_size=1 << 20)
    return Parsed(records.batch(source.batch_size).map(parse_examples).prefetch(2))


@contender("W2a", parts=2)
def examples_parallel(source: Source) -> Parsed:
    """The same with parse_example on all cores."""
    records = tf.data.TFRecordDataset(source.files, buffer_size=1 << 20)
    batches = records.batch(source.batch_size)
    return Parsed(batches.map(parse_examples, programs.cores()).prefetch(2))


@contender("W2a", parts=2)
def examples_interleaved(source: Source) -> Parsed:
    """A file for each core, batches of them parsed and interleaved; the order is another."""

    def batches(path: Any) -> Dataset:
        records = tf.data.TFRecordDataset(path, buffer_size=1 << 20)
        return records.batch(source.batch_size).map(parse_examples)

    cores = programs.cores()
    paths = tf.data.Dataset.from_tensor_slices(source.files)
    found = paths.interleave(batches, cores, num_parallel_calls=cores, deterministic=False)
    return Parsed(found.prefetch(2))


@contender("W2b", parts=2)
def examples_shuffled(source: Source) -> Parsed:
    """TFRecordDataset, shuffle in a buffer of 16,384, batch, parse_example, prefetch."""
    records = tf.data.TFRecordDataset(source.files, buffer_size=1 << 20).shuffle(16384, seed=7)
    return Parsed(records.batch(source.batch_size).map(parse_examples).prefetch(2))


@contender("W2b", parts=2)
def examples_shuffled_interleaved(source: Source) -> Parsed:
    """The same with a file and a buffer for each core."""

    def batches(path: Any) -> Dataset:
        records = tf.data.TFRecordDataset(path, buffer_size=1 << 20)
        shuffled = records.shuffle(16384 // programs.cores(), seed=7)
        return shuffled.batch(source.batch_size).map(parse_examples)

    cores = programs.cores()
    paths = tf.data.Dataset.from_tensor_slices(source.files)
    found = paths.interleave(batches, cores, num_parallel_calls=cores, deterministic=False)
    return Parsed(found.prefetch(2))


JPEGS = {
    photos.IMAGE: tf.io.FixedLenFeature([], tf.string),
    photos.LABEL: tf.io.FixedLenFeature([], tf.int64),
}


def crop(content: Any, method: str) -> Any:
    """A random part of an image, decoded alone; bilinear without antialiasing."""
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.image.extract_jpeg_shape(content),
        tf.zeros([1, 0, 4]),
        area_range=photos.AREA,
        aspect_ratio_range=photos.ASPECT_RATIO,
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    window = tf.concat([begin[:2], size[:2]], 0)
    pixels = tf.image.decode_and_crop_jpeg(content, window, channels=3, dct_method=method)
    pixels = tf.image.resize(pixels, [photos.SIZE] * 2)
    pixels = (tf.image.random_flip_left_right(pixels) - photos.MEAN) / photos.STD
    return tf.transpose(pixels, [2, 0, 1])


def resize(content: Any, method: str) -> Any:
    pixels = tf.image.decode_jpeg(content, channels=3, dct_method=method)
    return tf.cast(tf.image.resize(pixels, [photos.SIZE] * 2) + 0.5, tf.uint8)


def jpegs(source: Source, function: Any, method: str) -> Dataset:
    def decode(record: Any) -> Any:
        found = tf.io.parse_single_example(record, JPEGS)
        return function(found[photos.IMAGE], method), found[photos.LABEL]

    records = tf.data.TFRecordDataset(source.files, buffer_size=1 << 20)
    return records.map(decode, programs.cores()).batch(source.batch_size).prefetch(2)


for method in ("fast", "accurate"):
    dct = f"INTEGER_{method.upper()}"
    text = f"parallel map, {method} IDCT, fancy upsampling, bilinear"

    @contender("W4", name=method, text=f"TFRecords, decode_and_crop_jpeg: {text}")
    def crops(source: Source, dct: str = dct) -> photos.Epochs:
        return photos.Epochs(jpegs(source, crop, dct), photos.Normalised)

    @contender("W4u", name=method, text=f"TFRecords, decode_jpeg: {text}")
    def resized(source: Source, dct: str = dct) -> photos.Epochs:
        return photos.Epochs(jpegs(source, resize, dct), photos.Delivered)
