"""A shared library and the C headers that declare what is in it.

The declarations are read from the headers themselves, so nothing is written twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
BUILD_HINT = "run `make` in the checkout, or `pip install .` for an installed package"
_HEADERS = ("op.h", "pyflowdata.h", "kit.h")


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


def _declarations(headers: Sequence[str]) -> str:
    folder = Path(include_dir()) / "pyflowdata"
    blocks = []
    for name in headers:
        text = (folder / name).read_text(encoding="utf-8")
        found = re.search(r"/\* cdef-begin \*/(.*)/\* cdef-end \*/", text, re.DOTALL)
        if found is None:
            raise ImportError(f"{folder / name} has no cdef-begin and cdef-end marks")
        blocks.append(found[1])
    return "\n".join(blocks)


class Interface:
    """Some headers, declared to cffi, and how a library is known that was made from them."""

    def __init__(
        self,
        ffi: Any,
        *,
        headers: Sequence[str],
        abi_function: str,
        structs: Sequence[str],
        types: Sequence[str],
    ) -> None:
        """
        Args:
            ffi: A cffi.FFI; it gets the declarations.
            headers: Names of files in include/pyflowdata.
            abi_function: The function of the library that returns a hash of the structs' sizes,
                or 0 where the library runs on another one that is of another build.
            structs: The structs in that hash, in the order of the hash.
            types: What ffi.new() is called with later.
        """
        self._ffi, self._abi_function, self._types = ffi, abi_function, types
        ffi.cdef(_declarations(headers))
        # All in one text: cffi parses each text along with the names of all types.
        pointers = ffi.typeof(f"void (*)({', '.join(f'{struct} *' for struct in structs)})").args
        self._pointers = dict(zip(structs, pointers, strict=True))

    def expected_abi_version(self) -> int:
        """What the library's function returns where it was made from the headers that were read."""
        value = 1
        for pointer in self._pointers.values():
            value = (value * 31 + self._ffi.sizeof(pointer.item)) % 2**32
        return value

    def new_struct(self, name: str) -> Any:
        """A zeroed struct that starts with struct_size, with that set."""
        pointer = self._pointers.get(name) or self._ffi.typeof(f"{name} *")
        struct = self._ffi.new(pointer)
        struct.struct_size = self._ffi.sizeof(pointer.item)
        return struct

    def load(self, path: Path) -> Any:
        """The library, with all that is called later looked up.

        Raises:
            ImportError: It cannot be loaded, or was made from other headers.
        """
        try:
            # NODELETE: arrays may give memory back after the interpreter dropped this module.
            library = self._ffi.dlopen(str(path), self._ffi.RTLD_NOW | self._ffi.RTLD_NODELETE)
        except OSError as failure:
            raise ImportError(f"{path} cannot be loaded: {failure}; {BUILD_HINT}") from None
        try:
            found = getattr(library, self._abi_function)()
        except AttributeError:
            raise ImportError(f"{path} is no pyflowdata library; {BUILD_HINT}") from None
        expected = self.expected_abi_version()
        if found == 0:
            raise ImportError(
                f"{path} and the libpyflowdata.so that it runs on are of different builds; "
                f"{BUILD_HINT}"
            )
        if found != expected:
            raise ImportError(
                f"{path} has ABI {found:#010x}, the headers in {include_dir()} have "
                f"{expected:#010x}: they are of different builds; {BUILD_HINT}"
            )
        self._resolve(library)
        return library

    def _resolve(self, library: Any) -> None:
        """Looks up all that is used later.  cffi does so under a lock which a thread that holds it
        cannot take again: a signal handler that closes a loader would wait for ever."""
        for name in dir(library):
            getattr(library, name)
        for name in self._types:
            self._ffi.typeof(name)
