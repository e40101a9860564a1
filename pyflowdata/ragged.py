"""Batches whose rows differ in shape."""

from __future__ import annotations

import io
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt


# ---- Wrong uses ---------------------------------------------------------------------------------

# Rows of one shape compute as `dense` does.  Messages for a Ragged of other rows that is used like
# an array: rows of different lengths have no sums.

_ClassT = TypeVar("_ClassT", bound=type)

_AS_ARRAY = (
    "np.asarray(a) is an array where all rows are of one shape, a.to_padded() one with a mask, and "
    "a.values has the elements of all rows"
)
_SIGNS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_REFLECTED = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")


def _refuse_index(index: object) -> NoReturn:
    """Raises TypeError for an index that is neither the number of a row nor a slice."""
    if isinstance(index, tuple) and index and all(isinstance(one, int) for one in index):
        said = "an element is a[row][place]"
    else:
        said = "several rows are [a[row] for row in rows]"
    raise TypeError(
        f"a Ragged takes the number of a row or a slice, and this is a {type(index).__name__}: "
        f"{said}; {_AS_ARRAY}"
    ) from None


def _refuse_attribute(name: str) -> NoReturn:
    """Raises AttributeError; for attributes of arrays the message says how the Ragged becomes an
    array.
    """
    said = f"a Ragged has no attribute '{name}'"
    is_of_arrays = not name.startswith("_") and hasattr(np.ndarray, name)
    raise AttributeError(f"{said}: {_AS_ARRAY}" if is_of_arrays else said)


def _computes_as_dense(cls: _ClassT) -> _ClassT:
    """Makes the operators with a number, a list or another Ragged; arrays and tensors have their
    own.
    """
    for name, sign in _SIGNS.items():
        setattr(cls, f"__{name}__", _operator(cls, f"__{name}__", sign))
    for name in _REFLECTED:
        setattr(cls, f"__r{name}__", _operator(cls, f"__r{name}__", _SIGNS[name]))
    return cls


def _operator(cls: type, name: str, sign: str) -> Callable[[Any, object], Any]:
    def operate(self: Any, other: Any) -> Any:
        if isinstance(other, (str, bytes)) and sign in ("==", "!="):
            return _equal_texts(self, other, sign == "==")
        if not isinstance(other, (int, float, list, cls)) or isinstance(other, np.generic):
            return NotImplemented
        try:
            dense, other = self.dense, getattr(other, "dense", other)
        except ValueError:
            raise TypeError(f"a Ragged of rows that differ has no operator {sign}: {_AS_ARRAY}") \
                from None
        return getattr(dense, name)(other)

    return operate


def _equal_texts(rows: Any, other: str | bytes, is_equal: bool) -> Any:
    """A bool for each row of bytes; a str stands for its UTF-8."""
    wanted = other.encode() if isinstance(other, str) else other
    return np.array([(row == wanted) is is_equal for row in rows.to_bytes_list()], np.bool_)


# ---- Ragged -------------------------------------------------------------------------------------

_Array = npt.NDArray[Any]
_Integers = npt.NDArray[np.int64]
_ROWS_SHOWN, _ELEMENTS_SHOWN = 5, 8  # in notebooks


@_computes_as_dense
class Ragged:
    """Rows of different shapes: the elements of all rows one after another, and the row offsets.

    If only the first dimension of a row varies, `values` has the fixed dimensions after its first
    one, and row i is `values[row_splits[i]:row_splits[i + 1]]`.  Otherwise `values` is flat,
    `row_splits` count its elements, and each row is reshaped to its own shape.

    If all rows have one shape, such as the rows of PadBatch, they form an array:
    `np.asarray(ragged)`, or `dense`, of shape (rows, *shape of a row).  Operators, such as `ragged
    != 0`, compute with this array, and raise TypeError if rows differ in shape.  Rows of bytes can
    be compared with bytes or a str (in UTF-8): `ragged == "a"` gives a bool for each row.

    The arrays that a loader delivers are views of its memory, without a copy.  They are writable,
    and belong to the caller until all of them are collected, like the arrays of other blobs.

    Attributes:
        values: The elements, C-contiguous; of shape (n, *fixed dimensions) or (n,).
        row_splits: int64 of shape (rows + 1,); the first is 0, the last is n.
        row_shape: Shape of a row, with None for dimensions that vary.
    """

    __slots__ = ("_shapes", "row_shape", "row_splits", "values")

    def __init__(
        self,
        values: _Array,
        row_splits: _Integers,
        *,
        row_shape: Sequence[int | None] | None = None,
        shapes: _Integers | None = None,
    ) -> None:
        """Takes arrays as they are, without a copy.

        Args:
            values: As the attribute.
            row_splits: As the attribute.
            row_shape: None: `(None, *values.shape[1:])`.
            shapes: int64 of shape (rows, dimensions of a row); needed unless only the first
                dimension varies.

        Raises:
            TypeError: values or row_splits are not arrays.
            ValueError: The shapes of the arrays do not match; their values are not checked.
        """
        if not isinstance(values, np.ndarray):
            raise TypeError(f"values is a {type(values).__name__}; it must be an array of NumPy")
        if not isinstance(row_splits, np.ndarray):
            raise TypeError(
                f"row_splits is a {type(row_splits).__name__}; it must be an array of NumPy"
            )
        if row_splits.ndim != 1 or not len(row_splits):
            raise ValueError(
                f"row_splits is of shape {row_splits.shape}; it must be (rows + 1,), [0] of no rows"
            )
        self.values = values
        self.row_splits = row_splits
        follows = (None, *values.shape[1:])
        self.row_shape = follows if row_shape is None else tuple(row_shape)
        self._shapes = shapes
        if shapes is None:
            if self.row_shape != follows:
                raise ValueError(
                    f"rows of shape {self.row_shape} do not follow from values of shape "
                    f"{values.shape} and row_splits alone; give shapes"
                )
            return
        wanted = (len(row_splits) - 1, len(self.row_shape))
        if shapes.shape != wanted or values.ndim != 1:
            raise ValueError(
                f"shapes are of shape {shapes.shape} and values of {values.shape}; they must be "
                f"{wanted} and flat"
            )

    @classmethod
    def concatenate(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of several Raggeds with the same dtype and row_shape, one after another.

        Raises:
            ValueError: There is no Ragged, so dtype and row_shape are unknown.
        """
        if not parts:
            raise ValueError("concatenate() of no Ragged: the type of its rows is not known")
        first, ends = parts[0], np.cumsum([part.row_splits[-1] for part in parts])
        later = [part.row_splits[1:] + end for part, end in zip(parts[1:], ends, strict=False)]
        shapes = [part._shapes for part in parts if part._shapes is not None]
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([first.row_splits, *later]),
            row_shape=first.row_shape,
            shapes=np.concatenate(shapes) if shapes else None,
        )

    # ---- Rows ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.row_splits) - 1

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> _Array: ...

    @overload
    def __getitem__(self, index: slice, /) -> Ragged: ...

    def __getitem__(self, index: SupportsIndex | slice, /) -> _Array | Ragged:
        """Row `index` in its own shape, or the rows of a slice with step 1: views of `values`.

        Raises:
            IndexError: There is no such row.
            TypeError: It is neither a number nor a slice.
            ValueError: The step of a slice is not 1.
        """
        if isinstance(index, slice):
            return self._slice(index)
        try:
            row, rows = operator.index(index), len(self)
        except TypeError:
            _refuse_index(index)
        if not -rows <= row < rows:
            raise IndexError(f"row {row} of a Ragged of {rows} rows")
        row %= rows
        begin, end = self.row_splits[row], self.row_splits[row + 1]
        values = self.values[begin:end]
        return values if self._shapes is None else values.reshape(self._shapes[row])

    def _slice(self, index: slice) -> Ragged:
        begin, end, step = index.indices(len(self))
        if step != 1:
            raise ValueError(f"a slice of a Ragged has step 1, not {step}")
        splits = self.row_splits[begin : max(begin, end) + 1]
        return Ragged(
            self.values[splits[0] : splits[-1]],
            splits - splits[0],
            row_shape=self.row_shape,
            shapes=None if self._shapes is None else self._shapes[begin : max(begin, end)],
        )

    def __iter__(self) -> Iterator[_Array]:
        """Row after row, as views."""
        for row in range(len(self)):
            yield self[row]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            _refuse_attribute(name)

    # ---- Facts --------------------------------------------------------------------------------

    @property
    def lengths(self) -> _Integers:
        """int64 of shape (rows,): the length of each row in `values`."""
        return self.row_splits[1:] - self.row_splits[:-1]  # a third of the time of np.diff()

    @property
    def shapes(self) -> _Integers:
        """int64 of shape (rows, dimensions of a row): the shape of each row."""
        if self._shapes is not None:
            return self._shapes
        shapes = np.empty((len(self), len(self.row_shape)), np.int64)
        shapes[:, 0] = self.lengths
        shapes[:, 1:] = self.values.shape[1:]
        return shapes

    @property
    def shape(self) -> tuple[int | None, ...]:
        """(rows, *row_shape)."""
        return (len(self), *self.row_shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the elements of all rows."""
        return self.values.nbytes

    @property
    def dense(self) -> _Array:
        """The rows as one array of shape (rows, *shape of a row), a view of `values`.

        All rows must have the same shape, like those of PadBatch.

        Raises:
            ValueError: Two rows differ in shape; `to_padded()` makes a padded copy.
        """
        shapes = self.shapes
        if not len(shapes):
            return self.values.reshape(0, *(size or 0 for size in self.row_shape))
        differing = np.flatnonzero((shapes != shapes[0]).any(axis=1))
        if differing.size:
            row = int(differing[0])
            raise ValueError(
                f"row 0 has shape {tuple(shapes[0].tolist())} and row {row} has "
                f"{tuple(shapes[row].tolist())}: they do not form an array; use .to_padded() or "
                ".tolist(), or PadBatch in the graph"
            )
        return self.values.reshape(len(self), *shapes[0].tolist())

    def __repr__(self) -> str:
        return f"Ragged(shape={self.shape}, dtype={self.dtype}, nbytes={self.nbytes})"

    def _repr_html_(self) -> str:
        """For notebooks: the repr(), and the beginning of the first rows."""
        from .words.html_text import code, element, note, table, title

        rows = []
        for index in range(min(len(self), _ROWS_SHOWN)):
            row = self[index]
            first = ", ".join(map(str, row.ravel()[:_ELEMENTS_SHOWN]))
            rest = ", ..." if row.size > _ELEMENTS_SHOWN else ""
            rows.append((index, str(row.shape), code(f"{first}{rest}")))
        more = f"and {len(self) - _ROWS_SHOWN} more rows" if len(self) > _ROWS_SHOWN else ""
        head = ("row", "shape", "elements")
        return element("div", title(repr(self)), table(rows, head) if rows else "", note(more))

    # ---- Copies -------------------------------------------------------------------------------

    def to_padded(self, value: Any = 0) -> tuple[_Array, npt.NDArray[np.bool_]]:
        """A dense copy, in which each dimension is as large as in the largest row, and a mask of
        the real elements.

        Args:
            value: The value of the padding.

        Returns:
            Array of shape (rows, *largest), and a mask of the same shape without the fixed
            dimensions at its end: of shape (rows, longest) where only the first one varies.
        """
        shapes = self.shapes
        largest = shapes.max(axis=0, initial=0)
        for axis, fixed in enumerate(self.row_shape):
            largest[axis] = largest[axis] if fixed is None else fixed
        dense = np.full((len(self), *largest), value, self.dtype)
        num_axes = max(axis for axis, fixed in enumerate(self.row_shape) if fixed is None) + 1
        mask = np.ones((len(self), *largest[:num_axes]), np.bool_)
        for axis in range(num_axes):
            is_real = np.arange(largest[axis]) < shapes[:, axis, np.newaxis]
            others = [1] * num_axes
            others[axis] = largest[axis]
            mask &= is_real.reshape(len(self), *others)
        # Both go through the elements row after row, each row in C order.
        dense[mask] = self.values.reshape(np.count_nonzero(mask), *dense.shape[mask.ndim :])
        return dense, mask

    def tolist(self) -> list[Any]:
        """The rows as nested lists of Python numbers, of any shapes."""
        return [row.tolist() for row in self]

    to_list = tolist

    def to_bytes_list(self) -> list[bytes]:
        """The rows of one dimension of bytes as `bytes`.

        Raises:
            TypeError: The rows are not uint8 or int8 of one dimension.
        """
        if self.dtype.itemsize != 1 or self.dtype.kind not in "ui" or len(self.row_shape) != 1:
            raise TypeError(f"{self!r} has no rows of bytes; they must be uint8 of one dimension")
        take = io.BytesIO(self.values.tobytes()).read  # half of the time of slices
        return list(map(take, self.lengths.tolist()))

    # ---- As an array --------------------------------------------------------------------------

    def __array__(
        self, dtype: npt.DTypeLike | None = None, *, copy: bool | None = None
    ) -> _Array:
        """`np.asarray(ragged)` is `dense`: a view, unless another dtype or a copy is requested.

        Raises:
            ValueError: Two rows differ in shape, or copy=False and the dtype is another one.
        """
        dense = self.dense
        wanted = dense.dtype if dtype is None else np.dtype(dtype)
        if copy is False and wanted != dense.dtype:
            raise ValueError(f"copy=False, and {dense.dtype} as {wanted} takes a copy")
        return dense.astype(wanted, copy=bool(copy))

    def __dlpack__(self, **options: Any) -> Any:
        """`torch.from_dlpack(ragged)` and `torch.as_tensor(ragged)` take `dense`.

        Raises:
            ValueError: Two rows differ in shape.
        """
        return self.dense.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, Any]:
        """Host memory."""
        return self.values.__dlpack_device__()
