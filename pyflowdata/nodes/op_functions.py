"""Makes a Python function from an op of the registry: signature, help text, and call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidArgumentError, shown
from ..words.remedies import similar
from . import eager
from .node import Blob, Node, Records
from .op_facts import ROW_OPTIONS, Attr, Op, Port
from .op_texts import docstring, ordered_attrs, positional_names, python_name

_MANY = inspect.Parameter.VAR_POSITIONAL
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_SCALARS: dict[str, object] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "object": object,
}
_LISTS: dict[type, object] = {
    int: Sequence[int],
    float: float | Sequence[float],  # a number stands for a list of one
    str: Sequence[str],
}


def _annotation(attr: Attr) -> object:
    kind: Any = _SCALARS.get(attr.type.word, "DTypeLike")
    if attr.type.element is not None:
        kind = _LISTS[attr.type.element]
    if attr.is_switch:
        return kind | bool
    if not attr.takes_none:
        return kind
    return f"{kind} | None" if isinstance(kind, str) else kind | None


def signature(op: Op) -> inspect.Signature:
    """The signature: inputs, then attrs, then the name of the node; attrs are given by name, except
    for data_dir.
    """
    positional = positional_names(op)
    parameters = [
        inspect.Parameter(
            python_name(port.name), _MANY if op.has_many_inputs else _POSITIONAL, annotation=Blob
        )
        for port in op.inputs
    ]
    if op.has_optional_input:
        parameters[-1] = parameters[-1].replace(default=None, annotation=Blob | None)
    for attr in ordered_attrs(op):
        default = inspect.Parameter.empty if attr.required else attr.default
        parameters.append(
            inspect.Parameter(
                python_name(attr.name),
                _POSITIONAL if attr.name in positional else _KEYWORD,
                default=default,
                annotation=_annotation(attr),
            )
        )
    parameters.append(
        inspect.Parameter("name", _KEYWORD, default=None, annotation=str | None)
    )
    return inspect.Signature(parameters, return_annotation=_return_annotation(op))


def _return_annotation(op: Op) -> object:
    if op.outputs_attr:
        return Blob | tuple[Blob, ...]
    certain = sum(op.switch(port.name) is None for port in op.outputs)
    if certain == 1:
        return Blob if certain == len(op.outputs) else Blob | tuple[Blob, ...]
    return tuple[Blob, ...]


# ---- Call ---------------------------------------------------------------------------------------


def _as_given(op: Op, value: object) -> str:
    """The attr for which the first surplus argument was most likely meant."""
    attr = next((attr for attr in ordered_attrs(op) if attr.required), None)
    is_plain = isinstance(value, (int, float, str))
    return f", as {python_name(attr.name)}={shown(value)}" if attr and is_plain else ""


def _is_near_name(key: str, names: Sequence[str]) -> bool:
    """Whether a mistyped `name` is more likely than any attr.  C suggests similar attrs, but `name`
    is not an attr; an attr `names` is equally similar.
    """
    return similar(key, [*names, "name"]) == "name" and "names" not in names


class _Arguments:
    """The arguments that a call of an op may have, by the registry's names."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self._positional = positional_names(op)
        names = [port.name for port in op.inputs] + [attr.name for attr in ordered_attrs(op)]
        self._names = {name: name for name in names} | {python_name(name): name for name in names}

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """The given values by name.  Unknown names stay: C refuses them and suggests similar names.
        """
        op, positional = self._op, self._positional
        if op.has_many_inputs:
            args = [args] if args else []
        if len(args) > len(positional):
            raise InvalidArgumentError(
                f"{len(args)} positional arguments were given; at most {len(positional)} can be "
                f"({', '.join(positional) or 'none'}), give the others by name"
                + _as_given(op, args[len(positional)]),
                op=op.name,
            )
        given: dict[str, object] = dict(zip(positional, args, strict=False))
        for key, value in kwargs.items():
            name = self._names.get(key)
            if name is None and key not in ROW_OPTIONS and _is_near_name(key, [*self._names]):
                raise InvalidArgumentError(
                    f"unknown attr '{key}'; did you mean 'name'? It names the node", op=op.name
                )
            name = name or key
            if name in given:
                raise InvalidArgumentError(f"'{key}' was given twice", op=op.name)
            given[name] = value
        return given


def _take_rows(op: Op, given: dict[str, Any]) -> dict[str, object] | None:
    """Removes the inputs from the arguments `given`, and returns them by name, if they are rows.

    Returns None, and removes nothing, if the inputs are blobs or are missing.
    """
    ports = op.inputs
    if op.has_optional_input and given.get(ports[-1].name) is None:
        ports = ports[:-1]
    rows = {port.name: given[port.name] for port in ports if port.name in given}
    for name, value in rows.items():
        several: Sequence[Any] = value if isinstance(value, (tuple, list)) else (value,)
        for one in several:
            if isinstance(one, Records):
                hint = _field_hint(one)
                raise InvalidArgumentError(f"input '{name}' is a Dataset; {hint}", op=op.name)
    if op.has_many_inputs and rows:
        (name, inputs), *_ = rows.items()
        rows = {f"{name}[{i}]": one for i, one in enumerate(_several(inputs))}
    blobs = [name for name, value in rows.items() if _is_blob(value)]
    if len(blobs) == len(rows):
        return None
    if blobs:
        other = next(name for name in rows if name not in blobs)
        raise InvalidArgumentError(
            f"input '{blobs[0]}' is a Blob and input '{other}' is of type "
            f"{type(rows[other]).__name__}: give blobs for all inputs, or rows for all",
            op=op.name,
        )
    for port in ports:
        if port.name not in given:
            raise _missing(op, port)
    for port in op.inputs:
        given.pop(port.name, None)
    return rows


def _field_hint(data: Records) -> str:
    field = next(iter(data.fields))
    return (
        f"give a field: data[{field!r}] for an op on records, or data.batch(n)[{field!r}] for one "
        "on batches"
    )


def _is_blob(value: object) -> bool:
    """Whether a value is a Blob, or a list or tuple that starts with one."""
    if isinstance(value, (tuple, list)) and value:
        value = value[0]
    return isinstance(value, Blob)


def _several(inputs: Any) -> Sequence[Any]:
    """The inputs of an op that takes many.  They may also be one tuple, as another op returns
    blobs, or one list of blobs; any other list is a batch of rows.
    """
    if not isinstance(inputs, tuple):
        inputs = (inputs,)
    first: Any = inputs[0] if len(inputs) == 1 else None
    is_nested = isinstance(first, tuple) or (isinstance(first, list) and _is_blob(first))
    nested: Sequence[Any] = first if is_nested else inputs
    return nested


def _missing(op: Op, port: Port) -> InvalidArgumentError:
    return InvalidArgumentError(f"input '{port.name}' is missing: {port.doc}", op=op.name)


def take_inputs(op: Op, given: dict[str, Any]) -> list[Blob]:
    """Removes the inputs from the arguments `given`, and returns them in order."""
    inputs = []
    if op.has_many_inputs:
        return _take_many_inputs(op, given)
    if op.has_optional_input and given.get(op.inputs[-1].name) is None:
        given.pop(op.inputs[-1].name, None)
        op = op._replace(inputs=op.inputs[:-1])
    for port in op.inputs:
        if port.name not in given:
            raise _missing(op, port)
        inputs.append(_checked_blob(op, port.name, given.pop(port.name)))
    return inputs


def _take_many_inputs(op: Op, given: dict[str, Any]) -> list[Blob]:
    port = op.inputs[0]
    blobs = _several(given.pop(port.name, ()))
    if not blobs:
        raise _missing(op, port)
    return [_checked_blob(op, f"{port.name}[{i}]", blob) for i, blob in enumerate(blobs)]


def _checked_blob(op: Op, name: str, blob: object) -> Blob:
    if isinstance(blob, Blob):
        return blob
    hint = f"; {_field_hint(blob)}" if isinstance(blob, Records) else ""
    if isinstance(blob, (tuple, list)) and any(isinstance(one, Blob) for one in blob):
        hint = f": it has {len(blob)} blobs, pick one of them"
        if len(blob) == 1:
            hint = ": give the blob itself, without the brackets"
    raise InvalidArgumentError(
        f"input '{name}' is of type {type(blob).__name__}; it must be a Blob, as op functions "
        f"return it{hint}",
        op=op.name,
    )


def make_function(op: Op) -> Callable[..., Any]:
    """The function that adds a node of this op to the graph, or calls the op on rows."""
    arguments = _Arguments(op)

    def function(*args: Any, name: str | None = None, **kwargs: Any) -> Any:
        given = arguments.bind(args, kwargs)
        rows = _take_rows(op, given)
        if rows is not None:
            return eager.call(op, name, given, rows)
        inputs = take_inputs(op, given)
        outputs = Node(op, name, inputs, given).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    function.__name__ = function.__qualname__ = op.name
    function.__module__ = "pyflowdata.ops"
    function.__doc__ = docstring(op)
    function.__signature__ = signature(op)  # type: ignore[attr-defined]
    function.__annotations__ = {}
    function.op_name = op.name  # type: ignore[attr-defined]
    return function
