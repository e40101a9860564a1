"""Random numbers that belong to a sample: not to a worker, a position or a run.

Datasets and collate functions draw from the generators of `random`, `numpy.random` and torch.
These are seeded before each sample by a key of seed, epoch and sample, so that an augmentation is
the same for any number of workers, and after a resume.
"""

from __future__ import annotations

import ctypes
import operator
import random
import sys
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

_BITS = 2**64 - 1
_TORCH_BITS = 2**63 - 1  # a sample may put torch.initial_seed() into an int64 tensor
_python: Any = random._inst
_seed_python = super(random.Random, random._inst).seed
_torch = torch.default_generator
_here = threading.local()


def mixed(*numbers: int) -> int:
    """A number of 64 bits that depends on each of these, and on their order."""
    found = 0
    for number in numbers:
        found = (found + (number & _BITS) + 0x9E3779B97F4A7C15) & _BITS
        found = ((found ^ (found >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        found = ((found ^ (found >> 27)) * 0x94D049BB133111EB) & _BITS
        found ^= found >> 31
    return found


def number_of(index: Any) -> int:
    """The number by which a sample is keyed: its index; of another key, a hash of its repr()."""
    try:
        return operator.index(index)
    except TypeError:
        return int.from_bytes(blake2b(repr(index).encode(), digest_size=8).digest(), "little")


def seed_all(key: int) -> None:
    """Seeds the three generators of this process."""
    _seed_python(key)
    _python.gauss_next = None  # gauss() makes two numbers at a time
    np.random.seed(key & 0xFFFFFFFF)
    _torch.manual_seed(key & _TORCH_BITS)
    _here.key = key


def _python_words() -> tuple[Any, Any] | None:
    """Where CPython's `random` has its position, and two of its words; None: they are not there.

    Not its first word, which is the same after any seed.
    """
    start = id(random._inst) + object.__basicsize__
    position, words = ctypes.c_int32.from_address(start), ctypes.c_uint64.from_address(start + 8)
    known = random.getstate()[1]
    both = int.from_bytes(b"".join(n.to_bytes(4, sys.byteorder) for n in known[1:3]), sys.byteorder)
    return (position, words) if (known[-1], both) == (position.value, words.value) else None


_words = _python_words() if sys.implementation.name == "cpython" else None


def python_mark() -> Any:
    """What differs after each draw from `random` and each seed, found without its whole state."""
    if _words is None:
        return random.getstate()
    return _words[0].value, _words[1].value, _python.gauss_next


class Watch:
    """Tells whether one of the three generators was drawn from since they were seeded."""

    def __init__(self) -> None:
        self._numpy = np.random.get_bit_generator()  # type: ignore[attr-defined]
        state = self._numpy.ctypes.state_address
        # What mt19937_state has: 624 words, then the position in them.
        is_known = type(self._numpy) is np.random.MT19937
        self._at = ctypes.c_int32.from_address(state + 624 * 4) if is_known else None
        self._first = ctypes.c_uint32.from_address(state) if is_known else None

    def seed(self, key: int) -> None:
        """As seed_all(), and watches from here on."""
        seed_all(key)
        self._states = self._all()

    def _all(self) -> tuple[Any, ...]:
        numpy: Any
        if self._at is not None and self._first is not None:
            numpy = self._at.value, self._first.value
        else:
            numpy = repr(self._numpy.state)
        return numpy, python_mark(), _torch.get_state().numpy().tobytes()

    def is_used(self) -> bool:
        """Whether one was drawn from."""
        is_other = np.random.get_bit_generator() is not self._numpy  # type: ignore[attr-defined]
        return is_other or self._all() != self._states


def note_key(key: int) -> None:
    """Sets what sample_generator() of this thread gives, and no generator of the process."""
    _here.key = key


def note_samples(key_of: Callable[[], int]) -> None:
    """As note_key(); it is called for the key of the sample that is being fetched."""
    _here.key = key_of


def sample_generator() -> np.random.Generator:
    """A NumPy generator that belongs to the sample that is being fetched in this thread.

    It starts at the same place at each call.  Where threads fetch samples, it takes the place of
    the generators of `random`, `numpy.random` and torch, which all threads share.

    Raises:
        RuntimeError: No DataLoader of this package calls this thread.
    """
    key: int | Callable[[], int] | None = getattr(_here, "key", None)
    if key is None:
        raise RuntimeError(
            "sample_generator() is for __getitem__ and collate_fn of a dataset, while a DataLoader "
            "of pyflowdata fetches from it"
        )
    return np.random.Generator(np.random.Philox(key if isinstance(key, int) else key()))


class OwnGenerators:
    """Has the three generators of the process for a `with` block; the program's states return.

    What is drawn in one block goes on in the next one.
    """

    def __init__(self, key: int, *, only_torch: bool = False, is_seeded: bool = False) -> None:
        """Args:
        key: What they are seeded with.
        only_torch: The blocks draw from torch's generator alone.
        is_seeded: Each block seeds `random` before it draws, which then need not go on.
        """
        self._only_torch = only_torch
        self._is_seeded = is_seeded
        self._program_mark: Any = None
        self._program_python: Any = None  # the program's state at that mark
        self._torch = torch.Generator().manual_seed(key).get_state()
        self._python: Any = None if only_torch else random.Random(key).getstate()
        self._numpy: Any = None if only_torch else np.random.MT19937(key & 0xFFFFFFFF)
        self._program: tuple[Any, Any, Any] | None = None

    def __enter__(self) -> None:
        state = _torch.get_state()
        python = numpy = None
        if not self._only_torch:
            if self._program_mark != (mark := python_mark()):
                self._program_mark, self._program_python = mark, random.getstate()
            python = self._program_python
            numpy = np.random.get_bit_generator()  # type: ignore[attr-defined]
        self._program = state, python, numpy
        _torch.set_state(self._torch)
        if not self._only_torch:
            if not self._is_seeded:
                random.setstate(self._python)
            np.random.set_bit_generator(self._numpy)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        assert self._program is not None
        (state, python, numpy), self._program = self._program, None
        self._torch = _torch.get_state()
        _torch.set_state(state)
        if not self._only_torch:
            if not self._is_seeded:
                self._python = random.getstate()
            if python_mark() != self._program_mark:
                random.setstate(python)
            np.random.set_bit_generator(numpy)  # type: ignore[attr-defined]
