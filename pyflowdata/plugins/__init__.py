"""Shared libraries with ops: loading them, and compiling them (`.compiler`, imported when needed).
"""

from .loading import Plugin, load_library, load_plugins_of_environment
from .packages import load_package_ops

__all__ = ["Plugin", "load_library", "load_package_ops", "load_plugins_of_environment"]
