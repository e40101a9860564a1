"""A checkout that pip installs from, and a venv that it installs into."""

import os
import shutil
import subprocess
import sys
import sysconfig

import pytest

from .paths import ROOT
from .scratch_tree import take_objects

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "*.so", "*.egg-info", "__pycache__", ".*_cache"
)


def needs_setuptools():
    pytest.importorskip("setuptools", "77")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    needs_setuptools()
    folder = tmp_path_factory.mktemp("checkout") / "pyflowdata-checkout"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
    take_objects(folder, "build/wheel", without="-Werror")  # see setup.py
    return folder


@pytest.fixture
def venv(tmp_path):
    return make_venv(tmp_path / "venv")


def make_venv(folder):
    """A venv that has this Python's packages, but not pyflowdata."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next((folder / "lib").glob("python*/site-packages"))
    (site / "outer.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin" / "python"


def environment():
    dropped = ("PYTHONPATH", "PYFLOWDATA_LIBRARY", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    return {key: value for key, value in os.environ.items() if key not in dropped}


def install(python, *what):
    needs_setuptools()
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps"]  # outer.pth has pip
    command += ["--no-index", "--no-build-isolation", "--disable-pip-version-check"]
    command += ["--no-compile", *what]  # only what a test imports is compiled
    subprocess.run(command, check=True, env=environment())
