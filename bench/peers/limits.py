"""The machine's limits: plain C++ over the same text (bench/limits.cc)."""

from __future__ import annotations

import functools

from bench import programs, tokens
from bench.contender import Source, contender

TEXT = {
    "read": "read() of hot files",
    "memcpy": "copying the mapped files in 1 MiB blocks",
    "memchr": "finding newlines one by one with memchr",
    "scan": "places of all newlines and commas, 64 bytes at a time",
    "from_chars": "std::from_chars of all numbers",
    "loader": "read(), a scalar exact parser, batches in columns; file order",
}


def command(source: Source, mode: str, threads: int) -> list[str]:
    options = [mode, str(threads), str(source.batch_size)]
    return [programs.path("limits"), *options, *source.files]


for mode, text in TEXT.items() if programs.exists("limits") else ():
    workloads = ("W1a", "W1b") if mode == "loader" else ("W1a",)
    for threads in sorted({1, programs.cores()}):
        contender(*workloads, name=f"{mode}-{threads}", program=True, text=text)(
            functools.partial(command, mode=mode, threads=threads)
        )


def examples(source: Source, threads: int) -> list[str]:
    return [programs.path("examples"), str(threads), str(source.batch_size), *source.files]


for threads in sorted({1, programs.cores()}) if programs.exists("examples") else ():
    contender(
        "W2a",
        "W2b",
        name=f"examples-{threads}",
        program=True,
        text="both checksums, protocol buffers of known order, copies; file order",
    )(functools.partial(examples, threads=threads))


def windows(source: Source, threads: int) -> list[str]:
    options = [str(threads), str(source.batch_size), str(tokens.SEQ_LENGTH)]
    return [programs.path("windows"), *options, *source.files]


for threads in sorted({1, programs.cores()}) if programs.exists("windows") else ():
    contender(
        "W5",
        name=f"windows-{threads}",
        program=True,
        text="random windows widened from the map into a buffer of one batch",
    )(functools.partial(windows, threads=threads))
