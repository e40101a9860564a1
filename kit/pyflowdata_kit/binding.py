"""The library that checks and measures ops, which only this package loads."""

from __future__ import annotations

from typing import Any

from pyflowdata.native import CData
from pyflowdata.native.shared_library import Interface
from .declared import ffi as _ffi
from .kit_path import kit_path

ffi: Any = _ffi
_interface = Interface(
    ffi,
    abi_function="pfd_kit_abi_version",
    structs=(
        "pfd_kit_draw pfd_kit_options pfd_kit_finding pfd_kit_result "
        "pfd_bench_options pfd_bench_cost pfd_bench_result"
    ).split(),
)


def expected_abi_version() -> int:
    """What `pfd_kit_abi_version()` returns for a kit whose header was that of `declared.py`."""
    return _interface.expected_abi_version()


def new_struct(name: str) -> CData:
    """A zeroed struct of the kit, with its struct_size set."""
    return _interface.new_struct(name)


lib: Any = _interface.load(kit_path())
