"""The symbols that the kit's C library exports, and who loads it."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.cffi_declarations import assert_same, cffi_of
from support.paths import ROOT

from pyflowdata_kit import binding as kit
from tools import declarations

PACKAGE = ROOT / "kit/pyflowdata_kit"
HEADER = PACKAGE / "include/pyflowdata_kit/kit.h"


def cdef() -> str:
    return re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", HEADER.read_text(), re.S)[1]


def declared_functions() -> set[str]:
    return set(re.findall(r"\b(pfd_\w+)\([^)]*\);", re.sub(r"/\*.*?\*/", "", cdef(), flags=re.S)))


def test_exported_symbols_are_the_declared_functions():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not here")
    command = [nm, "-D", "--defined-only", PACKAGE / "libpyflowdata_kit.so"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r" [TU] (pfd_\w+)@+\w+", out)) == declared_functions()


def test_the_export_map_lists_every_function_once():
    listed = re.findall(r"^\s+(pfd_\w+);", (ROOT / "kit/csrc/pyflowdata_kit.map").read_text(), re.M)
    assert sorted(listed) == sorted(declared_functions())


def test_a_kit_beside_a_library_of_another_build_is_refused(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    source, other = tmp_path / "other.c", tmp_path / "other.so"
    source.write_text("unsigned pfd_private_version(void) { return 7; }\n")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", other, source], check=True)
    preloaded = " ".join(filter(None, [os.environ.get("LD_PRELOAD"), str(other)]))
    for preload in ("", preloaded):
        run = subprocess.run(
            [sys.executable, "-c", "import pyflowdata_kit.binding"], text=True,
            env={**os.environ, "LD_PRELOAD": preload} if preload else None,
            cwd=ROOT, capture_output=True,
        )  # fmt: skip
        assert (run.returncode != 0) == bool(preload), run.stderr
    assert re.search("ImportError: .*libpyflowdata_kit.so and .* different builds", run.stderr)


def test_struct_sizes_of_python_are_those_of_the_library():
    assert kit.expected_abi_version() == kit.lib.pfd_kit_abi_version()


def test_what_python_knows_of_the_header_is_current():
    path = PACKAGE / "declared.py"
    assert path.read_text() == declarations.module(path), "run `make`"


def test_the_declarations_are_what_cffi_reads(tmp_path):
    assert_same(kit.ffi, kit.lib, cffi_of(tmp_path, HEADER), PACKAGE / "libpyflowdata_kit.so")


def test_only_checks_and_benchmarks_load_the_kit():
    """Nor does the package, its command line or what tests import; and nothing needs a parser."""
    use = """if True:
        import sys
        import pyflowdata, pyflowdata.cli, pyflowdata.testing, pyflowdata_kit.testing
        from pyflowdata.cli import main
        main(["ops"])
        assert "libpyflowdata_kit" not in open("/proc/self/maps").read()
        import pyflowdata_kit.bench
        assert "libpyflowdata_kit" in open("/proc/self/maps").read()
        assert not set(sys.modules).intersection(["cffi", "pycparser"])
    """
    command = [sys.executable, "-c", use]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, env=environment, capture_output=True)


@pytest.mark.parametrize("language, compiler", [("c", "gcc"), ("c++", "g++")])
def test_the_public_header_compiles_alone(language, compiler):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not here")
    subprocess.run(
        [compiler, "-x", language, f"-std={language}11", "-fsyntax-only", "-I", PACKAGE / "include",
         "-I", ROOT / "csrc/include", "-Wall", "-Wextra", "-Wpedantic", "-Werror", HEADER],
        check=True,
    )  # fmt: skip


def test_the_cdef_block_holds_no_preprocessor_code():
    for line in re.findall(r"^ *#.*", cdef(), re.M):
        assert re.match(r"#define PFD_\w+ -?\d+u?\b", line), line
