"""The kit as pip installs it beside pyflowdata: it is complete, and its commands are found."""

import os
import shutil
import subprocess
import sys
import tarfile

import pytest
from support.installing import checkout, environment, install, make_venv  # noqa: F401
from support.paths import ROOT
from support.scratch_tree import take_objects

pytestmark = pytest.mark.slow

BUILD = "import sys, setuptools.build_meta as b; print(getattr(b, sys.argv[1])(sys.argv[2]))"


def build(step, folder, into):
    command = [sys.executable, "-c", BUILD, step, into]
    subprocess.run(command, check=True, cwd=folder, env=environment(), capture_output=True)


@pytest.fixture(scope="module")
def installed(checkout, tmp_path_factory):  # noqa: F811
    """A venv with pyflowdata, and with the kit from its source distribution."""
    folder = tmp_path_factory.mktemp("sdist")
    build("build_sdist", checkout / "kit", folder)
    (packed,) = folder.glob("*.tar.gz")
    with tarfile.open(packed) as archive:
        archive.extractall(folder)  # noqa: S202
    unpacked = folder / packed.name.removesuffix(".tar.gz")
    take_objects(unpacked / "product", "build/wheel", without="-Werror")
    wheels = tmp_path_factory.mktemp("wheels")
    build("build_wheel", unpacked, wheels)
    build("build_wheel", checkout, wheels)
    python = make_venv(tmp_path_factory.mktemp("installed") / "venv")
    install(python, *wheels.glob("*.whl"))
    return python


def run(installed, folder, *command):
    path = os.pathsep.join([str(installed.parent), os.environ["PATH"]])
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True,
        env={**environment(), "PATH": path, "PYTHONPATH": ""},
    )  # fmt: skip


def test_all_files_are_there(installed):
    (site,) = (installed.parent.parent / "lib").glob("python*/site-packages")
    package, own = site / "pyflowdata_kit", ROOT / "kit/pyflowdata_kit"
    names = {str(path.relative_to(package)) for path in package.rglob("*") if path.is_file()}
    sources = {path for kind in ("*.py", "*.[ch]", "*.in", "*.so", "py.typed")
               for path in own.rglob(kind)}  # fmt: skip
    assert {str(path.relative_to(own)) for path in sources} <= names and len(sources) > 60
    (about,) = site.glob("pyflowdata_kit-*.dist-info")
    assert list((about / "licenses").iterdir())
    assert not (site / "pyflowdata/libpyflowdata_kit.so").exists()


@pytest.mark.skipif(
    shutil.which("make") is None or shutil.which("cc") is None, reason="make or cc is not here"
)
def test_plugins_of_an_installed_package(installed, tmp_path):
    """Works as for a user: with the packages, their command, and pytest alone.

    A reader, and a package with a decoder; tests of `new` have each kind in both forms, and run the
    reader's test that makes all checks.
    """
    for command in (
        ["pyflowdata", "check", "--quick", "--op", "MiniReader", "--attr", f"data_dir={ROOT}/data"],
        ["pyflowdata", "new", "reader", "fresh"],
        ["sh", "-c", "cd fresh && make && python -m pytest -q -k 'not the_kit'"],
        ["sh", "-c", "cd fresh && pyflowdata check fresh.c --op Fresh --attr data_dir=sample "
                     "--asan --only asan"],
        ["pyflowdata", "new", "decoder", "packed", "--package"],
        ["sh", "-c", "cd packed && make test wheel PYTHON=python && ls dist/*.whl"],
    ):
        done = run(installed, tmp_path, *command)
        assert done.returncode == 0, done.stdout + done.stderr
