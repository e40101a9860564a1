"""Ops of functions that a data set is mapped with: made where they are used, without a name that
programs know."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgumentError
from ..nodes import Op, find_op
from ..nodes.node import carried_ops
from ..nodes.row_types import RowType
from .decoders import check_processes
from .op import PythonOp, describe, op_name
from .row_function import RowFunction

_lock = threading.RLock()  # of the following
_names: set[str] = set()
_made: dict[Any, str] = {}  # by what they are made of


class Carried:
    """Becomes the name of the op when it is unpickled, where it makes the op."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def __reduce__(self) -> tuple[Any, ...]:
        return _name_of, self._given


def _name_of(
    function: RowFunction, outputs: Mapping[str, RowType], per: str, processes: int
) -> str:
    return mapped_op(function, outputs, per=per, processes=processes).name


def mapped_op(
    function: RowFunction, outputs: Mapping[str, RowType], *, per: str, processes: int
) -> Op:
    """The op of a function; the same one for the same function, arguments and outputs.

    Raises:
        InvalidArgumentError: It cannot be an op; the text says why.
    """
    check_processes(processes)
    with _lock:
        try:
            key: Any = (function.function, frozenset(function.keywords.items()),
                        function.are_bytes, tuple(outputs.items()), per, processes)  # fmt: skip
            name = _made.get(key)
        except TypeError:  # an argument that has no hash
            key, name = None, None
        if name is None:
            name = _free_name(f"Map{op_name(function)}")
            described = describe(function, None, outputs)
            op = PythonOp(name, described, per, None, processes, takes_any_names=True)
            op.add(replace=False)
            _names.add(name)
            carried_ops[name] = Carried(function, dict(outputs), per, processes)
            if key is not None:
                _made[key] = name
    return find_op(name)


def _free_name(wanted: str) -> str:
    name, number = wanted, 1
    while name in _names or _is_known(name):
        number += 1
        name = f"{wanted}{number}"
    return name


def _is_known(name: str) -> bool:
    try:
        find_op(name)
    except InvalidArgumentError:
        return False
    return True
