"""Examples of ops: docs/reference/examples/<op>.py, each a program and what it prints.

The comments at the end of a file are its output.  Programs run in an empty folder, where those that
need the files of another library find what `FILES` says.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import re
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference" / "examples"

# Files that no writer of this library makes; other libraries wrote them.
FILES = {
    "ArrowReader": {"types.arrow": "tests/fixtures/arrow/types.arrow"},
    "MDSReader": {name: f"tests/fixtures/streaming/plain/{name}"
                  for name in ("index.json", *(f"shard.0000{i}.mds" for i in range(3)))},
    "MindRecordReader": {"blobs.mindrecord": "tests/fixtures/mindspore/blobs.gz"},
    "OneRecReader": {"features.onerec": "tests/fixtures/flatbuffers/features.onerec"},
    "OneRecDecoder": {"features.onerec": "tests/fixtures/flatbuffers/features.onerec"},
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A program, and what it prints."""

    code: str
    output: str


def of(op: str) -> Example | None:
    """The example of an op, or None."""
    path = FOLDER / f"{op}.py"
    if not path.exists():
        return None
    text = path.read_text(encoding="utf-8")
    match = re.search(r"\n+((?:#(?: .*)?\n)+)\Z", text)
    if match is None:
        raise ValueError(f"{path}: no comments with the output at the end")
    output = re.sub(r"^# ?", "", match[1], flags=re.M)
    return Example(text[: match.start()].rstrip() + "\n", output)


def run(op: str) -> str:
    """What the example prints now."""
    found = of(op)
    assert found is not None
    with tempfile.TemporaryDirectory() as folder, io.StringIO() as printed:
        for name, source in FILES.get(op, {}).items():
            data = (ROOT / source).read_bytes()
            is_packed = source.endswith(".gz")
            Path(folder, name).write_bytes(gzip.decompress(data) if is_packed else data)
        here = os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("error")
                exec(compile(found.code, f"{op}.py", "exec"), {"__name__": "__main__"})
        finally:
            os.chdir(here)
        return printed.getvalue()
