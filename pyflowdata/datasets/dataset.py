"""`Dataset`: records in an order, before they have batches."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TYPE_CHECKING, TypeVar, overload

import numpy.typing as npt

from ..errors import InvalidArgumentError, shown
from ..formats import output_names
from .batches import Batches, Packing, batches_of, unknown_method
from ..nodes import Blob, Node, find_op
from ..nodes.argument_hints import says_how
from ..nodes.registry import op_methods
from ..nodes.tables import SupportsArray, is_array
from ..words.remedies import of_hugging_face
from .base import DatasetBase, Shuffle, batch_node, check_attrs
from .caching import Caching
from .reading import FieldBlob
from .regrouping import Regrouping
from .samplers import Samplers
from .views import Selecting, Views, method_of
from .splitting import Splitting
from .value import Value

OwnT = TypeVar("OwnT", bound="Dataset")

_MOST_WORDS = 8  # arguments in a message


class Dataset(Views, Selecting, Splitting, Packing, Caching, Samplers, Regrouping, Value):
    """Records in an order, all with the same fields.  A data set is a value: it has no open files
    and no threads until it is read.

    `data[17]` is a record, `data[10:20]` and `data[[3, 5, 9]]` are data sets of some of them,
    `data["x"]` is a field as a blob for ops, and `data["x"][:5]` its first values.  Views such as
    `take()` make another data set; `batch()` makes the blobs that ops and a `DataLoader` take.
    `flow.open` makes a data set from files, `flow.from_arrays` from arrays, and `Dataset(blobs)`
    from the outputs of a reader, or of ops on them:

        x, y = flow.CSVReader(files="train.csv", columns=["x:float32", "y:int64"])
        data = flow.Dataset({"x": x, "y": y})
    """

    def __init__(
        self, blobs: Blob | Sequence[Blob] | Mapping[str, Blob], shuffle: Shuffle | None = None
    ) -> None:
        """Args:
            blobs: The outputs of a reader without attrs of batches and shuffles, of ops on these
                outputs, or of views.  A mapping gives the fields their names.
            shuffle: For the methods of this class.

        Raises:
            InvalidArgumentError: The blobs do not come from one reader or view, or they come in
                batches.
        """
        if isinstance(blobs, Blob):
            blobs = [blobs]
        if isinstance(blobs, Batches):
            blobs = blobs.blobs
        if not isinstance(blobs, (Mapping, list, tuple)):
            raise InvalidArgumentError(
                f"Dataset({shown(blobs)}): give the blobs of a reader, a tuple or a dict of them; "
                f"flow.open() makes a data set of files{of_hugging_face(blobs)}"
            )
        for blob in blobs.values() if isinstance(blobs, Mapping) else blobs:
            _check_blob(blob)
        if not isinstance(blobs, Mapping):
            blobs = {blob.name.rpartition("/")[2]: blob for blob in blobs}
        nodes = {blob.node for blob in blobs.values()}
        if len(nodes) > 1 or any(one.op.is_reader or not one.op.is_view for one in nodes):
            _check_records(blobs)
        super().__init__(blobs, shuffle)

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: str) -> FieldBlob: ...

    @overload
    def __getitem__(
        self: OwnT, key: slice | Sequence[int] | npt.NDArray[Any] | SupportsArray
    ) -> OwnT: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self._field_blob(key)
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        if isinstance(key, (list, tuple)) or is_array(key):
            return self._selection(key)
        try:
            place = operator.index(key)
        except TypeError:
            raise TypeError(
                f"data[{shown(key)}]: give a number for a record, a slice or a list of numbers for "
                "a data set of some of them, or the name of a field for its blob"
            ) from None
        return self.record(place)

    def _selection(self: OwnT, key: Any) -> OwnT:
        names = [] if is_array(key) else [one for one in key if isinstance(one, str)]
        if names:
            raise TypeError(
                f"data[{shown(key)}]: project() makes a data set of some fields, and "
                f"data.batch(n)[{shown(names)}] takes their batches"
            )
        return self.select(key)

    def __add__(self: OwnT, other: DatasetBase) -> OwnT:
        """`a + b` is `a.concat(b)`."""
        return self.concat(other) if isinstance(other, DatasetBase) else NotImplemented

    if not TYPE_CHECKING:  # a type checker finds unknown names by itself

        def __getattr__(self, name: str) -> NoReturn:
            said = unknown_method(name, dir(type(self)), self.__dict__.get("_fields", ()))
            raise AttributeError(said, name=name, obj=None)

    @says_how("data.batch(32), or data.shuffle().batch(32)")
    def batch(
        self,
        batch_size: int,
        *,
        last: str = "short",
        seed: int | None = None,
        name: str | None = None,
        **attrs: Any,
    ) -> Batches:
        """The blobs of batches of the records, one for each field.

        Args:
            batch_size: Records in a batch, of all ranks together.
            last: What happens to the last records of an epoch: "short", "drop", "pad", "wrap" or
                "even", as last_batch of readers.
            seed: The seed of random ops, and of a shuffle that has no seed.  None: the seed of the
                shuffle, or a drawn seed if the shuffle has none.
            name: The name of the node.
            **attrs: Other attrs of every reader: rank, world_size, on_error, with_mask, with_id ...

        Raises:
            InvalidArgumentError: An attr is wrong.
        """
        check_attrs(attrs)
        self._check_files()
        given = {"batch_size": batch_size, "last_batch": last, **attrs}
        if seed is not None:
            given["seed"] = seed
        node = batch_node(self._fields, self, given, name=name)
        return batches_of(node, self._fields)


def _form_of(method: Callable[..., Any]) -> str:
    """The form of a call of a method: data.windows(length, step=..., last=...)."""
    own = list(inspect.signature(method).parameters.values())[1:]
    words = [one.name if one.kind is one.POSITIONAL_OR_KEYWORD and one.default is one.empty
             else f"*{one.name}" if one.kind is one.VAR_POSITIONAL else f"{one.name}=..."
             for one in sorted(own, key=lambda one: one.default is not one.empty)
             if one.kind is not one.VAR_KEYWORD]  # fmt: skip
    few = words if len(words) <= _MOST_WORDS else [*words[:_MOST_WORDS], "..."]
    return f"data.{method.__name__}({', '.join(few)})"


# The method of a view that needs no more than the attrs of its op is made of the op.
for _method, _op in op_methods().items():
    if not hasattr(Dataset, _method):
        setattr(Dataset, _method, method_of(find_op(_op)))

# A call that does not fit a method is answered with its form.
for _name, _own in inspect.getmembers(Dataset, inspect.isfunction):
    if not _name.startswith("_") and _name != "record" and not hasattr(_own, "__wrapped__"):
        setattr(Dataset, _name, says_how(_form_of)(_own))  # record() is called often


def _check_records(blobs: Mapping[str, Blob]) -> None:
    """Refuses batches, a random order, and the fields of several readers, as views do."""
    try:
        attrs = {"fields": output_names(blobs), "count": 0}
        Node(find_op("TakeDataset"), None, list(blobs.values()), attrs)
    except InvalidArgumentError as failure:
        failure.op = "Dataset"
        raise


def _check_blob(blob: object) -> None:
    if not isinstance(blob, Blob):
        raise InvalidArgumentError(
            f"{shown(blob)} was given as a field; it must be a blob, as readers and ops return it"
        )
