"""The machine's limits: plain C++ over the same files, with a thread for each core."""

from __future__ import annotations

import functools

from bench import programs, tokens
from bench.contender import Source, on_all_and_one_core
from bench.photos import Photos

TEXT = {
    "read": "read() of hot files",
    "memcpy": "copying the mapped files in 1 MiB blocks",
    "memchr": "finding newlines one by one with memchr",
    "scan": "places of all newlines and commas, 64 bytes at a time",
    "from_chars": "std::from_chars of all numbers",
    "loader": "read(), a scalar exact parser, batches in columns; file order",
}

PICTURES = {
    "decode": "whole images by libjpeg-turbo, accurate IDCT, fancy upsampling; no batch",
    "crop": "a random part decoded, the same; bilinear in float, flip, normalisation",
    "resize": "whole images, the same; bilinear in float",
    "resize-fast": "whole images, fast IDCT, plain upsampling; bilinear in float",
}


def text(source: Source, mode: str) -> list[str]:
    sizes = [str(programs.cores()), str(source.batch_size)]
    return [programs.path("limits"), mode, *sizes, *source.files]


def pictures(source: Source, mode: str) -> list[str]:
    sizes = [str(programs.cores()), str(source.batch_size)]
    return [programs.path("photos"), mode, *sizes, *(source.files * Photos.epochs)]


def examples(source: Source) -> list[str]:
    sizes = [str(programs.cores()), str(source.batch_size)]
    return [programs.path("examples"), *sizes, *source.files]


def windows(source: Source) -> list[str]:
    sizes = [str(programs.cores()), str(source.batch_size), str(tokens.SEQ_LENGTH)]
    return [programs.path("windows"), *sizes, *source.files]


def columnar_rows(source: Source, order: str, size: int) -> list[str]:
    return [programs.path("rows"), order, str(programs.cores()), str(size), *source.files]


if programs.exists("limits"):
    for mode, what in TEXT.items():
        workloads = ("W1a", "W1b") if mode == "loader" else ("W1a",)
        on_all_and_one_core(*workloads, name=mode, program=True, text=what)(
            functools.partial(text, mode=mode)
        )
    for mode, what in {
        "lines": "newlines by memchr, half of each line copied into rows of a batch; no JSON",
        "fields": "the three values by the number of their quotes in a line; nothing is checked",
    }.items():
        on_all_and_one_core("W13", name=mode, program=True, text=what)(
            functools.partial(text, mode=mode)
        )
if programs.exists("examples"):
    on_all_and_one_core(
        "W2a",
        "W2b",
        name="examples",
        program=True,
        text="both checksums, protocol buffers of known order, copies; file order",
    )(examples)
if programs.exists("windows"):
    on_all_and_one_core(
        "W5",
        name="windows",
        program=True,
        text="random windows widened from the map into a buffer of one batch",
    )(windows)
if programs.exists("rows"):
    for order, size in (("random", 256), ("random", 64), ("in-order", 256)):
        what = f"numbers, texts and lists of mapped rows copied, {size} a batch"
        name = f"{order}-{size}" if order == "random" else order
        on_all_and_one_core("W12", name=name, program=True, text=what)(
            functools.partial(columnar_rows, order=order, size=size)
        )
if programs.exists("photos"):
    for mode, what in PICTURES.items():
        workload = "W4u" if mode.startswith("resize") else "W4"
        on_all_and_one_core(workload, name=mode, program=True, text=what)(
            functools.partial(pictures, mode=mode)
        )
