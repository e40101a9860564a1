"""A build where zlib and libzstd are absent: all works but compressed files."""

import gzip
import os
import shutil
import subprocess
import sys
import zlib

import pytest
import zstandard
from support.paths import ROOT

OBJECTS = ROOT / "build" / "release" / "csrc"
LINES = b"".join(b"%d,%d\n" % (i, i) for i in range(100))
READ = """
import sys
import pyflowdata as flow
for path in sys.argv[1:]:
    try:
        with flow.DataLoader(flow.MiniReader(files=path)) as loader:
            print(sum(len(batch) for batch in loader))
    except flow.Error as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library that `make` built, but for the one file that knows of the two."""
    if not OBJECTS.is_dir() or shutil.which("cc") is None:
        pytest.skip("only `make` compiles the objects that are linked here")
    folder = tmp_path_factory.mktemp("without")
    codecs, library = folder / "codecs.o", folder / "libpyflowdata.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-fPIC", f"-I{ROOT / 'csrc'}",
             f"-I{ROOT / 'csrc' / 'include'}"]  # fmt: skip
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    source = ROOT / "csrc" / "files" / "codecs.c"
    subprocess.run(["cc", *flags, *strict, "-c", source, "-o", codecs], check=True)
    csrc = ROOT / "csrc"
    sources = {*csrc.rglob("*.c")} - {source, *csrc.glob("kit/*.c")}
    objects = [OBJECTS / path.relative_to(csrc).with_suffix(".o") for path in sources]
    link = ["cc", "-shared", "-pthread", f"-Wl,--version-script={ROOT / 'csrc/pyflowdata.map'}"]
    subprocess.run([*link, "-o", library, codecs, *objects, "-lm", "-ldl"], check=True)
    return library


def test_the_error_names_the_package(library, tmp_path):
    contents = {
        "plain": LINES,
        "gzip": gzip.compress(LINES),
        "zlib": zlib.compress(LINES),
        "zstd": zstandard.compress(LINES),
        "caret": b"x^2,1\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    run = subprocess.run(
        [sys.executable, "-c", READ, *(tmp_path / name for name in contents)],
        env={**os.environ, "PYFLOWDATA_LIBRARY": str(library), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    plain, *refused, caret = run.stdout.splitlines()
    assert plain == "100" and "expected a number" in caret
    for name, package, line in zip(("gzip", "zlib", "zstd"),
                                   ("zlib1g-dev", "zlib1g-dev", "libzstd-dev"), refused,
                                   strict=True):  # fmt: skip
        assert line.startswith("UnsupportedError") and f"{tmp_path / name}" in line
        assert f"apt-get install {package}" in line and "build pyflowdata again" in line


def test_the_build_says_what_is_absent(tmp_path):
    dropped = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PKG_CONFIG")
    environment = {key: value for key, value in os.environ.items() if key not in dropped}
    for found, said in (("false", "built without zlib libzstd"), ("true", None)):
        library = f"{tmp_path}/libpyflowdata.so"
        run = subprocess.run(
            ["make", "-n", f"BUILD={tmp_path}", f"PKG_CONFIG={found}", library],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert (said in run.stdout) if said else ("built without" not in run.stdout)
        assert ("-DPFD_HAVE_ZLIB" in run.stdout) == (found == "true")
