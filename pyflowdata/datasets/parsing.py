"""Texts of Python, parsed in several threads at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

_TRIES = 100


def parsed(parse: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """What a function that parses returns, tried again where another thread disturbed it.

    Python 3.11 counts the depth of a tree for all threads together.  Where they take turns in the
    middle of a text, it raises SystemError ("AST constructor recursion depth mismatch").
    """
    for _ in range(_TRIES - 1):
        try:
            return parse(*args, **kwargs)
        except SystemError:
            continue
    return parse(*args, **kwargs)
