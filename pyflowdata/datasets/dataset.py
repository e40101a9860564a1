"""`Dataset`: records in an order, before they have batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

from ..graph import Blob
from .base import Shuffle, described
from .batches import Batches, batch_node, batches_of
from .caching import Caching
from .mapping import Maps, Outputs, SampleBatch, chosen, computed
from .mixing import mix_lines
from .packing import Packing
from .reading import batch_node
from .samplers import Samplers
from .selecting import Selecting
from .views import Views

OwnT = TypeVar("OwnT", bound="Dataset")


class Dataset(Views, Selecting, Packing, Caching, Samplers, Maps):
    """Records in an order, each with the same fields: a value, without open files or threads of its
    own until it is read.

    `data[17]` is a record, `data[10:20]` a data set of some of them, `data["x"]` a field as a blob
    for ops.  Views such as `take()` make another data set; `batch()` makes the blobs that ops and a
    `DataLoader` take.  `flow.open` makes one of files; `Dataset(blobs)` one of what a reader gives,
    or ops make of it:

        x, y = flow.CsvReader(files="train.csv", fields=["x:float32", "y:int64"])
        data = flow.Dataset({"x": x, "y": y})
    """

    def __init__(
        self, blobs: Blob | Sequence[Blob] | Mapping[str, Blob], shuffle: Shuffle | None = None
    ) -> None:
        """Args:
            blobs: What a reader without batch and shuffle attrs gives, or ops make of it, or views;
                a mapping gives the fields their names.
            shuffle: For the methods of this class.

        Raises:
            InvalidArgumentError: They are not of one reader or view, or come in batches.
        """
        if isinstance(blobs, Blob):
            blobs = [blobs]
        if not isinstance(blobs, Mapping):
            blobs = {blob.name.rpartition("/")[2]: blob for blob in blobs}
        super().__init__(blobs, shuffle)

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: str) -> Blob: ...

    @overload
    def __getitem__(self: OwnT, key: slice) -> OwnT: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return self.blob(key)
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        return self.record(key)

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
            last: What becomes of an epoch's last records: "short", "drop", "pad" or "wrap".
            seed: Of random ops, and of a shuffle without its own; None: that of the shuffle, else
                one is drawn.
            name: Of the node.
            **attrs: Other attrs of every reader: rank, world_size, on_error, with_mask, with_id ...

        Raises:
            InvalidArgumentError: An attr is wrong.
        """
        given = {"batch_size": batch_size, "last_batch": last, **attrs}
        if seed is not None:
            given["seed"] = seed
        node = batch_node(self._fields, self, given, name=name)
        return batches_of(node, self._fields)

    def __repr__(self) -> str:
        lines = mix_lines(self, lambda blobs: len(type(self)(blobs)))
        return "\n  ".join([f"Dataset({described(self)})", *lines])
