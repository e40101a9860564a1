"""The library that checks and measures ops, which only this package loads."""

from __future__ import annotations

from typing import Any

import cffi

from ..native import CData
from ..native import ffi as product_ffi
from ..native.shared_library import Interface
from .kit_path import kit_path

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
    types=("pfd_blob *", "pfd_blob[]", "char[]", "double *"),
)


def expected_abi_version() -> int:
    """What `pfd_kit_abi_version()` returns for a kit made from the header that was read."""
    return _interface.expected_abi_version()


def new_struct(name: str) -> CData:
    """A zeroed struct of the kit, with its struct_size set."""
    return _interface.new_struct(name)


lib: Any = _interface.load(kit_path())
