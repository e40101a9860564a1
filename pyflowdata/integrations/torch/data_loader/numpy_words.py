"""Two words of the state of NumPy's MT19937, read in place: they change at each draw or seed."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple

import numpy as np

_KEY_WORDS = 624


class Words(NamedTuple):
    """Views of a generator's state.

    Attributes:
        position: In the words of the key; each draw moves it.
        word: One of the key that each seed changes, of whatever form; the first does not.
    """

    position: ctypes.c_int32
    word: ctypes.c_uint32


def words_of(generator: Any) -> Words | None:
    """The words of a bit generator; None where it is another one, or this NumPy has another layout
    of its state."""
    if type(generator) is not np.random.MT19937 or not _has_known_layout():
        return None
    return _words(generator)


def _words(generator: Any) -> Words:
    address = generator.ctypes.state_address  # of mt19937_state: the key, then the position
    return Words(
        ctypes.c_int32.from_address(address + _KEY_WORDS * 4),
        ctypes.c_uint32.from_address(address + 4),
    )


@functools.cache
def _has_known_layout() -> bool:
    """Draws from a generator of its own, and compares the words with the state that NumPy tells."""
    generator: Any = np.random.MT19937(1)
    found = _words(generator)
    for _ in range(2):
        state = generator.state["state"]
        if (found.position.value, found.word.value) != (state["pos"], int(state["key"][1])):
            return False
        generator.random_raw()
    return True
