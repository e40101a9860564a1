"""The sources of the checkout, as text and parsed, for tests of how they are divided."""

from __future__ import annotations

import ast
import functools
import gc
import re
from pathlib import Path

from support.paths import ROOT

PACKAGE = ROOT / "pyflowdata"
C_FILES = sorted((ROOT / "csrc").rglob("*.[ch]"))
FORMATS = [path.parent.name for path in C_FILES if path.name == f"{path.parent.name}_format.c"]
_DECLARES_OP = re.compile(r"^const pfd_op pfd_op_(\w+) = ", re.MULTILINE)


@functools.cache
def code(path: Path) -> str:
    """The text of C without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", path.read_text(), flags=re.S)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """None of a tree is garbage, and looking for some takes longer than parsing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        if was_enabled:
            gc.enable()


def modules(folder: str = "", package: Path = PACKAGE) -> list[tuple[Path, ast.Module]]:
    paths = sorted((package / folder).rglob("*.py"))
    assert paths
    return [(path, parsed(path)) for path in paths]


OPS = {op: path for path in C_FILES for op in _DECLARES_OP.findall(code(path))}
