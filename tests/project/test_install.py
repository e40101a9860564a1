"""The package as pip installs it: complete, and usable from any folder."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support.installing import (  # noqa: F401  (fixtures)
    checkout,
    environment,
    install,
    make_venv,
    venv,
)
from support.paths import ROOT
from support.scratch_tree import take_objects

pytestmark = pytest.mark.slow

BUILD = """
import sys, zlib
import setuptools.build_meta
usual = zlib.compressobj
zlib.compressobj = lambda level, *more: usual(1, *more)  # no one keeps what is packed
print(getattr(setuptools.build_meta, sys.argv[1])(sys.argv[2]))
"""


def build(step, folder, into):
    command = [sys.executable, "-c", BUILD, step, into]
    subprocess.run(command, check=True, cwd=folder, env=environment(), capture_output=True)


@pytest.fixture(scope="module")
def unpacked(checkout, tmp_path_factory):  # noqa: F811
    """The source distribution of the checkout."""
    folder = tmp_path_factory.mktemp("sdist")
    build("build_sdist", checkout, folder)
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        archive.extractall(folder)  # noqa: S202
    return next(path for path in folder.iterdir() if path.is_dir())


@pytest.fixture(scope="module")
def wheel(unpacked, tmp_path_factory):
    """The wheel that is built from the source distribution."""
    take_objects(unpacked, "build/wheel", without="-Werror")  # as for the checkout
    folder = tmp_path_factory.mktemp("wheel")
    build("build_wheel", unpacked, folder)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A venv in which pip has installed the wheel."""
    python = make_venv(tmp_path_factory.mktemp("installed") / "venv")
    install(python, wheel)
    return python


USE = """
import os, sys
import pyflowdata as flow
x, y = flow.MiniDecoder(flow.MiniReader(sys.argv[1], batch_size=4))
with flow.DataLoader(x, y) as loader:
    assert sum(len(a) for a, _ in loader) == 18
assert os.path.isfile(os.path.join(flow.include_dir(), "pyflowdata", "op.h"))
print(os.path.dirname(flow.__file__), flow.__version__)
"""


def use(python, folder):
    """Where the package that is imported in `folder` lies, after it has read the data."""
    command = [python, "-c", USE, ROOT / "data"]
    run = subprocess.run(
        command, check=True, cwd=folder, env=environment(), capture_output=True, text=True
    )
    return Path(run.stdout.split()[0])


def test_installed(installed, tmp_path):  # noqa: F811
    package = use(installed, tmp_path)
    assert installed.parent.parent in package.parents
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    assert {"libpyflowdata.so", "py.typed", "ops.pyi"} <= names
    headers = sorted(path.name for path in (package / "include" / "pyflowdata").iterdir())
    assert headers == ["op.h", "pyflowdata.h"]
    checked_out = ROOT / "pyflowdata"
    sources = {str(path.relative_to(checked_out)) for path in checked_out.rglob("*.py")}
    assert sources <= names


def test_editable(checkout, venv, tmp_path):
    install(venv, "-e", checkout)
    assert use(venv, tmp_path) == checkout / "pyflowdata"


def files_of_git():
    """The files of this checkout that git has or would take."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in listed if name and (ROOT / name).is_file()}


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None,
    reason="what the checkout has is known of git",
)
def test_source_distribution_has_all(unpacked):
    """The source distribution has all that `make test` needs."""
    missing = {name for name in files_of_git() if not (unpacked / name).is_file()}
    assert missing == set(), "files that MANIFEST.in leaves out"


def test_wheel(wheel):
    """The wheel fits any Python 3."""
    assert "-py3-none-linux" in wheel.name
    assert "pyflowdata/libpyflowdata.so" in zipfile.ZipFile(wheel).namelist()
