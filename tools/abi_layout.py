"""Pins the layout of the plugin interface: what plugins were compiled with must stay true.

    python tools/abi_layout.py            exits with 1 and says what differs
    python tools/abi_layout.py --write    writes the files again where the interface has only grown

For version M.N of csrc/include/pyflowdata/op.h the files are
    tests/abi/M.N/layout.txt       every constant, struct and field, with offset, size and type
    tests/c/abi_layout.c           the same as static asserts, which every compiler checks
    tests/abi/M.N/pyflowdata/op.h  a copy that plugins of that version are tested with
Versions that were released keep theirs; each is compared with the header of today.  Layouts are
those of 64-bit machines (LP64), on which they do not depend on the processor.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import cffi

ROOT = Path(__file__).resolve().parent.parent
CHANGES = {"PFD_ABI_MINOR"}  # the only constant that may


@dataclass(frozen=True)
class Field:
    name: str
    offset: int
    size: int
    type: str


@dataclass(frozen=True)
class Struct:
    name: str
    size: int
    grows: bool
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Layout:
    constants: dict[str, str]
    structs: dict[str, Struct]

    @property
    def version(self) -> str:
        return f"{self.constants['PFD_ABI_MAJOR']}.{self.constants['PFD_ABI_MINOR']}"


# ---- Reading ------------------------------------------------------------------------------------


def _fields(ffi: cffi.FFI, name: str) -> tuple[Field, ...]:
    return tuple(
        Field(field, about.offset, ffi.sizeof(about.type), about.type.cname)
        for field, about in ffi.typeof(name).fields
    )


def read_header(text: str) -> Layout:
    """The layout that a text of op.h has on this machine."""
    found = re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.DOTALL)
    if found is None:
        raise ValueError("the header has no cdef-begin and cdef-end marks")
    ffi = cffi.FFI()
    ffi.cdef(found[1])
    names = re.findall(r"^(?:typedef )?struct (pfd_\w+) \{", found[1], re.MULTILINE)
    fields = {name: _fields(ffi, name) for name in names}
    # Of what stands in tables, the op says the size.
    sized = {f"pfd_{one.name.removesuffix('_size')}" for one in fields["pfd_op"]}
    structs = {
        name: Struct(
            name, ffi.sizeof(name), fields[name][0].name == "struct_size" or name in sized,
            fields[name],
        )
        for name in names
    }  # fmt: skip
    constants = dict(re.findall(r"^#define (PFD_\w+) (\S+)", found[1], re.MULTILINE))
    return Layout(constants, structs)


def format_layout(layout: Layout) -> str:
    lines = [f"# pyflowdata/op.h {layout.version}, LP64; written by tools/abi_layout.py"]
    lines += [f"const {name} {value}" for name, value in layout.constants.items()]
    for struct in layout.structs.values():
        lines += ["", f"struct {struct.name} {struct.size} {'grows' if struct.grows else 'fixed'}"]
        lines += [
            f"{struct.name}.{field.name} {field.offset} {field.size} {field.type}"
            for field in struct.fields
        ]
    return "\n".join(lines) + "\n"


def parse_layout(text: str) -> Layout:
    constants: dict[str, str] = {}
    structs: dict[str, Struct] = {}
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "const":
            name, value = rest.split()
            constants[name] = value
        elif word == "struct":
            name, size, kind = rest.split()
            structs[name] = Struct(name, int(size), kind == "grows", ())
        elif "." in word:
            name, field = word.split(".")
            offset, size, kind = rest.split(" ", 2)
            old = structs[name]
            fields = (*old.fields, Field(field, int(offset), int(size), kind))
            structs[name] = Struct(name, old.size, old.grows, fields)
    return Layout(constants, structs)


# ---- Comparing ----------------------------------------------------------------------------------


def _compare_struct(old: Struct, new: Struct) -> list[str]:
    found = []
    for was, now in zip(old.fields, new.fields, strict=False):
        # A reserved field was zero to everyone: it may get a meaning.
        named = replace(was, name=now.name) if was.name.startswith("reserved") else was
        if named != now:
            found.append(
                f"{old.name}: '{was.name}' was {was.type} of {was.size} bytes at {was.offset}, now "
                f"there is '{now.name}', {now.type} of {now.size} bytes at {now.offset}"
            )
    gone = [field.name for field in old.fields[len(new.fields) :]]
    if gone:
        found.append(f"{old.name}: the last fields are gone: {', '.join(gone)}")
    if old.grows != new.grows:
        found.append(f"{old.name}: its size was {'' if old.grows else 'not '}given, that changed")
    if not old.grows and len(new.fields) > len(old.fields):
        found.append(f"{old.name}: a struct without struct_size cannot grow")
    if not found and not old.grows and old.size != new.size:
        found.append(f"{old.name}: had {old.size} bytes, now {new.size}")
    return found


def differences(old: Layout, new: Layout) -> list[str]:
    """Why what was compiled with `old` does not fit `new`; empty if it does."""
    found = []
    for name, value in old.constants.items():
        if name not in CHANGES and new.constants.get(name) != value:
            found.append(f"{name} was {value}, now {new.constants.get(name, 'it is gone')}")
    for name, struct in old.structs.items():
        if name not in new.structs:
            found.append(f"{name} is gone")
        else:
            found += _compare_struct(struct, new.structs[name])
    return found


def tails(layout: Layout) -> list[str]:
    """Padding at the end of what grows: a later field there would look as if it had been set."""
    found = []
    for struct in layout.structs.values():
        padding = struct.size - struct.fields[-1].offset - struct.fields[-1].size
        if struct.grows and padding:
            found.append(
                f"{struct.name}: its last {padding} bytes are padding; add a reserved field"
            )
    return found


# ---- Files --------------------------------------------------------------------------------------


_MACROS = r"""
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type " is of another size")
#define AT(type, field, place, bytes) \
    _Static_assert(offsetof(type, field) == (place) && sizeof(((type *)0)->field) == (bytes), \
                   #type "." #field " is at another place")
"""


def _macros() -> list[str]:
    """With the backslashes in the last column, as .clang-format has them."""
    return [
        line[:-1].rstrip().ljust(99) + "\\" if line.endswith("\\") else line
        for line in _MACROS.splitlines()
    ]


def format_asserts(layout: Layout) -> str:
    lines = [
        f"/* The layout of op.h {layout.version} as static asserts; written by"
        " tools/abi_layout.py. */",
        '#include "pyflowdata/op.h"',
        "",
        *_macros()[1:],
        "",
        "SIZE(pfd_status, 4);",
        "",
        "#ifdef __LP64__",
    ]
    for struct in layout.structs.values():
        lines += ["", f"SIZE({struct.name}, {struct.size});"]
        lines += [
            f"AT({struct.name}, {field.name}, {field.offset}, {field.size});"
            for field in struct.fields
        ]
    return "\n".join([*lines, "", "#endif"]) + "\n"


def _code(text: str) -> str:
    """Without comments and line breaks: what they say may change in a released version."""
    return " ".join(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL).split())


def check(root: Path, write: bool) -> list[str]:
    """What is wrong in the tree at `root`; with `write`, after what can be mended was."""
    header = (root / "csrc/include/pyflowdata/op.h").read_text(encoding="utf-8")
    layout = read_header(header)
    folder = root / "tests/abi"
    found = tails(layout)
    for path in sorted(folder.glob(f"{layout.constants['PFD_ABI_MAJOR']}.*/layout.txt")):
        for difference in differences(parse_layout(path.read_text(encoding="utf-8")), layout):
            found.append(f"{path.parent.name}/{path.name}: {difference}")
    if found:
        return found
    files = {
        folder / layout.version / "layout.txt": format_layout(layout),
        root / "tests/c/abi_layout.c": format_asserts(layout),
        folder / layout.version / "pyflowdata/op.h": header,
    }
    for path, text in files.items():
        if path.is_file() and _code(path.read_text(encoding="utf-8")) == _code(text):
            continue
        if write:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        else:
            found.append(
                f"{path.relative_to(root)} is not current: after a change that only adds, run "
                "`make abi`"
            )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Pins the layout of the plugin interface.")
    parser.add_argument("--write", action="store_true", help="write the files again")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    args = parser.parse_args()
    found = check(args.root, args.write)
    for line in found:
        print(line, file=sys.stderr)
    if found and any(".txt: " in line for line in found):
        print(
            "Plugins that are compiled would break: what there is stays, fields come last in "
            "structs with a struct_size (op.h, GROWTH).",
            file=sys.stderr,
        )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
