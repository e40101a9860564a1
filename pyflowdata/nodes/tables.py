"""Arrays of the program that are values of attrs, such as the weights of a sampler."""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..native import check, ffi, lib, new_error, xxh64
from .node import Blob, Node, nodes_of
from .objects import Object
from .python_ops import all_in_use
from .row_types import dtype_number

Array = npt.NDArray[Any]


class SupportsArray(Protocol):
    """An array, or a tensor of another library."""

    def __array__(self, dtype: Any = None, /) -> Any: ...


def is_array(given: object) -> bool:
    """Whether it is an array, or a tensor of another library, of a dimension or more."""
    is_tensor = any(hasattr(type(given), name) for name in ("__array__", "__dlpack__"))
    return is_tensor and len(getattr(given, "shape", ())) > 0


def array_of(given: Any, what: str) -> Array:
    """An array, a list, an iterator, or a tensor of another library on the CPU, as an array.

    Tensors are read through `__array__` or DLPack, without an import of their library, and without
    a copy if possible.

    Raises:
        InvalidArgumentError: The value cannot become an array; the text begins with `what`.
    """
    kind = type(given)
    try:
        if hasattr(kind, "__dlpack__") and not hasattr(kind, "__array__"):
            return np.from_dlpack(given)
        return np.asarray(list(given) if isinstance(given, Iterator) else given)
    except (BufferError, RuntimeError, TypeError, ValueError) as failure:
        raise InvalidArgumentError(f"{what}: this is not an array: {failure}") from None


class Prepared(ABC):
    """A value of an attr that makes the file of a reader before a loader opens.

    Attributes:
        fields: The blobs whose records are in the file.
        said: The text for the reader in pictures of a graph, as "cache('disk')".
    """

    fields: Mapping[str, Blob]
    said: str

    @abstractmethod
    def prepare(self) -> None:
        """Called for each loader; the loader raises the exceptions of this call."""


class Table:
    """A one-dimensional array that a view needs, made when a loader first needs it.

    It may be a value of several nodes.  It is immutable, and is pickled with its contents.

    Attributes:
        said: The text of its view in `repr`, as "where('label != 3')"; "": no text.
        identity: Tables of one identity have the same contents for the same records.
        rule: The version of the rule that computes it; 0: it has no versions.
        state: The state of the data that it was computed from; (): the data never change.
    """

    def __init__(
        self,
        source: Array | Callable[[], Array],
        *,
        said: str = "",
        key: Hashable = None,
        state: Callable[[], tuple[Any, ...]] = tuple,
        rule: int = 0,
    ) -> None:
        """Args:
        source: The array, or a function that makes it, which is called once.
        said, rule: As the attributes.
        key: A text that differs for computed tables that may differ for the same records; None: not
            known.
        state: Returns the state of the data that the function reads; if it changes, the function is
            called again.
        """
        self.said, self.rule, self._key, self.state_now = said, rule, key, state
        self.state: tuple[Any, ...] = ()
        self._former: list[Array] = []  # open loaders may still read them
        self._source: Array | Callable[[], Array] | None = source
        self._array: Array | None = None
        self._fingerprint = 0
        self.identity: Hashable = id(self) if key is None else key
        if not callable(source):
            self._set(source)
            if key is None:
                self.identity = self.contents_key

    def _set(self, array: Array) -> None:
        array = np.ascontiguousarray(array)
        if array.ndim != 1 or not dtype_number(array.dtype):
            raise InvalidArgumentError(
                f"an array of shape {array.shape} and dtype {array.dtype} was given; it must have "
                "one dimension and numbers of the machine's byte order"
            )
        if self._array is not None:
            self._former.append(self._array)
        self._array = array
        self._fingerprint = xxh64(array)

    @property
    def array(self) -> Array:
        """The contents; computed by the first call, and again if the state has changed."""
        state = self.state_now()
        if self._array is None or state != self.state:
            assert callable(self._source)
            self._set(self._source())
            self.state = state
            if self.state_now is tuple:
                self._source = None
        assert self._array is not None
        return self._array

    @property
    def contents_key(self) -> Hashable:
        """Equal for tables of equal contents; computes them as `array` does."""
        array = self.array
        return str(array.dtype), array.size, self._fingerprint

    def put(self, number: int) -> None:
        """Registers the table in C as the object with this number."""
        array = self.array
        table, err = ffi.new("pfd_table *"), new_error()
        table.data = ffi.from_buffer(array)
        table.count, table.dtype = array.size, dtype_number(array.dtype)
        table.fingerprint, table.rule = self._fingerprint, self.rule
        check(lib.pfd_table_put(number, table, err), err)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_table, (self.array, self.said, self._key, self.rule)

    def __repr__(self) -> str:
        return f"Table({shown(self._array) if self._array is not None else 'not computed yet'})"


def _make_table(array: Array, said: str, key: Hashable, rule: int = 0) -> Table:
    return Table(array, said=said, key=key, rule=rule)


def prepare_tables(blobs: Iterable[Blob]) -> None:
    """Computes the tables of all nodes upstream that need it, and registers all tables in C. Also
    prepares other values that need it.  Exceptions of computing functions pass through.
    """
    with all_in_use():  # a table needs all records, also for a look at a few ones
        for node in nodes_of(blobs):
            _prepare(node)


def _prepare(node: Node) -> None:
    for value in node.values.values():
        if not isinstance(value, Object):
            continue
        if node.op.is_view and not isinstance(value.value, (Table, Prepared)):
            given = array_of(value.value, node.op.name)
            value.value = Table(np.array(given))  # a copy of what the user may change
        if isinstance(value.value, Prepared):
            value.value.prepare()
    put_tables(node.values)


def put_tables(values: Mapping[str, object]) -> None:
    """Registers the tables among the values of attrs in C, as long as the values live."""
    for value in values.values():
        if isinstance(value, Object) and isinstance(value.value, Table):
            value.value.put(value.number)
            weakref.finalize(value, lib.pfd_table_drop, value.number)
