"""The command `pyflowdata` in the process of the tests."""

import subprocess

import pytest

from pyflowdata import cli


@pytest.fixture
def here(capsys):
    """The command in this process, which is quicker; other tests may have loaded plugins here."""

    def call(*arguments):
        try:
            status = cli.main([str(one) for one in arguments])
        except SystemExit as leave:
            status = leave.code
        said = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, status, said.out, said.err)

    return call
