"""Random numbers of a sample, which do not depend on workers or on a resume.

Datasets and collate functions draw from the generators of `random`, `numpy.random` and torch.
These are seeded before each sample by a key of seed, epoch and sample.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import os
import random
import sys
import threading
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import torch

# ---- NumPy's words ------------------------------------------------------------------------------
# Two words in the state of the generator MT19937, read in place: each draw or seed changes them.

_KEY_WORDS = 624


class Words(NamedTuple):
    """Views of a generator's state.

    Attributes:
        position: The position in the words of the key; each draw moves it.
        word: A word of the key that each form of seed changes; the first word does not change.
    """

    position: ctypes.c_int32
    word: ctypes.c_uint32


def words_of(generator: Any) -> Words | None:
    """The words of a bit generator; None: it is of another kind, or this NumPy has another layout
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
    """Draws from its own generator, and compares the words with the state from NumPy."""
    generator: Any = np.random.MT19937(1)
    found = _words(generator)
    for _ in range(2):
        state = generator.state["state"]
        if (found.position.value, found.word.value) != (state["pos"], int(state["key"][1])):
            return False
        generator.random_raw()
    return True


# ---- Keys and seeds -----------------------------------------------------------------------------

_BITS = 2**64 - 1
_TORCH_BITS = 2**63 - 1  # torch.initial_seed() must fit into an int64 tensor
_python: Any = random.seed.__self__  # type: ignore[attr-defined]  # of the module's functions
_seed_python = super(random.Random, _python).seed
_torch = torch.default_generator
_here = threading.local()
_LOOKED_AT = 2  # calls of Watch.begin(); the first may be for one sample
_compare: Any = ctypes.CDLL(None).memcmp
_compare.argtypes = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t


def mixed(*numbers: int) -> int:
    """A number of 64 bits that depends on each of these numbers, and on their order."""
    found = 0
    for number in numbers:
        found = (found + (number & _BITS) + 0x9E3779B97F4A7C15) & _BITS
        found = ((found ^ (found >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        found = ((found ^ (found >> 27)) * 0x94D049BB133111EB) & _BITS
        found ^= found >> 31
    return found


def number_of(index: Any) -> int:
    """The number by which a sample is keyed: its index; for a key of another type, a hash of its
    repr()."""
    try:
        return operator.index(index)
    except TypeError:
        return int.from_bytes(blake2b(repr(index).encode(), digest_size=8).digest(), "little")


turns: Any = threading.RLock()  # of threads that seed, replace or watch the three generators


def _forget_turns() -> None:
    """In a forked child: ends the turn of a thread that is not there."""
    if turns.acquire(blocking=False):
        turns.release()
    else:
        turns._at_fork_reinit()


os.register_at_fork(after_in_child=_forget_turns)


def seed_all(key: int) -> None:
    """Seeds the three generators of this process."""
    _seed_python(key)
    np.random.seed(key & 0xFFFFFFFF)
    _torch.manual_seed(key & _TORCH_BITS)
    _here.key = key


def _python_words() -> Any:
    """Position and first words of the state of `random`; None: they are not where CPython has them.
    The first word is the same after any seed."""
    at = id(_python) + object.__basicsize__
    words = (ctypes.c_uint32 * 3).from_address(at)
    state = random.getstate()[1]
    return words if [*words] == [state[-1], *state[:2]] else None


def _hidden_draws() -> int:
    found: int = getattr(_here, "hidden", 0)
    return found


def note_hidden_draw() -> None:
    """Notes that this thread used a generator of the process, and restored its state."""
    _here.hidden = _hidden_draws() + 1


def _see_call(_: Any, event: str, called: Any) -> None:
    if event == "c_call" and called.__name__ in ("set_state", "setstate"):
        note_hidden_draw()


class Watch:
    """Notices a draw from one of the three generators, and undoes it.  Used within `turns`.

    A draw changes the position in a generator's words, or makes new words.  A draw whose generator
    is set back, as by torch.random.fork_rng(), changes neither: in the first batches, calls of
    torch's set_state() and random.setstate() count as draws.

    Attributes:
        sees: After begin(): whether draws are noticed. NumPy's second normal number, which is kept
            for the next call, is drawn without any change; under a profiler no calls are seen.
    """

    def __init__(self) -> None:
        self._numpy: Any = None
        self._look_at_numpy()
        self._words = _python_words()
        self._marks: Any = None
        self._states: Any = None  # of the program, with these marks of Python and NumPy
        self._torch: Any = None
        self._begun = self._hidden = 0
        self.sees = True

    def _look_at_numpy(self) -> None:
        self._numpy = np.random.get_bit_generator()  # type: ignore[attr-defined]
        self._numpy_words = words_of(self._numpy)

    def _now(self) -> Any:
        python: Any
        if self._words is not None:
            python = self._words[0], self._words[2], _python.gauss_next
        else:
            python = random.getstate()
        if np.random.get_bit_generator() is not self._numpy:  # type: ignore[attr-defined]
            self._look_at_numpy()
        words = self._numpy_words
        if words is None:
            return python, repr(self._numpy.state)
        return python, words.position.value, words.word.value, id(self._numpy)

    def begin(self) -> None:
        """Starts to watch."""
        marks = self._now()
        if marks != self._marks:  # the program drew since the last time
            self._states = random.getstate(), np.random.get_state(legacy=False)
            self._marks = marks
        self._torch = _torch.get_state()
        self._hidden = _hidden_draws()
        self.sees = not self._states[1]["has_gauss"]
        if self._begun < _LOOKED_AT:
            if sys.getprofile() is not None:
                self.sees = False
                return
            self._begun += 1
            sys.setprofile(_see_call)

    def end(self) -> None:
        """Stops watching calls."""
        if sys.getprofile() is _see_call:
            sys.setprofile(None)

    def is_used(self) -> bool:
        """Whether a generator was drawn from."""
        if self._now() != self._marks or self._hidden != _hidden_draws():
            return True
        now = _torch.get_state()  # memcmp() takes a tenth of torch.equal()
        return bool(_compare(self._torch.data_ptr(), now.data_ptr(), now.nbytes))

    def undo(self) -> None:
        """Restores the program's states."""
        python, numpy = self._states
        random.setstate(python)
        np.random.set_state(numpy)
        _torch.set_state(self._torch)
        self._marks = None


def noted_key() -> int | Callable[[], int] | None:
    """The last argument of note_key() or note_samples() in this thread; None: there is none."""
    key: int | Callable[[], int] | None = getattr(_here, "key", None)
    return key


def note_key(key: int | Callable[[], int] | None) -> None:
    """Sets the key of sample_generator() in this thread, and no generator of the process."""
    _here.key = key


def note_samples(key_of: Callable[[], int]) -> None:
    """As note_key(), with a function that gives the key of the sample that is being fetched."""
    _here.key = key_of


def sample_generator() -> np.random.Generator:
    """A NumPy generator that belongs to the sample that is being fetched in this thread.

    It starts with the same numbers at each call.  Where threads fetch samples, it replaces the
    generators of `random`, `numpy.random` and torch, which all threads share.

    Raises:
        RuntimeError: No DataLoader of this package calls this thread.
    """
    key = noted_key()
    if key is None:
        raise RuntimeError(
            "sample_generator() is for __getitem__ and collate_fn of a dataset, while a DataLoader "
            "of pyflowdata fetches from it"
        )
    return np.random.Generator(np.random.Philox(key if isinstance(key, int) else key()))


class OwnGenerators:
    """Uses the three generators of the process in a `with` block; then the program's states return.
    A block is within `turns`.

    The numbers of a block continue in the next block.
    """

    def __init__(self, key: int, *, only_torch: bool = False) -> None:
        """Seeds the generators.

        Args:
            key: The seed.
            only_torch: Whether the blocks draw only from torch's generator.
        """
        self._only_torch = only_torch
        self._torch = torch.Generator().manual_seed(key).get_state()
        self._python: Any = None if only_torch else random.Random(key).getstate()
        self._numpy: Any = None if only_torch else np.random.MT19937(key & 0xFFFFFFFF)
        self._program: tuple[Any, Any, Any] | None = None
        self._normal: Any = None  # of NumPy, with a second normal number that is kept

    def __enter__(self) -> None:
        state = _torch.get_state()
        python = numpy = None
        if not self._only_torch:
            python = random.getstate()
            numpy = np.random.get_bit_generator()  # type: ignore[attr-defined]
            normal: Any = np.random.get_state(legacy=False)
            self._normal = normal if normal["has_gauss"] else None
        self._program = state, python, numpy
        _torch.set_state(self._torch)
        if not self._only_torch:
            random.setstate(self._python)
            np.random.set_bit_generator(self._numpy)  # type: ignore[attr-defined]

    def __exit__(self, *_: object) -> None:
        assert self._program is not None
        (state, python, numpy), self._program = self._program, None
        self._torch = _torch.get_state()
        _torch.set_state(state)
        if not self._only_torch:
            self._python = random.getstate()
            random.setstate(python)
            np.random.set_bit_generator(numpy)  # type: ignore[attr-defined]
            if self._normal is not None:
                np.random.set_state(self._normal)
        note_hidden_draw()
