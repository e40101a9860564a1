"""Writes what Python knows of the C headers, so that no process has to parse them.

    python -m tools.declarations pyflowdata/native/declared.py

`make` runs it for each module.  The modules are what cffi calls out-of-line ABI mode: with them only its part in C
is imported, and neither a parser nor a lock is needed later.  cffi could write them, but `make`
needs nothing that would have to be installed; a test compares what both say.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import zlib
from pathlib import Path

from .c_headers import INCLUDE, Array, Declarations, Function, Named, Pointer, Type, read_headers

ROOT = Path(__file__).resolve().parent.parent
# What Python has to agree with, besides the headers: what ops and formats there are.
_LISTS = ("csrc/registry/builtin_ops.c", "csrc/registry/builtin_formats.c")
_PRODUCT = ("pyflowdata.native.declared", ("op.h", "pyflowdata.h"), _LISTS)
_KIT = ("pyflowdata.conformance.declared", ("kit.h",), ())

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


def _checksums(root: Path, paths: list[str]) -> dict[str, int]:
    return {path: zlib.crc32((root / path).read_bytes()) for path in paths}


def _module(name: str, headers: tuple[str, ...], tables: _Tables, sums: dict[str, int],
            includes: str) -> str:  # fmt: skip
    """The text of a module, in lines of at most 100 columns."""
    def written(value: object) -> str:
        return pprint.pformat(value, width=98, compact=True)

    includes_it = f"from {includes} import ffi as _known\n" if includes else ""
    return f'''\
"""What cffi knows of {" and ".join(headers)}.  Written by `make`, not by hand."""

import _cffi_backend
{includes_it}
SOURCES = {written(sums)}
ffi = _cffi_backend.FFI(
"{name}",
_version={_FORMAT},
_types={written(tables.types)},
_globals={written(tables.globals)},
_struct_unions={written(tables.structs)},
_typenames={written(tables.names)},
{"_includes=(_known,)," if includes else ""}
)
'''


def modules(root: Path) -> dict[Path, str]:
    """The modules and their text."""
    texts = {}
    known, includes = Declarations(), ""
    for name, headers, others in (_PRODUCT, _KIT):
        declared = read_headers(root, headers)
        sums = _checksums(root, [*(str(INCLUDE / header) for header in headers), *others])
        text = _module(name, headers, _Tables(declared, known), sums, includes)
        texts[root.joinpath(*name.split(".")).with_suffix(".py")] = text
        known, includes = declared, name
    return texts


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="declarations", description=__doc__.splitlines()[0])
    parser.add_argument("module", type=Path, help="its file, from the root of the tree")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to read and write in")
    args = parser.parse_args(arguments)
    path = args.root / args.module
    path.write_text(modules(args.root)[path], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
