"""Files of clips for the example reader, and that reader as a plugin and as a built-in op."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import numpy as np

from bench import data, programs
from tests.scratch_tree import build_scratch_tree

EXAMPLE = programs.ROOT / "examples" / "custom_reader" / "clip_reader.c"
HEADERS = programs.ROOT / "csrc" / "include"
BUILD = programs.BUILD / "clip_reader"
PLUGIN = BUILD / "clip_reader.so"
LIBRARY = BUILD / "tree" / "build" / "release" / "libpyflowdata.so"
SAMPLES = 32  # of a clip
CLIP_BYTES = 12 + 4 * SAMPLES


@dataclasses.dataclass(frozen=True)
class Clips:
    """What bench.data.Text is for text.  A row of the truth is a sample and its clip's label."""

    megabytes: float
    parts: int = 4

    @property
    def name(self) -> str:
        return f"clips-{self.megabytes:g}mb-{self.parts}"

    @property
    def folder(self) -> Path:
        return data.FOLDER / self.name

    def scaled(self, scale: float) -> Clips:
        return dataclasses.replace(self, megabytes=self.megabytes * scale)

    def files(self, parts: int | None = None) -> list[str]:
        return [str(self.folder / f"part-{part:03}") for part in range(parts or self.parts)]

    def truth(self, parts: int | None = None) -> tuple[data.Truth, int]:
        chosen = json.loads((self.folder / "manifest.json").read_text())[: parts or self.parts]
        truth = sum((data.Truth(**part["truth"]) for part in chosen), data.Truth())
        return truth, sum(part["bytes"] for part in chosen)

    def prepare(self) -> str:
        """Makes the files anew; returns their digest."""
        self.folder.mkdir(parents=True, exist_ok=True)
        digest, manifest = hashlib.sha256(), []
        clips = max(1, round(self.megabytes * 1e6 / CLIP_BYTES / self.parts))
        for part, path in enumerate(self.files()):
            content, truth = _part(part, clips)
            Path(path).write_bytes(content)
            digest.update(content)
            manifest.append({"bytes": len(content), "truth": dataclasses.asdict(truth)})
        (self.folder / "manifest.json").write_text(json.dumps(manifest))
        return digest.hexdigest()


def _part(part: int, clips: int) -> tuple[bytes, data.Truth]:
    random = np.random.RandomState(2000 + part)
    fields = [("head", "<u4", 2), ("label", "<i4"), ("samples", "<f4", SAMPLES)]
    table = np.zeros(clips, fields)
    table["label"] = random.randint(0, 1000, clips)
    table["samples"] = random.random_sample((clips, SAMPLES))
    content = table.tobytes()
    bodies = (content[i + 8 : i + CLIP_BYTES] for i in range(0, len(content), CLIP_BYTES))
    table["head"][:, 0] = CLIP_BYTES - 8
    table["head"][:, 1] = np.fromiter(map(zlib.adler32, bodies), np.uint32, clips)
    labels = np.repeat(table["label"], SAMPLES).astype(np.float64)
    truth = data.Truth.of(table["samples"].astype(np.float64).ravel(), labels)
    return b"CLIP\1\0\0\0" + table.tobytes(), truth


def build() -> None:
    """Compiles the example as a plugin, and a library that has it built in, with one compiler and
    the same optimisation."""
    source = EXAMPLE.read_text()
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    command = ["cc", "-std=c11", "-O2", "-g", "-fPIC", "-fvisibility=hidden", "-shared"]
    subprocess.run([*command, "-I", HEADERS, "-o", PLUGIN, EXAMPLE], check=True)
    built_in = re.sub(r"static const pfd_op op =", "const pfd_op pfd_op_clip_reader =", source)
    (BUILD / "clip_reader.c").write_text(re.sub(r"^PFD_PLUGIN.*\n", "", built_in, flags=re.M))
    found = build_scratch_tree(BUILD / "tree", [BUILD / "clip_reader.c"])
    assert found == LIBRARY, found
