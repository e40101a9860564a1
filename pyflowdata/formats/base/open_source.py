"""All formats by name, and files that are opened with the fields found in them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ...errors import CorruptDataError, Error, InvalidArgumentError
from ...nodes import BUILT_IN, Blob, Op
from ...nodes.registry import FileFormat, registered_formats
from ... import remote
from ...remote import is_remote, one_opening
from .detection import Detected, detect, head_of
from .format import Format
from .source import Source, reader_of

# ---- All formats, by name -----------------------------------------------------------------------
# The formats of the C library, each with the additions of its Python module.

_PACKAGE = __name__.rsplit(".", 2)[0]


@cache
def _made(facts: FileFormat) -> Format:
    """The format object: of the class FORMAT of its module, or of the base class."""
    kind: type[Format] = Format
    module = f"{_PACKAGE}.{facts.name}"
    if facts.origin == BUILT_IN and find_spec(module) is not None:
        kind = getattr(import_module(module), "FORMAT", Format)
    return kind(*facts)


class _Formats(Mapping[str, Format]):
    """The formats by name, in the order of the C library's list; formats of loaded plugins come
    last."""

    def __getitem__(self, name: str) -> Format:
        for facts in registered_formats():
            if facts.name == name:
                return _made(facts)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (facts.name for facts in registered_formats())

    def __len__(self) -> int:
        return len(registered_formats())


FORMATS: Mapping[str, Format] = _Formats()


# ---- Files of one format ------------------------------------------------------------------------

# What Python raises for bytes that only look like those of a format.
_MALFORMED = (ValueError, LookupError, TypeError, ArithmeticError, RecursionError, SyntaxError)


def _detect(path: str | os.PathLike[str], format: str | None) -> Detected:
    """The format of a file; damaged compression is reported before unknown bytes."""
    try:
        found = detect(path, format)
    except InvalidArgumentError as failure:
        if failure.file is not None:
            _refuse_damaged(failure.file)
        raise
    if found.compression and not found.head:
        _refuse_damaged(found.path)
    return found


_FEW = 16  # files whose format is always looked for


def _detect_few(
    paths: Sequence[str | os.PathLike[str]], format: str | None
) -> list[Detected]:
    if not is_remote(paths[0]):
        return [_detect(path, format) for path in paths]
    # Each waits for a store.
    return remote.client.in_threads(lambda path: _detect(path, format), paths, _FEW)


def _detect_all(
    paths: Sequence[str | os.PathLike[str]], format: str | None
) -> list[Detected]:
    """The formats of files.  If there are many, a file with the suffix of an earlier one is not
    examined, if the reader refuses and names files of another format, or if the file is remote.
    """
    found = _detect_few(paths[:_FEW], format)
    first = found[0]
    known = {os.path.splitext(path)[1] for path in paths[:_FEW]} - {""}
    refuses = FORMATS[first.format].refuses_others
    for path in paths[_FEW:]:
        suffix = os.path.splitext(path)[1]
        if suffix in known and (refuses or is_remote(path)):
            found.append(Detected(os.fspath(path), first.format, first.compression, b"", 0))
            continue
        found.append(_detect(path, format))
        known |= {suffix} - {""}
    return found


def _refuse_damaged(path: str) -> None:
    """Raises if the first bytes of a compressed file cannot be decompressed."""
    damage = head_of(path).damage
    if damage is not None:
        raise damage


def _refuse_several(found: Sequence[Detected]) -> None:
    kinds = {(one.format, one.compression): one for one in reversed(found)}
    if len(kinds) == 1:
        return
    said = ", ".join(
        f"{one.path} is {FORMATS[one.format].title}"
        + (f" ({one.compression})" if one.compression else "")
        for one in list(reversed(kinds.values()))[:8]
    )
    raise InvalidArgumentError(f"the files are not of one format: {said}")


@one_opening()
def open_source(
    paths: Sequence[str | os.PathLike[str]],
    format: str | None = None,
    *,
    only_records: bool = False,
    attrs: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
    memory_budget: int = 0,
) -> Source:
    """Finds the fields of the records of files, which must have one format.

    Args:
        paths: The files; for Megatron either of `.bin` and `.idx`.
        format: A key of FORMATS; None: found from the content.
        only_records: Whether records stay unchanged: if the reader returns whole records, no fields
            are looked for, and other fields keep their form in the file.
        attrs: Attrs of the reader, as a command line spells them.
        values: Attrs of the reader as Python values.
        memory_budget: Bytes that each loader over the files may take; 0: half of what the process
            may use.

    Raises:
        InvalidArgumentError: The format of a file is not known, or files differ in format.
        FileError: A file cannot be read.
        UnsupportedError: The reader does not support this kind of file.
        CorruptDataError: A file is damaged where its fields are looked for.
        OutOfMemoryError: One of the first records is larger than the memory budget.
    """
    found = _detect_all(paths, format)
    _refuse_several(found)
    first = found[0]
    own = FORMATS[first.format]
    source = Source(own, first.compression, own.files_of(found), memory_budget=memory_budget)
    source = source.with_attrs(attrs or {})
    source = dataclasses.replace(source, attrs=(*source.attrs, *(values or {}).items()))
    try:
        source = own.with_records(source)
        if source.has_records and only_records:
            return source
        return own.open(source, found, as_stored=only_records)
    except Error as failure:
        if failure.file is None and failure.op is None:
            failure.file = first.path
        raise
    except _MALFORMED as failure:
        raise CorruptDataError(
            f"its first bytes are not those of a {own.title} file: {failure!r}", file=first.path
        ) from None


# ---- Attrs that are found in files --------------------------------------------------------------


def values_in_files(
    name: str, op: Op, inputs: Sequence[Blob], values: Mapping[str, object]
) -> Mapping[str, object]:
    """The attrs that were left out, with their values in the files.

    Args:
        name: The format whose reader or decoder the op is.
        op: The op of a node that is being made.
        inputs: Its inputs; a reader has none.
        values: Its attrs.

    Raises:
        InvalidArgumentError: The given attrs do not fit the files.
    """
    if not inputs:
        return FORMATS[name].found_by_reader(values)
    if reader_of(inputs[0]) is None:
        return {}
    return FORMATS[name].found_by_decoder(op, inputs[0], values)
