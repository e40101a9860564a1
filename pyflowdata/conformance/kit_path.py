"""Where the library lies that checks and measures ops."""

from __future__ import annotations

from pathlib import Path

from ..native import library_path
from ..native.shared_library import BUILD_HINT


def kit_path() -> Path:
    """The kit of the library that is loaded: the file beside it, of the same build."""
    path = library_path().with_name("libpyflowdata_kit.so")
    if not path.is_file():
        raise ImportError(f"the library {path}, which checks ops, does not exist; {BUILD_HINT}")
    return path
