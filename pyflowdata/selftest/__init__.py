"""Checks of an installation, against what Python and NumPy compute: `pyflowdata selftest`.

It needs nothing but the installed package: no test tools, no network, and a folder for temporary
files.  `check_*.py` have the checks, `check.py` what they share, `run()` goes through them.
"""

from .run import run

__all__ = ["run"]
