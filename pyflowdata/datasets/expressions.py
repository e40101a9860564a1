"""Predicates in text, such as "label != 3 and len(tokens) > 10", over columns of NumPy arrays.

The text is an expression of Python, of which this module knows a part.  Nothing is given to
`eval()`.  Names are fields, also with dots, as meta.source.  A value is one of

    a number or truth     a constant of the text
    bytes                 a text of the text, in UTF-8
    an array              a column: one element, or one array of the same shape, per row
    `_Strings`            a column of bytes, of any length per row
    `Ragged`              any other column whose rows differ in shape; only len() takes it

Integers are computed with 64 bits.  `and`, `or` and `not` evaluate all of their operands.  `&`, `|`
and `~` mean the same, and take truths only: they bind more tightly than comparisons, so that a
comparison beside one without parentheses has a number there, and is refused.
"""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..nodes import dtype_name, widened
from ..ragged import Ragged
from ..words.plain_text import no_field


# ---- Parsing ------------------------------------------------------------------------------------

_P = ParamSpec("_P")
_T = TypeVar("_T")

_TRIES = 100


def parsed(parse: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
    """The result of a function that parses; the function is called again if another thread
    disturbed it.

    Python 3.11 counts the depth of a tree for all threads together.  Where they take turns in the
    middle of a text, it raises SystemError ("AST constructor recursion depth mismatch").
    """
    for _ in range(_TRIES - 1):
        try:
            return parse(*args, **kwargs)
        except SystemError:
            continue
    return parse(*args, **kwargs)


# ---- Columns of texts ---------------------------------------------------------------------------

Array = npt.NDArray[Any]

_FUNCTIONS = "abs, all, any, endswith, field, isnan, len, max, min, startswith"


def _power(left: Any, right: Any) -> Any:
    """left ** right: a float if the exponent is negative, or if constants give no integer of 64
    bits.
    """
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        is_whole = not np.any(np.asarray(right) < 0)
        return np.power(left, right if is_whole else np.asarray(right, np.float64))
    found = float(np.power(float(left), float(right)))
    is_whole = isinstance(left, int) and isinstance(right, int) and right >= 0
    return left**right if is_whole and abs(found) < 2**62 else found


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_TRUTHS = {ast.BitAnd: ("&", operator.and_), ast.BitOr: ("|", operator.or_)}

_MOST_DEPTH = 100
_TOO_DEEP = f"it is nested too deeply; at most {_MOST_DEPTH} levels are possible"


class _Strings:
    """A column of bytes of any length."""

    def __init__(self, rows: Ragged) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def to_list(self) -> list[bytes]:
        return self.rows.to_bytes_list()

    def _has(self, starts: Array, candidates: Array, part: bytes) -> Array:
        """Whether rows have `part` from `starts` on; only candidates are long enough."""
        found = np.zeros(len(self), np.bool_)
        rows = np.flatnonzero(candidates)
        places = starts[rows, np.newaxis] + np.arange(len(part))
        wanted = np.frombuffer(part, np.uint8)
        values = self.rows.values.view(np.uint8)
        found[rows] = (values[places] == wanted).all(axis=1)
        return found

    def equals(self, other: bytes) -> Array:
        return self._has(self.rows.row_splits[:-1], self.rows.lengths == len(other), other)

    def starts_with(self, part: bytes) -> Array:
        return self._has(self.rows.row_splits[:-1], self.rows.lengths >= len(part), part)

    def ends_with(self, part: bytes) -> Array:
        ends = self.rows.row_splits[1:] - len(part)
        return self._has(ends, self.rows.lengths >= len(part), part)

    def compare(self, how: Callable[[Any, Any], Any], other: bytes | _Strings) -> Array:
        """One truth per row."""
        if isinstance(other, bytes) and how in (operator.eq, operator.ne):
            found = self.equals(other)
            return found if how is operator.eq else ~found
        rows = self.to_list()
        others = [other] * len(rows) if isinstance(other, bytes) else other.to_list()
        return np.array([how(a, b) for a, b in zip(rows, others, strict=True)], np.bool_)


def empty_column(dtype: np.dtype[Any], row_shape: Sequence[int | None]) -> Array | Ragged:
    """A batch without rows, to find out what an expression gives."""
    sizes = [size or 0 for size in row_shape]
    if None not in row_shape:
        return np.empty((0, *sizes), dtype)
    splits = np.zeros(1, np.int64)
    if row_shape[0] is None and None not in row_shape[1:]:
        return Ragged(np.empty((0, *sizes[1:]), dtype), splits)
    shapes = np.empty((0, len(sizes)), np.int64)
    return Ragged(np.empty(0, dtype), splits, row_shape=row_shape, shapes=shapes)


def _as_column(column: Array | Ragged) -> Array | Ragged | _Strings:
    if isinstance(column, Ragged) and column.dtype == np.uint8 and len(column.row_shape) == 1:
        return _Strings(column)
    return column


class _DottedNames(ast.NodeTransformer):
    """Makes one name of `meta.source`, unless the text before one of its dots is a field."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = fields

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        words: list[str] = []
        base: ast.expr = node
        while isinstance(base, ast.Attribute):
            words.append(base.attr)
            base = base.value
        if not isinstance(base, ast.Name):
            return self.generic_visit(node)
        starts = list(itertools.accumulate([base.id, *reversed(words)], "{}.{}".format))
        if starts[-1] in self._fields or not set(starts) & set(self._fields):
            return ast.copy_location(ast.Name(starts[-1], ast.Load()), node)
        return self.generic_visit(node)


class Expression:
    """A predicate, or any value of a row, in text.

    Attributes:
        text: As it was given.
        names: The fields that it uses, in the order of their first use.
    """

    def __init__(
        self, text: str, fields: Sequence[str], why: Callable[[str], str] = lambda _: ""
    ) -> None:
        """Parses the text; `why` says more of a name that is no field.

        Raises:
            InvalidArgumentError: The text is not an expression of Python, or has a name that is
                not one of `fields`.
        """
        self.text = text.strip()
        self._fields, self._why = tuple(fields), why
        self._body = self._parse()
        names: dict[str, None] = {}
        for node, depth in _in_order(self._body):
            if depth > _MOST_DEPTH:
                raise InvalidArgumentError(f"{shown(self.text)}: {_TOO_DEEP}")
            name = self._name(node)
            if name is not None:
                names[name] = None
        self.names = tuple(names)
        if not names:
            self._refuse(self._body, f"it has no field; the fields are {', '.join(fields)}")

    def _parse(self) -> ast.expr:
        try:
            tree = parsed(ast.parse, self.text, mode="eval")
            _DottedNames(self._fields).visit(tree)
            return tree.body
        except SyntaxError as failure:
            place = f", character {failure.offset}" if failure.offset else ", at its end"
            here = self.text[failure.offset - 1 :] if failure.offset else ""
            is_assigned = "==" in failure.msg or "assign" in failure.msg or here.startswith("=")
            hint = "; == compares" if is_assigned else ""
            raise InvalidArgumentError(f"{shown(self.text)}{place}: {failure.msg}{hint}") from None
        except (RecursionError, MemoryError):  # a parser without room says either, or no word
            raise InvalidArgumentError(f"{shown(self.text)}: {_TOO_DEEP}") from None
        except ValueError as failure:
            raise InvalidArgumentError(f"{shown(self.text)}: {failure}") from None

    def _refuse(self, node: ast.expr, what: str) -> NoReturn:
        """Raises InvalidArgumentError with the place of a node."""
        line = self.text.splitlines()[node.lineno - 1]
        character = len(line.encode()[: node.col_offset].decode()) + 1
        part = ast.get_source_segment(self.text, node) or ""
        raise InvalidArgumentError(
            f"{shown(self.text)}, character {character} ({shown(part)[1:-1]}): {what}"
        )

    def _name(self, node: ast.AST) -> str | None:
        """The field that a node names, if it names one."""
        if isinstance(node, ast.Call) and _function(node) == "field":
            name = node.args[0] if len(node.args) == 1 else None
            if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
                self._refuse(node, "field() takes the name of a field, as field('a/b')")
            return self._check_name(node, name.value)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return self._check_name(node, node.id)
        return None

    def _check_name(self, node: ast.expr, name: str) -> str:
        if name not in self._fields:
            self._refuse(node, no_field(name, self._fields) + self._why(name))
        return name

    # ---- Evaluation ---------------------------------------------------------------------------

    def evaluate(self, columns: Mapping[str, Array | Ragged]) -> Array | Ragged:
        """The value of each row.

        Args:
            columns: Batches of the fields in `names`, at least.

        Raises:
            InvalidArgumentError: A value has a dtype or shape that its operator or function does
                not take.
        """
        rows = {name: _as_column(columns[name]) for name in self.names}
        with np.errstate(all="ignore"):
            found = self._value(self._body, rows)
        return found.rows if isinstance(found, _Strings) else found

    def _value(self, node: ast.expr, rows: Mapping[str, Any]) -> Any:
        name = self._name(node)
        if name is not None:
            return rows[name]
        evaluate = _NODES.get(type(node))
        if evaluate is None:
            self._refuse(node, "expressions have fields, numbers, texts, comparisons, in, and, or, "
                         f"not, & | ~, + - * / // % **, x[0], and the functions "
                         f"{_FUNCTIONS}")  # fmt: skip
        return evaluate(self, node, rows)

    def _constant(self, node: ast.Constant, _rows: Mapping[str, Any]) -> Any:
        value = node.value
        if isinstance(value, str):
            return value.encode()
        if value is None:
            self._refuse(node, "no field is None: a null text is b'', and a null float is NaN, "
                         "x != x")  # fmt: skip
        if not isinstance(value, (bool, int, float, bytes)):
            self._refuse(node, "constants are numbers, texts, True and False")
        if type(value) is int and not -(2**63) <= value < 2**64:
            self._refuse(node, "the number does not fit 64 bits")
        return value

    def _bool(self, node: ast.BoolOp, rows: Mapping[str, Any]) -> Any:
        word = "and" if isinstance(node.op, ast.And) else "or"
        truths = [self._truth(operand, word, rows) for operand in node.values]
        how = operator.and_ if word == "and" else operator.or_
        found = truths[0]
        for truth in truths[1:]:
            found = self._fitting(node, how, found, truth)
        return found

    def _truth(self, node: ast.expr, word: str, rows: Mapping[str, Any]) -> Any:
        value = self._value(node, rows)
        if isinstance(value, bool):
            return value
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
            hint = "; compare it with a value"
            if word in ("&", "|", "~"):
                hint = f", as {word} binds more tightly than == and <: put comparisons in "
                hint += "parentheses"
            self._refuse(node, f"{word} takes truths, and this is {_described(value)}{hint}")
        return value

    def _unary(self, node: ast.UnaryOp, rows: Mapping[str, Any]) -> Any:
        if isinstance(node.op, (ast.Not, ast.Invert)):
            sign = "not" if isinstance(node.op, ast.Not) else "~"
            truth = self._truth(node.operand, sign, rows)
            return not truth if isinstance(truth, bool) else ~truth
        number = self._number(node.operand, rows)
        return -number if isinstance(node.op, ast.USub) else number

    def _binary(self, node: ast.BinOp, rows: Mapping[str, Any]) -> Any:
        if type(node.op) in _TRUTHS:
            sign, both = _TRUTHS[type(node.op)]
            truths = [self._truth(one, sign, rows) for one in (node.left, node.right)]
            return self._fitting(node, both, *truths)
        how = _ARITHMETIC.get(type(node.op))
        if how is None:
            self._refuse(node, "the operators are + - * / // % ** & |")
        left, right = self._number(node.left, rows), self._number(node.right, rows)
        if how in (operator.floordiv, operator.mod) and np.any(right == 0):
            right = np.asarray(right, np.float64)  # x % 0 is NaN: integers have no such number
            left = np.asarray(left, np.float64)
        return self._fitting(node, how, left, right)

    def _number(self, node: ast.expr, rows: Mapping[str, Any]) -> Any:
        """A value to compute with: integers of 64 bits, floats of 32 or 64."""
        value = self._value(node, rows)
        if isinstance(value, (bool, int, float)):
            return value
        if not isinstance(value, np.ndarray):
            self._refuse(node, f"this is {_described(value)}, and no number")
        value = widened(value)
        if value.dtype == np.uint64:
            return value if np.any(value >> 63) else value.astype(np.int64)
        if value.dtype.kind in "iub":
            return value.astype(np.int64)
        return value.astype(np.float32) if value.dtype == np.float16 else value

    def _fitting(
        self, node: ast.expr, how: Callable[[Any, Any], Any], left: Any, right: Any
    ) -> Any:
        """how(left, right) of values with the same shape, or numbers."""
        shapes = {value.shape for value in (left, right) if isinstance(value, np.ndarray)}
        if len({shape for shape in shapes if shape}) > 1:
            found = " and ".join(_described(value) for value in (left, right))
            self._refuse(node, f"these are {found}: rows of one shape are needed")
        try:
            return how(left, right)
        except ZeroDivisionError:
            self._refuse(node, "division by zero")
        except (OverflowError, TypeError) as failure:
            self._refuse(node, str(failure))

    def _compare(self, node: ast.Compare, rows: Mapping[str, Any]) -> Any:
        found: Any = True
        left_node, left = node.left, None
        for how, right_node in zip(node.ops, node.comparators, strict=True):
            left = self._value(left_node, rows) if left is None else left
            if isinstance(how, (ast.In, ast.NotIn)):
                truth, right = self._is_in(node, left, right_node), None
                truth = ~truth if isinstance(how, ast.NotIn) else truth
            else:
                right = self._value(right_node, rows)
                truth = self._compared(node, _COMPARISONS.get(type(how)), left, right)
            found = self._fitting(node, operator.and_, found, truth)
            left_node, left = right_node, right
        return found

    def _compared(
        self, node: ast.Compare, how: Callable[[Any, Any], Any] | None, left: Any, right: Any
    ) -> Any:
        if how is None:
            self._refuse(node, "write == or != instead of is")
        texts = [isinstance(value, (bytes, _Strings)) for value in (left, right)]
        if isinstance(left, Ragged) or isinstance(right, Ragged) or texts[0] != texts[1]:
            found = " with ".join(_described(value) for value in (left, right))
            hint = "; len() gives the number of elements" if "varying" in found else ""
            self._refuse(node, f"it compares {found}{hint}")
        if isinstance(left, _Strings):
            return left.compare(how, right)
        if isinstance(right, _Strings):
            return right.compare(_MIRRORED.get(how, how), left)
        return self._fitting(node, how, left, right)

    def _is_in(self, node: ast.Compare, value: Any, elements: ast.expr) -> Array:
        field = self._name(elements)
        if field is not None and isinstance(node.left, ast.Constant):
            looked_for = shown(_constant_of(node.left))
            self._refuse(node, "in takes constants on its right; a function looks into the field "
                         f"of each record: lambda r: {looked_for} in r[{field!r}]")  # fmt: skip
        if not isinstance(elements, (ast.Tuple, ast.List, ast.Set)):
            self._refuse(elements, "in takes constants, as in (1, 2, 3) or ('a', 'b')")
        constants = [_constant_of(element) for element in elements.elts]
        for element, constant in zip(elements.elts, constants, strict=True):
            if constant is None or isinstance(constant, bytes) != isinstance(value, _Strings):
                self._refuse(element, f"in takes constants of the field, which is "
                             f"{_described(value)}")  # fmt: skip
        if isinstance(value, _Strings):
            wanted = set(constants)
            return np.array([row in wanted for row in value.to_list()], np.bool_)
        if not isinstance(value, np.ndarray):
            self._refuse(node, f"in takes a field of numbers or texts; this is {_described(value)}")
        found = np.zeros(value.shape, np.bool_)
        if len(constants) > 16 and all(type(one) is int for one in constants):
            return np.isin(value, constants)
        for constant in constants:
            found |= value == constant
        return found

    def _subscript(self, node: ast.Subscript, rows: Mapping[str, Any]) -> Any:
        value, index = self._value(node.value, rows), _constant_of(node.slice)
        if not isinstance(value, np.ndarray) or value.ndim < 2:
            self._refuse(node, f"x[0] takes a field with several elements in each row; this is "
                         f"{_described(value)}")  # fmt: skip
        size = value.shape[1]
        if type(index) is not int or not -size <= index < size:
            self._refuse(node, f"the index must be a number in [0, {size})")
        return value[:, index]

    # ---- Functions ----------------------------------------------------------------------------

    def _call(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        name = _function(node)
        call = _CALLS.get(name)
        if call is None or node.keywords:
            self._refuse(node, f"the functions are {_FUNCTIONS}, without keywords")
        least, most, evaluate = call
        if not least <= len(node.args) <= most:
            wanted = str(least) if least == most else f"{least} or more"
            self._refuse(node, f"{name}() has {len(node.args)} arguments; it takes {wanted}")
        return evaluate(self, node, rows)

    def _len(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        value = self._value(node.args[0], rows)
        if isinstance(value, _Strings):
            return value.rows.lengths
        if isinstance(value, Ragged):
            return value.shapes[:, 0]
        if isinstance(value, np.ndarray) and value.ndim > 1:
            return np.full(value.shape[0], value.shape[1], np.int64)
        self._refuse(node, f"len() takes a field with several elements in each row; this is "
                     f"{_described(value)}")  # fmt: skip

    def _abs(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        return abs(self._number(node.args[0], rows))

    def _isnan(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        return np.isnan(self._number(node.args[0], rows))

    def _least_or_most(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        how = np.minimum if _function(node) == "min" else np.maximum
        numbers = [self._number(argument, rows) for argument in node.args]
        if len(numbers) == 1:
            return how.reduce(self._row_array(node, numbers[0]), axis=1)
        found = numbers[0]
        for number in numbers[1:]:
            found = self._fitting(node, how, found, number)
        return found

    def _any_or_all(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        name = _function(node)
        truths = self._row_array(node, self._truth(node.args[0], f"{name}()", rows))
        return truths.any(axis=1) if name == "any" else truths.all(axis=1)

    def _row_array(self, node: ast.Call, value: Any) -> Array:
        if not isinstance(value, np.ndarray) or value.ndim < 2 or 0 in value.shape[1:]:
            self._refuse(node, f"{_function(node)}() of one value takes a field with several "
                         f"elements in each row; this is {_described(value)}")  # fmt: skip
        return value.reshape(value.shape[0], int(np.prod(value.shape[1:])))

    def _starts_or_ends(self, node: ast.Call, rows: Mapping[str, Any]) -> Any:
        value, part = self._value(node.args[0], rows), _constant_of(node.args[1])
        if not isinstance(value, _Strings) or not isinstance(part, bytes):
            self._refuse(node, f"{_function(node)}() takes a field of texts, and a text")
        starts = _function(node) == "startswith"
        return value.starts_with(part) if starts else value.ends_with(part)


_MIRRORED = {
    operator.lt: operator.gt,
    operator.le: operator.ge,
    operator.gt: operator.lt,
    operator.ge: operator.le,
}

_NODES: dict[type[ast.expr], Callable[[Expression, Any, Mapping[str, Any]], Any]] = {
    ast.Constant: Expression._constant,
    ast.BoolOp: Expression._bool,
    ast.UnaryOp: Expression._unary,
    ast.BinOp: Expression._binary,
    ast.Compare: Expression._compare,
    ast.Subscript: Expression._subscript,
    ast.Call: Expression._call,
}

# Name: the least and most arguments, and what evaluates it.
_CALLS: dict[str, tuple[int, int, Callable[[Expression, ast.Call, Mapping[str, Any]], Any]]] = {
    "len": (1, 1, Expression._len),
    "abs": (1, 1, Expression._abs),
    "isnan": (1, 1, Expression._isnan),
    "min": (1, 99, Expression._least_or_most),
    "max": (1, 99, Expression._least_or_most),
    "any": (1, 1, Expression._any_or_all),
    "all": (1, 1, Expression._any_or_all),
    "startswith": (2, 2, Expression._starts_or_ends),
    "endswith": (2, 2, Expression._starts_or_ends),
}


def _function(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _constant_of(node: ast.expr) -> Any:
    """The value of a constant, of a negative number as well; None if it is none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _constant_of(node.operand)
        return -number if isinstance(number, (int, float)) else None
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, str):
        return value.encode()
    return value if isinstance(value, (bool, int, float, bytes)) else None


def _in_order(root: ast.expr) -> Iterator[tuple[ast.AST, int]]:
    """The nodes of a tree that can be fields, and how deep: not the names of functions."""
    waiting: list[tuple[ast.AST, int]] = [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        children = [
            (child, depth + 1)
            for child in ast.iter_child_nodes(node)
            if not (isinstance(node, ast.Call) and child is node.func and _function(node))
        ]
        waiting += reversed(children)


def _described(value: Any) -> str:
    if isinstance(value, (bytes, _Strings)):
        return "a text"
    if isinstance(value, Ragged):
        return f"a field of {value.dtype} of varying shape"
    if not isinstance(value, np.ndarray):
        return f"the constant {value}"
    what = "truth" if value.dtype == np.bool_ else dtype_name(value.dtype)
    return f"{what} of shape {value.shape[1:]}" if value.ndim > 1 else what
