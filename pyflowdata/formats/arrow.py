"""Arrow IPC files and streams: the types of columns that were named without one."""

from __future__ import annotations

import dataclasses
import json
import re
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..nodes import find_op
from ..nodes.sampled_attrs import Found
from .base.detection import Detected, head_of
from .base.format import Format
from .base.source import Source, make_node

# ---- Columns that rows cannot have ---------------------------------------------------------------
# A message begins with the offset of its table.  A table begins with the distance to its vtable,
# which has the offsets of its fields.  Schema.fbs numbers the fields.

_HEADER, _FIELDS, _NAME = 2, 1, 0
_MAGIC = b"ARROW1\0\0"
_MARK = b"\xff\xff\xff\xff"


def _schema_names(head: bytes) -> Iterator[str]:
    """The names of the columns in the schema that a file begins with."""

    def number(at: int, kind: str = "<I") -> int:
        found: int = struct.unpack_from(kind, head, at)[0]
        return found

    def follow(at: int) -> int:
        return at + number(at)

    def field(table: int, which: int) -> int:
        vtable = table - number(table, "<i")
        return follow(table + number(vtable + 4 + 2 * which, "<H"))

    begin = len(_MAGIC) if head.startswith(_MAGIC) else 0
    begin += 4 * head.startswith(_MARK, begin)
    fields = field(field(follow(begin + 4), _HEADER), _FIELDS)
    for at in range(fields + 4, fields + 4 + 4 * number(fields), 4):
        name = field(follow(at), _NAME)
        yield head[name + 4 : name + 4 + number(name)].decode(errors="replace")


def _spelled(name: str) -> str:
    """A name as a path has it."""
    plain = re.fullmatch(r"[^.\[\]'=:]+", name)
    return name if plain else "'" + name.replace("'", "''") + "'"


def _left_out(head: bytes, paths: set[str]) -> Iterator[str]:
    """Descriptions of columns of which nothing is among the paths."""
    try:
        names = list(_schema_names(head))
    except struct.error:
        return  # the schema is longer than the first bytes of the file
    for name in map(_spelled, names):
        if not any(path == name or path.startswith(name + ".") for path in paths):
            yield f"{name}, which is neither numbers nor bytes, or has nulls that need a default"


def _first_head(one: Detected) -> bytes:
    """The first bytes of a file, or of the first one that a state.json lists."""
    if not one.path.endswith(".json"):
        return one.head
    files = json.loads(Path(one.path).read_bytes())["_data_files"]
    return head_of(Path(one.path).with_name(files[0]["filename"])).data


# ---- The format ----------------------------------------------------------------------------------

_ELEMENT = re.compile(r"(?:[^=:]*=)?(?P<path>.*):(?P<type>[^:=]+(?:=.*)?)")
_QUOTED = re.compile("'[^']*'")


class Arrow(Format):
    """Fields are the columns of the first file that rows can have, by their paths."""

    def infer(self, source: Source, one: Detected, *, as_stored: bool = False) -> Source:
        """The source with the columns of a file, and what is left out of them."""
        found = super().infer(source, one, as_stored=as_stored)
        paths = {field.key or field.name for field in found.fields}
        head = _first_head(one) if paths else b""
        return dataclasses.replace(found, left_out=tuple(_left_out(head, paths)))

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """The types of columns that were given without one, as C infers them for all columns."""
        listed = find_op(self.reader).outputs_attr
        given: Any = values.get(listed)
        if not given:
            return {}
        own = {name: value for name, value in values.items() if name != listed}
        elements: Any = make_node(self.reader, [], **own).values[listed]
        matches = filter(None, map(_ELEMENT.fullmatch, elements))
        types = {found["path"]: found["type"] for found in matches}
        typed = []
        for element in given:
            path = element.rpartition("=")[2]
            is_typed = ":" in _QUOTED.sub("", element) or path not in types
            typed.append(element if is_typed else f"{element}:{types[path]}")
        return Found({listed: typed})


FORMAT = Arrow
