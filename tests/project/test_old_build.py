"""A checkout whose library or written files are older than its sources says what to run."""

import os
import shutil
import subprocess
import sys

import pytest
from support.paths import ROOT

LISTS = [f"csrc/registry/builtin_{name}.c" for name in ("ops", "views", "formats")]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__", "libpyflowdata_kit.so")
    shutil.copytree(ROOT / "pyflowdata", folder / "pyflowdata", ignore=ignored)
    shutil.copytree(ROOT / "csrc/include", folder / "csrc/include")
    for name in LISTS:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def stderr(checkout, *arguments):
    """What a Python process in the checkout prints of an error."""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    environment.pop("PYFLOWDATA_LIBRARY", None)
    run = subprocess.run(
        [sys.executable, *arguments],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
    )
    return run.stderr.strip()


def said(checkout, program="import pyflowdata"):
    """The last line of an error; "": there was none."""
    return stderr(checkout, "-c", program).rpartition("\n")[2]


def test_what_was_made_is_used(checkout):
    assert said(checkout) == ""


def test_declarations_that_were_not_made(checkout):
    path = checkout / "pyflowdata/native/declared.py"
    text = path.read_text()
    path.unlink()
    assert said(checkout).startswith(
        "ImportError: pyflowdata.native.declared was not made of this version; run `make`"
    )
    path.write_text(text.replace("SOURCES", "OTHERS"))  # as a former version wrote it
    assert "was not made of this version; run `make`" in said(checkout)
    path.write_text(text)


@pytest.mark.parametrize("name", [*LISTS, "csrc/include/pyflowdata/pyflowdata.h"])
def test_another_branch(checkout, name):
    """Ops, formats and functions that the library does not have."""
    path = checkout / name
    text = path.read_text()
    path.write_text(f"{text}\n")
    expected = f"ImportError: {path} is not what the library was made of; run `make`"
    assert said(checkout).startswith(expected)
    path.unlink()
    assert said(checkout).startswith(expected)
    path.write_text(text)


def test_a_command_of_another_branch(checkout):
    path = checkout / LISTS[0]
    text = path.read_text()
    path.write_text(f"{text}\n")
    expected = f"pyflowdata: error: {path} is not what the library was made of; run `make`"
    assert stderr(checkout, "-m", "pyflowdata", "ops").startswith(expected)
    assert "Traceback" in stderr(checkout, "-m", "pyflowdata", "ops", "--debug")
    path.write_text(text)
    assert said(checkout) == ""


@pytest.mark.parametrize("use", [
    "flow.MiniReader('data', new_attr=3)", "find_op('NewReader')",
])  # fmt: skip
def test_a_name_that_the_library_lacks(checkout, use):
    program = f"import pyflowdata as flow; from pyflowdata.nodes import find_op; {use}"
    library = checkout / "pyflowdata/libpyflowdata.so"
    for path in (checkout / "csrc").rglob("*.[ch]"):
        os.utime(path, (1, 1))
    assert "run `make`" not in said(checkout, program) != ""
    source = checkout / LISTS[0]
    newer = library.stat().st_mtime + 10
    os.utime(source, (newer, newer))
    assert f"; {source} is newer than the library: run `make`" in said(checkout, program)
