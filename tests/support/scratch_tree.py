"""Builds the library with further ops, the way a contributor would add them, in a scratch tree."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .paths import ROOT  # also as tests.support, for bench/

LIST_HEAD = "#define BUILTIN_OPS(X)"
VIEWS_HEAD = "#define BUILTIN_VIEWS(X)"
FORMATS_HEAD = "#define BUILTIN_FORMATS(X)"


def take_objects(tree: Path, build: str = "build/release", without: str = "") -> None:
    """Takes what `make` has compiled here, with its times: only what changes is compiled in `tree`.

    Its folder there is `build`, for flags of the compiler that are the same but for one of them.
    Where they are others all the same, `make` compiles all again.
    """
    compiled, taken = ROOT / "build" / "release", tree / build
    if not (compiled / "flags").is_file():
        return
    for sources in ("csrc", "kit"):
        shutil.copytree(compiled / sources, taken / sources)
    (taken / "flags").write_text((compiled / "flags").read_text().replace(without, ""))
    shutil.copystat(compiled / "flags", taken / "flags")


def _add_line(path: Path, head: str, name: str) -> None:
    """Adds X(name) as the first line of a list."""
    lines = path.read_text().splitlines(keepends=True)
    (at,) = (i for i, line in enumerate(lines) if line.startswith(head))
    lines.insert(at + 1, f"    X({name})".ljust(99) + "\\\n")
    path.write_text("".join(lines))


def build_scratch_tree(
    tmp_dir: Path,
    op_files: Iterable[Path] = (),
    format_folder: Path | None = None,
    view_files: Iterable[Path] = (),
) -> Path:
    """Makes `tmp_dir` a copy of the C sources with these files in it; returns the library built.

    An op file `name.c` defines `pfd_op_name`: it goes into csrc/ops, and a line with its name
    into the list of built-in ops.  A format's folder `name` has `name_reader.c` and
    `name_format.c`: it goes into csrc/formats, with a line in that list and in that of formats.
    A view's file `name.c` defines `pfd_view_name`: it goes into csrc/views, with a line in theirs.
    Nothing outside `tmp_dir` is written.
    """
    tmp_dir.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "csrc", tmp_dir / "csrc")
    take_objects(tmp_dir)
    shutil.copy(ROOT / "Makefile", tmp_dir)
    registry = tmp_dir / "csrc" / "registry"
    for op_file in map(Path, op_files):
        shutil.copy(op_file, tmp_dir / "csrc" / "ops")
        _add_line(registry / "builtin_ops.c", LIST_HEAD, op_file.stem)
    for view_file in map(Path, view_files):
        shutil.copy(view_file, tmp_dir / "csrc" / "views")
        _add_line(registry / "builtin_views.c", VIEWS_HEAD, view_file.stem)
    if format_folder is not None:
        name = format_folder.name
        shutil.copytree(format_folder, tmp_dir / "csrc" / "formats" / name)
        _add_line(registry / "builtin_ops.c", LIST_HEAD, f"{name}_reader")
        _add_line(registry / "builtin_formats.c", FORMATS_HEAD, name)

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
