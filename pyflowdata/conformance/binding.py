"""The library that checks and measures ops, which only this package loads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi

from ..native import CData, library_path
from ..native import ffi as product_ffi
from ..native.shared_library import BUILD_HINT, Interface

ffi: Any = cffi.FFI()
ffi.include(product_ffi)  # nodes, errors and loaders are the same types in both
_interface = Interface(
    ffi,
    headers=("kit.h",),
    abi_function="pfd_kit_abi_version",
    structs=(
        "pfd_kit_options pfd_kit_finding pfd_kit_result "
        "pfd_bench_options pfd_bench_cost pfd_bench_result"
    ).split(),
    types=("pfd_blob *", "pfd_blob[]", "pfd_loader_options *", "char[]", "double *"),
)


def kit_path() -> Path:
    """The kit of the library that is loaded: the file beside it, of the same build."""
    path = library_path().with_name("libpyflowdata_kit.so")
    if not path.is_file():
        raise ImportError(f"the library {path}, which checks ops, does not exist; {BUILD_HINT}")
    return path


def new_struct(name: str) -> CData:
    """A zeroed struct of the kit, with its struct_size set."""
    struct = ffi.new(f"{name} *")
    struct.struct_size = ffi.sizeof(name)
    return struct


lib: Any = _interface.load(kit_path())
