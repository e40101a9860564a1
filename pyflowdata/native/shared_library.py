"""A shared library, and the declarations of what is in it.

`make` writes the declarations, in `declared.py`, from the headers.  In a checkout the library and
the declarations can be older than the sources, for example after a switch of the branch: errors
then say so.
"""

from __future__ import annotations

import functools
import importlib
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
BUILD_HINT = "run `make` in the checkout, or `pip install .` for an installed package"
_HEADERS = ("op.h", "pyflowdata.h")


def include_dir() -> str:
    """The folder to give to a C compiler as -I for `#include "pyflowdata/op.h"`."""
    candidates = [PACKAGE / "include", PACKAGE.parent / "csrc" / "include"]
    for folder in candidates:
        if all((folder / "pyflowdata" / name).is_file() for name in _HEADERS):
            return str(folder)
    raise ImportError(
        f"the headers {' and '.join(_HEADERS)} are in neither of "
        f"{', '.join(str(folder / 'pyflowdata') for folder in candidates)}; "
        "the package is incomplete, install it again"
    )


def declared(module: str) -> Any:
    """The FFI of a `declared.py`, by the name of the module.

    Raises:
        ImportError: The module was not made, or was made from other sources than those of this
            checkout.
    """
    try:
        made = importlib.import_module(module)
        checksums = made.SOURCES
    except (ModuleNotFoundError, AttributeError):
        raise ImportError(f"{module} was not made of this version; {BUILD_HINT}") from None
    _check_sources(checksums)
    return made.ffi


def _check_sources(checksums: Mapping[str, int]) -> None:
    root = PACKAGE.parent
    if not (root / "csrc").is_dir():
        return  # an installed package
    for name, checksum in checksums.items():
        path = root / name
        if not path.is_file() or zlib.crc32(path.read_bytes()) != checksum:
            raise ImportError(f"{path} is not what the library was made of; {BUILD_HINT}")


@functools.cache  # a look at all sources takes milliseconds
def newer_source_hint(library: Path) -> str:
    """The end of the message that the library lacks a name: "", unless a source is newer than the
    library.
    """
    made = library.stat().st_mtime
    for path in sorted((PACKAGE.parent / "csrc").rglob("*.[ch]")):
        if path.stat().st_mtime > made:
            return f"; {path} is newer than the library: {BUILD_HINT}"
    return ""


class Interface:
    """The declarations of a library, and the check that a library was made from the same ones."""

    def __init__(self, ffi: Any, *, abi_function: str, structs: Sequence[str]) -> None:
        """
        Args:
            ffi: The FFI of a `declared.py`.
            abi_function: The function of the library that returns a hash of the structs' sizes, or
                0 if the library uses another library of a different build.
            structs: The structs in that hash, in the order of the hash.
        """
        self._ffi, self._abi_function, self._structs = ffi, abi_function, structs

    def expected_abi_version(self) -> int:
        """The expected hash: that of a library made from the headers of the declarations."""
        value = 1
        for struct in self._structs:
            value = (value * 31 + self._ffi.sizeof(struct)) % 2**32
        return value

    def new_struct(self, name: str) -> Any:
        """A zeroed struct that starts with struct_size, which is set."""
        struct = self._ffi.new(f"{name} *")
        struct.struct_size = self._ffi.sizeof(name)
        return struct

    def load(self, path: Path) -> Any:
        """The library at `path`.

        Raises:
            ImportError: The library cannot be loaded, or was made from other headers.
        """
        try:
            # NODELETE: arrays may release memory after the interpreter has dropped this module.
            library = self._ffi.dlopen(str(path), self._ffi.RTLD_NOW | self._ffi.RTLD_NODELETE)
        except OSError as failure:
            raise ImportError(f"{path} cannot be loaded: {failure}; {BUILD_HINT}") from None
        try:
            found = getattr(library, self._abi_function)()
        except (AttributeError, self._ffi.error):
            raise ImportError(f"{path} is not a pyflowdata library; {BUILD_HINT}") from None
        expected = self.expected_abi_version()
        if found == 0:
            raise ImportError(
                f"{path} and the libpyflowdata.so that it runs on are of different builds; "
                f"{BUILD_HINT}"
            )
        if found != expected:
            raise ImportError(
                f"{path} has ABI {found:#010x}, the package's declarations have {expected:#010x}: "
                f"they are of different builds; {BUILD_HINT}"
            )
        return library
