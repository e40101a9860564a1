"""Writes what Python knows of the C headers, so that no process has to parse them.

    python -m tools.declarations pyflowdata/native/declared.py

`make` runs this program for each module.  The modules are in the form that cffi calls out-of-line
ABI mode: a process then imports only the C part of cffi, and needs neither a parser nor a lock.
cffi could write the modules, but `make` must not need a package; a test compares both texts.
"""

from __future__ import annotations

import argparse
import os
import pprint
import sys
import zlib
from pathlib import Path

from .c_headers import Array, Declarations, Function, Named, Pointer, Type, read_headers

ROOT = Path(__file__).resolve().parent.parent
_INCLUDE = Path("csrc", "include", "pyflowdata")
_HEADERS = (_INCLUDE / "op.h", _INCLUDE / "pyflowdata.h")
_KIT_HEADER = Path("include", "pyflowdata_kit", "kit.h")
# What Python has to agree with, besides the headers: what ops and formats there are.
_LISTS = tuple(
    Path("csrc", "registry", f"builtin_{name}.c") for name in ("ops", "views", "formats")
)

# As in cffi's parse_c_type.h: a word of four bytes is a number and one of these.
_PRIMITIVE, _POINTER, _ARRAY, _STRUCT, _FUNCTION, _FUNCTION_END = 1, 3, 5, 9, 13, 15
_SAME_AS, _CONSTANT, _SYMBOL = 17, 31, 35
_FORMAT = 0x2601
_PRIMITIVES = {
    name: number
    for number, name in enumerate(
        "void,_Bool,char,signed char,unsigned char,short,unsigned short,int,unsigned int,long,"
        "unsigned long,long long,unsigned long long,float,double,long double,wchar_t,int8_t,"
        "uint8_t,int16_t,uint16_t,int32_t,uint32_t,int64_t,uint64_t,intptr_t,uintptr_t,ptrdiff_t,"
        "size_t,ssize_t".split(",")
    )
}
_HAS_FIELDS, _ELSEWHERE, _OPAQUE = 2, 8, 16


def _word(number: int, kind: int) -> bytes:
    return (number << 8 | kind).to_bytes(4, "big")


class _Tables:
    """The tables of an FFI of cffi: one of types, and names that refer to it."""

    def __init__(self, declared: Declarations, known: Declarations) -> None:
        """`known`: what another module has, which this one includes."""
        self._structs = sorted(known.structs | declared.structs)
        self._aliases = known.aliases | declared.aliases
        self._words: list[bytes] = []
        self._places: dict[Type, int] = {}
        functions = {name: self._place(kind) for name, kind in declared.functions.items()}
        fields = {
            name: {key: self._place(kind) for key, kind in (of or {}).items()}
            for name, of in declared.structs.items()
        }
        places = {name: self._place(Named(name)) for name in self._structs}
        aliases = {name: self._place(kind) for name, kind in self._aliases.items()}
        entries = {name: (_word(0xFFFFFF, _CONSTANT), n) for name, n in declared.numbers.items()}
        entries |= {name: (_word(place, _SYMBOL), 0) for name, place in functions.items()}
        self.globals = tuple(
            part
            for name, (word, value) in sorted(entries.items())
            for part in (word + name.encode(), value)
        )
        self.structs = tuple(
            (
                places[name].to_bytes(4, "big")
                + self._flags(name, declared, known).to_bytes(4, "big")
                + name.encode(),
                *(_word(at, _SAME_AS) + key.encode() for key, at in fields.get(name, {}).items()),
            )
            for name in self._structs
        )
        self.names = tuple(
            place.to_bytes(4, "big") + name.encode()
            for name, place in sorted((places | aliases).items())
        )
        self.types = b"".join(self._words)

    @staticmethod
    def _flags(name: str, declared: Declarations, known: Declarations) -> int:
        where = 0 if name in declared.structs else _ELSEWHERE
        if (known.structs | declared.structs)[name] is None:
            return where | _OPAQUE
        return where or _HAS_FIELDS

    def _place(self, kind: Type) -> int:
        """Where the table of types has it, added if need be."""
        if isinstance(kind, Named) and kind.name in self._aliases:
            return self._place(self._aliases[kind.name])
        if kind not in self._places:
            words = self._written(kind)
            self._places.setdefault(kind, len(self._words))
            self._words += words
        return self._places[kind]

    def _written(self, kind: Type) -> list[bytes]:
        if isinstance(kind, Pointer):
            return [_word(self._place(kind.to), _POINTER)]
        if isinstance(kind, Array):
            return [_word(self._place(kind.of), _ARRAY), kind.length.to_bytes(4, "big")]
        if isinstance(kind, Function):
            arguments = [_word(self._place(one), _SAME_AS) for one in kind.arguments]
            end = _word(int(kind.takes_more), _FUNCTION_END)
            return [_word(self._place(kind.result), _FUNCTION), *arguments, end]
        if kind.name in _PRIMITIVES:
            return [_word(_PRIMITIVES[kind.name], _PRIMITIVE)]
        if kind.name not in self._structs:
            raise ValueError(f"there is no type {kind.name}")
        return [_word(self._structs.index(kind.name), _STRUCT)]


def _module(name: str, sources: tuple[Path, ...], tables: _Tables, root: Path, known: str) -> str:
    """The text of a module, in lines of at most 100 columns; `known`: the one that it includes."""

    def written(value: object) -> str:
        return pprint.pformat(value, width=98, compact=True)

    headers = " and ".join(path.name for path in sources if path.suffix == ".h")
    sums = {os.path.relpath(root / path, root): zlib.crc32((root / path).read_bytes())
            for path in sources}  # fmt: skip
    return f'''\
"""What cffi knows of {headers}.  Written by `make`, not by hand."""

import _cffi_backend
{f"from {known} import ffi as _known" if known else ""}

SOURCES = {written(sums)}
ffi = _cffi_backend.FFI(
"{name}",
_version={_FORMAT},
_types={written(tables.types)},
_globals={written(tables.globals)},
_struct_unions={written(tables.structs)},
_typenames={written(tables.names)},
{"_includes=(_known,)," if known else ""}
)
'''


def module(path: Path, root: Path = ROOT) -> str:
    """The text of a `declared.py` in a tree: of the product, or of the kit, which includes it."""
    product = read_headers(root, _HEADERS)
    if path.parent.name != "pyflowdata_kit":
        tables = _Tables(product, Declarations())
        return _module("pyflowdata.native.declared", (*_HEADERS, *_LISTS), tables, root, "")
    header = path.parent / _KIT_HEADER
    tables = _Tables(read_headers(root, (header,)), product)
    known = "pyflowdata.native.declared"
    return _module("pyflowdata_kit.declared", (header,), tables, root, known)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="declarations", description=__doc__.splitlines()[0])
    parser.add_argument("module", type=Path, help="its file")
    args = parser.parse_args(arguments)
    args.module.write_text(module(args.module), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
