"""Writes what Python knows of the C headers, so that no process has to parse them.

    python tools/declarations.py            exits with 1 and names what is not current
    python tools/declarations.py --write    writes the modules again

`make abi` runs it.  The modules are what cffi calls out-of-line ABI mode: with them only its part
in C is imported, and neither a parser nor a lock is needed later.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import pprint
import re
import sys
import tempfile
from pathlib import Path

import cffi

ROOT = Path(__file__).resolve().parent.parent
# Module -> the folder of its package, and its headers.
MODULES = {
    "pyflowdata.native.declared": (
        ".", ("csrc/include/pyflowdata/op.h", "csrc/include/pyflowdata/pyflowdata.h"),
    ),
    "pyflowdata_kit.declared": ("kit", ("kit/pyflowdata_kit/include/pyflowdata_kit/kit.h",)),
}


def _declarations(root: Path, headers: tuple[str, ...]) -> str:
    blocks = []
    for name in headers:
        text = (root / name).read_text(encoding="utf-8")
        found = re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.DOTALL)
        assert found, f"{name} has no cdef-begin and cdef-end marks"
        blocks.append(found[1])
    return "\n".join(blocks)


def _module(ffi: cffi.FFI, name: str, headers: tuple[str, ...]) -> str:
    """The text that cffi writes for `ffi`, in lines of at most 100 columns."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "declared.py"
        with contextlib.redirect_stdout(None):
            ffi.emit_python_code(str(written))
        tree = ast.parse(written.read_text(encoding="utf-8"))
    imports = [ast.unparse(line) for line in tree.body if not isinstance(line, ast.Assign)]
    (made,) = (line.value for line in tree.body if isinstance(line, ast.Assign))
    assert isinstance(made, ast.Call)
    parts = []
    for keyword in made.keywords:
        try:
            value = pprint.pformat(ast.literal_eval(keyword.value), width=98, compact=True)
        except ValueError:  # the modules that it includes
            value = ast.unparse(keyword.value)
        parts.append(f"{keyword.arg}={value},\n")
    names = [Path(header).name for header in headers]
    return (
        f'"""What cffi knows of {" and ".join(names)}.  Written by `make abi`, not by hand."""'
        + "\n\n" + "\n".join(imports)
        + f'\n\nffi = _cffi_backend.FFI(\n"{name}",\n{"".join(parts)})\n'
    )


def modules(root: Path) -> dict[Path, str]:
    """The modules and their text."""
    texts = {}
    product: cffi.FFI | None = None
    for name, (folder, headers) in MODULES.items():
        ffi = cffi.FFI()
        if product is not None:
            ffi.include(product)  # nodes, errors and loaders are the same types in both
        ffi.cdef(_declarations(root, headers))
        ffi.set_source(name, None)
        written = root.joinpath(folder, *name.split(".")).with_suffix(".py")
        texts[written] = _module(ffi, name, headers)
        product = ffi
    return texts


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes what Python knows of the C headers.")
    parser.add_argument("--write", action="store_true", help="write the modules again")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    args = parser.parse_args()
    is_current = True
    for path, text in modules(args.root).items():
        if args.write:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(args.root)} is not current: make abi", file=sys.stderr)
            is_current = False
    return 0 if is_current else 1


if __name__ == "__main__":
    sys.exit(main())
