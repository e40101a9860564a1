"""Formats of tables of Arrow's types, whose columns have paths as meta.lang."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...nodes import find_op
from ...nodes.sampled_attrs import Found
from .format import Format
from .source import make_node

_ELEMENT = re.compile(r"(?:[^=:]*=)?(?P<path>.*):(?P<type>[^:=]+(?:=.*)?)")
_QUOTED = re.compile("'[^']*'")


class ColumnFormat(Format):
    """Fields are the columns of the first file that rows can have, by their paths."""

    def found_by_reader(self, values: Mapping[str, object]) -> Mapping[str, object]:
        """The types of columns that were given without a type, as C infers them for all columns."""
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
