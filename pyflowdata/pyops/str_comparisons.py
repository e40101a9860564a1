"""Comparisons of texts with a str, with None, or row by row with bytes; and texts that are put into
a str.

A text in a record is bytes, which are never equal to a str, and Python gives no error for that;
they have no order with a str either.  In a str they stand as "b'...'", with the quotes.  The text
of a null is b"", so no text is None.  A row of a column of texts is an array, which NumPy takes as
unequal to any bytes.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError
from .function_digest import source_of
from .op import function_place, name_of

_KEEPS_BYTES = ("lower", "upper", "strip", "lstrip", "rstrip", "title", "removeprefix")
_TAKE_STR = ("decode", "hex")  # methods of bytes
_ORDERS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TURNED = str.maketrans("<>", "><")
# Calls that say something to a person, of Python, logging and warnings.
_SAYS = ("print", "debug", "info", "warn", "warning", "error", "exception", "critical", "log")
_REMEDIES = {
    str: "compares bytes with a str, {why}, as a text of a record is bytes: write b'...', or "
    "decode() it, or give an expression in text, as where('{field} {sign} \"a\"')",
    type(None): "compares bytes with None, and no text is None: a null text is b''. Compare it "
    "with b'', or give nulls a default where the file is read, as fields=[\"{field}:bytes=none\"]",
    bytes: "compares an array with bytes, which are never equal, as rows of a column of texts are "
    "arrays of uint8: write a function of a record, as lambda r: b'...' in r['{field}'], or "
    "compare the column, {field} == b'...'",
    ast.JoinedStr: "makes a str with b'...', its b and quotes, as a text of a record is bytes: "
    "write {sign}.decode(), or {sign}!r in an f-string where these are wanted",
    ast.FormattedValue: "puts an array into a str, as rows of a column of texts are arrays of "
    "uint8: write bytes({sign}).decode()",
}


def refuse_str(
    function: Callable[..., Any],
    texts: set[str],
    by_place: Sequence[str] | None = None,
    *,
    of_columns: bool = False,
    is_batched: bool = False,
) -> None:
    """Refuses a function whose source compares a text of a record with a str or with None, or puts
    it into a str.

    Args:
        texts: The fields that are texts.
        by_place: The fields that are its arguments; None: the first argument is the record.
        of_columns: The arguments are columns of fields, which have their names, or those of
            `by_place`: it is refused if it compares a row of a column of texts, or puts one into a
            str.
        is_batched: The record has a list of texts for each field of texts.

    Raises:
        InvalidArgumentError: It names the expression, and what to write.
    """
    found = _found(_Comparisons, function, texts, by_place, of_columns, is_batched)
    if found is not None:
        text, field, kind, sign = found
        why = "which are never equal" if sign == "==" else "which have no order"
        place = function_place(function)
        raise InvalidArgumentError(
            f"{name_of(function)}(){f' ({place})' if place else ''}: {text} "
            + _REMEDIES[kind].format(field=field, why=why, sign=sign)
        )


def hint_of_texts(
    failure: BaseException,
    function: Callable[..., Any],
    texts: set[str],
    by_place: Sequence[str] | None = None,
    *,
    is_batched: bool = False,
) -> str:
    """What to write where a function failed as it used a text, which is bytes, like a str; "": it
    failed for another reason, or for one that its source does not show.

    Args:
        texts, by_place, is_batched: As in `refuse_str()`.
    """
    if type(failure) is AttributeError and isinstance(failure.obj, bytes) and texts:
        names = " and ".join(map(repr, sorted(texts)))
        return f"; texts of a record are bytes, here {names}: decode() makes a str of one"
    if type(failure) is KeyError and (other := _other_key(failure)) is not None:
        return f"; there is the key {other!r}: texts of a record are bytes, decode() makes a str"
    found = None
    if type(failure) is TypeError:
        found = _found(_Mixtures, function, texts, by_place, False, is_batched)
    if found is None:
        return ""
    expression, field, *_ = found
    return (f"; {field!r} is bytes, as texts of a record are: in {expression} write b'...' for the "
            "str, or call decode() of the text")  # fmt: skip


def _other_key(failure: KeyError) -> str | bytes | None:
    """The missing key as a str for bytes, or as bytes for a str, if a dict has it that the failing
    line may mean: one of a variable, or one that is written there."""
    key, trace = failure.args[0] if failure.args else None, failure.__traceback__
    other: str | bytes
    try:
        if isinstance(key, bytes):
            other = key.decode()
        elif isinstance(key, str):
            other = key.encode()
        else:
            return None
    except UnicodeError:
        return None
    if trace is None:
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame, code = trace.tb_frame, trace.tb_frame.f_code
    named = (*frame.f_locals.values(), *map(frame.f_globals.get, code.co_names))
    dicts = (one for one in named if type(one) is dict)
    written = (one if type(one) is tuple else (one,) for one in code.co_consts)
    is_there = any(other in one for one in dicts) or any(
        type(one) is type(other) and one == other for some in written for one in some
    )
    return other if is_there else None


def _found(
    kind: type[_Comparisons], function: Callable[..., Any], texts: set[str],
    by_place: Sequence[str] | None, of_columns: bool, is_batched: bool,
) -> tuple[str, str, type, str] | None:  # fmt: skip
    """The first expression of the function that the walk finds; None also without a source."""
    if not isinstance(function, types.FunctionType) or (source := source_of(function)) is None:
        return None
    own = [one.arg for one in source.args.args]
    optional = set(own[len(own) - len(source.args.defaults) :])  # None in other calls
    places = zip(own, own if by_place is None else by_place, strict=False)
    named = {arg: field for arg, field in places if field in texts}
    record = own[0] if by_place is None and own and not of_columns else ""
    as_texts = {} if of_columns or by_place is None else named
    looked = kind(function, source, record, texts, as_texts, optional, is_batched)
    if of_columns:
        looked.look_at_rows(source, {*named})
    body = [source.body] if isinstance(source, ast.Lambda) else source.body
    for part in body:
        looked.visit(part)
    return looked.found


class _Comparisons(ast.NodeVisitor):
    """The walk of `refuse_str()`.

    Attributes:
        found: The first expression to refuse, as source, its field, a key of `_REMEDIES`, and "=="
            or the sign of an order, or the text as source; None: there is none.
    """

    def __init__(
        self, function: types.FunctionType, source: ast.AST, record: str, fields: set[str],
        texts: Mapping[str, str], optional: set[str], is_batched: bool,
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
        code, given = function.__code__, function.__defaults__ or ()
        own = dict(zip(code.co_varnames[code.co_argcount - len(given) :], given, strict=False))
        # Constants of variables, and defaults of arguments that are no fields.
        self._locals = {
            name: value for name, value in own.items()
            if self._bound[name] == 1 and name not in texts and name != record
        }  # fmt: skip
        self._optional, self._is_batched = optional, is_batched
        self._is_said = False
        self._columns: dict[str, str] = {}  # variable -> the field whose list of texts it is
        self._text_columns: set[str] = set()  # arguments that are columns of texts
        self._row_of: dict[str, str] = {}  # variable -> the column of texts of which it is a row
        self.found: tuple[str, str, type, str] | None = None

    def look_at_rows(self, source: ast.AST, columns: set[str]) -> None:
        """Notes the variables of loops over these columns, if nothing else binds the names."""
        self._text_columns = {name for name in columns if self._bound[name] == 1}
        for node in ast.walk(source):
            if isinstance(node, (ast.comprehension, ast.For)):
                rows = self._rows_in(node.target, node.iter, self._whole_column)
                self._row_of |= {name: of for name, of in rows.items() if self._bound[name] == 1}

    def _field(self, node: ast.AST) -> str | None:
        """The field whose text a node is; None: the node is not the text of a field."""
        if isinstance(node, ast.Name):
            return self._texts.get(node.id) or self._columns.get(node.id)
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
        return self._field_at(node.value, node.slice) or self._column(node.value)

    def _column(self, node: ast.AST) -> str | None:
        """The field whose list of texts a node is; None: it is none, or the texts come one by one.
        """
        if not self._is_batched:
            return None
        if isinstance(node, ast.Name):
            return self._columns.get(node.id)
        if isinstance(node, ast.Call):
            is_get = isinstance(node.func, ast.Attribute) and node.func.attr == "get"
            return self._field(node) if is_get else None
        if not isinstance(node, ast.Subscript):
            return None
        if isinstance(node.slice, ast.Slice):
            return self._column(node.value)
        return self._field_at(node.value, node.slice)

    def _whole_column(self, node: ast.AST) -> str | None:
        """The argument that a node is, if that is a column of texts."""
        return node.id if isinstance(node, ast.Name) and node.id in self._text_columns else None

    def _rows_in(
        self, target: ast.expr, values: ast.expr, column_of: Callable[[ast.AST], str | None]
    ) -> dict[str, str]:
        """The variables that are texts in a loop over values: a column, `zip` or `enumerate`."""
        if isinstance(values, ast.Call) and isinstance(values.func, ast.Name):
            parts = target.elts if isinstance(target, ast.Tuple) else []
            if values.func.id == "enumerate":
                parts = parts[1:]
            elif values.func.id != "zip":
                return {}
            pairs = zip(parts, values.args, strict=False)
            found = [self._rows_in(*one, column_of) for one in pairs]
            return {name: field for rows in found for name, field in rows.items()}
        field = column_of(values)
        return {target.id: field} if field is not None and isinstance(target, ast.Name) else {}

    @contextlib.contextmanager
    def _inside(self, texts: Mapping[str, str]) -> Iterator[None]:
        """A scope whose own variables are these texts."""
        around, self._texts = self._texts, {**self._texts, **texts}
        yield
        self._texts = around

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
        return self._row_of.get(node.id) if isinstance(node, ast.Name) else None

    def _row_in_str(self, node: ast.AST) -> str | None:
        """The column of texts of which a node is a row: a variable of a loop, or column[i]."""
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            return self._whole_column(node.value)
        return self._row(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        field, value = self._field(node.value), self._value(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name) and self._bound[target.id] == 1:
                self._locals[target.id] = value
                if field is not None:
                    own = self._texts if self._column(node.value) is None else self._columns
                    own[target.id] = field
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        rows = self._rows_in(node.target, node.iter, self._column)
        self._texts.update({name: one for name, one in rows.items() if self._bound[name] == 1})
        self.generic_visit(node)

    def _visit_comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        rows: dict[str, str] = {}
        for one in node.generators:
            rows |= self._rows_in(one.target, one.iter, self._column)
        with self._inside(rows):
            self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    def visit_Raise(self, node: ast.Raise) -> None:
        self._visit_said(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._visit_said(node)

    def _visit_said(self, node: ast.AST) -> None:
        """Visits what is said to a person, for whom a text with its quotes is as good."""
        around, self._is_said = self._is_said, True
        self.generic_visit(node)
        self._is_said = around

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        for one in node.values:
            if isinstance(one, ast.FormattedValue) and one.conversion not in (ord("r"), ord("a")):
                self._note_written(node, one.value)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        left: ast.expr = node
        while isinstance(left, ast.BinOp):  # a sum of hundreds of terms is as many levels
            one, left = left, left.left
            form = self._value(left) if isinstance(one.op, ast.Mod) else None
            if isinstance(form, str) and "%r" not in form:
                right = one.right
                self._note_written(one, *(right.elts if isinstance(right, ast.Tuple) else [right]))
            self.visit(one.right)
        self.visit(left)

    def _note_written(self, node: ast.AST, *values: ast.expr) -> None:
        """Notes the first of these values that is a text, of those that a node puts into a str."""
        for one in values:
            if not self._is_said and self._column(one) is None:
                self._note(node, self._field(one), ast.JoinedStr, ast.unparse(one))
                self._note(node, self._row_in_str(one), ast.FormattedValue, ast.unparse(one))

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
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "str" and len(node.args) == 1 and not node.keywords and self._is_free("str"):
            self._note_written(node, node.args[0])
        if isinstance(node.func, ast.Attribute):
            form = self._value(node.func.value) if node.func.attr == "format" else None
            if isinstance(form, str) and "!r" not in form:
                self._note_written(node, *node.args, *(one.value for one in node.keywords))
            name = node.func.attr
        with self._inside(self._given_to(node)):
            (self._visit_said if name in _SAYS else self.generic_visit)(node)

    def _given_to(self, node: ast.Call) -> dict[str, str]:
        """The parameters of a lambda that are texts where it is called, or mapped over a column."""
        if isinstance(node.func, ast.Lambda):
            own = zip(node.func.args.args, node.args, strict=False)
            return {one.arg: field for one, value in own if (field := self._field(value))}
        is_mapped = isinstance(node.func, ast.Name) and node.func.id in ("filter", "map")
        if not is_mapped or not node.args or not isinstance(node.args[0], ast.Lambda):
            return {}
        own = zip(node.args[0].args.args, node.args[1:], strict=False)
        return {one.arg: field for one, value in own if (field := self._column(value))}

    def _is_free(self, name: str) -> bool:
        """Whether a name is that of Python itself."""
        own = (self._bound, self._closure, self._globals)
        return not any(name in one for one in own)


class _Mixtures(_Comparisons):
    """The walk of `hint_of_texts()`: operations with a str and a text, of a function in which
    `refuse_str()` found nothing.
    """

    def visit(self, node: ast.AST) -> None:
        operands = _operands(node)
        if any(isinstance(self._value(one), str) for one in operands):
            for one in operands:
                self._note(node, self._field(one), TypeError)
        super().visit(node)


def _operands(node: ast.AST) -> list[ast.expr]:
    """The values that an operation may join: a sum, `in`, or a method or function with arguments.
    """
    if isinstance(node, ast.BinOp):
        found = []
        while isinstance(node, ast.BinOp):
            found.append(node.right)
            node = node.left
        return [node, *found]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if not isinstance(node, ast.Call):
        return []
    found = [*node.args, *(one.value for one in node.keywords)]
    lists = [one.elts for one in found if isinstance(one, (ast.List, ast.Tuple))]
    if isinstance(node.func, ast.Attribute) and node.func.attr not in _TAKE_STR:
        found.append(node.func.value)
    return [*found, *itertools.chain(*lists)]


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
