"""Where the library lies that checks and measures ops."""

from __future__ import annotations

from pathlib import Path

from pyflowdata.native import library_path
from pyflowdata.native.shared_library import BUILD_HINT, PACKAGE


def kit_path() -> Path:
    """The kit of the library that is loaded, of the same build: that of this package, or the file
    beside a library that is not that of pyflowdata's."""
    library = library_path()
    folder = Path(__file__).resolve().parent if library.parent == PACKAGE else library.parent
    path = folder / "libpyflowdata_kit.so"
    if not path.is_file():
        raise ImportError(f"the library {path}, which checks ops, does not exist; {BUILD_HINT}")
    return path
