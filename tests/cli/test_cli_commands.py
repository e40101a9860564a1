"""The command line: its commands, their help, what they say of wrong usage."""

import gzip
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zlib

import numpy as np
import pytest
from support import programs
from support.command import here  # noqa: F401  (a fixture)
from support.installing import environment
from support.plugin_sources import ROOT, SCALE, build

import pyflowdata as flow
from pyflowdata import cli, native

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not here")


def run(*command):
    return subprocess.run(
        [str(part) for part in command], env={**environment(), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip


def pyflowdata(*arguments):
    """The command in a separate process."""
    return programs.run(programs.COMMAND, *arguments)


OF_KIT = ("new", "check", "bench")
INSTALL_KIT = "pip install pyflowdata-kit; in a clone, pip install ./kit"


def test_every_command_is_a_module_with_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    for module, summary in cli.COMMANDS.items():
        command = module.replace("_", "-")
        assert re.search(rf"^    {command}\b", shown, re.M) and summary in " ".join(shown.split())
        if command in OF_KIT:  # whose tests ask for their help
            continue
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        said = capsys.readouterr().out
        assert ended.value.code == 0 and said.startswith(f"usage: pyflowdata {command}")
        assert "--debug" in said


def test_only_the_command_asked_for_is_imported():
    others = ("pyflowdata_kit", "importlib.metadata", "pyflowdata.cli.ops")
    code = "import sys; from pyflowdata import cli; cli.main(['include-dir']); " \
           f"assert not {{*{others}}} & set(sys.modules)"  # fmt: skip
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", OF_KIT)
def test_a_command_that_is_not_installed(command, here, monkeypatch):  # noqa: F811
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())
    own, _, of_kit = here("--help").stdout.partition(f"with the kit ({INSTALL_KIT}):")
    assert f"\n    {command} " in of_kit and f"\n    {command} " not in own
    for arguments in ([command], [command, "--help"]):
        done = here(*arguments)
        said = f"`pyflowdata {command}` is in a separate package: {INSTALL_KIT}"
        assert (done.returncode, done.stderr) == (1, f"pyflowdata: error: {said}\n")


def test_testing_without_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyflowdata_kit", None)
    assert "check_reader" in dir(flow.testing)
    with pytest.raises(ImportError, match=rf"testing.check_reader .* {INSTALL_KIT}"):
        flow.testing.check_reader
    with pytest.raises(AttributeError, match="nope"):
        flow.testing.nope


@pytest.mark.parametrize("arguments", [[], ["nope"], ["ops", "--nope"]])
def test_wrong_usage(arguments, here):  # noqa: F811
    done = here(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("usage: pyflowdata")
    assert "Traceback" not in done.stderr


def test_version_and_include_dir(here, tmp_path):  # noqa: F811
    first, *others = here("--version").stdout.splitlines()
    assert first == f"pyflowdata {flow.__version__}"
    said = dict(line.split(maxsplit=1) for line in others)
    assert said["numpy"] == np.__version__ and said["Python"].startswith(platform.python_version())
    assert os.path.samefile(said["library"], native.library_path())
    compressed = tmp_path / "text.gz"
    compressed.write_bytes(gzip.compress(b"a\n"))
    if said["zlib"] == "not in this build":
        with pytest.raises(flow.UnsupportedError, match="zlib"):
            next(iter(flow.DataLoader(flow.TextLineReader(str(compressed), batch_size=1))))
    else:
        assert said["zlib"] == zlib.ZLIB_RUNTIME_VERSION  # that of this machine
    done = run(sys.executable, "-m", "pyflowdata", "include-dir")
    assert done.stdout == flow.include_dir() + "\n"


def test_errors_are_one_line_but_for_debug(here):  # noqa: F811
    done = here("ops", "MiniReeder")
    assert done.returncode == 1
    assert done.stderr.startswith("pyflowdata: error: unknown op 'MiniReeder'; did you mean")
    assert done.stderr.count("\n") == 1
    for arguments in (["--debug", "ops", "MiniReeder"], ["ops", "MiniReeder", "--debug"]):
        with pytest.raises(flow.Error, match="MiniReeder"):
            here(*arguments)
    done = pyflowdata(*arguments)
    assert done.returncode == 1 and "Traceback" in done.stderr


@needs_gcc
def test_ops_are_listed_and_described(tmp_path):
    lines = pyflowdata("ops").stdout.splitlines()
    built_in = [op.name for op in flow.nodes.registered_ops() if op.origin == "built in"]
    assert [line.split()[0] for line in lines] == built_in
    library = build(tmp_path, SCALE)
    listed = pyflowdata("ops", "--plugin", library).stdout
    assert re.search(r"^Scale +op +Multiplies\.$", listed, re.M)
    assert listed.endswith(f"\nfrom {library}: Scale\n")
    described = pyflowdata("ops", "scale", "mini_reader", "--plugin", library).stdout
    assert described.startswith("Scale(in_, *, factor=2.0, name=None)\n\nMultiplies.\n")
    assert f"From: {library}" in described and "From: built in" in described
    assert "batch_size=1," in described[described.index("MiniReader(data_dir='', *,") :]
    missing = pyflowdata("ops", "--plugin", tmp_path / "none.so")
    assert missing.returncode == 1 and "none.so: the library to load is missing" in missing.stderr


def test_ops_as_json(here):  # noqa: F811
    ops = json.loads(here("ops", "--json").stdout)
    by_name = {op["name"]: op for op in ops}
    assert by_name["MiniReader"]["kind"] == "reader" and by_name["Affine"]["kind"] == "op"
    (dtype,) = [attr for attr in by_name["Affine"]["attrs"] if attr["name"] == "dtype"]
    assert dtype["choices"] == ["float16", "float32", "float64", "bfloat16"]
    assert dtype["default"] == ""
    assert [port["name"] for port in by_name["MiniDecoder"]["outputs"]] == ["x", "y"]


def test_output_that_nobody_reads():
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{sys.executable} -m pyflowdata ops MiniReader | true"],
        env={**environment(), "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
