"""Adding a format: a folder in C, a Python module, two lines of lists and a row of docs, done here.
Commands, detection and conversion know it then."""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support import formats_page
from support.page_runner import PageProcess
from support.paths import ROOT
from support.scratch_tree import build_scratch_tree

pytestmark = pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="make or cc is not here"
)

READER = r"""
/* PairReader: files of numbers, each with its complement. */
#include "pyflowdata/op.h"

#include <string.h>

enum { magic_bytes = 8, record_bytes = 8 };

static const pfd_port outputs[] = {{"number", "The numbers, int32 of shape (batch,)."}};

static pfd_status infer(const pfd_infer_args *args, pfd_error *err)
{
    (void)err;
    args->outputs[0] = (pfd_row_type){.dtype = PFD_INT32};
    return PFD_OK;
}

static pfd_status open_source(const pfd_open_args *args, pfd_source *out, pfd_error *err)
{
    pfd_fixed_layout layout = {PFD_SIZE(pfd_fixed_layout), magic_bytes, record_bytes, 0};
    return args->host->open_fixed(args, &layout, out, err);
}

static pfd_status compute(const pfd_compute_args *args, pfd_error *err)
{
    int32_t *out = (int32_t *)args->outputs[0]->data;
    for (int64_t row = 0; row < args->num_rows; row++) {
        int32_t pair[2];
        memcpy(pair, args->records[row].data, sizeof pair);
        if (pair[1] != ~pair[0])
            return args->host->fail_row(err, row, 4, PFD_CORRUPT_DATA,
                                        "the complement of the number does not fit");
        out[row] = pair[0];
    }
    return PFD_OK;
}

const pfd_op pfd_op_pair_reader = {
    PFD_OP_SIZES,
    .flags = PFD_READS_FILES,
    .name = "PairReader",
    .doc = "Reads numbers that are stored with their complements.",
    .outputs = outputs,
    .num_outputs = PFD_COUNT(outputs),
    .infer = infer,
    .open = open_source,
    .compute = compute,
};
"""

FORMAT = r"""
/* How files of pairs are known. */
#include "pyflowdata/op.h"

#include <string.h>

static int32_t probe(const pfd_probe_args *args)
{
    int32_t has_magic = args->size >= 8 && !memcmp(args->data, "PAIRS  1", 8);
    return has_magic ? PFD_PROBE_CERTAIN : PFD_PROBE_NO;
}

const pfd_format pfd_format_pair = {
    .struct_size = sizeof(pfd_format),
    .name = "pair",
    .title = "pairs",
    .doc = "Numbers with their complements.",
    .suffixes = ".pair",
    .reader = "PairReader",
    .checks = "complements",
    .probe = probe,
};
"""

MODULE = '''
"""Files of pairs: numbers with their complements."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .base.fields import Field
from .base.format import RowFormat, RowWriter
from .base.writer import Shard


class PairWriter(RowWriter):
    """Writes files of pairs."""

    compressions: ClassVar[tuple[str, ...]] = ()

    def _begin(self, shard: Shard) -> None:
        shard.main.write(b"PAIRS  1")

    def write_batch(self, batch: Any) -> None:
        """Writes a pair for each number."""
        (numbers,) = batch.values() if isinstance(batch, dict) else (batch,)
        numbers = np.asarray(numbers, np.int32).reshape(-1, 1)
        super().write_batch(np.concatenate([numbers, ~numbers], axis=1))


class Pair(RowFormat):
    """One number in each record."""

    writer = PairWriter

    def refusal(self, field: Field) -> str | None:
        """Why a pair cannot hold the field."""
        return None if field.type == "int32" else f"{field.name} is {field.type}: not int32"

    def writer_options(self, fields: Any) -> dict[str, Any]:
        """Rows of a number and its complement."""
        return {"dtype": "int32", "shape": (2,)}


FORMAT = Pair
'''

ROW = "| pairs | `pair` | `.pair` | `PairReader` | `PairWriter` | complements | yes | | NumPy |\n"
MOST_FILES = 6
DROPPED = ("PYFLOWDATA_LIBRARY", "PYFLOWDATA_PLUGINS")


def all_files(root):
    parts = ("csrc", "pyflowdata", "docs")
    return {
        path.relative_to(root): path.read_bytes()
        for part in parts
        for path in (root / part).rglob("*")
        if path.is_file()
        and path.suffix in (".c", ".h", ".py", ".md")
        and path.name != "declared.py"  # which the build writes
    }


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A tree as a contributor leaves it, built."""
    folder = tmp_path_factory.mktemp("add_format")
    own, root = folder / "pair", folder / "tree"
    own.mkdir()
    (own / "pair_reader.c").write_text(READER.lstrip())
    (own / "pair_format.c").write_text(FORMAT.lstrip())
    library = build_scratch_tree(root, format_folder=own)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "pyflowdata", root / "pyflowdata", ignore=ignored)
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copy(library, root / "pyflowdata" / "libpyflowdata.so")
    shutil.copytree(ROOT / "tools", root / "tools", ignore=ignored)
    declared = [sys.executable, "-m", "tools.declarations", "pyflowdata/native/declared.py"]
    subprocess.run(declared, cwd=root, check=True)  # as `make` does
    (root / "pyflowdata" / "formats" / "pair.py").write_text(MODULE.lstrip())
    page = root / "docs" / "reference" / "formats.md"
    lines = page.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if "| `mini` |" in line)
    page.write_text("".join([*lines[:at], ROW, *lines[at:]]))
    return root


def numbers_file(path, numbers):
    pairs = b"".join(
        number.to_bytes(4, "little", signed=True) + (~number).to_bytes(4, "little", signed=True)
        for number in numbers
    )
    path.write_bytes(b"PAIRS  1" + pairs)
    return path


@pytest.fixture(scope="module")
def command(tree):
    """command(folder, "head", ...): its status and what it prints, with the package of the tree."""
    process = PageProcess(tree)
    yield process.command
    process.close()


def test_six_files_are_touched_at_most(tree):
    before, after = all_files(ROOT), all_files(tree)
    touched = sorted(str(path) for path in after if before.get(path) != after[path])
    assert before.keys() <= after.keys()
    assert touched == [
        "csrc/formats/pair/pair_format.c",
        "csrc/formats/pair/pair_reader.c",
        "csrc/registry/builtin_formats.c",
        "csrc/registry/builtin_ops.c",
        "docs/reference/formats.md",
        "pyflowdata/formats/pair.py",
    ]
    assert len(touched) <= MOST_FILES


def test_the_page_knows_it(tree):
    code = (
        "from pathlib import Path\n"
        "from support import formats_page\n"
        "from pyflowdata.formats import FORMATS\n"
        "assert 'pair' in FORMATS\n"
        "print(formats_page.differences(Path('docs/reference/formats.md').read_text(), FORMATS))\n"
    )
    inherited = {name: text for name, text in os.environ.items() if name not in DROPPED}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, capture_output=True, text=True,
        env={**inherited, "PYTHONPATH": f"{tree}{os.pathsep}{ROOT / 'tests'}"},
    )  # fmt: skip
    assert done.stdout == "[]\n", done.stdout + done.stderr
    assert "pair has no row" in formats_page.differences(
        (ROOT / "docs/reference/formats.md").read_text(), _Known()
    )


class _Known(dict):
    """One format that no page knows."""

    def __init__(self):
        super().__init__(pair=None)


def test_commands_know_it(command, tmp_path):
    numbers_file(tmp_path / "a", range(100))  # known by its content
    status, said = command(tmp_path, "head", "-n", 2, "a")
    assert (status, said.splitlines()) == (
        0, ["a: pairs, 100 records", "#  out:int32", "0  0", "1  1"]
    )  # fmt: skip
    assert command(tmp_path, "verify", "a") == (
        0, "a: pairs: 100 records whole, no damage\n"
    )  # fmt: skip
    damaged = bytearray((tmp_path / "a").read_bytes())
    damaged[8 + 8 * 40] ^= 1
    (tmp_path / "b").write_bytes(damaged)
    status, said = command(tmp_path, "verify", "b")
    assert status == 1 and "record 40" in said and "99 records whole, 1 damaged place" in said
    status, said = command(tmp_path, "stats", "a", "--json")
    assert json.loads(said)["fields"]["out"]["max"] == 99


def test_it_is_converted_from_and_to(command, tmp_path):
    numbers_file(tmp_path / "a", range(100))
    for source, target in (("a", "b.npy"), ("b.npy", "c.pair"), ("c.pair", "d.csv")):
        assert command(tmp_path, "convert", source, target, "--quiet")[0] == 0
    assert (tmp_path / "c.pair").read_bytes() == (tmp_path / "a").read_bytes()
    assert (tmp_path / "d.csv").read_text().split()[1:] == [str(i) for i in range(100)]
    status, said = command(tmp_path, "convert", "d.csv", "e.pair")
    assert status == 1 and "out is int64: not int32" in said


def test_messages_of_other_readers_name_it(command, tmp_path):
    numbers_file(tmp_path / "a.npy", range(100))
    status, said = command(tmp_path, "head", "a.npy", "--format", "npy")
    assert status == 1 and "pairs (PairReader reads it)" in said
