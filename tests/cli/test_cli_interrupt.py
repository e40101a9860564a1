"""Ctrl-C while a command is starting."""

import os
import signal
import subprocess
import sys

import pytest
from support.paths import ROOT

# Interrupts its process where it begins to import a module.
SITE = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
SCRIPT = "import sys\nfrom pyflowdata.cli import main\nsys.exit(main())\n"


@pytest.fixture
def start(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(SITE)
    (tmp_path / "pyflowdata").write_text(SCRIPT)
    (tmp_path / "mine.py").write_text("import pyflowdata\n")

    def call(module, *command, **options):
        environment = os.environ | {
            "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "INTERRUPT_AT": module,
        }  # fmt: skip
        return subprocess.run(
            [sys.executable, *command], env=environment, cwd=tmp_path, text=True, timeout=60,
            capture_output=True, check=False, **options,
        )  # fmt: skip

    return call


@pytest.mark.parametrize("command, module", [
    (["pyflowdata"], "numpy"), (["pyflowdata"], "pyflowdata.nodes"),
    (["pyflowdata"], "pyflowdata.cli.ops"), (["-X", "utf8", "-m", "pyflowdata"], "numpy"),
    (["-mpyflowdata"], "numpy"), (["-Bm", "pyflowdata"], "pyflowdata.cli.ops"),
])  # fmt: skip
def test_no_traceback_of_a_command(start, command, module):
    if command == ["pyflowdata"]:  # the script, not the package
        command = [os.path.join(".", "pyflowdata")]
    found = start(module, *command, "ops")
    assert (found.returncode, found.stdout, found.stderr) == (130, "", "")


def test_an_interrupt_that_is_ignored_stays_so(start):
    found = start("numpy", "-m", "pyflowdata", "--version",
                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))  # fmt: skip
    assert found.returncode == 0 and found.stdout.startswith("pyflowdata ")


@pytest.mark.parametrize("command", [["-m", "mine"], ["mine.py"], ["-c", "import pyflowdata"]])
def test_programs_that_import_the_package_are_told(start, command):
    found = start("pyflowdata.nodes", *command)
    assert found.returncode == -signal.SIGINT and "KeyboardInterrupt" in found.stderr
