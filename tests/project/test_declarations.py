"""What `make` writes of the C headers for Python is what cffi makes of them."""

import pytest
from support.cffi_declarations import assert_same, cffi_of

from pyflowdata.native import ffi, lib, library_path
from tools.c_headers import Declarations


def test_they_are_what_cffi_reads(tmp_path):
    assert_same(ffi, lib, cffi_of(tmp_path), library_path())


@pytest.mark.parametrize("text, said", [
    ("int x;", "x is neither a function nor a type"),
    ("typedef struct a b;", "struct a has another name, b"),
    ("int f(int)", "',' is expected"),
    ("int f(int x, 3);", "is expected after"),
])  # fmt: skip
def test_what_is_not_read_is_said(text, said):
    with pytest.raises(ValueError, match=said):
        Declarations().add(f"/* cdef-begin */{text}/* cdef-end */")
