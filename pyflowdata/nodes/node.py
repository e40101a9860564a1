"""Blobs and nodes: the graph to be computed.

A DataLoader opens the files.  Nodes read only headers, to infer attrs that were left out.
"""

from __future__ import annotations

import importlib
import math
import operator
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np

from ..errors import Error, InvalidArgumentError, WrongUseError, shown
from ..native import CData, build_hint, check, encode, ffi, lib, new_error, text
from .attr_values import (
    Plain, attr_values, carried_values, encode_node_name, found_values, plain_values,
)  # fmt: skip
from .objects import Identity, Object
from .op_facts import Op
from .registry import find_op, with_ports_of
from .row_types import dtype_name, read_row_type
from .sampled_attrs import Found, has_types, sampled_values, say_notes
from .world import World, find_world, is_left_open
from ..words import remedies
from ..words.remedies import did_you_mean


# ---- Blobs that are used as arrays --------------------------------------------------------------

# Messages name the op that does the same, or the loader.  Type checkers do not see the methods of
# BlobHints, so they find wrong uses themselves.

_CAST = 'use flow.Cast(x, dtype="float32")'
_CONCAT = "use flow.Concat(x, y)"
_ARRAYS = "take its arrays from a loader, for batch in flow.DataLoader(x)"
_BATCHES = "batches of all columns are in for batch in flow.DataLoader(data.batch(n))"

# Operators and a number k -> what computes the same.
_WITH_NUMBER = {
    "add": "flow.Affine(x, shift={0})",
    "radd": "flow.Affine(x, shift={0})",
    "sub": "flow.Affine(x, shift=-{0})",
    "rsub": "flow.Affine(x, scale=-1, shift={0})",
    "mul": "flow.Affine(x, scale={0})",
    "rmul": "flow.Affine(x, scale={0})",
    "truediv": "flow.Affine(x, scale=1 / {0})",
}
_OF_UFUNCS = {"subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv"}
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WHERE = f'{remedies.OWN_OP}, or choose records by data.where("x < 3")'

_METHODS = {
    **dict.fromkeys(("astype", "double", "float", "half", "int", "long", "type"), _CAST),
    **dict.fromkeys(("asnumpy", "data", "item", "numpy", "tobytes", "tolist", "values"), _ARRAYS),
    **dict.fromkeys(("cpu", "cuda", "detach", "device", "pin_memory", "to"), remedies.DEVICE),
    **dict.fromkeys(
        ("batch", "filter", "map", "repeat", "shuffle", "skip", "take", "where"), remedies.ON_DATA
    ),
    **dict.fromkeys(
        ("T", "argmax", "argmin", "clip", "cumsum", "exp", "flatten", "log", "max", "mean", "min",
         "permute", "ravel", "reshape", "sort", "sqrt", "squeeze", "std", "sum", "transpose",
         "unsqueeze", "var", "view"), remedies.OWN_OP,
    ),
    **dict.fromkeys(("ndim", "rank", "size"), "use x.shape"),
    **dict.fromkeys(("get", "items", "keys"), _BATCHES),
    "concat": _CONCAT,
    "crop": "use flow.CenterCrop(x, size=(height, width))",
    "decode": "use flow.ImageDecoder(x), flow.DecodeRaw(x, ...) or another decoder",
    "normalize": "use flow.Normalize(x, mean=0, std=1)",
    "pad": "use flow.Pad(x, shape=[n]) or flow.PadBatch(x)",
    "resize": "use flow.Resize(x, size=(height, width))",
}  # fmt: skip
_NUMPY_FUNCTIONS = {
    **dict.fromkeys(("column_stack", "concatenate", "hstack", "stack", "vstack"), _CONCAT),
    "pad": _METHODS["pad"],
    "shape": "use x.shape",
    "size": "use x.shape",
}


def _refused(blob: Any, what: str, instead: str) -> WrongUseError:
    return WrongUseError(
        f"{blob.name} is a Blob, a column of batches to come, not an array, and {what}: {instead}"
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating))


def _computed(sign: str, other: object) -> str:
    """The op that computes the same as an operator."""
    if sign in _WITH_NUMBER and _is_number(other):
        return f"use {_WITH_NUMBER[sign].format(other)}"
    return remedies.OWN_OP


class BlobHints:
    """The base of Blob: says what to do if a blob is used as an array.

    Every method here raises a WrongUseError, which is a TypeError.
    """

    __slots__ = ()
    __hash__ = object.__hash__


def _unary(what: str, instead: str) -> Callable[[Any], NoReturn]:
    def refuse(self: Any) -> NoReturn:
        raise _refused(self, what, instead)

    return refuse


def _binary(name: str, sign: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, other: Any) -> NoReturn:
        instead = _WHERE if name in _COMPARISONS else _computed(name, other)
        raise _refused(self, f"has no operator {sign}", instead)

    return refuse


def _eq(self: Any, other: Any) -> Any:
    if isinstance(other, (bool, int, float, str, bytes, np.generic, np.ndarray)):
        is_text = isinstance(other, (str, bytes))
        raise _refused(self, "has no operator ==", remedies.WHERE_TEXT if is_text else _WHERE)
    return NotImplemented  # blobs are equal if they are the same


def _getitem(self: Any, key: Any) -> NoReturn:
    if isinstance(key, str):
        instead = f"data.batch(n)[{key!r}] is such a column, and {_BATCHES}"
    elif isinstance(key, (slice, tuple)):
        instead = "use flow.Slice(x, start=[0], stop=[2]) for a part of each row, or take the " \
            "arrays from a loader, for batch in flow.DataLoader(x)"  # fmt: skip
    else:
        raise _refused(self, "cannot be iterated, unpacked or indexed",
                       f"{_ARRAYS}; {_BATCHES}")  # fmt: skip
    raise _refused(self, "has no index", instead)


def _contains(self: Any, _value: Any) -> NoReturn:
    raise _refused(self, "has no operator in", _WHERE)


def _array(self: Any, *_args: Any, **_options: Any) -> NoReturn:
    raise _refused(self, "cannot become one", _ARRAYS)


def _array_ufunc(self: Any, ufunc: Any, _method: str, *inputs: Any, **_options: Any) -> NoReturn:
    name = ufunc.__name__
    sign = _OF_UFUNCS.get(name, name)
    others = [value for value in inputs if value is not self]
    if others and others[0] is inputs[0]:
        sign = f"r{sign}"
    instead = _computed(sign, others[0] if others else None)
    raise _refused(self, f"numpy.{name}() cannot take it", instead)


def _array_function(self: Any, function: Any, _types: Any, _args: Any, _options: Any) -> NoReturn:
    name = function.__name__
    instead = _NUMPY_FUNCTIONS.get(name, remedies.OWN_OP)
    raise _refused(self, f"numpy.{name}() cannot take it", instead)


def _torch_function(
    cls: Any, function: Any, _types: Any, args: Any = (), _options: Any = None
) -> NoReturn:
    lists = [given if type(given) in (list, tuple) else [given] for given in args]
    blob = next((one for given in lists for one in given if isinstance(one, cls)), None)
    name = getattr(function, "__name__", "torch")
    if blob is None:
        said = f"{name}() cannot take a Blob, a column of batches to come"
        raise WrongUseError(f"{said}: {remedies.DEVICE}")
    raise _refused(blob, f"{name}() cannot take it", remedies.DEVICE)


def _getattr(self: Any, name: str) -> NoReturn:
    said = f"a Blob has no {name!r}"
    if name.startswith("_"):
        pass
    elif name in _METHODS:
        said += f", as it is a column of batches to come, not an array: {_METHODS[name]}"
    else:
        known = [one for one in dir(self) if not one.startswith("_")]
        said += did_you_mean(name, known)
    raise AttributeError(said, name=name, obj=None)


def _made() -> dict[str, Any]:
    methods: dict[str, Any] = {
        "eq": _eq,
        "getitem": _getitem,
        "contains": _contains,
        "getattr": _getattr,
        "array": _array,
        "array_ufunc": _array_ufunc,
        "array_function": _array_function,
        "torch_function": classmethod(_torch_function),
        "len": _unary("has no len()", f"{_ARRAYS}; x.batch_size is the number of its rows"),
        "bool": _unary("is neither true nor false", f"compare it with None, or {_ARRAYS}"),
        "neg": _unary("has no operator -", "use flow.Affine(x, scale=-1)"),
        "pos": _unary("has no operator +", "use x itself"),
    }  # fmt: skip
    for name in ("abs", "invert", "round"):
        methods[name] = _unary(f"has no {name}()", remedies.OWN_OP)
    for name in ("float", "int"):
        methods[name] = _unary(f"has no {name}()", _ARRAYS)
    for name, sign in _SIGNS.items():
        methods[name], methods[f"r{name}"] = _binary(name, sign), _binary(f"r{name}", sign)
    for name, sign in _COMPARISONS.items():
        methods[name] = _binary(name, sign)
    return methods


for _name, _method in _made().items():
    setattr(BlobHints, f"__{_name}__", _method)


# ---- Nodes and blobs ----------------------------------------------------------------------------

# Name of an op that no import of a module makes -> an object to pickle in its place: unpickled, it
# makes the op and becomes its name.
carried_ops: dict[str, object] = {}

# Name of an op that is a Python function -> what the function is.
identities: dict[str, Identity] = {}

_MOST_NAMED = 12  # inputs in a message
_ANCHOR_EVERY = 32  # nodes of a chain

OneT = TypeVar("OneT", bound=Hashable)


def _short(blob: Blob) -> str:
    return f"{blob.name.rpartition('/')[2]} {blob.dtype}"


class Node:
    """One use of an op, checked, with its inputs.  Immutable.

    It can be pickled, with all nodes upstream.  Unpickling makes it again: the op must be known in
    that process, and paths and an inferred rank are those of that process.  Attrs that were
    inferred from the files are not inferred again.

    Attributes:
        anchors: Some of the nodes upstream, at small distances: pickling them one after another
            avoids deep recursion.
        op: The op, with the inputs and outputs of this node.
        values: The attrs that were given, and those that were inferred from the files.
        found: Names of the inferred attrs.
        sampled: Name of an attr that was inferred from the first records, and not from a header ->
            the argument that would state it.
        left_out: Texts about parts of the records that no output contains, as the files showed.
        seen: The states of the files when the records were read; (): not known.
        notes: Name of an output -> why its type is perhaps not the wanted one.
        worlds: Rank and world size of the readers upstream, each pair once. A reader without the
            attrs rank and world_size takes them from `world()` when its node is made.  If it has no
            batch_size either, its records are for a data set, and each rank takes its part of the
            batches of that data set.
    """

    __slots__ = (
        "__weakref__", "anchors", "depth", "found", "handle", "inputs", "left_out", "name", "notes",
        "op", "outputs", "sampled", "seen", "values", "worlds",
    )  # fmt: skip
    op: Op
    found: tuple[str, ...]
    left_out: tuple[str, ...]

    def __init__(
        self, op: Op, name: str | None, inputs: Sequence[Blob], values: Mapping[str, object]
    ) -> None:
        """Checks everything and infers the outputs.

        Args:
            op: The op that the node uses.
            name: Name of the node; None or "": no name.
            inputs: One blob per input of the op; one or more for an op with many.
            values: Attrs by name; the others take their defaults.

        Raises:
            InvalidArgumentError: The text names the attr or input, its value, and what is allowed.
        """
        found: World | None = None
        try:
            self.values = used = plain_values(op, values)
            listed = op.attr(op.outputs_attr)
            given = used.get(listed.name) if listed is not None else None
            is_open = not given or (not inputs and not has_types(given))
            is_left_out = listed is not None and listed.is_found and is_open
            seen = sampled_values(op, inputs, used) if is_left_out else {}
            sampled = plain_values(op, seen)
            self.values = used = {**used, **sampled}
            if op.is_reader and is_left_open(used):
                found = find_world()
                world = replace(found, rank=0, world_size=1) if _is_for_records(op, used) else found
                used = {**used, "rank": world.rank, "world_size": world.world_size}
            self._create(op, name, inputs, used)
            self.seen: tuple[Any, ...] = ()
            self.found = (*sampled, *self.found)
            self.sampled: Mapping[str, str] = {name: name for name in sampled if name not in values}
            self.notes: Mapping[str, str] = seen.notes if isinstance(seen, Found) else {}
            if not is_left_out:
                sampled_values(op, inputs, used)  # checks those that were given
        except Error as failure:
            if failure.op is None:
                failure.op = op.name
            if any(op.attr(name) is None for name in values):
                failure.message += build_hint()
            say_notes(failure, inputs)
            is_of_world = failure.reason == "world-size" or failure.attr in ("rank", "world_size")
            if found and is_of_world:
                failure.message += (
                    f" (world_size was inferred: {found.source}; where some ranks need the same "
                    "rows, give rank and world_size)"
                )
            raise
        self.worlds: tuple[World, ...] = (
            (found or _given_world(used),)
            if op.is_reader
            else tuple(dict.fromkeys(world for blob in inputs for world in blob.node.worlds))
        )
        upstream = list(dict.fromkeys(blob.node for blob in inputs))
        self.depth: int = 1 + max((node.depth for node in upstream), default=0)
        self.anchors: tuple[Node, ...] = tuple(
            dict.fromkeys(anchor for node in upstream for anchor in node._anchors_to())
        )
        self.outputs = tuple(
            _make_blob(self, index)
            for index, port in enumerate(self.op.outputs)
            if is_present(op, port.name, used)
        )

    def _create(
        self, op: Op, name: str | None, inputs: Sequence[Blob], values: Mapping[str, Plain]
    ) -> None:
        node_name = encode_node_name(name)
        slots, keep = attr_values(values)
        blobs = ffi.new("pfd_blob[]", len(inputs))
        for slot, blob in zip(blobs, inputs, strict=True):
            blob.fill(slot)
        out, err = ffi.new("pfd_node **"), new_error()
        status = lib.pfd_node_create(
            encode(op.name, "op name"),
            node_name,
            slots,
            len(values),
            blobs,
            len(inputs),
            out,
            err,
        )
        keep.clear()  # C used raw pointers into these until here
        try:
            check(status, err)
        except InvalidArgumentError as failure:
            is_of_rows = op.has_many_inputs and not op.is_view and failure.attr is None
            if is_of_rows and 1 < len(inputs) <= _MOST_NAMED:  # C knows their numbers alone
                failure.message += f"; from number 0 on: {', '.join(map(_short, inputs))}"
            raise
        self.handle = ffi.gc(out[0], lib.pfd_node_release)
        self.left_out = _left_out(self.handle)
        found = found_values(self.handle)
        self.values, self.found = {**self.values, **found}, tuple(found)
        self.op = with_ports_of(op, lib.pfd_node_op(self.handle))
        self.name = name or ""
        self.inputs = tuple(inputs)

    @property
    def identity(self) -> Identity | None:
        """The identity of the Python function of the op, or of the object that a reader reads;
        None: it is an op in C.
        """
        objects = [one for one in self.values.values() if isinstance(one, Object)]
        return objects[0].identity if objects else identities.get(self.op.name)

    def __repr__(self) -> str:
        attrs = "".join(f", {name}={shown(value)}" for name, value in self.values.items())
        return f"Node({self.op.name!r}{attrs})"

    def __reduce__(self) -> tuple[Any, ...]:
        kind, _, origin = self.op.origin.partition(" ")
        module = origin.partition(":")[0] if kind == "python" else ""
        op: object = carried_ops.get(self.op.name)
        if op is None:
            op = self.op.name
        values = carried_values(self.op, self.values)
        return _rebuild_node, (self.anchors, op, self.name, self.inputs, values, module)

    def _anchors_to(self) -> tuple[Node, ...]:
        return (*self.anchors, self) if self.depth % _ANCHOR_EVERY == 0 else self.anchors


def _rebuild_node(
    _anchors: Sequence[Node],
    op: str,
    name: str,
    inputs: Sequence[Blob],
    values: Mapping[str, object],
    module: str,
) -> Node:
    if module and module != "__main__":  # which registers its functions as ops
        importlib.import_module(module)
    return Node(find_op(op), name, inputs, values)


def _is_for_records(op: Op, values: Mapping[str, object]) -> bool:
    return not op.is_view and "batch_size" not in values


def check_is_batched(node: Node) -> None:
    """Refuses a reader without a batch_size if there are several ranks."""
    world = node.worlds[0]
    if world.world_size > 1 and is_left_open(node.values) and _is_for_records(node.op, node.values):
        raise InvalidArgumentError(
            f"batch_size was left out, and there are {world.world_size} ranks ({world.source}), "
            "each of which takes its part of every batch: give batch_size, a multiple of "
            f"{world.world_size}; or make a data set of the blobs, flow.Dataset(blobs).batch(n)",
            op=node.op.name,
            attr="batch_size",
        )


def _given_world(values: Mapping[str, Any]) -> World:
    """Rank and world size in attrs that C has accepted."""
    rank, world_size = (operator.index(values[name]) for name in ("rank", "world_size"))
    return World(rank, world_size, "as given")


@dataclass(frozen=True, eq=False, repr=False)
class Blob(BlobHints):
    """One output of a node: a named, typed place in the graph, without data.

    Attributes:
        name: "<name of the node, or of its op>/<output>".
        shape: The logical shape, for all ranks together; the batch dimension comes first.  A
            dimension that varies from row to row is None; the blob is then ragged.
        dtype: The NumPy dtype of the elements.
        node: The node that computes the blob.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: np.dtype[np.generic]
    node: Node
    index: int

    @property
    def batch_size(self) -> int:
        """Records in a batch, of all ranks together."""
        assert self.shape[0] is not None
        return self.shape[0]

    @property
    def is_ragged(self) -> bool:
        """Whether rows differ in shape: then batches are `Ragged`, otherwise NumPy arrays."""
        return None in self.shape

    @property
    def sbp(self) -> str:
        """How ranks share the blob; "split(0)": each rank has a run of the rows."""
        return "split(0)"

    @property
    def dense_row_shape(self) -> tuple[int, ...]:
        """The shape of one row, if all rows have the same shape.

        Raises:
            InvalidArgumentError: The blob is ragged.
        """
        fixed = tuple(size for size in self.shape[1:] if size is not None)
        if self.is_ragged:
            raise InvalidArgumentError(
                f"{self.name} is ragged, its rows are of shape {self.shape[1:]}: arrays of one "
                "shape are needed here, such as `Ragged.to_padded()` makes of its batches"
            )
        return fixed

    @property
    def note(self) -> str:
        """Why its type is perhaps not the wanted type; mostly ""."""
        blob = self
        while blob.node.op.is_view and blob.index < len(blob.node.inputs):
            blob = blob.node.inputs[blob.index]
        return blob.node.notes.get(blob.name.rpartition("/")[2], "")

    def fill(self, slot: CData) -> None:
        """Writes this blob into a `pfd_blob`, which does not keep the node alive."""
        slot.node, slot.output = self.node.handle, self.index

    def __reduce__(self) -> tuple[Any, ...]:
        return _output, (self.node, self.index)

    def __repr__(self) -> str:
        dtype = dtype_name(self.dtype)
        return f"Blob({self.name!r}, shape={self.shape}, dtype={dtype}, sbp={self.sbp!r})"

    def _repr_html_(self) -> str:
        from ..words.html_text import element, table, title

        size = "rows differ in size" if self.is_ragged else f"{self._row_bytes():,} a row"
        rows = [
            ("shape", f"{self.shape}, of all ranks"), ("dtype", dtype_name(self.dtype)),
            ("bytes", size),
            ("node", shown(self.node)),
        ]  # fmt: skip
        return element("div", title(f"Blob {self.name}"), table(rows))

    def _row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.dense_row_shape)


def _make_blob(node: Node, index: int) -> Blob:
    blob, row, err = ffi.new("pfd_blob *"), ffi.new("pfd_row_type *"), new_error()
    blob.node, blob.output = node.handle, index
    batch_size = ffi.new("int64_t *")
    check(lib.pfd_blob_type(blob, row, batch_size, err), err)
    dtype, shape = read_row_type(row)
    return Blob(
        name=f"{node.name or node.op.name}/{node.op.outputs[index].name}",
        shape=(batch_size[0], *shape),
        dtype=dtype,
        node=node,
        index=index,
    )


def _output(node: Node, index: int) -> Blob:
    return next(blob for blob in node.outputs if blob.index == index)


def _left_out(handle: CData) -> tuple[str, ...]:
    count = ffi.new("int64_t *")
    found = lib.pfd_node_left_out(handle, count)
    return tuple(text(found[i]) for i in range(count[0]))


def in_order(wanted: Iterable[OneT], before: Callable[[OneT], Iterable[OneT]]) -> list[OneT]:
    """The wanted objects and everything before them, each once, and after the objects that
    `before()` returns for it.  It does not recurse, so only memory limits the length of a chain.
    """
    found: dict[OneT, None] = {}
    for one in wanted:
        path = [] if one in found else [(one, [*before(one)][::-1])]
        while path:
            last, rest = path[-1]
            while rest and rest[-1] in found:
                rest.pop()
            if rest:
                new = rest.pop()
                path.append((new, [*before(new)][::-1]))  # once: it may make new objects
            else:
                found[last] = None
                path.pop()
    return list(found)


def nodes_of(blobs: Iterable[Blob], *, enters_readers: bool = True) -> list[Node]:
    """The nodes that compute some blobs, each once, and after the nodes of its inputs.

    Args:
        enters_readers: Whether to include the nodes of a data set whose records a reader puts into
            batches.
    """

    def before(node: Node) -> Sequence[Node]:
        enters = enters_readers or not node.op.is_reader
        return [blob.node for blob in node.inputs] if enters else ()

    return in_order((blob.node for blob in blobs), before)


def reader_nodes(blobs: Iterable[Blob]) -> list[Node]:
    """The readers upstream of some blobs, each once; the batches of a data set are one reader."""
    return [node for node in nodes_of(blobs, enters_readers=False) if node.op.is_reader]


def with_reader_attrs(
    blobs: Sequence[Blob], attrs: Callable[[Node], Mapping[str, object]]
) -> tuple[Blob, ...]:
    """The same blobs in a graph whose readers have these attrs in addition to, or in place of,
    their own.

    Args:
        blobs: Blobs of the existing graph, which does not change.
        attrs: The new attrs of the readers.
    """
    return rebuilt(blobs, lambda node: attrs(node) if node.op.is_reader else {})


def rebuilt(
    blobs: Iterable[Blob],
    attrs: Callable[[Node], Mapping[str, object]] = lambda _: {},
    others: Mapping[tuple[Node, int], Blob] | None = None,
    op: Callable[[Node], Op] = operator.attrgetter("op"),
    *,
    enters_readers: bool = False,
) -> tuple[Blob, ...]:
    """The same blobs in a graph that differs in some attrs or blobs; other nodes stay the same.

    Args:
        blobs: Blobs of the existing graph, which does not change.
        attrs: The new attrs of a node.
        others: Blobs in place of some of the graph, by node and number of the output.
        op: The new op of a node, with the same ports and attrs.
        enters_readers: Whether to change also the data set whose records a reader puts into
            batches.
    """
    placed = others or {}
    made: dict[Node, Node] = {}

    def again(blob: Blob) -> Blob:
        if (blob.node, blob.index) in placed:
            return placed[blob.node, blob.index]
        return blob if made[blob.node] is blob.node else _output(made[blob.node], blob.index)

    wanted = list(blobs)
    for node in nodes_of(wanted, enters_readers=enters_readers):
        stays = node.op.is_reader and not enters_readers
        inputs = node.inputs if stays else tuple(again(one) for one in node.inputs)
        given, wanted_op = attrs(node), op(node)
        is_same = not given and all(map(operator.is_, inputs, node.inputs))
        values = {**node.values, **given}
        if is_same and wanted_op is node.op:
            made[node] = node
        else:
            made[node] = Node(wanted_op, node.name, inputs, values)
            made[node].seen = node.seen
    return tuple(again(blob) for blob in wanted)


def is_present(op: Op, output: str, values: Mapping[str, object]) -> bool:
    """Whether a node has this output: some outputs need an attr, see `Op.switch`."""
    switch = op.switch(output)
    return switch is None or bool(values.get(switch.name, switch.default))


# ---- The files of a reader ----------------------------------------------------------------------


def files_of(reader: Node) -> list[str]:
    """The paths of a reader's files; none if it does not read files.

    Raises:
        FileError: Files are missing.
    """
    size, count, err = ffi.new("int64_t *"), ffi.new("int64_t *"), new_error()
    found, room = ffi.NULL, 0
    while True:
        status = lib.pfd_node_files(reader.handle, found, room, size, count, err)
        check(status, err)
        if size[0] <= room:
            break
        room = size[0]
        found = ffi.new("char[]", room)
    paths = bytes(ffi.buffer(found, size[0])).split(b"\0")[: count[0]] if size[0] else []
    return [os.fsdecode(path) for path in paths]


# ---- Data sets in place of blobs ----------------------------------------------------------------


class Records(ABC):
    """The base of data sets, by which ops and loaders recognise a data set among their arguments.
    """

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, object]:
        """The fields by name."""

    @abstractmethod
    def first_batch(self, count: int) -> Mapping[str, Blob]:
        """The fields in a batch of the first records."""


def hint_of(data: Records) -> str:
    """The message that says what to give in place of a data set."""
    first = next(iter(data.fields))
    return (
        f"a {type(data).__name__} was given, which has no batches yet: give data.batch(n), or a "
        f"field of it, as data.batch(n)[{first!r}]"
    )
