"""The blobs of a data set's batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex, overload

from ..errors import InvalidArgumentError
from .method_hints import unknown_of_batches
from ..nodes import Blob, Node
from ..nodes.registry import HOST_OUTPUTS
from ..words.plain_text import no_field
from .map_types import Outputs, SampleBatch
from .mapping import Maps, chosen, computed

_OF_DATA = ("shuffle", "take", "skip", "where", "repeat", "concat", "zip", "split", "sample",
            "cache")  # fmt: skip


class Batches(tuple[Blob, ...]):
    """The blobs of a data set's batches, in the order of its fields: `x, y = data.batch(64)`.

    `batches["x"]` is the blob of a field, `batches[["x", "y"]]` those of several, and
    `batches.blobs` all of them by name, as a DataLoader takes them.
    """

    blobs: dict[str, Blob]

    def __new__(cls, blobs: Mapping[str, Blob]) -> Batches:
        self = super().__new__(cls, blobs.values())
        self.blobs = dict(blobs)
        return self

    @overload
    def __getitem__(self, key: SupportsIndex | str, /) -> Blob: ...

    @overload
    def __getitem__(self, key: list[str] | slice, /) -> tuple[Blob, ...]: ...

    def __getitem__(self, key: Any, /) -> Any:
        if isinstance(key, str):
            if key not in self.blobs:
                raise InvalidArgumentError(no_field(key, self.blobs))
            return self.blobs[key]
        if isinstance(key, list):
            return tuple(self[name] for name in key)
        return super().__getitem__(key)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            said = unknown_of_batches(
                name, self.__dict__.get("blobs", ()), hasattr(Maps, name) or name in _OF_DATA
            )
            raise AttributeError(said, name=name, obj=None)

    def map(
        self,
        function: Callable[..., Any],
        *fields: str,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> Batches:
        """`Dataset.map` of whole batches: a Python function gets and returns arrays of all rows
        that this rank has of a batch, with the rows in the first dimension, or a `Ragged`.

        The number of rows stays the same.
        """
        names = chosen(self.blobs, fields)
        first = SampleBatch([self.blobs[one] for one in names])
        made = computed(self.blobs, names, function, outputs, processes, name, attrs, first)
        return Batches({**self.blobs, **made})

    def __reduce__(self) -> tuple[Any, ...]:
        return Batches, (self.blobs,)


def batches_of(node: Node, fields: Mapping[str, Blob]) -> Batches:
    """The outputs of such a node by the names of the fields; then mask and id, if it has them."""
    named = dict(zip(fields, node.outputs, strict=False))
    for blob in node.outputs:
        port = blob.name.rpartition("/")[2]
        if port in HOST_OUTPUTS:
            if port in fields:
                raise InvalidArgumentError(
                    f"with_{port}=True gives a blob '{port}', and there is a field of this name: "
                    "rename() it"
                )
            named[port] = blob
    return Batches(named)
