"""Files of clips for the example reader, and that reader as a plugin and as a built-in op."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from bench import programs
from bench.data import Data, Truth
from tests.support.scratch_tree import build_scratch_tree

EXAMPLE = programs.ROOT / "examples" / "custom_reader" / "clip_reader.c"
HEADERS = programs.ROOT / "csrc" / "include"
BUILD = programs.BUILD / "clip_reader"
PLUGIN = BUILD / "clip_reader.so"
LIBRARY = BUILD / "tree" / "build" / "release" / "libpyflowdata.so"
SAMPLES = 32  # of a clip
CLIP_BYTES = 12 + 4 * SAMPLES


@dataclasses.dataclass(frozen=True)
class Clips(Data):
    """A row of the truth is a sample and its clip's label."""

    parts: int = 4

    KIND: ClassVar[str] = "clips"
    ROW_BYTES: ClassVar[float] = CLIP_BYTES
    ROWS: ClassVar[int] = SAMPLES

    def blocks(self, part: int) -> Iterator[tuple[bytes, Truth]]:
        random = np.random.RandomState(2000 + part)
        fields = [("head", "<u4", 2), ("label", "<i4"), ("samples", "<f4", SAMPLES)]
        table = np.zeros(self.part_records, fields)
        table["label"] = random.randint(0, 1000, len(table))
        table["samples"] = random.random_sample((len(table), SAMPLES))
        content = table.tobytes()
        bodies = (content[i + 8 : i + CLIP_BYTES] for i in range(0, len(content), CLIP_BYTES))
        table["head"][:, 0] = CLIP_BYTES - 8
        table["head"][:, 1] = np.fromiter(map(zlib.adler32, bodies), np.uint32, len(table))
        yield b"CLIP\1\0\0\0", Truth()
        yield table.tobytes(), Truth.of(table["samples"], np.repeat(table["label"], SAMPLES))


def build() -> None:
    """Compiles the example as a plugin, and a library that has it built in, with one compiler and
    the same optimisation."""
    source = EXAMPLE.read_text()
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    command = ["cc", "-std=c11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-shared"]
    subprocess.run([*command, "-I", HEADERS, "-o", PLUGIN, EXAMPLE], check=True)
    reader, _, _ = source.partition("static int32_t probe")  # the format is the plugin's
    built_in = re.sub(r"static const pfd_op op =", "const pfd_op pfd_op_clip_reader =", reader)
    (BUILD / "clip_reader.c").write_text(built_in)
    found = build_scratch_tree(BUILD / "tree", [BUILD / "clip_reader.c"])
    assert found == LIBRARY, found
