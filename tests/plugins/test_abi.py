"""What the C libraries show to the world: their symbols, their headers, their struct sizes."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from support.paths import ROOT

from pyflowdata.conformance import binding as kit
from pyflowdata.native import expected_abi_version, lib
from tools import declarations

INCLUDE = ROOT / "csrc" / "include"
HEADERS = ["op.h", "pyflowdata.h", "kit.h"]
LIBRARIES = {"libpyflowdata": "pyflowdata.h", "libpyflowdata_kit": "kit.h"}


def cdef(header: str) -> str:
    text = (INCLUDE / "pyflowdata" / header).read_text()
    return re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.S)[1]


def declared_functions(header: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", cdef(header), flags=re.S)
    return set(re.findall(r"\b(pfd_\w+)\([^)]*\);", text))


def private_functions() -> set[str]:
    """The inner functions that are exported for the kit."""
    headers = "".join(path.read_text() for path in sorted((ROOT / "csrc").rglob("*.h")))
    return set(re.findall(r"\b(pfd_\w+)\([^;]*\)\s+PFD_PRIVATE;", headers))


def symbols(library: str, *options: str) -> dict[str, str]:
    """Symbol -> node of the export map that it is in."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm (binutils) is not here")
    command = [nm, "-D", *options, ROOT / "pyflowdata" / f"{library}.so"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r" [TU] (pfd_\w+)@+(\w+)", out))


@pytest.mark.parametrize("library", LIBRARIES)
def test_exported_symbols_are_the_declared_functions(library):
    private = private_functions() if library == "libpyflowdata" else set()
    exported = symbols(library, "--defined-only")
    assert exported.keys() == declared_functions(LIBRARIES[library]) | private
    assert {name for name, node in exported.items() if node == "PYFLOWDATA_PRIVATE"} == private


def test_private_symbols_are_what_the_kit_calls():
    called = symbols("libpyflowdata_kit", "--undefined-only")
    private = {name for name, node in called.items() if node == "PYFLOWDATA_PRIVATE"}
    assert private == private_functions()
    assert called.keys() - private <= declared_functions("pyflowdata.h")


@pytest.mark.parametrize("export_map, header", [("pyflowdata", "pyflowdata.h"),
                                                ("pyflowdata_kit", "kit.h")])  # fmt: skip
def test_the_export_maps_list_every_function_once(export_map, header):
    listed = re.findall(r"^\s+(pfd_\w+);", (ROOT / f"csrc/{export_map}.map").read_text(), re.M)
    private = private_functions() if header == "pyflowdata.h" else set()
    assert sorted(listed) == sorted(declared_functions(header) | private)


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
            [sys.executable, "-c", "import pyflowdata.conformance.binding"], text=True,
            env={**os.environ, "LD_PRELOAD": preload} if preload else None,
            cwd=ROOT, capture_output=True,
        )  # fmt: skip
        assert (run.returncode != 0) == bool(preload), run.stderr
    assert re.search("ImportError: .*libpyflowdata_kit.so and .* different builds", run.stderr)


def test_struct_sizes_of_python_are_those_of_the_libraries():
    assert expected_abi_version() == lib.pfd_abi_version()
    assert kit.expected_abi_version() == kit.lib.pfd_kit_abi_version()


def test_what_python_knows_of_the_headers_is_current():
    written = {path: path.read_text() for path in declarations.modules(ROOT)}
    assert written == declarations.modules(ROOT), "run `make`"


def test_only_checks_and_benchmarks_load_the_kit():
    """Nor does the package, its command line or what tests import."""
    use = """if True:
        import pyflowdata, pyflowdata.cli, pyflowdata.testing
        from pyflowdata.cli import main
        main(["ops"])
        assert "libpyflowdata_kit" not in open("/proc/self/maps").read()
        import pyflowdata.conformance.bench
        assert "libpyflowdata_kit" in open("/proc/self/maps").read()
    """
    command = [sys.executable, "-c", use]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, check=True, env=environment, capture_output=True)


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
