"""Nodes like a given one: over other files of the sample, or with another value of an attr."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pyflowdata.nodes.registry import Attr, find_op
from .spec import Spec

Variant = tuple[str, Spec]  # how it differs, in words, and what makes it


def over_other_files(
    spec: Spec, files: list[str], also: tuple[tuple[str, int], ...]
) -> list[Variant]:
    """The same op over other files: as many as there are ways, the best one first."""
    found: list[Variant] = []
    if len(files) > 1:
        found = [
            ("the last file alone", spec.with_reader(data_dir=None, files=files[-1:])),
            ("the files backwards", spec.with_reader(data_dir=None, files=files[::-1])),
        ]
    return found + [(f"the sample {folder}", spec.in_folder(folder)) for folder, _ in also]


def with_attr(spec: Spec, name: str, value: Any) -> Spec:
    """The same inputs with another value of one attr."""
    texts = {other: said for other, said in spec.texts.items() if other != name}
    return replace(spec, attrs={**spec.attrs, name: value}, texts=texts)


def with_other_attrs(spec: Spec, names: set[str]) -> Iterator[Variant]:
    """The same inputs with another value of one of these attrs."""
    values = spec.make().values
    for attr in find_op(spec.op).attrs:
        if attr.name not in names:
            continue
        value = _other(attr, values.get(attr.name, attr.default))
        if value is not None:
            yield f"{attr.name} = {value}", with_attr(spec, attr.name, value)


def _other(attr: Attr, value: Any) -> Any:
    """Another valid value; None where none is known."""
    if isinstance(value, bool):
        return not value
    if attr.choices:
        at = attr.choices.index(value) if value in attr.choices else -1
        other = attr.choices[(at + 1) % len(attr.choices)]
        return None if other == value else other
    if isinstance(value, (int, float)):
        return _other_number(attr, value)
    if isinstance(value, (list, tuple)) and value and attr.type.element in (int, float):
        others = [_other_number(attr, each) for each in value]
        return None if None in others else others
    return None


def _other_number(attr: Attr, value: Any) -> Any:
    low = float("-inf") if attr.minimum is None else attr.minimum
    high = float("inf") if attr.maximum is None else attr.maximum
    for other in (value + 1, value - 1, value / 2 if isinstance(value, float) else value // 2):
        if low <= other <= high and other != value:
            return other
    return None
