"""The library that checks and measures ops; only this package loads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyflowdata.native import BUILD_HINT, PACKAGE, CData, Interface, declarations, library_path


def kit_path() -> Path:
    """The kit of the same build as the loaded library: this package's, or, for a library outside of
    pyflowdata, the file beside it."""
    beside = Path(library_path()).parent
    folder = Path(__file__).resolve().parent if beside == Path(PACKAGE) else beside
    path = folder / "libpyflowdata_kit.so"
    if not path.is_file():
        raise ImportError(f"the library {path}, which checks ops, does not exist; {BUILD_HINT}")
    return path


ffi: Any = declarations("pyflowdata_kit.declared")
_interface = Interface(
    ffi,
    abi_function="pfd_kit_abi_version",
    structs=(
        "pfd_kit_draw pfd_kit_options pfd_kit_finding pfd_kit_result "
        "pfd_bench_options pfd_bench_cost pfd_bench_result"
    ).split(),
)


def expected_abi_version() -> int:
    """What `pfd_kit_abi_version()` returns for a kit that was built with the header of
    `declared.py`."""
    return _interface.expected_abi_version()


def new_struct(name: str) -> CData:
    """A zeroed struct of the kit, with its struct_size set."""
    return _interface.new_struct(name)


lib: Any = _interface.load(str(kit_path()))
