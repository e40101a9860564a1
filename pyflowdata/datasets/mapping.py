"""Methods that compute, choose and rename the fields of a data set."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from ..errors import (
    CorruptDataError,
    Error,
    InvalidArgumentError,
    UserFunctionError,
    WrongUseError,
    shown,
)
from ..loader import DataLoader
from ..nodes import Blob, Node, find_op
from ..nodes.argument_hints import says_how
from ..nodes.python_ops import nothing_in_use
from ..nodes.row_types import RowType, row_type
from ..pyops.callbacks import user_failure
from ..pyops.decoders import check_processes
from ..pyops.op import given_by_host, name_of
from ..pyops.records import (
    RecordFunction,
    all_parameters,
    column_of,
    fields_named_by,
    record_function,
)
from ..pyops.row_function import RowFunction, is_bytes, mapped_op, refuse_words
from ..pyops.str_comparisons import refuse_str
from ..pyops.tensors import MASKED
from ..ragged import Ragged
from .base import explain_key, names_of, no_field_of, numbered
from .reading import Reading


# ---- Names and types of results -----------------------------------------------------------------

# They are given, or found by a call of the function.

Outputs = str | Sequence[str] | Mapping[str, Any]

_RECORDS = 4  # read where the types of outputs are left out


class _SampleRows:
    """The first records: a function of rows is called with them to find out what it returns."""

    per, leading = "row", 0

    def __init__(self, data: Reading, names: Sequence[str]) -> None:
        self._data = data
        self._names = names

    def read(self) -> list[list[Any]]:
        """The arguments of each call."""
        data = self._data._with_blobs({name: self._data._fields[name] for name in self._names})
        records = data._whole_records(_RECORDS)
        return [[record[name] for name in self._names] for record in records]

    def said(self, number: int) -> str:
        """What a call gets, for messages."""
        return f"number {number} of the first records"


class _SampleColumns(_SampleRows):
    """The same records, for a function that takes columns of several records."""

    leading = 1

    def __init__(self, data: Reading, names: Sequence[str], at_once: int) -> None:
        super().__init__(data, names)
        self._at_once, self._count = at_once, 0

    def read(self) -> list[list[Any]]:
        """The arguments of each call."""
        rows, n = super().read(), self._at_once
        self._count = len(rows)
        types = [row_type_of(self._data._fields[name]) for name in self._names]
        return [
            [column_of(one, kind) for one, kind in zip(zip(*part, strict=True), types, strict=True)]
            for part in (rows[begin : begin + n] for begin in range(0, len(rows), n))
        ]

    def said(self, number: int) -> str:
        begin = number * self._at_once
        last = min(begin + self._at_once, self._count) - 1
        return f"the numbers {begin} to {last} of the first records"


class SampleBatch:
    """The first batch: a function of batches is called with it to find out what it returns."""

    per, leading = "batch", 1

    def __init__(self, blobs: Sequence[Blob]) -> None:
        self._blobs = list(blobs)

    def read(self) -> list[list[Any]]:
        """The arguments of the one call."""
        with nothing_in_use():
            loader = DataLoader(tuple(self._blobs), num_threads=1, prefetch=1, ledger="")
        with loader:
            return [list(batch) for batch in itertools.islice(loader, 1)]

    def said(self, _number: int) -> str:
        """What a call gets, for messages."""
        return "the first batch"


def _named(names: Sequence[str], outputs: Outputs | None, count: int) -> list[str]:
    if outputs is None and count == len(names):
        return list(names)
    given = [] if outputs is None else [outputs] if isinstance(outputs, str) else list(outputs)
    if len(given) != count or len(set(given)) != count:
        raise InvalidArgumentError(
            f"map: the function gives {count} {'result' if count == 1 else 'results'}; outputs "
            f"must have a name for each, and {', '.join(given) or 'no name'} "
            f"{'is' if len(given) < 2 else 'are'} given"
        )
    return given


def _types_of(
    function: RowFunction,
    names: Sequence[str],
    outputs: Outputs | None,
    samples: _SampleRows | SampleBatch,
) -> dict[str, RowType]:
    """The types of the outputs: as given, or found in what the function returns."""
    given: dict[str, Any] = dict(outputs) if isinstance(outputs, Mapping) else {}
    if given and all(one is not None for one in given.values()):
        return {key: row_type(f"outputs['{key}']", one) for key, one in given.items()}
    found: dict[str, RowType] = {}
    damage: CorruptDataError | None = None
    for number, inputs in enumerate(samples.read()):
        own: Mapping[str, RowType] = {}
        try:
            said = _called(function, inputs, samples.said(number))
        except CorruptDataError as failure:  # on_error of the batches decides
            damage = failure
            continue
        if isinstance(function, RecordFunction):
            results, own = function.made_of(said, inputs, outputs)
        elif isinstance(said, Mapping):
            results = dict(said)
            if outputs is not None:
                results = {key: results[key] for key in _named(names, outputs, len(results))}
        else:
            several = said if isinstance(said, tuple) else (said,)
            results = dict(zip(_named(names, outputs, len(several)), several, strict=True))
        for key, value in results.items():
            kind = own.get(key) or type_of(key, value, samples.leading)
            found[key] = joined_types(key, found.get(key), kind)
    if not found and damage is not None:
        raise damage
    if not found:
        raise InvalidArgumentError(
            "map: there is no record to see what the function returns; give the types, as "
            'outputs={"x": "float32[3]"}'
        )
    refuse_open({key: one for key, one in found.items() if given.get(key) is None})
    return {
        key: one if given.get(key) is None else row_type(f"outputs['{key}']", given[key])
        for key, one in found.items()
    }


def _called(function: RowFunction, inputs: Sequence[Any], sample: str) -> Any:
    taken = given_by_host(function.__signature__.parameters.values())
    keywords: dict[str, Any] = {}
    if "rng" in taken:
        keywords["rng"] = np.random.default_rng(0)
    if "ids" in taken:
        keywords["ids"] = np.zeros((2,), np.int64)
    try:
        return function.call(*inputs, **keywords)
    except Error:
        raise
    except Exception as failure:
        made = user_failure(failure, f"{name_of(function.function)}()")
        made.message += f", for {sample}, from which map finds the types"
        raise made from failure


def _instead(key: str, value: Any, leading: int) -> str:
    """What a function should return in place of a value that no field holds."""
    if value is None:
        return 'return float("nan") for a missing number, and floats otherwise, or "" for a text'
    if isinstance(value, Mapping):
        return "return each of its values under a name of its own, or json.dumps() of it"
    if leading and isinstance(value, (list, tuple)) and set(map(type, value)) <= {list, tuple}:
        return (
            f"rows that differ in length need their type, as outputs={{{key!r}: 'int64[?]'}}, and "
            "a row of texts is one text, as json.dumps() makes it"
        )
    if isinstance(value, (list, tuple)) and value and set(map(type, value)) <= {bytes, str}:
        one_text = 'b"\\n".join() of it' if type(value[0]) is bytes else "json.dumps() of it"
        return f"return one text, {one_text}; explode() makes a record of each"
    return "give its type in outputs"


class _OpenType(RowType):
    """The type of an empty list; lists of other records decide its dtype."""


def refuse_open(types: Mapping[str, RowType]) -> None:
    """Refuses results that are empty lists in all records that were looked at."""
    for key, one in types.items():
        if isinstance(one, _OpenType):
            raise InvalidArgumentError(
                f"map: the result '{key}' is an empty list in each of the first records, which "
                f'does not tell its type; give it, as outputs={{"{key}": "int64[?]"}}'
            )


def type_of(key: str, value: Any, leading: int = 0) -> RowType:
    """The type of a result; `leading` is the number of first dimensions that do not belong to a
    row.
    """
    if isinstance(value, (bytes, bytearray, memoryview, str)):
        return row_type(key, "bytes")
    if isinstance(value, Ragged):
        return RowType(value.dtype, value.row_shape)
    if leading and isinstance(value, list) and all(isinstance(one, (bytes, str)) for one in value):
        return row_type(key, "bytes")
    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(f"map: the result '{key}' is {MASKED}")
    try:
        array = np.asarray(value)
        found = row_type(key, (array.dtype, array.shape[leading:]))
        is_open = isinstance(value, list) and array.size == 0 and array.ndim > leading
        return _OpenType(*found) if is_open else found
    except ValueError as failure:
        raise InvalidArgumentError(
            f"map: the result '{key}' is {shown(value)}, which is not an array of numbers, nor "
            f"bytes or a text: {_instead(key, value, leading)}"
        ) from failure


def joined_types(key: str, one: RowType | None, other: RowType) -> RowType:
    """The common type of both; a dimension in which they differ is None."""
    if one is None:
        return other
    if isinstance(one, _OpenType):
        is_open, one = isinstance(other, _OpenType), RowType(other.dtype, one.shape)
    else:
        is_open, other = False, (
            RowType(one.dtype, other.shape) if isinstance(other, _OpenType) else other
        )
    if one == other:
        return _OpenType(*one) if is_open else other
    if one.dtype != other.dtype or len(one.shape) != len(other.shape):
        raise InvalidArgumentError(
            f"map: the result '{key}' is {one} for one record and {other} for another; give its "
            "type in outputs"
        )
    shape = tuple(a if a == b else None for a, b in zip(one.shape, other.shape, strict=True))
    return RowType(one.dtype, shape)


# ---- The methods --------------------------------------------------------------------------------

MapsT = TypeVar("MapsT", bound="Maps")

_RENAME = 'give the new name of each old one, data.rename({"old": "new"})'


class Maps(Reading):
    """The methods of `Dataset` that compute, choose or rename fields."""

    def map(
        self: MapsT,
        function: Callable[..., Any],
        *fields: str,
        outputs: Outputs | None = None,
        batched: int = 0,
        with_index: bool = False,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> MapsT:
        """The same records, with fields that a function computes from other fields.

            longer = data.map(lambda r: {**r, "n": len(r["text"])})        # of the record, a dict
            images = data.map(flow.ImageDecoder, "image")                  # takes the field's place
            sizes = images.map(lambda image: image.shape[:2], "image", outputs={"size": "int64[2]"})

        Args:
            function: An op of this package, of a plugin or of `register_decoder`; or a Python
                function of rows, which gets arrays, numbers and bytes, and returns such a value, a
                text, or a tuple or dict of several values.  It may take the keyword arguments `rng`
                and `ids`, as with `register_decoder`.  Without `fields`, a function of one
                parameter whose name is not that of a field gets the record, as `data[i]` shows it,
                and returns a dict of fields; arrays in the record are read-only.
            *fields: The fields that the function is called with, in order.  If left out: the fields
                that its parameters name, the record, or the only field.
            outputs: The names of the new fields.  A new field replaces a field of the same name.
                For a Python function the types may be given, too, {"size": "int64[2]"}; otherwise
                the first records decide the types.  None: the results replace `fields`; the results
                of `Tokenize` get the names of its outputs.
            batched: The most records that a function of records gets at once, as a dict of columns:
                arrays with the rows first, `Ragged`s, and lists of bytes.  The function returns a
                row for each record.  The results must not depend on which records are in a call.
                True: 1000; 0: one call for each record.
            with_index: Whether a function of records gets the record's number in this data set as
                its second argument.
            processes: Worker processes that call a Python function, in place of threads; 0: none.
            name: The name of the node; random numbers depend on it.
            **attrs: Attrs of the op, or keyword arguments of the function.

        Raises:
            InvalidArgumentError: There is no such field, or the function does not fit the fields.
        """
        if not callable(function):
            raise InvalidArgumentError(f"map: {shown(function)} was given; it must be a function")
        if outputs is not None:
            names_of(outputs, "outputs")
        check_processes(processes)
        _check_batched(batched)
        is_op = hasattr(function, "op_name")
        if not is_op:
            refuse_words(all_parameters(function), attrs)
        if not isinstance(with_index, (bool, np.bool_)):
            raise InvalidArgumentError(
                f"map: with_index = {shown(with_index)}; it must be True or False"
            )
        of_records = bool(batched) or with_index
        if fields and of_records:
            raise InvalidArgumentError(
                "map: batched and with_index are for functions of records: leave out the fields"
            )
        if of_records:
            _check_record(function, self._fields, attrs)
        if not fields and not is_op:
            own = None if of_records else fields_named_by(function, self._fields, attrs)
            if own == [] and len(self._fields) > 1:
                raise InvalidArgumentError(
                    f"map: no fields were named, and there are {len(self._fields)}: "
                    f"{', '.join(self._fields)}; name those that {name_of(function)}() takes. A "
                    "function of one parameter gets the record, and one of two, with "
                    "with_index=True, the record and its number"
                )
            if own is None:
                return self._map_records(
                    function, outputs, batched, with_index, processes, name, attrs
                )
            fields = tuple(own)
        blobs, names = self._fields, chosen(self._fields, fields)
        _check_scope(function)
        rows = _SampleRows(self, names)
        made = computed(blobs, names, function, outputs, processes, name, attrs, rows)
        return self._with_blobs({**blobs, **made})

    def _map_records(
        self: MapsT,
        function: Callable[..., Any],
        outputs: Outputs | None,
        batched: int,
        with_index: bool,
        processes: int,
        name: str | None,
        attrs: Mapping[str, Any],
    ) -> MapsT:
        if batched is True:
            batched = 1000
        data, blobs, names = self, self._fields, list(self._fields)
        if with_index:
            own = next(one for one in map("index{}".format, itertools.count()) if one not in blobs)
            data = type(self)(numbered(self.blobs, own))
            blobs = dict(data._fields)
            names.append(own)
        wrapped, inputs = record_function(
            function, attrs, blobs, names, outputs, has_index=with_index, at_once=batched
        )
        samples = (
            _SampleColumns(data, inputs, batched) if batched else _SampleRows(data, inputs)
        )
        try:
            types = _types_of(wrapped, inputs, outputs, samples)
        except UserFunctionError as failure:
            explain_key(failure, failure.__cause__, self._fields)
            raise
        op = mapped_op(wrapped, types, per="row", processes=processes)
        made = Node(op, name, [blobs[one] for one in inputs], {}).outputs
        kept = {one: blobs[one] for one in self._fields}
        return data._with_blobs({**kept, **dict(zip(types, made, strict=True))})

    def project(self: MapsT, *names: str | Sequence[str]) -> MapsT:
        """These fields alone, in this order: `data.project("x", "y")` or `data.project(["x"])`."""
        chosen_names = _checked(self._fields, _each(names))
        return self._with_blobs({name: self._fields[name] for name in chosen_names})

    def drop(self: MapsT, *names: str | Sequence[str]) -> MapsT:
        """All fields except these."""
        left_out = _checked(self._fields, _each(names))
        kept = {name: blob for name, blob in self._fields.items() if name not in left_out}
        if not kept:
            raise InvalidArgumentError("drop() of all fields; a data set needs one or more")
        return self._with_blobs(kept)

    @says_how(_RENAME)
    def rename(self: MapsT, names: Mapping[str, str] | None = None, **named: str) -> MapsT:
        """The same fields with other names: `data.rename({"jpg": "image"})`, or
        `data.rename(jpg="image")`."""
        if not isinstance(names, (Mapping, type(None))):
            raise WrongUseError(f"rename({shown(names)}): {_RENAME}")
        new = {**(names or {}), **named}
        _checked(self._fields, list(new))
        blobs: dict[str, Blob] = {}
        for name, blob in self._fields.items():
            called = new.get(name, name)
            if not isinstance(called, str) or not called:
                raise InvalidArgumentError(
                    f"rename: the new name of '{name}' is {shown(called)}; it must be a str"
                )
            if called in blobs:
                raise InvalidArgumentError(f"rename: two fields would be called '{called}'")
            blobs[called] = blob
        return self._with_blobs(blobs)


def _check_batched(batched: object) -> None:
    if not isinstance(batched, int) or batched < 0:
        raise InvalidArgumentError(
            f"map: batched = {shown(batched)}; it must be the most records of a call, such as "
            "batched=1000"
        )


def _check_record(
    function: Callable[..., Any], fields: Mapping[str, Blob], attrs: Mapping[str, Any]
) -> None:
    """Refuses a function of records whose first parameter has the name of a field."""
    own = [one.name for one in all_parameters(function) if one.name not in attrs][:1]
    if own and own[0] in fields:
        raise InvalidArgumentError(
            f"map: with batched= or with_index=, {name_of(function)}() gets a record, a dict of "
            f"fields, and its parameter has the name of a field, {shown(own[0])}: write "
            f"lambda r: ... r[{shown(own[0])}]"
        )


def _check_scope(function: Any) -> None:
    op = getattr(function, "op_name", None)
    if op is not None and find_op(op).is_whole_batch:
        raise InvalidArgumentError(
            f"map: {op} looks at all rows of a batch; use it after batch(), as in "
            f"data.batch(64).map({op}, ...)"
        )


def row_type_of(blob: Blob) -> RowType:
    return RowType(blob.dtype, blob.shape[1:])


# ---- Fields -------------------------------------------------------------------------------------


def _each(names: Iterable[str | Sequence[str]]) -> list[str]:
    """The names, which were given one by one or in lists."""
    return [each for one in names for each in names_of(one, "names")] if names else []


def _checked(blobs: Mapping[str, Blob], names: Sequence[str]) -> list[str]:
    """The names of fields; each may be given once.

    Raises:
        InvalidArgumentError: There is no such field, or one is named twice.
    """
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise InvalidArgumentError(f"the field {shown(name)}: a field is named by a str")
        if name not in blobs:
            raise InvalidArgumentError(no_field_of(name, blobs))
        if name in names[:i]:
            raise InvalidArgumentError(f"the field '{name}' is named twice")
    return list(names)


def chosen(blobs: Mapping[str, Blob], names: Sequence[str]) -> list[str]:
    """The fields that a function is called with."""
    if not names and len(blobs) == 1:
        return list(blobs)
    if not names:
        raise InvalidArgumentError(
            f"map: no fields were named, and there are {len(blobs)}: {', '.join(blobs)}; name "
            f"those that the function takes after it, as map(function, {next(iter(blobs))!r}); a "
            "function of records is mapped on the data set, before its .batch(n)"
        )
    return _checked(blobs, names)


# ---- What a function makes of them --------------------------------------------------------------


def computed(
    blobs: Mapping[str, Blob],
    names: Sequence[str],
    function: Callable[..., Any],
    outputs: Outputs | None,
    processes: int,
    name: str | None,
    attrs: Mapping[str, Any],
    samples: _SampleRows | SampleBatch,
) -> dict[str, Blob]:
    if not callable(function):
        raise InvalidArgumentError(f"map: {shown(function)} was given; it must be a function")
    inputs = [blobs[one] for one in names]
    if hasattr(function, "op_name"):
        if processes:
            raise InvalidArgumentError(
                f"map: processes = {shown(processes)}; it is for Python functions, and "
                f"{function.op_name} is an op"
            )
        made = function(*inputs, name=name, **attrs)
        found = made if isinstance(made, tuple) else (made,)
        if outputs is None and getattr(function, "names_fields", False):
            outputs = [blob.name.rpartition("/")[2] for blob in found]
        return dict(zip(_named(names, outputs, len(found)), found, strict=True))
    are_bytes = [
        samples.per == "row" and is_bytes(row_type_of(one)) for one in inputs
    ]
    texts = {name for name, one in zip(names, inputs, strict=True) if is_bytes(row_type_of(one))}
    refuse_str(function, texts, names, of_columns=samples.per != "row")
    wrapped = RowFunction(function, attrs, are_bytes)
    types = _types_of(wrapped, names, outputs, samples)
    op = mapped_op(wrapped, types, per=samples.per, processes=processes)
    return dict(zip(types, Node(op, name, inputs, {}).outputs, strict=True))
