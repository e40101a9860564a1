"""Checks of ops for tests: does a reader or decoder follow the rules of the interface?

    from pyflowdata import load_library, testing

    def test_my_reader():
        plugin = load_library("build/my_reader.so")
        testing.check_reader(plugin.MyReader("samples"), records=12)

The op runs in separate processes: a crash or an endless loop is a finding like any other.
`pyflowdata check` does the same on the command line; docs/reference/check.md explains the report.
The checks are in a separate package, the kit; where it is absent, an error says how to
install it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .words import remedies

if TYPE_CHECKING:
    from pyflowdata_kit.testing import (
        CheckFailed,
        Finding,
        Native,
        Report,
        UnknownCaseError,
        check_decoder,
        check_reader,
        run_checks,
    )

__all__ = [
    "CheckFailed",
    "Finding",
    "Native",
    "Report",
    "UnknownCaseError",
    "check_decoder",
    "check_reader",
    "run_checks",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from pyflowdata_kit import testing
    except ModuleNotFoundError as failure:
        if failure.name != "pyflowdata_kit":
            raise
        raise ModuleNotFoundError(
            f"{__name__}.{name} is in a separate package: {remedies.KIT}",
            name=failure.name,
        ) from None
    return getattr(testing, name)
