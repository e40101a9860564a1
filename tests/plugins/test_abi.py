"""What the C library shows to the world: its symbols, its headers, its struct sizes."""

import re
import shutil
import subprocess

import pytest
from support.paths import ROOT

from pyflowdata.native import expected_abi_version, lib

INCLUDE = ROOT / "csrc" / "include"


def cdef(header: str) -> str:
    text = (INCLUDE / "pyflowdata" / header).read_text()
    return re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.S)[1]


def declared_functions() -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", cdef("pyflowdata.h"), flags=re.S)
    return set(re.findall(r"\b(pfd_\w+)\([^)]*\);", text))


def test_exported_symbols_are_the_declared_functions():
    library = ROOT / "pyflowdata" / "libpyflowdata.so"
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not here")
    lines = subprocess.run(
        [nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    symbols = {line.split()[-1].split("@")[0] for line in lines if " A " not in line}
    assert symbols == declared_functions()


def test_the_export_map_lists_every_function_once():
    listed = re.findall(r"^\s+(pfd_\w+);", (ROOT / "csrc/pyflowdata.map").read_text(), re.M)
    assert sorted(listed) == sorted(declared_functions())


def test_struct_sizes_of_python_are_those_of_the_library():
    assert expected_abi_version() == lib.pfd_abi_version()


@pytest.mark.parametrize("language, compiler", [("c", "gcc"), ("c++", "g++")])
@pytest.mark.parametrize("header", ["op.h", "pyflowdata.h"])
def test_public_headers_compile_alone(header, language, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    subprocess.run(
        [compiler, "-x", language, f"-std={language}11", "-fsyntax-only", "-I", INCLUDE,
         "-Wall", "-Wextra", "-Wpedantic", "-Werror", INCLUDE / "pyflowdata" / header],
        check=True,
    )  # fmt: skip


def test_the_cdef_blocks_hold_no_preprocessor_code():
    for header in ("op.h", "pyflowdata.h"):
        for line in re.findall(r"^ *#.*", cdef(header), re.M):
            assert re.match(r"#define PFD_\w+ -?\d+u?\b", line), line
