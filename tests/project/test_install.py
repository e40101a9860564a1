"""The package as pip installs it: complete, and usable from any folder."""

import os
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
    installed,
    venv,
)
from support.paths import ROOT
from support.scratch_tree import take_objects

pytestmark = pytest.mark.slow

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
    assert {"libpyflowdata.so", "libpyflowdata_kit.so", "py.typed", "ops.pyi"} <= names
    headers = sorted(path.name for path in (package / "include" / "pyflowdata").iterdir())
    assert headers == ["kit.h", "op.h", "pyflowdata.h"]
    checked_out = ROOT / "pyflowdata"
    sources = {str(path.relative_to(checked_out)) for path in checked_out.rglob("*.py")}
    drivers = {str(p.relative_to(checked_out)) for p in checked_out.rglob("conformance/drivers/*")}
    assert sources | drivers <= names and len(drivers) > 5
    templates = checked_out / "templates"
    for folder in (templates, checked_out / "project_template"):
        assert {str(p.relative_to(checked_out)) for p in folder.rglob("*.in")} <= names


@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="make or cc is not here"
)
def test_plugins_of_an_installed_package(installed, tmp_path):  # noqa: F811
    """As a user does it: nothing but the package, its command, and pytest."""
    path = os.pathsep.join([str(installed.parent), os.environ["PATH"]])
    for kind in sorted(path.name for path in (ROOT / "pyflowdata/templates").iterdir()):
        for command in (
            ["pyflowdata", "new", kind, f"fresh_{kind}"],
            ["sh", "-c", f"cd fresh_{kind} && make && python -m pytest -q"],
            ["pyflowdata", "new", kind, f"packed_{kind}", "--package"],
            ["sh", "-c", f"cd packed_{kind} && make test wheel PYTHON=python && ls dist/*.whl"],
        ):
            done = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True,
                env={**environment(), "PATH": path, "PYTHONPATH": ""},
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr


def test_editable(checkout, venv, tmp_path):
    install(venv, "-e", checkout)
    assert use(venv, tmp_path) == checkout / "pyflowdata"


def files_of_git():
    """The files of this checkout that git has or would take."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\0")
    return {name for name in listed if name and (ROOT / name).is_file()}


def test_wheel_from_source_distribution(checkout, tmp_path):
    """The source distribution has all that `make test` needs; the wheel fits any Python 3."""
    build = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"
    for step, folder in (("build_sdist", checkout), ("build_wheel", None)):
        if folder is None:
            with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
                archive.extractall(tmp_path)  # noqa: S202
            folder = next(path for path in tmp_path.iterdir() if path.is_dir())
            if (ROOT / ".git").exists() and shutil.which("git"):  # not in a source distribution
                missing = {name for name in files_of_git() if not (folder / name).is_file()}
                assert missing == set(), "files that MANIFEST.in leaves out"
            take_objects(folder, "build/wheel", without="-Werror")  # as for the checkout
        subprocess.run(
            [sys.executable, "-c", build, step, tmp_path],
            check=True,
            cwd=folder,
            env=environment(),
            capture_output=True,
        )
    wheel = next(tmp_path.glob("*.whl"))
    assert "-py3-none-linux" in wheel.name
    libraries = {"pyflowdata/libpyflowdata.so", "pyflowdata/libpyflowdata_kit.so"}
    assert libraries <= set(zipfile.ZipFile(wheel).namelist())
