"""Writes pyflowdata/ops.pyi, the types of the built-in ops.

    python -m tools.write_stubs LIBRARY [FILE]

`make` runs this program with the library that it has built, and no package has to be installed:
ctypes reads the registry, and only those modules of pyflowdata are imported that need no other.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from .c_headers import Named, Pointer, Type, read_headers

if TYPE_CHECKING:
    from pyflowdata.nodes.op_facts import Op

ROOT = Path(__file__).resolve().parent.parent
PATH = ROOT / "pyflowdata" / "ops.pyi"
_INCLUDE = Path("csrc", "include", "pyflowdata")
_HEADERS = (_INCLUDE / "op.h", _INCLUDE / "pyflowdata.h")
_READ = ("pfd_port", "pfd_attr", "pfd_op")  # the structs that are looked into, each after its parts
_WORDS: dict[str, Any] = {
    "double": ctypes.c_double,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
}


def _as_ctypes(kind: Type, structs: dict[str, Any]) -> Any:
    if isinstance(kind, Pointer) and isinstance(kind.to, Named):
        if kind.to.name == "char":
            return ctypes.POINTER(ctypes.c_char)
        if kind.to.name in structs:
            return ctypes.POINTER(structs[kind.to.name])
    return _WORDS[kind.name] if isinstance(kind, Named) else ctypes.c_void_p


def _text(pointer: Any) -> str:
    return ctypes.string_at(pointer).decode("utf-8") if pointer else ""


class _Library:
    """The registry of a library, by ctypes."""

    def __init__(self, path: Path) -> None:
        """Raises OSError: it is not for this machine."""
        declared = read_headers(ROOT, _HEADERS)
        self.constants = SimpleNamespace(**declared.numbers)
        structs: dict[str, Any] = {}
        for name in _READ:
            fields = declared.structs[name] or {}
            laid_out = [(key, _as_ctypes(kind, structs)) for key, kind in fields.items()]
            structs[name] = type(name, (ctypes.Structure,), {"_fields_": laid_out})
        self._loaded = ctypes.CDLL(os.path.abspath(path))
        self._results = {
            name: _as_ctypes(function.result, structs)
            for name, function in declared.functions.items()
            if name in ("pfd_op_at", "pfd_op_origin", "pfd_host_output_at")
        }

    def all(self, function: str) -> Iterator[Any]:
        """What a function returns for 0, 1, 2 ... up to NULL."""
        call = self._loaded[function]
        call.restype, call.argtypes = self._results[function], [ctypes.c_int64]
        number = 0
        while found := call(number):
            yield found
            number += 1


def _import_without_library() -> ModuleType:
    """pyflowdata.nodes.stubs, without the packages around it, which load the library by cffi."""
    for name in ("pyflowdata", "pyflowdata.nodes"):
        package = ModuleType(name)
        package.__path__ = [str(ROOT.joinpath(*name.split(".")))]
        sys.modules[name] = package
    from pyflowdata.nodes import stubs

    return stubs


def _ops(library: _Library) -> list[Op]:
    from pyflowdata.nodes.op_facts import OpReader

    reader = OpReader(library.constants, _text)
    host_outputs = tuple(_text(port[0].name) for port in library.all("pfd_host_output_at"))
    origins = map(_text, library.all("pfd_op_origin"))
    return [
        reader.op(op[0], origin, host_outputs)
        for op, origin in zip(library.all("pfd_op_at"), origins, strict=True)
    ]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="write_stubs", description=__doc__.splitlines()[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("file", type=Path, nargs="?", default=PATH)
    args = parser.parse_args(arguments)
    try:
        library = _Library(args.library)
    except OSError as failure:
        kept = "stays as it was" if args.file.is_file() else "is left out"
        print(f"  {args.file.name} {kept}: {failure}")
        return
    stubs = _import_without_library()
    args.file.write_text(stubs.make_stubs(_ops(library)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
