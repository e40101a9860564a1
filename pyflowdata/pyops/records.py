"""Functions of whole records: a record is a dict of its fields, like `data[i]`.

The function is called for each row.  All other work is done for a range of rows at once: the dicts
are made from columns, and the results become columns again.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import inspect
import operator
import threading
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeGuard

import numpy as np
import numpy.typing as npt

from ..errors import CorruptDataError, InvalidArgumentError, UserFunctionError, shown
from ..nodes.row_types import RowType
from ..nodes import Blob
from ..ragged import Ragged
from ..words.plain_text import no_field
from ..words.remedies import similar
from .function_digest import Definition, codes_of, is_code_of, source_of
from .op import function_place, given_by_host, name_of, parameters_of
from .row_function import (
    RowFunction, as_bytes, by_keyword, check_keywords, is_bytes, note_hint,
)  # fmt: skip
from .str_comparisons import hint_of_texts, refuse_str
from .tensors import Call, Mismatch, numbers_as, checked, checked_rows, to_ragged

Array = npt.NDArray[Any]
Column = Array | Ragged | list[bytes]
_Vectorized = Callable[[Ragged], Array | Ragged]


# ---- The form of a call -------------------------------------------------------------------------


def all_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(parameters_of(function).values())
    except (TypeError, ValueError):  # some functions in C
        return []


def _parameters(
    function: Callable[..., Any], given: Iterable[str], fields: Iterable[str]
) -> list[inspect.Parameter]:
    """The parameters that need a value: a row, a record or an index."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = all_parameters(function)
    others = (*given, *given_by_host(own, given, fields))
    return [
        one for one in own
        if one.kind in kinds and one.default is one.empty and one.name not in others
    ]  # fmt: skip


def parameters_by_name(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters for which a function that is called by name needs fields."""
    own = all_parameters(function)
    return [one for one in own if one.default is one.empty and one.kind is not one.VAR_KEYWORD]


def fields_named_by(
    function: Callable[..., Any],
    fields: Iterable[str],
    given: Iterable[str] = (),
    *,
    by_name: bool = False,
) -> list[str] | None:
    """The fields that a function names by its parameters, none if there is another parameter; None:
    it takes the record.

    A function takes the record if it has one parameter, whose name is not that of a field.  A
    parameter with a default keeps it, even if a field has its name.

    Args:
        given: Names of arguments that the user gives.
        by_name: Whether the function is called by name, like functions of columns: it may take all
            fields by `**fields`, and gets nothing else.

    Raises:
        InvalidArgumentError: The name is nearly that of a field.
    """
    known = list(fields)
    own = parameters_by_name(function) if by_name else _parameters(function, given, known)
    if by_name and all(one.name in known for one in own):
        takes_all = any(one.kind is one.VAR_KEYWORD for one in all_parameters(function))
        return known if takes_all else [one.name for one in own]
    names = [one.name for one in own]
    if len(own) != 1 or names[0] in known or own[0].kind is not own[0].POSITIONAL_OR_KEYWORD:
        return names if all(name in known for name in names) else []
    near = similar(names[0], known, 0.8)
    if near is not None:
        raise InvalidArgumentError(
            f"{name_of(function)}: there is no field {shown(names[0])} for its parameter; did you "
            f"mean {shown(near)}? A parameter that takes the record has a name unlike the fields"
        )
    return None


class Uses(NamedTuple):
    """The use of a record in a function, as its source shows it.

    Attributes:
        read: The fields that it reads, in the order of their first use.
        made: The fields that it makes, if it returns the others unchanged; None: it makes all
            fields that it returns.
    """

    read: tuple[str, ...]
    made: frozenset[str] | None


def uses_of(function: Callable[..., Any]) -> Uses | None:
    """The use of a record, the first argument of a function; None: its source does not show it.

    The source shows it if the record appears only as r["x"], in `return r`, and as `**r` in a dict
    that is returned.
    """
    source = source_of(function) if isinstance(function, types.FunctionType) else None
    if source is None or source.args.posonlyargs or not source.args.args:
        return None
    walk = _Walk(source.args.args[0].arg)
    try:
        if isinstance(source, ast.Lambda):
            walk.result(source.body)
        else:
            for statement in source.body:
                walk.visit(statement)
    except _UnknownUse:
        return None
    if walk.passes and walk.makes_others:
        return None
    return Uses(tuple(walk.read), frozenset(walk.made) if walk.passes else None)


def holds_texts(blob: Blob) -> bool:
    return is_bytes(RowType(blob.dtype, blob.shape[1:]))


def fields_read(
    function: Callable[..., Any], blobs: Mapping[str, Blob], *, is_batched: bool = False
) -> list[str]:
    """The fields that a function of records needs; at least one.

    Args:
        is_batched: Its record has columns of several records.
    """
    texts = {name for name, blob in blobs.items() if holds_texts(blob)}
    refuse_str(function, texts, is_batched=is_batched)
    uses = uses_of(function)
    if uses is None:
        return list(blobs)
    read = [name for name in blobs if name in uses.read]
    small = [name for name, blob in blobs.items() if not blob.is_ragged]
    return read or (small or list(blobs))[:1]


class _UnknownUse(Exception):
    """The record is used in some other way."""


class _Walk(ast.NodeVisitor):
    """The walk of `uses_of()` over a function's body.

    Attributes:
        read, made: The fields that are read, and the fields that are set or are keys of a result.
        passes: Whether the record, or `**record`, is a part of a result.
        makes_others: Whether a result may have keys that are not in `made`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.read: dict[str, None] = {}
        self.made: set[str] = set()
        self.passes = self.makes_others = False

    def _is_record(self, node: ast.AST | None) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name

    def result(self, node: ast.expr) -> None:
        """A value that the function returns."""
        if self._is_record(node):
            self.passes = True
        elif isinstance(node, ast.IfExp):
            self.visit(node.test)
            self.result(node.body)
            self.result(node.orelse)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                self._item(key, value)
        else:
            self.makes_others = True
            self.visit(node)

    def _item(self, key: ast.expr | None, value: ast.expr) -> None:
        if key is None and self._is_record(value):
            self.passes = True
            return
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            self.made.add(key.value)
        else:
            self.makes_others = True
            if key is not None:
                self.visit(key)
        self.visit(value)

    def visit(self, node: ast.AST) -> None:
        """Looks at a node; a name, a parameter or an alias may refer to the record."""
        if isinstance(node, ast.Return) and node.value is not None:
            self.result(node.value)
        elif isinstance(node, ast.Subscript) and self._is_record(node.value):
            self._field(node.slice, node.ctx)
        elif isinstance(node, ast.AugAssign) and self._is_record(
            getattr(node.target, "value", None)
        ):
            self._field(getattr(node.target, "slice", node), ast.Load())
            self._field(getattr(node.target, "slice", node), ast.Store())
            self.visit(node.value)
        elif isinstance(node, _NOT_LOOKED_INTO) or any(
            value == self._name or value in _SEES_ALL
            for _, value in ast.iter_fields(node)
            if isinstance(value, str) and not isinstance(node, ast.Constant)
        ):
            raise _UnknownUse
        else:
            self.generic_visit(node)

    def _field(self, key: ast.AST, context: ast.expr_context) -> None:
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _UnknownUse
        if isinstance(context, ast.Load):
            self.read[key.value] = None
        elif isinstance(context, ast.Store):
            self.made.add(key.value)
        else:
            raise _UnknownUse


_SEES_ALL = ("eval", "exec", "locals", "vars")
# They have returns of their own, or give their results another way.
_NOT_LOOKED_INTO = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Yield, ast.YieldFrom, ast.Await
)  # fmt: skip


# ---- Records of columns -------------------------------------------------------------------------


def rows_of(column: Array | Ragged) -> list[Any]:
    """The values of a field in records: NumPy numbers, arrays (views of the column), or bytes.
    """
    return column.to_bytes_list() if _is_text(column) else list(column)


def _is_text(column: Array | Ragged) -> TypeGuard[Ragged]:
    return isinstance(column, Ragged) and is_bytes(RowType(column.dtype, column.row_shape))


class Row(dict[str, Any]):
    """A dict of fields; its error for an unknown key names the fields."""

    def __missing__(self, name: object) -> NoReturn:
        raise NoFieldError(no_field(name, self))


class NoFieldError(KeyError):
    """A KeyError that shows its text without quotes."""

    def __str__(self) -> str:
        return str(self.args[0])


def row_of(column: Array | Ragged, row: int) -> Any:
    """`rows_of(column)[row]`, without the other rows."""
    found = column[row]
    is_text = isinstance(column, Ragged) and found.dtype == np.uint8 and found.ndim == 1
    return found.tobytes() if is_text else found


def column_of(rows: Sequence[Any], row_type: RowType) -> Any:
    """The values of a field in the form for a function of several records."""
    if is_bytes(row_type):
        return list(rows)
    return to_ragged(rows, row_type) if row_type.is_ragged else np.array(rows, row_type.dtype)


def records_of(columns: Mapping[str, Array | Ragged]) -> list[dict[str, Any]]:
    """The records of a batch with at least one field, with values as `rows_of()` gives them."""
    return _maker(tuple(columns))(zip(*map(rows_of, columns.values()), strict=True))


@functools.lru_cache
def _maker(names: tuple[str, ...]) -> Callable[[Iterable[Any]], list[dict[str, Any]]]:
    """A function that makes records from rows by a dict display, in a third of the time of
    dict(zip(names, row)).
    """
    values = ", ".join(f"v{i}" for i in range(len(names)))
    items = ", ".join(f"{name!r}: v{i}" for i, name in enumerate(names))
    made: Callable[[Iterable[Any]], list[dict[str, Any]]] = eval(
        f"lambda rows: [{{{items}}} for {values}, in rows]"
    )
    return made


def _frozen(column: Array | Ragged) -> Array | Ragged:
    """The column, with arrays that are now read-only."""
    (column.values if isinstance(column, Ragged) else column).flags.writeable = False
    return column


# ---- The function -------------------------------------------------------------------------------


def note_failure(
    failure: BaseException, function: Callable[..., Any], fields: Iterable[str], texts: set[str],
    row: int | None = None, count: int = 1, *, is_batched: bool = False,
) -> None:  # fmt: skip
    """Notes the row and a possible cause, for the message about an exception of a function.

    Args:
        failure: The exception.
        function: The user's function.
        fields: The names of the fields that a record may have.
        texts: Those of the record's fields that are texts.
        row: The first row of the call; None: it is not known.
        count: The records of the call.
        is_batched: The function gets columns.
    """
    hint, key = "", failure.args[0] if failure.args else None
    if type(failure) is KeyError and isinstance(key, str) and key not in fields:
        hint = f"; {no_field(key, fields)}"
    hint += hint_of_texts(failure, function, texts, is_batched=is_batched)
    if row is not None:
        BaseException.__setattr__(failure, "pyflowdata_row", row)
        hint += f"; its call has {count} records from this one on" if count > 1 else ""
    note_hint(failure, hint)


class RecordFunction(RowFunction):
    """Calls a function with records, or with dicts of columns of several records.

    Attributes:
        fields: The names of the inputs.
        has_index: Whether the last input is the record's number, a second argument.
        at_once: The most records of a call, which gets columns; 0: a call gets one record.
        extra: The unchanged fields that the function may return besides its outputs; None: the
            fields that it returns as the same objects.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        keywords: Mapping[str, Any],
        are_bytes: Sequence[bool],
        fields: Sequence[str],
        *,
        has_index: bool,
        at_once: int,
        extra: tuple[str, ...] | None,
        known: tuple[str, ...],
    ) -> None:
        self.known = known
        self.fields, self.has_index = tuple(fields), has_index
        self.at_once, self.extra = at_once, extra
        self.types: list[RowType] = []
        self._names: tuple[str, ...] = ()  # of the last result; (): the outputs
        # Made here, as CPython 3.11 cannot parse in several threads.
        self._expressions: _ExpressionsLoop | None = None
        with contextlib.suppress(_UnknownUse, RecursionError):  # some have hundreds of terms
            self._expressions = _expressions_loop(function, self.fields, are_bytes)
        super().__init__(function, keywords, are_bytes)

    @property
    def form(self) -> tuple[Any, ...]:
        return (*super().form, self.fields, self.has_index, self.at_once, self.extra)

    def _note(self, failure: BaseException, row: int | None = None, count: int = 1) -> None:
        pairs = zip(self.fields, self.are_bytes, strict=False)
        texts = {name for name, is_text in pairs if is_text}
        note_failure(failure, self.function, self.known, texts, row, count,
                     is_batched=self.at_once > 0)  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        made = functools.partial(type(self), has_index=self.has_index, at_once=self.at_once,
                                 extra=self.extra, known=self.known)  # fmt: skip
        return made, (self.function, self.keywords, self.are_bytes, self.fields)

    def signature(self) -> inspect.Signature:
        own = _parameters(self.function, self.keywords, self.known)
        wanted = 1 + self.has_index
        if len(own) != wanted:
            names = ", ".join(one.name for one in own) or "no record"
            raise InvalidArgumentError(
                f"{name_of(self.function)}() takes {names}; it must take the record"
                f"{' and its index' if self.has_index else ''}"
            )
        made = [
            inspect.Parameter(f"field{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for i in range(len(self.are_bytes))
        ]
        parameters = list(parameters_of(self.function).values())
        check_keywords(self.function, parameters, self.keywords)
        given = given_by_host(parameters, self.keywords, self.known)
        if self.at_once and "rng" in given:
            raise InvalidArgumentError(
                f"{name_of(self.function)}() takes rng, the random numbers of one record, and "
                "batched= gives it several: leave batched out"
            )
        return inspect.Signature([*made, *by_keyword(given)])

    def call(self, *inputs: Any, **given: Any) -> Any:
        """The result for the rows, or the columns, of the fields and the index."""
        for one in inputs:
            if isinstance(one, (np.ndarray, Ragged)):
                _frozen(one)
        record = dict(zip(self.fields, inputs, strict=False))
        try:
            return self.function(record, *inputs[len(self.fields) :], **self.keywords, **given)
        except BaseException as failure:
            self._note(failure)
            raise

    def made_of(
        self, said: Any, inputs: Sequence[Any], outputs: Any
    ) -> tuple[dict[str, Any], dict[str, RowType]]:
        """The fields that a call has made, without unchanged fields; and the types of the fields
        that it returned unchanged.

        Raises:
            UserFunctionError: The result lacks one of `outputs`, has other fields, or has no new
                field.
        """
        try:
            found = self._dict(said)
            given = dict(zip(self.fields, inputs, strict=False))
            if outputs is None:
                wanted = [name for name in found if name not in (self.extra or ())]
            else:
                wanted = [outputs] if isinstance(outputs, str) else list(outputs)
                self._check_names(found, given, wanted)
            self._check_same(found, given)
            if not wanted:
                raise Mismatch(f"{self.__name__}() makes no field: it returns those of the record "
                               f"as they are, or none{self._place()}")  # fmt: skip
            for name in wanted if self.at_once else ():
                self._check_rows(name, found[name], len(inputs[0]))
        except Mismatch as failure:
            raise UserFunctionError(failure.message) from None
        same = zip(self.fields, inputs, self.types, strict=False)
        own = {name: kind for name, value, kind in same if found.get(name) is value}
        return {name: found[name] for name in wanted}, own

    def _dict(self, found: Any) -> dict[str, Any]:
        if isinstance(found, Mapping):
            for name in found:
                if not isinstance(name, str):
                    raise Mismatch(
                        f"{self.__name__}() returned a dict with the key {shown(name)}; keys are "
                        f"names of fields{self._place()}"
                    )
            return dict(found)
        fields = ", ".join(f'"{name}"' for name in self.fields) or '"x"'
        what = "None; is a return missing? It" if found is None else f"{shown(found)}; it"
        raise Mismatch(
            f"{self.__name__}() was given a record, {{{fields}}}, and returned {what} must return "
            f'a dict of fields, as {{"name": value}}. A function of fields names them: '
            f"map({self.__name__}, {fields}){self._place()}"
        )

    def _place(self) -> str:
        place = function_place(self.function)
        return f" ({place})" if place else ""

    # ---- Rows of a range ----------------------------------------------------------------------

    def of_columns(self, call: Call, outputs: Sequence[str]) -> list[Array | Ragged]:
        """A column for each output.

        Raises:
            BaseException: The exception of the function; its `pyflowdata_row` is the row.
        """
        inputs = [_frozen(column) for column in call.inputs]  # type: ignore[arg-type]
        compute = self._batches if self.at_once else self._records
        return compute(call, inputs, outputs)

    def _records(
        self, call: Call, inputs: Sequence[Array | Ragged], outputs: Sequence[str]
    ) -> list[Array | Ragged]:
        keywords, before_row = {**self.keywords, **call.keywords}, call.before_row
        if call.ids is not None or call.generator is not None:
            before_row = _with_arguments(call, keywords)
        has_keywords = bool(keywords) or before_row is not call.before_row
        own = None if has_keywords or self.has_index else self._expressions
        if own and ({*own.names} != {*outputs} or own.code is not self.function.__code__):
            own = None
        if own and (found := self._vectorized_outputs(own, call, inputs, outputs)):
            return found
        columns = [rows_of(one) for one in inputs[: len(self.fields)]]
        columns += [one.tolist() for one in inputs[len(self.fields) :]]
        made: list[list[Any]] = [[] for _ in outputs]
        rows = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
        try:
            if own:
                appends = [made[outputs.index(name)].append for name in own.names]
                own.loop(rows, appends, made[0].__len__, before_row, type, _CONSTANTS, _copied)
            else:
                taken = self._taken(call, outputs, _CALLS, has_keywords=has_keywords)
                taken(rows, made, outputs, self._other_names, self.function, keywords, before_row)
        except BaseException as failure:
            self._note(failure, len(made[0]))
            raise
        return self._columns(call, outputs, made)

    def _vectorized_outputs(
        self, own: _ExpressionsLoop, call: Call, inputs: Sequence[Array | Ragged],
        outputs: Sequence[str],
    ) -> list[Array | Ragged] | None:  # fmt: skip
        """The outputs, if all of them are computed of columns; None: rows are needed."""
        if not own.vectorized or _len_of(self.function) is not len:
            return None
        call.before_row(0)
        made: list[Array | Ragged] = []
        for name, declared in zip(outputs, call.types, strict=True):
            compute, place = own.vectorized[name]
            column = inputs[place]
            if not isinstance(column, Ragged) or column.row_shape != (None,):
                return None
            found = compute(column)
            shape = found.row_shape if isinstance(found, Ragged) else ()
            if not declared.fits(found.dtype, shape):
                return None
            made.append(found)
        return made

    def _taken(
        self, call: Call, outputs: Sequence[str], loop: str, *, has_keywords: bool
    ) -> Callable[..., Any]:
        lasting = tuple(bool(kind.shape) for kind in call.types)
        names = self._names or tuple(outputs)
        return _loop(self.fields, names, tuple(outputs), lasting, loop, self.has_index,
                     has_keywords)  # fmt: skip

    def _columns(
        self, call: Call, outputs: Sequence[str], made: Sequence[list[Any]]
    ) -> list[Array | Ragged]:
        columns = []
        for name, values, declared in zip(outputs, made, call.types, strict=True):
            packed = _packed(values, declared)
            columns.append(self._checked(name, values, declared) if packed is None else packed)
        return columns

    def _other_names(
        self, outputs: Sequence[str], found: Any, values: Sequence[Any]
    ) -> Sequence[Any]:
        """The outputs in a result whose names differ from those of the result before.

        Args:
            values: The values of the record's fields.
        """
        result, given = self._dict(found), dict(zip(self.fields, values, strict=False))
        self._check_same(result, given)
        self._check_names(result, given, outputs)
        if all(name in self.fields or name in outputs for name in result):
            self._names = tuple(result)
        return [result[name] for name in outputs]

    def _check_names(
        self, found: Mapping[str, Any], given: Mapping[str, Any], outputs: Sequence[str]
    ) -> None:
        """Refuses a result with a missing or a new field."""
        missing = [one for one in outputs if one not in found]
        more = [one for one in found if one not in outputs and one not in (self.extra or ())]
        if self.extra is None:
            more = [one for one in more if one not in given or found[one] is not given[one]]
        if missing or more:
            said = f"does not have {shown(missing[0])}" if missing else f"also has {shown(more[0])}"
            raise Mismatch(
                f"{self.__name__}() returned {', '.join(map(str, found)) or 'no fields'}, which "
                f"{said}; its outputs are {', '.join(outputs)}: return the same fields for every "
                f"record, or name them in outputs{self._place()}"
            )

    def _check_same(self, found: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        """Refuses a result with other values for fields that should stay unchanged."""
        for name in self.extra or ():
            if name in found and found[name] is not given.get(name):
                raise Mismatch(
                    f"{self.__name__}() returned another '{name}', where its source shows that the "
                    "field stays as it is: if its file was edited meanwhile, start the program "
                    f"again; or name the field in outputs{self._place()}"
                )

    def _checked(self, name: str, values: Sequence[Any], declared: RowType) -> Array | Ragged:
        """The values as a column, after a look at each value."""
        rows: list[Array] = []
        try:
            for value in values:
                rows.append(checked(name, as_bytes(value), declared, ()))
        except Mismatch as failure:
            failure.message += self._place()
            BaseException.__setattr__(failure, "pyflowdata_row", len(rows))
            raise
        return to_ragged(rows, declared) if declared.is_ragged else np.array(rows, declared.dtype)

    # ---- Columns of several records -----------------------------------------------------------

    def _batches(
        self, call: Call, inputs: Sequence[Array | Ragged], outputs: Sequence[str]
    ) -> list[Array | Ragged]:
        columns = [self._column_of(one) for one in inputs]
        made: list[list[Array | Ragged]] = [[] for _ in outputs]
        keywords = {**self.keywords, **call.keywords}
        for begin in range(0, call.num_rows, self.at_once):
            call.before_row(begin)
            end = min(begin + self.at_once, call.num_rows)
            own = [column[begin:end] for column in columns]
            if call.ids is not None:
                keywords["ids"] = call.ids[begin:end]
            record: dict[str, Any] = dict(zip(self.fields, own, strict=False))
            given = dict(record)
            try:
                found = self._dict(self.function(record, *own[len(self.fields) :], **keywords))
                self._check_names(found, given, outputs)
                self._check_same(found, given)
                for place, name in enumerate(outputs):
                    declared = call.types[place]
                    rows = self._column(name, found[name], declared, end - begin)
                    made[place].append(joined([rows], is_copy=end - begin < call.num_rows))
            except CorruptDataError as failure:
                if failure.row is not None:
                    BaseException.__setattr__(failure, "pyflowdata_row", begin + failure.row)
                raise
            except BaseException as failure:
                self._note(failure, begin, end - begin)
                raise
        return [joined(one) for one in made]

    def _column_of(self, column: Array | Ragged) -> Any:
        return rows_of(column) if _is_text(column) else column

    def _check_rows(self, name: str, found: Any, num_rows: int) -> None:
        count = len(found) if hasattr(found, "__len__") else -1
        if count != num_rows and not (found is None or isinstance(found, (str, bytes))):
            what = f"{count} rows" if count >= 0 else shown(found)
            raise Mismatch(
                f"{self.__name__}() was given {num_rows} records, and its '{name}' has {what}: it "
                "must return a row for each record; several rows of a record are "
                f"flat_map(fan_out=){self._place()}"
            )

    def _check_ragged(self, name: str, found: Ragged) -> None:
        splits, shapes, count = found.row_splits, found.shapes, found.values.size
        sizes, room = np.diff(splits), shapes.prod(axis=1, dtype=np.float64)  # of any size
        if splits[0] or splits[-1] != count or min(sizes.min(initial=0), shapes.min(initial=0)) < 0:
            raise Mismatch(
                f"{self.__name__}() returned '{name}', a Ragged of {count} elements whose rows do "
                "not have as many: row_splits must not decrease, from 0 to the length of values"
            )
        if (room != sizes).any():
            raise Mismatch(
                f"{self.__name__}() returned '{name}', a Ragged whose row_splits and shapes give "
                "its rows other numbers of elements"
            )

    def _column(self, name: str, found: Any, declared: RowType, num_rows: int) -> Array | Ragged:
        self._check_rows(name, found, num_rows)
        try:
            if not declared.is_ragged:
                return checked(name, found, declared, (num_rows,))
            if isinstance(found, Ragged) and declared.fits(found.dtype, found.row_shape):
                self._check_ragged(name, found)
                return found
            if isinstance(found, (list, tuple)):
                packed = _packed(list(found), declared)
                if packed is not None:
                    return packed
                found = [as_bytes(one) for one in found]
            return to_ragged(checked_rows(name, found, declared, num_rows), declared)
        except Mismatch as failure:
            failure.message += self._place()
            raise


def _with_arguments(call: Call, keywords: dict[str, Any]) -> Callable[[int], int]:
    """What is called before each row, and sets the row's `ids` and `rng`."""

    def before_row(row: int) -> int:
        if call.ids is not None:
            keywords["ids"] = call.ids[row]
        if call.generator is not None:
            keywords["rng"] = call.generator(row)
        call.before_row(row)
        return 1

    return before_row


_CALLS = """
def loop(rows, made, outputs, other, function, keywords, before_row):
    done, left = made[0], 0
    {appends}, = [one.append for one in made]
    for {row} in rows:
        if not left:
            left = before_row(len(done))
        left -= 1
        found = function({{{record}}}{given})
        {body}
"""
_PIECES = """
def loop(rows, made, outputs, other, pieces_of, keywords, before_row, own, refuse_count):
    done, left = made[0], 0
    {lists}, = own
    {extends}, = [one.extend for one in made]
    for length, number, count, is_new, ({values},) in rows:
        if is_new:
            if not left:
                left = before_row(len(done))
            left -= 1
            own = {lists}, = {new_lists},
            {appends}, = {new_appends},
            for found in pieces_of({{{record}}}, keywords):
                {body}
        if len(o0) != count:
            refuse_count(len(o0), count)
        {extended}
    return own
"""
_BODY = """
try:
    if type(found) is not dict or len(found) != {size}{other_values}:
        raise KeyError
    {read}
except KeyError:
    {taken}, = other(outputs, found, ({values},))
{kept}
{appended}
"""


@functools.lru_cache
def _loop(
    fields: tuple[str, ...], names: tuple[str, ...], outputs: tuple[str, ...],
    lasting: tuple[bool, ...], loop: str, has_index: bool, has_keywords: bool,
) -> Callable[..., Any]:  # fmt: skip
    """A loop, _CALLS or _PIECES, that takes the outputs out of each result at once.

    Its code names the fields, so that it takes half the time of a loop over their names.  `other`
    takes the outputs out of a result that has other names than `names`, or another value of a field
    that is not an output.

    Args:
        lasting: For each output, whether a value may be in memory that the function reuses.
    """

    def listed(form: str, count: int = len(outputs), between: str = ", ") -> str:
        return between.join(form.format(i=i) for i in range(count))

    text = {
        "row": listed("v{i}", len(fields)) + ", index" * has_index,
        "values": listed("v{i}", len(fields)),
        "record": ", ".join(f"{name!r}: v{i}" for i, name in enumerate(fields)),
        "given": ", index" * has_index + ", **keywords" * has_keywords,
        "size": len(names),
        "other_values": "".join(f" or found[{name!r}] is not v{fields.index(name)}"
                                for name in names if name not in outputs),
        "read": "; ".join(f"t{i} = found[{name!r}]" for i, name in enumerate(outputs)),
        "kept": "\n".join(f"if type(t{i}) not in constants: t{i} = kept(t{i})"
                          for i, is_lasting in enumerate(lasting) if is_lasting),
        "taken": listed("t{i}"),
        "lists": listed("o{i}"),
        "new_lists": listed("[]"),
        "new_appends": listed("o{i}.append"),
        "appends": listed("a{i}"),
        "appended": listed("a{i}(t{i})", between="; "),
        "extends": listed("e{i}"),
        "extended": listed("e{i}(o{i}[number : number + length])", between="; "),
    }  # fmt: skip
    (column,) = (len(line) - len(line.lstrip()) for line in loop.split("\n") if "{body}" in line)
    body = _BODY.strip().format(**text).replace("\n", "\n" + " " * column)
    made: dict[str, Any] = {"constants": _CONSTANTS, "kept": _copied}
    exec(compile(loop.format(body=body, **text), __file__, "exec"), made)
    found: Callable[..., Any] = made["loop"]
    return found


_EXPRESSIONS = """
def _pfd_loop(_pfd_rows, _pfd_appends, _pfd_count, _pfd_before_row, _pfd_type, _pfd_constants,
              _pfd_kept):
    _pfd_left = 0
    {appends}, = _pfd_appends
    for {row} in _pfd_rows:
        if not _pfd_left:
            _pfd_left = _pfd_before_row(_pfd_count())
        _pfd_left -= 1
        {taken}, = _pfd_expressions
        {kept}
        {appended}
"""
# They have variables of their own, or set some.
_SCOPES = (
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr
)  # fmt: skip


class _Expressions(ast.NodeTransformer):
    """Puts variables in place of the fields of a record; refuses what differs in another function,
    such as dir(), which lists its variables."""

    def __init__(self, record: str, fields: Iterable[str]) -> None:
        self._record = record
        self._variables: dict[Any, str] = {name: f"_pfd_v{i}" for i, name in enumerate(fields)}

    def visit(self, node: ast.AST) -> Any:
        name = getattr(node, "id", "")
        if isinstance(node, _SCOPES) or name.startswith("_pfd_") or name in ("dir", "super"):
            raise _UnknownUse
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == self._record:
            variable = self._variables.get(getattr(node.slice, "value", None))
            if variable is None:
                raise _UnknownUse
            return ast.copy_location(ast.Name(variable, ast.Load()), node)
        return self.generic_visit(node)

    def of_dict(self, source: Definition) -> dict[str, ast.expr]:
        """The expressions in the dict that a function returns, if it does nothing else."""
        body = source.body if isinstance(source.body, list) else [ast.Return(source.body)]
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            body = body[1:]  # without the docstring
        value = getattr(body[0], "value", None) if body else None
        if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(value, ast.Dict):
            raise _UnknownUse
        found: dict[str, ast.expr] = {}
        for place, (key, one) in enumerate(zip(value.keys, value.values, strict=True)):
            if key is None and place == 0 and getattr(one, "id", "") == self._record:
                continue
            name = getattr(key, "value", None)
            if not isinstance(name, str) or name in found:
                raise _UnknownUse
            found[name] = self.visit(copy.deepcopy(one))
        return found


class _ExpressionsLoop(NamedTuple):
    """A loop that computes what a function of records returns, without its calls and dicts, which
    take several times as long as a short expression.

    Attributes:
        code: The code of the function.
        names: The fields that it returns, in the order in which the loop appends their values.
        vectorized: For each of these fields, the function that computes it of a column, and the
            place of the field that is the column; {}: one of them has none.
    """

    code: types.CodeType
    names: tuple[str, ...]
    loop: Callable[..., Any]
    vectorized: Mapping[str, tuple[_Vectorized, int]]


def _expressions_loop(
    function: Callable[..., Any], fields: Sequence[str], are_bytes: Sequence[bool]
) -> _ExpressionsLoop:
    """The loop for a function that takes only the record, and does nothing but return a dict with
    literal keys, perhaps after `**record`.  Errors in the loop show the function's file and line.

    Raises:
        _UnknownUse: It is another function, or its code is not that of its source.
    """
    source = source_of(function) if isinstance(function, types.FunctionType) else None
    if source is None or uses_of(function) is None or isinstance(source, ast.AsyncFunctionDef):
        raise _UnknownUse
    code = function.__code__
    found = _Expressions(code.co_varnames[0], fields).of_dict(source)
    if not found or len(code.co_varnames) > 1 or not is_code_of(code, source):
        raise _UnknownUse

    def listed(form: str, between: str = ", ") -> str:
        return between.join(form.format(i=i) for i in range(len(found)))

    tree = ast.parse(_EXPRESSIONS.format(
        row=", ".join(f"_pfd_v{i}" for i in range(len(fields))),
        appends=listed("_pfd_a{i}"),
        taken=listed("_pfd_t{i}"),
        kept=listed("if _pfd_type(_pfd_t{i}) not in _pfd_constants: "
                    "_pfd_t{i} = _pfd_kept(_pfd_t{i})", "\n        "),
        appended=listed("_pfd_a{i}(_pfd_t{i})", "; "),
    ))  # fmt: skip
    expressions = ast.Tuple([*found.values()], ast.Load())
    for node in [*ast.walk(tree), expressions]:
        ast.copy_location(node, source)
        if isinstance(node, ast.Assign) and getattr(node.value, "id", "") == "_pfd_expressions":
            node.value = expressions
    (made,) = codes_of(tree.body[0], code)
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    closure = tuple(cells[name] for name in made.co_freevars)
    made = made.replace(co_name=code.co_name)
    loop = types.FunctionType(made, function.__globals__, code.co_name, None, closure)
    has_own_len = "len" in code.co_freevars
    vectorized = {} if has_own_len else _vectorized_all(found, are_bytes[: len(fields)])
    return _ExpressionsLoop(code, tuple(found), loop, vectorized)


def _lengths(column: Ragged) -> Array:
    return np.diff(column.row_splits)


def _with_other_case(first: str, column: Ragged) -> Ragged:
    """Bytes with the 26 letters from `first` on in the other case: methods of bytes know no others.
    """
    letters = (column.values - np.uint8(ord(first)) < 26).view(np.uint8)
    return Ragged(column.values ^ letters * np.uint8(32), column.row_splits)


# Expressions of a field, whose rows have one dimension, that are computed of all rows at once.
# Their results are those of each row, and they raise nothing.
_VECTORIZED: dict[str, _Vectorized] = {"len({})": _lengths}
_VECTORIZED_TEXTS: dict[str, _Vectorized] = {
    **_VECTORIZED,
    "{}.lower()": functools.partial(_with_other_case, "A"),
    "{}.upper()": functools.partial(_with_other_case, "a"),
}


def _len_of(function: Any) -> Any:
    """What the global name `len` is in a function."""
    names = function.__globals__
    return names.get("len", getattr(function, "__builtins__", {}).get("len", len))


def _vectorized_all(
    expressions: Mapping[str, ast.expr], are_bytes: Sequence[bool]
) -> dict[str, tuple[_Vectorized, int]]:
    """`_ExpressionsLoop.vectorized` of expressions, whose variables stand for the fields."""
    known = {
        text.format(f"_pfd_v{place}"): (compute, place)
        for place, is_text in enumerate(are_bytes)
        for text, compute in (_VECTORIZED_TEXTS if is_text else _VECTORIZED).items()
    }
    found = {}
    for name, one in expressions.items():
        text = ast.unparse(one) if isinstance(one, ast.Call) else ""
        if text not in known:
            return {}
        found[name] = known[text]
    return found


# Types whose values do not change; the scalars are those of NumPy.
_CONSTANTS = frozenset((bytes, str, int, float, bool)) | {
    one for one in np.sctypeDict.values() if issubclass(one, (np.number, np.bool_, str, bytes))
}


def _copied(value: Any) -> Any:
    """A value that does not change if the function reuses its memory for the next record."""
    if type(value) in _CONSTANTS or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, np.ma.MaskedArray):  # which is refused where it is looked at
        return value.copy()
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, list):
        return list(value)
    return np.array(value) if hasattr(value, "__array__") else value


def joined(arrays: Sequence[Array | Ragged], *, is_copy: bool = False) -> Array | Ragged:
    """Columns joined one after another; a single column is copied only on request."""
    if len(arrays) == 1 and not is_copy:
        return arrays[0]
    if isinstance(arrays[0], Ragged):
        return Ragged.concatenate(arrays)  # type: ignore[arg-type]
    return np.concatenate(arrays)


_NUMBERS = {bool: np.bool_, int: np.int64, float: np.float64}


def _packed(values: list[Any], declared: RowType) -> Array | Ragged | None:
    """Values of one kind as a column; None: each must be looked at."""
    kinds = set(map(type, values))
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    dtype, shape = declared
    if is_bytes(declared) and kind in (bytes, str):
        rows = [one.encode() for one in values] if kind is str else values
        splits = np.zeros(len(rows) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, rows), np.int64, len(rows)), out=splits[1:])
        return Ragged(np.frombuffer(b"".join(rows), np.uint8), splits)
    if shape == () and (kind in (bool, int, float) or issubclass(kind, np.generic)):
        if _NUMBERS.get(kind, kind) is dtype.type:
            with contextlib.suppress(OverflowError):
                return np.fromiter(values, dtype, len(values))
        array = np.array(values)
        if array.dtype == dtype:
            return array
        return numbers_as(values, array, dtype) if kind in (bool, int, float) else None
    if kind is np.ndarray and {one.dtype for one in values} == {dtype}:
        if declared.is_ragged:
            is_fit = all(declared.fits(dtype, shape) for shape in {one.shape for one in values})
            return to_ragged(values, declared) if is_fit else None
        return np.array(values) if {one.shape for one in values} == {shape} else None
    return None


def record_function(
    function: Callable[..., Any],
    keywords: Mapping[str, Any],
    blobs: Mapping[str, Blob],
    names: Sequence[str],
    outputs: Any,
    *,
    has_index: bool,
    at_once: int,
) -> tuple[RecordFunction, list[str]]:
    """The function for a map of records, and the names of its inputs.

    Args:
        names: The fields; with `has_index`, the last one is the record's number.
        outputs: As in `map()`.
    """
    own = {name: blobs[name] for name in names[: len(names) - has_index]}
    fields = fields_read(function, own, is_batched=at_once > 0)
    uses = uses_of(function)
    extra: tuple[str, ...] | None = ()
    if uses is None and outputs is not None:
        extra = None
    elif uses is not None and uses.made is not None:
        named = [outputs] if isinstance(outputs, str) else list(outputs or ())
        extra = tuple(sorted(own.keys() - uses.made - {*named}))
    inputs = [*fields, *names[len(own) :]]
    types = [RowType(blobs[name].dtype, blobs[name].shape[1:]) for name in inputs]
    made = RecordFunction(function, keywords, [is_bytes(one) for one in types], fields,
                          has_index=has_index, at_once=at_once, extra=extra,
                          known=tuple(own))  # fmt: skip
    made.types = types
    return made, inputs


# ---- Predicates ---------------------------------------------------------------------------------


class _First(dict[str, Any]):
    """A record that refuses to be compared, as a field would be."""

    def _refuse(self, _other: object) -> NoReturn:
        raise TypeError("a record, which is a dict of fields, was compared; write r['field']")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = None


def each_record(
    function: Callable[..., Any], known: Iterable[str]
) -> Callable[[Mapping[str, Any]], list[Any]]:
    """A function of batches that calls `function` with each record, for the use in columns and
    predicates.

    Args:
        known: The names of the data set's fields, for messages.
    """

    def of_batch(batch: Mapping[str, Any]) -> list[Any]:
        records = records_of({name: _frozen(column) for name, column in batch.items()})
        records[:1] = map(_First, records[:1])
        found: list[Any] = []
        try:
            found.extend(_copied(function(record)) for record in records)
        except BaseException as failure:
            texts = {name for name, column in batch.items() if _is_text(column)}
            note_failure(failure, function, known, texts, len(found))
            raise
        return found

    return of_batch


# ---- Records that give several ------------------------------------------------------------------


class Divided:
    """A function that gives a list of records for one, as a function of one result."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__wrapped__ = function  # of which a digest is made
        self.__name__ = name_of(function)
        self.__qualname__ = str(getattr(function, "__qualname__", self.__name__))
        self.__module__ = str(getattr(function, "__module__", None) or "builtins")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.__wrapped__,)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.__wrapped__ == self.__wrapped__

    def __hash__(self) -> int:
        return hash((type(self), self.__wrapped__))

    def pieces(self, record: Mapping[str, Any], keywords: Mapping[str, Any]) -> Iterable[Any]:
        """What the function gives for a record; its elements are not known to be pieces."""
        found = self.__wrapped__(record, **keywords)
        if type(found) is list:  # most are, and the other question is slow
            return found
        if isinstance(found, (Mapping, str, bytes)) or not isinstance(found, Iterable):
            what = "None; is a return missing? It" if found is None else f"{shown(found)}; it"
            self.refuse(f"returned {what} must return a list of dicts, or yield dicts")
        return found

    def made_by(
        self, piece: Any, given: Mapping[str, Any], made: Iterable[str] = ()
    ) -> dict[str, Any]:
        """A piece without the fields that stay as they are.

        Args:
            given: The record as the function got it.
            made: Fields of a piece, whatever they are.
        """
        if not isinstance(piece, Mapping):
            self.refuse(f"gave the piece {shown(piece)}; each piece is a dict of fields")
        return {name: _copied(one) for name, one in piece.items()
                if name not in given or one is not given[name] or name in made}  # fmt: skip

    def refuse(self, what: str) -> NoReturn:
        place = function_place(self.__wrapped__)
        raise Mismatch(f"{self.__name__}() {what}{f' ({place})' if place else ''}")


class NumPieces(Divided):
    """How many pieces a record has."""

    def __call__(self, record: Mapping[str, Any], **keywords: Any) -> dict[str, int]:
        count = 0
        for piece in self.pieces(record, keywords):
            if type(piece) is not dict:
                self.made_by(piece, {})
            count += 1
        return {"count": count}


class PiecesFunction(RecordFunction):
    """Calls a function of pieces once for rows of one record that follow one another.

    The last input tells the piece: its number, and how many pieces the record has.
    """

    def __init__(self, function: Callable[..., Any], *args: Any, **options: Any) -> None:
        """As RecordFunction."""
        super().__init__(function, *args, **options)
        self._divided = Divided(function)
        self._last = threading.local()  # the record of the last row, and what its pieces have

    @property
    def form(self) -> tuple[Any, ...]:
        return (*super().form, "parts")

    def signature(self) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_ONLY
        return inspect.Signature(
            [inspect.Parameter(f"field{i}", kind) for i in range(len(self.are_bytes))]
        )

    def _records(
        self, call: Call, inputs: Sequence[Array | Ragged], outputs: Sequence[str]
    ) -> list[Array | Ragged]:
        *columns, piece = inputs
        numbers, counts = np.asarray(piece).T
        is_other = np.ones(call.num_rows, np.bool_)  # than the record of the row before
        is_other[1:] = np.any([_differ(column) for column in columns], axis=0)
        begins = is_other.copy()
        begins[1:] |= numbers[1:] != numbers[:-1] + 1
        bounds = np.flatnonzero(begins)
        records = list(zip(*(_at(column, bounds) for column in columns), strict=True))
        last = list(map(_memory, records[0]))
        if getattr(self._last, "record", None) == last:
            is_other[0] = False
        runs = zip(np.diff(bounds, append=call.num_rows).tolist(), numbers[bounds].tolist(),
                   counts[bounds].tolist(), is_other[bounds].tolist(), records,
                   strict=True)  # fmt: skip
        made: list[list[Any]] = [[] for _ in outputs]
        taken = self._taken(call, outputs, _PIECES, has_keywords=False)
        try:
            own = taken(runs, made, outputs, self._other_piece, self._divided.pieces,
                        {**self.keywords, **call.keywords}, call.before_row,
                        getattr(self._last, "pieces", made), self._refuse_count)  # fmt: skip
        except BaseException as failure:
            self._last.record = None
            self._note(failure, len(made[0]))
            raise
        self._last.record, self._last.pieces = list(map(_memory, records[-1])), own
        return self._columns(call, outputs, made)

    def _refuse_count(self, found: int, counted: int) -> NoReturn:
        self._divided.refuse(
            f"gives {found} pieces of this record, and gave {counted} when pieces were counted; it "
            "must give the same number each time"
        )

    def _other_piece(
        self, outputs: Sequence[str], found: Any, values: Sequence[Any]
    ) -> Sequence[Any]:
        given = dict(zip(self.fields, values, strict=True))
        own = self._divided.made_by(found, given, outputs)
        self._other_names(outputs, own, ())
        if all(name in given or name in outputs for name in found):
            self._names = tuple(found)
        return [own[name] for name in outputs]


def _memory(value: Any) -> Any:
    return value if type(value) is bytes else (value.shape, value.tobytes())


def _differ(column: Array | Ragged) -> Array:
    """For each row but the first, whether its memory differs from that of the row before."""
    if isinstance(column, Ragged):
        memory = list(map(_memory, rows_of(column)))
        return np.fromiter(map(operator.ne, memory[1:], memory), np.bool_)
    size = column.nbytes // max(len(column), 1)
    if size == 0:
        return np.zeros(max(len(column) - 1, 0), np.bool_)
    rows = np.ascontiguousarray(column).view(np.uint8).reshape(len(column), size)
    packed = rows.view(np.uint64 if size == 8 else f"V{size}").ravel()
    return np.asarray(packed[1:] != packed[:-1])


def _at(column: Array | Ragged, rows: Array) -> list[Any]:
    """Rows of a column, as `rows_of()` gives them."""
    if isinstance(column, Ragged):
        own = rows_of(column)
        return [own[row] for row in rows.tolist()]
    return list(column[rows])
