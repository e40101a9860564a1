"""The command `pyflowdata` in the process of the tests."""

from typing import NamedTuple

import pytest

from pyflowdata import cli


class Done(NamedTuple):
    """The names are those of subprocess.CompletedProcess."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(capsys):
    """The command in this process, which is quicker; other tests may have loaded plugins here."""

    def call(*arguments):
        try:
            status = cli.main([str(one) for one in arguments])
        except SystemExit as leave:
            status = leave.code
        return Done(status, *capsys.readouterr())

    return call
