"""Packages with a plugin, as `new --package` writes them: built, installed, imported, typed."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
from support.installing import environment, install, make_venv
from support.paths import ROOT

from pyflowdata import cli, include_dir
from pyflowdata_kit.commands.new import spellings
from pyflowdata.cli.usage import UsageError
from pyflowdata.plugins.packages import library_path

pytest.importorskip("setuptools", "77")
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not here")

BUILD = "import sys, setuptools.build_meta as b; getattr(b, 'build_' + sys.argv[1])(sys.argv[2])"


def run(*command, cwd=None, path=(), **variables):
    """A process that finds pyflowdata and the packages in these folders."""
    paths = os.pathsep.join(map(str, [*path, ROOT]))
    return subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, text=True,
        env={**environment(), "PYTHONPATH": paths, "PYFLOWDATA_PLUGINS": "", **variables},
    )  # fmt: skip


def checked(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def write(folder, kind="reader", name="north_sea"):
    assert cli.main(["new", kind, name, "--package", "--dir", str(folder)]) == 0
    return folder / name


def build(what, project, into):
    checked(sys.executable, "-c", BUILD, what, into, cwd=project)
    return next(into.glob("*.whl" if what == "wheel" else "*.tar.gz"))


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return write(tmp_path_factory.mktemp("projects"))


@pytest.fixture(scope="module")
def site(project, tmp_path_factory):
    """A folder that the wheel is unpacked in."""
    folder = tmp_path_factory.mktemp("site")
    wheel = build("wheel", project, folder)
    assert re.fullmatch(r"north_sea-0\.1\.0-py3-none-linux_\w+\.whl", wheel.name)
    zipfile.ZipFile(wheel).extractall(folder)
    names = {path.name for path in (folder / "north_sea").iterdir()}
    assert names == {"__init__.py", "north_sea.so", "ops.py", "ops.pyi", "py.typed"}
    return folder


# ---- The package --------------------------------------------------------------------------------

USE = """
import multiprocessing, pickle, sys

import numpy as np
import pyflowdata as flow


def read(function, folder):
    with flow.DataLoader(*function(folder, data_part_num=2, batch_size=3)) as loader:
        values, labels = zip(*loader)
    return np.concatenate(values).tolist(), np.concatenate(labels).tolist()


if __name__ == "__main__":
    assert not hasattr(flow, "NorthSea") and "north_sea" not in sys.modules
    sys.path.append(sys.argv[1])
    import north_sea_sample as sample
    sample.write_sample()
    try:
        flow.open(sample.SAMPLE)
        raise AssertionError("its format is known before the package is imported")
    except flow.InvalidArgumentError:
        pass
    import north_sea
    assert north_sea.NorthSea is flow.NorthSea is flow.ops.NorthSea is north_sea.ops.NorthSea
    assert (north_sea.__all__, north_sea.__version__) == (["NorthSea"], "0.1.0")
    labels, values = zip(*sample.records(0), *sample.records(1))
    expected = [*values], [*labels]
    assert read(north_sea.NorthSea, sample.SAMPLE) == expected
    values, labels = next(iter(flow.DataLoader(flow.open(sample.SAMPLE).batch(20))))
    assert (values.tolist(), labels.tolist()) == expected
    assert b"north_sea" in pickle.dumps(north_sea.NorthSea)  # imported where it is unpickled
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(read, (north_sea.NorthSea, sample.SAMPLE)) == expected
"""


def test_a_fresh_process_imports_it(site, project, tmp_path):
    script = tmp_path / "use.py"
    script.write_text(USE)
    checked(sys.executable, script, project / "tests", path=[site], cwd=tmp_path)


COMMANDS = """
import sys
from pyflowdata import cli

assert cli.main(["head", "-n1", "--plugin", "north_sea", sys.argv[1]]) == 0
print("---")
assert cli.main(["ops", "--plugin", "south_sea"]) == 1
assert cli.main(["stubs", "north_sea"]) == 0
"""


def test_commands_take_its_name(site, project):
    """Where `new --package` was run: the folder of the project has the name of its package."""
    checked(sys.executable, project / "tests" / "north_sea_sample.py")
    sample, here = project / "tests" / "sample", project.parent
    done = run(sys.executable, "-c", COMMANDS, sample, path=[site], cwd=here)
    assert done.returncode == 0, done.stderr
    head, stubs = done.stdout.split("---\n")
    assert "NorthSea records, 3 files, 20 records" in head
    assert "south_sea: the library to load is missing" in done.stderr
    assert stubs == (site / "north_sea" / "ops.pyi").read_text()


def test_the_library_of_a_package(site, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(site))
    assert library_path("north_sea") == str(site / "north_sea" / "north_sea.so")
    assert "north_sea" not in sys.modules
    for said in ("./north_sea", "numpy", "no_such_package", "a.b", ""):
        assert library_path(said) == said
    monkeypatch.chdir(tmp_path)
    (tmp_path / "north_sea").write_text("")
    assert library_path("north_sea") == "north_sea", "a file of that name is meant"


# ---- What is refused ----------------------------------------------------------------------------


def refused(folder, before=""):
    done = run(sys.executable, "-c", f"{before}\nimport north_sea", path=[folder], cwd=folder)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: "), done.stderr
    return last


def test_a_package_that_is_not_built(project):
    said = refused(project / "src")
    assert "north_sea is not built" in said and "north_sea.so is missing; run `make`" in said


def test_a_pyflowdata_that_is_too_old(site, project, tmp_path):
    shutil.copytree(site / "north_sea", tmp_path / "north_sea")
    library = tmp_path / "north_sea" / "north_sea.so"
    library.unlink()
    command = ["cc", "-shared", "-fPIC", "-I", include_dir(), "-DPFD_ABI_MINOR_NEEDED=99"]
    checked(*command, project / "csrc" / "north_sea.c", "-o", library)
    said = refused(tmp_path)
    assert "the plugin of north_sea cannot be loaded" in said and "use a newer pyflowdata" in said


def test_an_op_of_that_name_is_there(site, tmp_path):
    other = shutil.copy(site / "north_sea" / "north_sea.so", tmp_path / "other.so")
    said = refused(site, f"import pyflowdata; pyflowdata.load_library({str(other)!r})")
    assert f"{tmp_path}/other.so" in said and "unique in a process: load only one" in said
    same = "import pyflowdata, north_sea\npyflowdata.load_library(north_sea.ops.__file__[:-6] + "
    checked(sys.executable, "-c", f"{same}'north_sea.so')", path=[site])  # the same file again


def test_names_that_cannot_be_imported(tmp_path, capsys):
    for name in ("json", "import", "numpy", "pyflowdata"):
        assert cli.main(["new", "reader", name, "--package", "--dir", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("means something else in Python") == 4
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError):
        spellings("north-sea")


# ---- As a user builds it ------------------------------------------------------------------------

TYPED = """
from typing_extensions import assert_type

import pyflowdata as flow
import north_sea

values, label = north_sea.NorthSea("sample", batch_size=4, num_values=3, random_shuffle=True)
assert_type(label, flow.Blob)
values, label, ids = north_sea.NorthSea(files=["a"], with_id=True)
version: str = north_sea.__version__
north_sea.NorthSea("sample", num_values="4")  # an error
north_sea.NorthSea("sample", batch_sise=4)  # an error
north_sea.SouthSea()  # an error
"""


@pytest.mark.slow
def test_it_is_typed(site, tmp_path):
    (tmp_path / "use.py").write_text(TYPED)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
    done = run(*command, tmp_path / "use.py", cwd=ROOT, MYPYPATH=site)  # with the cache of others
    found = {int(line) for line in re.findall(r"use\.py:(\d+): error", done.stdout)}
    lines = TYPED.splitlines()
    expected = {n for n, line in enumerate(lines, 1) if line.endswith("# an error")}
    assert found == expected and ".pyi" not in done.stdout, done.stdout + done.stderr


def make(project, *goals):
    return checked("make", f"PYTHON={sys.executable}", *goals, cwd=project)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["reader", "decoder"])
def test_make_and_its_readme(kind, tmp_path):
    project = write(tmp_path, kind, f"packed_{kind}")
    assert int(re.search(r"(\d+) passed", make(project, "test"))[1]) >= 4
    readme = (project / "README.md").read_text()
    (code,) = re.findall(r"^```python\n(.*?)^```$", readme, re.S | re.M)
    assert checked(sys.executable, "-c", code, cwd=project, path=["src"])
    for name in re.findall(r"^\| `([^`]+)`", readme, re.M):
        assert (project / name).is_file(), name
    make(project, "clean")
    assert not any(path.suffix in (".so", ".pyi") for path in project.rglob("*"))


@pytest.mark.slow
def test_an_editable_install_of_the_source_distribution(project, tmp_path):
    with tarfile.open(build("sdist", project, tmp_path)) as archive:
        archive.extractall(tmp_path / "sdist")  # noqa: S202
    (unpacked,) = (tmp_path / "sdist").iterdir()
    names = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert {"Makefile", "csrc/north_sea.c", "tests/north_sea_sample.py"} <= names
    assert not any(name.endswith((".so", ".pyi")) for name in names)
    python = make_venv(tmp_path / "venv")
    (packages,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (packages / "pyflowdata.pth").write_text(f"{ROOT}\n")
    install(python, "-e", unpacked)
    code = "import north_sea; north_sea.NorthSea; print(north_sea.__file__)"
    assert checked(python, "-c", code, cwd=tmp_path).startswith(str(unpacked / "src"))
    assert (unpacked / "src" / "north_sea" / "ops.pyi").is_file()
