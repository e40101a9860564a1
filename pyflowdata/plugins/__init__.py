"""Shared libraries with ops: loading them, and compiling them from C source."""

from .compiler import compile as compile  # not in __all__: `import *` leaves the built-in one
from .loading import Plugin, load_library, load_plugins_of_environment

__all__ = ["Plugin", "load_library", "load_plugins_of_environment"]
