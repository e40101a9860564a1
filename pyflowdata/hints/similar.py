"""The known name that another one is like."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def similar(name: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """The known name that is most like this one; None: none has at least that likeness of 1."""
    near = difflib.get_close_matches(name, list(known), 1, least)
    return near[0] if near else None


def did_you_mean(name: str, known: Iterable[str], least: float = 0.6) -> str:
    """`; did you mean 'x'?`, to be put after what is said of a name; "": it is like none."""
    near = similar(name, known, least)
    return "" if near is None else f"; did you mean {near!r}?"
