"""Builds the library with further ops, the way a contributor would add them, in a scratch tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .paths import ROOT  # also as tests.support, for bench/

LIST_HEAD = "#define BUILTIN_OPS(X)"


def take_objects(tree: Path, build: str = "build/release", without: str = "") -> None:
    """Takes what `make` has compiled here, with its times: only what changes is compiled in `tree`.

    Its folder there is `build`, for flags of the compiler that are the same but for one of them.
    Where they are others all the same, `make` compiles all anew.
    """
    compiled, taken = ROOT / "build" / "release", tree / build
    if not (compiled / "flags").is_file():
        return
    shutil.copytree(compiled / "csrc", taken / "csrc")
    (taken / "flags").write_text((compiled / "flags").read_text().replace(without, ""))
    shutil.copystat(compiled / "flags", taken / "flags")


def build_scratch_tree(tmp_dir: Path, op_files: Iterable[Path]) -> Path:
    """Makes `tmp_dir` a copy of the C sources with these op files in it; returns the library built.

    An op file `name.c` defines `pfd_op_name`: it goes into csrc/ops, and a line with its name
    into the list of built-in ops.  Nothing outside `tmp_dir` is written.
    """
    tmp_dir.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "csrc", tmp_dir / "csrc")
    take_objects(tmp_dir)
    shutil.copy(ROOT / "Makefile", tmp_dir)
    builtin_ops = tmp_dir / "csrc" / "registry" / "builtin_ops.c"
    lines = builtin_ops.read_text().splitlines(keepends=True)
    (head,) = (i for i, line in enumerate(lines) if line.startswith(LIST_HEAD))
    for op_file in map(Path, op_files):
        shutil.copy(op_file, tmp_dir / "csrc" / "ops")
        lines.insert(head + 1, f"    X({op_file.stem})".ljust(99) + "\\\n")
    builtin_ops.write_text("".join(lines))

    library = tmp_dir / "build" / "release" / "libpyflowdata.so"
    inherited = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "SAN", "FLAVOUR", "LD_PRELOAD"}
    done = subprocess.run(
        ["make", "--no-print-directory", library.relative_to(tmp_dir).as_posix()],
        cwd=tmp_dir,
        env={name: value for name, value in os.environ.items() if name not in inherited},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return library
