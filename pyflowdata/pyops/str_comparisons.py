"""Comparisons of texts with a str, with None, or row by row with bytes.

A text in a record is bytes, which are never equal to a str, and Python gives no error for that;
they have no order with a str either.  The text of a null is b"", so no text is None.  A row of a
column of texts is an array, which NumPy takes as unequal to any bytes.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError
from .function_digest import source_of
from .op import function_place, name_of

_KEEPS_BYTES = ("lower", "upper", "strip", "lstrip", "rstrip", "title", "removeprefix")


_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TURNED = str.maketrans("<>", "><")
_REMEDIES = {
    str: "compares bytes with a str, {why}, as a text of a record is bytes: write b'...', or "
    "decode() it, or give an expression in text, as where('{field} {sign} \"a\"')",
    type(None): "compares bytes with None, and no text is None: a null text is b''. Compare it "
    "with b'', or give nulls a default where the file is read, as fields=[\"{field}:bytes=none\"]",
    bytes: "compares an array with bytes, which are never equal, as rows of a column of texts are "
    "arrays of uint8: write a function of a record, as lambda r: b'...' in r['{field}'], or "
    "compare the column, {field} == b'...'",
}


def refuse_str(
    function: Callable[..., Any],
    texts: set[str],
    by_place: Sequence[str] | None = None,
    *,
    of_columns: bool = False,
) -> None:
    """Refuses a function whose source compares a text of a record with a str or with None.

    Args:
        texts: The fields that are texts.
        by_place: The fields that are its arguments; None: the first argument is the record.
        of_columns: The arguments are columns of fields, which have their names: it is refused if it
            compares a row of a column of texts.

    Raises:
        InvalidArgumentError: It names the comparison, and what to write.
    """
    if not isinstance(function, types.FunctionType) or (source := source_of(function)) is None:
        return
    own = [one.arg for one in source.args.args]
    optional = set(own[len(own) - len(source.args.defaults) :])  # None in other calls
    named = {arg: field for arg, field in zip(own, by_place or (), strict=False) if field in texts}
    record = own[0] if by_place is None and own and not of_columns else ""
    looked = _Comparisons(function, source, record, texts, named, optional)
    if of_columns:
        looked.look_at_rows(source, texts & {*own})
    body = [source.body] if isinstance(source, ast.Lambda) else source.body
    for part in body:
        looked.visit(part)
    if looked.found is not None:
        text, field, kind, sign = looked.found
        why = "which are never equal" if sign == "==" else "which have no order"
        place = function_place(function)
        raise InvalidArgumentError(
            f"{name_of(function)}(){f' ({place})' if place else ''}: {text} "
            + _REMEDIES[kind].format(field=field, why=why, sign=sign)
        )


class _Comparisons(ast.NodeVisitor):
    """The walk of `refuse_str()`.

    Attributes:
        found: The first comparison, as source, its field, a key of `_REMEDIES`, and "==" or the
            sign of an order; None: there is none.
    """

    def __init__(
        self, function: types.FunctionType, source: ast.AST, record: str, fields: set[str],
        texts: Mapping[str, str], optional: set[str],
    ) -> None:  # fmt: skip
        self._closure, self._globals = _closure_of(function), function.__globals__
        self._bound = Counter(
            one.arg if isinstance(one, ast.arg) else one.id
            for one in ast.walk(source)
            if isinstance(one, ast.arg)
            or (isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load))
        )
        # What the function binds again, or stores into the record, may be a str.
        self._texts = {name: field for name, field in texts.items() if self._bound[name] == 1}
        stored = _keys_stored(source, record)
        is_as_given = self._bound[record] == 1 and stored is not None
        self._record = record if is_as_given else ""
        self._fields = fields - (stored or set())
        own = dict(zip(reversed(inspect.getfullargspec(function).args),
                       reversed(function.__defaults__ or ()), strict=False))  # fmt: skip
        # Constants of variables, and defaults of arguments that are no fields.
        self._locals = {
            name: value for name, value in own.items()
            if self._bound[name] == 1 and name not in texts and name != record
        }  # fmt: skip
        self._optional = optional
        self._rows: dict[str, str] = {}  # variable -> the column of texts of whose rows it is one
        self.found: tuple[str, str, type, str] | None = None

    def look_at_rows(self, source: ast.AST, columns: set[str]) -> None:
        """Notes the variables of loops over these columns, if nothing else binds the names."""
        for node in ast.walk(source):
            if not isinstance(node, (ast.comprehension, ast.For)):
                continue
            column = node.iter.id if isinstance(node.iter, ast.Name) else ""
            row = node.target.id if isinstance(node.target, ast.Name) else ""
            if column in columns and self._bound[column] == self._bound[row] == 1:
                self._rows[row] = column

    def _field(self, node: ast.AST) -> str | None:
        """The field whose text a node is; None: the node is not the text of a field."""
        if isinstance(node, ast.Name):
            return self._texts.get(node.id)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "get" and node.args:
                return self._field_at(node.func.value, node.args[0])
            return self._field(node.func.value) if node.func.attr in _KEEPS_BYTES else None
        if isinstance(node, ast.NamedExpr):
            return self._field(node.value)
        if not isinstance(node, ast.Subscript):
            return None
        if isinstance(node.slice, ast.Slice):
            return self._field(node.value)
        return self._field_at(node.value, node.slice)

    def _field_at(self, value: ast.expr, key: ast.expr) -> str | None:
        """The field that a key takes out of a value; None: it is no text of the record."""
        is_record = isinstance(value, ast.Name) and value.id == self._record
        name = key.value if is_record and isinstance(key, ast.Constant) else None
        return name if isinstance(name, str) and name in self._fields else None

    def _value(self, node: ast.AST) -> Any:
        """A constant of the source, or what a variable around the function has when it is given."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return [self._value(one) for one in node.elts]
        if isinstance(node, ast.Dict):
            return [None if one is None else self._value(one) for one in node.keys]
        if isinstance(node, ast.JoinedStr):
            return ""  # some str
        if isinstance(node, ast.Attribute):
            return getattr(self._value(node.value), "__dict__", {}).get(node.attr)
        if isinstance(node, ast.Subscript):
            return _item(self._value(node.value), self._value(node.slice))
        name = node.id if isinstance(node, ast.Name) else ""
        if name in self._bound:
            return self._locals.get(name)
        return self._closure.get(name, self._globals.get(name))

    def _are_str(self, node: ast.AST) -> bool:
        values = self._value(node)
        is_known = isinstance(values, (tuple, list, set, frozenset, dict))
        return is_known and len(values) > 0 and all(isinstance(one, str) for one in values)

    def _note(
        self, node: ast.AST, field: str | None, kind: type = str, sign: str = "=="
    ) -> None:
        if field is not None and self.found is None:
            self.found = ast.unparse(node), field, kind, sign

    def _row(self, node: ast.AST) -> str | None:
        """The column of texts of which a node is a row; None: it is none."""
        return self._rows.get(node.id) if isinstance(node, ast.Name) else None

    def visit_Assign(self, node: ast.Assign) -> None:
        field, value = self._field(node.value), self._value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and self._bound[target.id] == 1:
                self._locals[target.id] = value
                if field is not None:
                    self._texts[target.id] = field
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, how, right in zip(sides, node.ops, sides[1:], strict=False):
            is_equality = isinstance(how, (ast.Eq, ast.NotEq))
            for one, other in ((left, right), (right, left)):
                is_text = isinstance(self._value(other), (bytes, str))
                if is_text and (is_equality or isinstance(how, (ast.In, ast.NotIn))):
                    self._note(node, self._row(one), bytes)
                if isinstance(self._value(other), str):
                    if is_equality:
                        self._note(node, self._field(one))
                    elif type(how) in _ORDERS:
                        sign = _ORDERS[type(how)]
                        self._note(node, self._field(one), str,
                                   sign if one is left else sign.translate(_TURNED))
                if is_equality or isinstance(how, (ast.Is, ast.IsNot)):
                    is_none = isinstance(other, ast.Constant) and other.value is None
                    may_be = isinstance(one, ast.Name) and one.id in self._optional
                    if is_none and not may_be:
                        self._note(node, self._field(one), type(None))
            if isinstance(how, (ast.In, ast.NotIn)) and self._are_str(right):
                self._note(node, self._field(left))
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args
        if is_get and self._are_str(node.func.value):  # type: ignore[attr-defined]
            self._note(node, self._field(node.args[0]))
        self.generic_visit(node)


def _item(values: Any, key: Any) -> Any:
    """The item of a dict or a list of Python; None: there is none."""
    if type(values) is dict and isinstance(key, (str, bytes, int)):
        return values.get(key)
    is_list = type(values) in (list, tuple) and isinstance(key, int)
    return values[key] if is_list and -len(values) <= key < len(values) else None


def _keys_stored(source: ast.AST, record: str) -> set[str] | None:
    """The keys that a function stores in a record; None: its source does not show them."""
    keys: set[str] = set()
    for node in ast.walk(source):
        value = getattr(node, "value", None)
        if not isinstance(value, ast.Name) or value.id != record:
            continue
        if isinstance(node, ast.Attribute) and node.attr == "update":
            return None
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if not isinstance(node.slice, ast.Constant):
                return None
            keys.add(str(node.slice.value))
    return keys


def _closure_of(function: types.FunctionType) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cells = function.__closure__ or ()
    for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # it is assigned later
            continue
    return found
