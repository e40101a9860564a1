"""What is said of a name that this package does not have: the name that is meant, or what does the
same as the function or class of another library."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from opcode import opname

from ..errors import InvalidArgumentError
from ..hints.names import NAMES, in_modules
from ..hints.similar import similar
from .registry import find_op

_FOLDED = {name.casefold(): name for name in NAMES}


def _spelled(name: str) -> str | None:
    """The op that the registry knows by this spelling, as an alias or in snake_case."""
    try:
        return find_op(name).name
    except InvalidArgumentError:
        return None


def _begins(name: str, names: Iterable[str]) -> str | None:
    """The known name that begins so: the reader, if there is one, else the shortest."""
    found = sorted(
        (one for one in names if len(name) > 2 and one.startswith(name)),
        key=lambda one: (not one.endswith("reader"), len(one)),
    )
    return found[0] if found else None


def what_is_meant(name: str, known: Iterable[str]) -> str:
    """What does the same here as a name of another library, or which of the known names is meant;
    "": it is like none."""
    if said := in_modules(name):
        return said
    elsewhere = _FOLDED.get(name.casefold())
    if elsewhere is not None:
        return f"{elsewhere}: {NAMES[elsewhere]}"
    by_folded = {one.casefold(): one for one in known if not one.startswith("_")}
    near = similar(name.casefold(), by_folded, 0.75)
    begins = _begins(name.casefold().replace("_", ""), by_folded)
    found = begins if begins and begins.endswith("reader") else near or begins
    meant = _spelled(name) or (by_folded[found] if found else None)
    if meant:
        return f"did you mean {meant!r}?"
    likely = similar(name.casefold(), _FOLDED, 0.85)
    return f"{_FOLDED[likely]}: {NAMES[_FOLDED[likely]]}" if likely else ""


def unknown_name(name: str, known: Iterable[str], place: str = "pyflowdata") -> str:
    """The message for a name that is none of the known ones.

    Args:
        place: The module that was asked for it.
    """
    # Tools ask every module for names such as `__wrapped__`: a search for each took a quarter of the
    # time in which pytest collects this package's tests.
    meant = "" if name.startswith("_") else what_is_meant(name, known)
    return f"{place} has no {name!r}" + (f"; {meant}" if meant else "")


def missing(name: str, known: Iterable[str], place: str = "pyflowdata") -> Exception:
    """What `__getattr__` of a module raises for a name: for `from module import name` an
    ImportError, as Python drops the text of an AttributeError there.

    Args:
        known, place: As of `unknown_name`.
    """
    said, frame = unknown_name(name, known, place), sys._getframe(2)
    if opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM":
        return ImportError(said, name=place)
    # With a name, but no object, Python adds no suggestion of its own.
    return AttributeError(said, name=name, obj=None)
