"""What the C library shows to the world: its symbols, its headers, its struct sizes."""

import re
import shutil
import subprocess

import pytest
from support.paths import ROOT

from pyflowdata.native import expected_abi_version, lib
from tools import declarations

INCLUDE = ROOT / "csrc" / "include"
HEADERS = ["op.h", "pyflowdata.h"]


def cdef(header: str) -> str:
    text = (INCLUDE / "pyflowdata" / header).read_text()
    return re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.S)[1]


def declared_functions(header: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", cdef(header), flags=re.S)
    return set(re.findall(r"\b(pfd_\w+)\([^;]*\);", text))


def private_functions() -> set[str]:
    """The inner functions that are exported for the kit."""
    headers = "".join(path.read_text() for path in sorted((ROOT / "csrc").rglob("*.h")))
    return set(re.findall(r"\b(pfd_\w+)\([^;]*\)\s+PFD_PRIVATE;", headers))


def test_exported_symbols_are_the_declared_functions():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not here")
    command = [nm, "-D", "--defined-only", ROOT / "pyflowdata/libpyflowdata.so"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exported = dict(re.findall(r" T (pfd_\w+)@+(\w+)", out))  # symbol -> node of the export map
    private = private_functions()
    assert exported.keys() == declared_functions("pyflowdata.h") | private
    assert {name for name, node in exported.items() if node == "PYFLOWDATA_PRIVATE"} == private


def test_the_export_map_lists_every_function_once():
    listed = re.findall(r"^\s+(pfd_\w+);", (ROOT / "csrc/pyflowdata.map").read_text(), re.M)
    assert sorted(listed) == sorted(declared_functions("pyflowdata.h") | private_functions())


def test_struct_sizes_of_python_are_those_of_the_library():
    assert expected_abi_version() == lib.pfd_abi_version()


def test_what_python_knows_of_the_headers_is_current():
    path = ROOT / "pyflowdata/native/declared.py"
    assert path.read_text() == declarations.module(path), "run `make`"


@pytest.mark.parametrize("language, compiler", [("c", "gcc"), ("c++", "g++")])
@pytest.mark.parametrize("header", HEADERS)
def test_public_headers_compile_alone(header, language, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    subprocess.run(
        [compiler, "-x", language, f"-std={language}11", "-fsyntax-only", "-I", INCLUDE,
         "-Wall", "-Wextra", "-Wpedantic", "-Werror", INCLUDE / "pyflowdata" / header],
        check=True,
    )  # fmt: skip


def test_the_cdef_blocks_hold_no_preprocessor_code():
    for header in HEADERS:
        for line in re.findall(r"^ *#.*", cdef(header), re.M):
            assert re.match(r"#define PFD_\w+ -?\d+u?\b", line), line
