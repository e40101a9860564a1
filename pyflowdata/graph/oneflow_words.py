"""OneFlow's words that are not those of the registry: names of attrs, seeds of ops, `coin_flip`.

Only the op builder accepts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InvalidArgumentError
from .node import Blob, Node, reader_nodes
from .registry import Op

# OneFlow's name of an attr -> the name here, for ops without an attr of the first name.  Here
# `name` is that of a node, and dtypes have NumPy's names.
_ATTRS = {"name": "blob_name", "data_type": "dtype"}


def name_of_attr(op: Op, name: str) -> str:
    """The op's name of an attr."""
    other = _ATTRS.get(name, name)
    return other if op.attr(name) is None and op.attr(other) is not None else name


def without_seed(op: Op, values: Mapping[str, Any]) -> dict[str, Any]:
    """The attrs of an op that draws by the seed of its reader, without OneFlow's own seed.

    Raises:
        InvalidArgumentError: A seed is given that would have an effect in OneFlow.
    """
    if op.is_reader or op.attr("has_seed") is not None or "has_seed" not in values:
        return dict(values)
    if values["has_seed"]:
        raise InvalidArgumentError(
            "attr 'has_seed' is set; ops draw by the seed of their reader: give it that seed, and "
            "has_seed = False here",
            op=op.name,
        )
    return {name: value for name, value in values.items() if name not in ("seed", "has_seed")}


class CoinFlips:
    """The output of OneFlow's `coin_flip`, which has no input.

    Which records it draws for is known when it becomes an input of another op: those of that op's
    other inputs.  From then on it is the blob of one node.
    """

    def __init__(self, op: Op, name: str | None, values: Mapping[str, Any]) -> None:
        self._op, self._name = op, name
        self._values = dict(values)
        self._batch_size = self._values.pop("batch_size", None)
        self._blob: Blob | None = None
        self.name = f"{name or op.name}/{op.outputs[0].name}"

    def blob_beside(self, other: Blob) -> Blob:
        """The blob of the draws for the records of `other`."""
        reader = reader_nodes([other])[0]
        if self._blob is None:
            if self._batch_size not in (None, other.batch_size):
                raise InvalidArgumentError(
                    f"batch_size = {self._batch_size}; {other.name}, beside which it is used, has "
                    f"batches of {other.batch_size}",
                    op=self._op.name,
                )
            self._blob = Node(self._op, self._name, reader.outputs[:1], self._values).outputs[0]
        elif reader not in reader_nodes([self._blob]):
            raise InvalidArgumentError(
                f"{self.name} is used for the records of two readers; build one for each",
                op=self._op.name,
            )
        return self._blob


def bound_inputs(op: Op, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of an op, with a blob in place of each `CoinFlips`."""
    blobs = [blob for blob in inputs.values() if isinstance(blob, Blob)]
    flips = [name for name, blob in inputs.items() if isinstance(blob, CoinFlips)]
    if flips and not blobs:
        raise InvalidArgumentError(
            f"input '{flips[0]}' is of a coin_flip without input; give that one the input 'in', a "
            "blob of the records",
            op=op.name,
        )
    return {name: inputs[name].blob_beside(blobs[0]) if name in flips else inputs[name]
            for name in inputs}  # fmt: skip
