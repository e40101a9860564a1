"""What `make` writes of the C headers for Python is what cffi makes of them."""

import importlib.util
import re
import sys

import cffi
import pytest
from support.paths import ROOT

from pyflowdata.native import ffi, lib, library_path
from tools.c_headers import Declarations

INCLUDE = ROOT / "csrc" / "include" / "pyflowdata"
PRODUCT = [INCLUDE / "op.h", INCLUDE / "pyflowdata.h"]
KIT = [ROOT / "kit/pyflowdata_kit/include/pyflowdata_kit/kit.h"]


@pytest.fixture(scope="module")
def of_cffi(tmp_path_factory):
    """The FFIs that cffi's own parser and writer make, of the product and of the kit."""
    folder = tmp_path_factory.mktemp("declared")
    made, known = [], None
    for name, headers in (("theirs", PRODUCT), ("theirs_kit", KIT)):
        parsed = cffi.FFI()
        if known is not None:
            parsed.include(known)
        for header in headers:
            text = header.read_text()
            parsed.cdef(re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.S)[1])
        parsed.set_source(name, None)
        parsed.emit_python_code(str(folder / f"{name}.py"))
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        made.append(module.ffi)
        known = parsed
    return made


def layout(of, name):
    """A type, and the size and fields of a struct that has some."""
    kind = of.typeof(name)
    try:
        size = of.sizeof(name)
    except Exception:
        return str(kind)  # nobody sees into it
    fields = kind.fields if kind.kind == "struct" else []
    return str(kind), size, [(key, str(one.type), one.offset) for key, one in fields]


@pytest.mark.parametrize("which", [0, 1], ids=["product", "kit"])
def test_they_are_what_cffi_reads(which, of_cffi):
    ours, library, path, theirs = ffi, lib, library_path(), of_cffi[which]
    if which:
        binding = pytest.importorskip("pyflowdata_kit.binding")
        ours, library, path = (
            binding.ffi,
            binding.lib,
            ROOT / "kit/pyflowdata_kit/libpyflowdata_kit.so",
        )
    assert ours.list_types() == theirs.list_types()
    for name in ours.list_types()[0]:
        assert layout(ours, name) == layout(theirs, name)
    other = theirs.dlopen(str(path))
    assert dir(library) == dir(other) and len(dir(library)) > 10
    for name in dir(library):
        found, expected = getattr(library, name), getattr(other, name)
        if not isinstance(found, int):
            found, expected = ours.typeof(found), theirs.typeof(expected)
            assert found.ellipsis == expected.ellipsis
        assert str(found) == str(expected), name


@pytest.mark.parametrize("text, said", [
    ("int x;", "x is neither a function nor a type"),
    ("typedef struct a b;", "struct a has another name, b"),
    ("int f(int)", "',' is expected"),
    ("int f(int x, 3);", "is expected after"),
])  # fmt: skip
def test_what_is_not_read_is_said(text, said):
    with pytest.raises(ValueError, match=said):
        Declarations().add(f"/* cdef-begin */{text}/* cdef-end */")
