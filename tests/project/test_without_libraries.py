"""A build without other libraries: all works but compressed files, and most formats of images."""

import gzip
import os
import shutil
import subprocess
import zlib

import pytest
import zstandard
from images.image_files import photo, saved
from pyflowdata.io import TFRecordWriter
from support import programs
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


ARROW = """
import sys
import pyflowdata as flow
for path in sys.argv[1:]:
    try:
        with flow.DataLoader(flow.ArrowReader(files=path, columns=["string:bytes"])) as loader:
            print(sum(len(batch) for batch in loader))
    except flow.Error as error:
        print(type(error).__name__, error)
"""


IMAGES = """
import sys
import pyflowdata as flow
def first(blob):
    with flow.DataLoader(blob) as loader:
        return next(iter(loader))[0]
for path in sys.argv[1:]:
    file = flow.TFRecordReader(files=path)
    try:
        print(first(flow.ImageSize(file)).tolist(), end=" ")
        print(list(first(flow.ImageDecoder(file)).shape))
    except flow.Error as error:
        print(type(error).__name__, error)
image = flow.ImageDecoder(file)
for form in ("jpeg", "png", "ppm"):
    try:
        print(bytes(first(flow.ImageEncoder(image, format=form)))[:2].decode())
    except flow.Error as error:
        print(type(error).__name__, error)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The library that `make` built, but for the files that know of other libraries."""
    if not OBJECTS.is_dir() or shutil.which("cc") is None:
        pytest.skip("only `make` compiles the objects that are linked here")
    folder = tmp_path_factory.mktemp("without")
    library = folder / "libpyflowdata.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-fPIC", f"-I{ROOT / 'csrc'}",
             f"-I{ROOT / 'csrc' / 'include'}"]  # fmt: skip
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    csrc = ROOT / "csrc"
    sources = {*csrc.rglob("*.c")}
    without = {path for path in sources if "#ifdef PFD_HAVE_" in path.read_text()}
    known = {"codecs.c", "jpeg_codec.c", "png_codec.c", "webp_codec.c"}
    assert known <= {path.name for path in without}
    subprocess.run(["cc", *flags, *strict, "-c", *without], check=True, cwd=folder)
    objects = [OBJECTS / path.relative_to(csrc).with_suffix(".o") for path in sources - without]
    link = ["cc", "-shared", "-pthread", f"-Wl,--version-script={ROOT / 'csrc/pyflowdata.map'}"]
    link += ["-Wl,-z,defs", "-o", library, *folder.glob("*.o"), *objects, "-lm", "-ldl"]
    subprocess.run(link, check=True)
    return library


def run(library, program, *arguments):
    env = programs.environment(PYFLOWDATA_LIBRARY=str(library))
    return programs.run(program, *arguments, env=env, check=True).stdout.splitlines()


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
    plain, *refused, caret = run(library, READ, *(tmp_path / name for name in contents))
    assert plain == "100" and "expected a number" in caret
    for name, package, line in zip(("gzip", "zlib", "zstd"),
                                   ("zlib1g-dev", "zlib1g-dev", "libzstd-dev"), refused,
                                   strict=True):  # fmt: skip
        assert line.startswith("UnsupportedError") and f"{tmp_path / name}" in line
        assert f"apt-get install {package}" in line and "build pyflowdata again" in line


def test_arrow_bodies(library):
    folder = ROOT / "tests/fixtures/arrow"
    names = ("types.arrow", "types-lz4.feather", "types-zstd.arrows")
    plain, lz4, zstd = run(library, ARROW, *(folder / name for name in names))
    assert plain == "8"
    assert "UnsupportedError" in lz4 and "apt-get install liblz4-dev" in lz4
    assert "UnsupportedError" in zstd and "apt-get install libzstd-dev" in zstd


def test_images(library, tmp_path):
    """Sizes come from headers; BMP and PNM need no library."""
    forms = {"jpeg": "libjpeg-dev", "png": "libpng-dev", "webp": "libwebp-dev",
             "bmp": None, "ppm": None}  # fmt: skip
    for form in forms:
        with TFRecordWriter(tmp_path / form) as writer:
            writer.write(saved(photo(7, 9), form))
    lines = run(library, IMAGES, *(tmp_path / form for form in forms))
    for (form, package), line in zip(forms.items(), lines, strict=False):
        assert line.startswith("[7, 9] ")
        if package is None:
            assert line == "[7, 9] [7, 9, 3]"
        else:
            assert "UnsupportedError" in line and f"apt-get install {package}" in line
            assert f"the row is a {form.upper() if form != 'webp' else 'WebP'} image" in line
    jpeg, png, ppm = lines[5:]
    assert "apt-get install libjpeg-dev" in jpeg and "apt-get install libpng-dev" in png
    assert ppm == "P6"


def test_the_build_says_what_is_absent(tmp_path):
    dropped = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PKG_CONFIG")
    environment = {key: value for key, value in os.environ.items() if key not in dropped}
    all_of_them = "built without zlib libzstd liblz4 libjpeg libpng libwebp"
    for found, said in (("false", all_of_them), ("true", None)):
        library = f"{tmp_path}/libpyflowdata.so"
        run = subprocess.run(
            ["make", "-n", f"BUILD={tmp_path}", f"PKG_CONFIG={found}", library],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert (said in run.stdout) if said else ("built without" not in run.stdout)
        assert ("-DPFD_HAVE_ZLIB" in run.stdout) == (found == "true")
