"""Makes an input that shows a fault smaller, and more like the sample."""

from __future__ import annotations

from collections.abc import Callable

from pyflowdata.words.plain_text import counted

Fails = Callable[[bytes], bool]


def reduced(data: bytes, sample: bytes, fails: Fails) -> bytes:
    """An input that still fails: bytes as in the sample where they may be, none that can go.

    Args:
        data: An input that fails.
        sample: The file that it stands for.
        fails: Whether an input shows the same fault.
    """
    if not fails(data):  # by chance, or with what came before
        return data
    return _like(_shorter(_like(data, sample, fails), fails), sample, fails)


def _like(data: bytes, sample: bytes, fails: Fails) -> bytes:
    """With the sample's bytes in as many places as possible: in halves, quarters and so on."""
    if len(data) != len(sample):
        # One change of size, in the middle of what is the same.
        head = _same(data, sample)
        tail = min(_same(data[::-1], sample[::-1]), min(len(data), len(sample)) - head)
        for other in (sample, sample[: len(data)], data[:head] + sample[len(sample) - tail :]):
            if other != data and fails(other):
                return other
        return data
    size = len(data)
    while size:
        for start in range(0, len(data), size):
            part = sample[start : start + size]
            other = data[:start] + part + data[start + len(part) :]
            if other != data and fails(other):
                data = other
        size //= 2
    return data


def _same(one: bytes, two: bytes) -> int:
    """How many bytes at the beginning are the same."""
    most = min(len(one), len(two))
    return next((i for i in range(most) if one[i] != two[i]), most)


def _shorter(data: bytes, fails: Fails) -> bytes:
    size = len(data) // 2
    while size:
        start = len(data) - size
        while start >= 0 and len(data) > size:
            other = data[:start] + data[start + size :]
            if fails(other):
                data = other
            start -= size
        size //= 2
    return data


def describe_change(data: bytes, sample: bytes, name: str) -> str:
    """In which bytes an input differs from the file that it stands for."""
    if len(data) != len(sample):
        return f"{counted(len(data), 'byte')} in place of {len(sample)}"
    places = [i for i in range(len(data)) if data[i] != sample[i]]
    if not places:
        return "the same bytes"
    first, last = places[0], places[-1]
    if first == last:
        return f"byte {first} is {data[first]:#04x} in place of {sample[first]:#04x}"
    return f"{len(places)} of its bytes {first} to {last} differ"
