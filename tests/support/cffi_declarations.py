"""What cffi's own parser and writer make of the C headers, to compare ours with."""

from __future__ import annotations

import importlib.util
import re
import sys

import cffi
from support.paths import ROOT

INCLUDE = ROOT / "csrc" / "include" / "pyflowdata"
PRODUCT = [INCLUDE / "op.h", INCLUDE / "pyflowdata.h"]


def _parsed(headers, known=None):
    parser = cffi.FFI()
    if known is not None:
        parser.include(known)
    for header in headers:
        text = header.read_text()
        parser.cdef(re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.S)[1])
    return parser


def _module_ffi(parser, folder, name):
    parser.set_source(name, None)
    parser.emit_python_code(str(folder / f"{name}.py"))
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ffi


def cffi_of(folder, *further):
    """The FFI of the product's headers; with further headers, of those, which use the product's."""
    product = _parsed(PRODUCT)
    found = _module_ffi(product, folder, "theirs")
    return _module_ffi(_parsed(further, product), folder, "theirs_further") if further else found


def _layout(of, name):
    """A type, and the size and fields of a struct that has some."""
    kind = of.typeof(name)
    try:
        size = of.sizeof(name)
    except Exception:
        return str(kind)  # nobody sees into it
    fields = kind.fields if kind.kind == "struct" else []
    return str(kind), size, [(key, str(one.type), one.offset) for key, one in fields]


def assert_same(ours, library, theirs, path):
    """Our types and functions are those of cffi, over the library at `path`."""
    assert ours.list_types() == theirs.list_types()
    for name in ours.list_types()[0]:
        assert _layout(ours, name) == _layout(theirs, name)
    other = theirs.dlopen(str(path))
    assert dir(library) == dir(other) and len(dir(library)) > 10
    for name in dir(library):
        found, expected = getattr(library, name), getattr(other, name)
        if not isinstance(found, int):
            found, expected = ours.typeof(found), theirs.typeof(expected)
            assert found.ellipsis == expected.ellipsis
        assert str(found) == str(expected), name
