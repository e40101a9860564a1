"""Checks of an installation, against what Python and NumPy compute: `pyflowdata selftest`.

It needs nothing but the installed package: no test tools, no network, and a folder for temporary
files.  `checks_of_*.py` have the checks, `run()` goes through them.
"""

from .run import run

__all__ = ["run"]
