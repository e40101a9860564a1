"""Lengths of rows, in the order of views.

A view that plans by lengths, such as packs, needs the length of each row of the first epoch.  The
lengths of the records of a source are a column, which is kept on disk.  For views that draw, such
as a mix, the same views over a data set of lengths bring that column into the order of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import InvalidArgumentError
from ..formats import array_blob, lengths_of
from ..nodes import Blob, Node, find_op
from ..nodes.file_states import state_of_files
from ..nodes.node import in_order, rebuilt
from ..nodes.tables import Table
from .columns import Computation, drawing_view, empty_of, evaluate, has_no_seed, only_column
from .fingerprints import of_blobs


def with_known_order(blobs: Mapping[str, Blob]) -> dict[str, Blob]:
    """The same fields in an order that does not depend on the seed of the batches: views that would
    take that seed get the seed 0.
    """

    def seed_of(node: Node) -> dict[str, object]:
        has_none = node.op.is_view and node.op.attr("seed") is not None and has_no_seed(node)
        return {"seed": 0} if has_none else {}

    return dict(zip(blobs, rebuilt(blobs.values(), seed_of), strict=True))


def row_lengths(blob: Blob, said: str = "") -> Table:
    """The length of each row of a field in the first epoch, computed when a loader first needs it.

    Args:
        blob: A field of a data set, as `with_known_order()` returns it.
        said: As the attribute of the table.

    Raises:
        InvalidArgumentError: The rows are made from parts of records that a view draws.
    """
    if drawing_view([blob]) is not None:
        lengths, key, name = _lengths_in_order(blob), None, f"lengths of {blob.name}"
    else:
        lengths, key = lengths_of(blob), "blob"
        name = lengths.name
    wanted = Computation({"value": lengths}, only_column, key, name, empty_of(lengths))
    graph = of_blobs({"value": lengths_of(blob)})
    return Table(
        lambda: evaluate(wanted, wanted.blobs).astype(np.int64, copy=False),
        said=said,
        key=None if graph is None else ("lengths", graph),
        state=lambda: state_of_files([blob]),
    )


def _lengths_in_order(blob: Blob) -> Blob:
    """A field with the lengths of the rows of another one, in the same order.

    An op on a row gives the same before and after a view, so ops are moved to the sources below the
    views.
    """
    below: dict[Blob, list[Blob]] = {}
    made: dict[Blob, Blob] = {}

    def sources(one: Blob) -> list[Blob]:
        below[one] = [] if drawing_view([one]) is None else _below_view(one)
        return below[one]

    for one in in_order([blob], sources):
        if below[one]:
            made[one] = _same_view(_outputs_used(one)[0].node, [made[of] for of in below[one]])
        else:
            made[one] = array_blob(row_lengths(one), Table(np.empty(0, np.int64)), "int64", [])
    return made[blob]


def _below_view(blob: Blob) -> list[Blob]:
    """The field in each source of the view that gives it."""
    used = _outputs_used(blob)
    view = used[0].node
    divided = view.values.get("divided") or []
    assert isinstance(divided, list)
    is_joined = view.op.name in ("PackDataset", "WindowDataset")
    if is_joined or any(
        one.node is not view or one.index in divided or one.index >= len(view.inputs)
        for one in used
    ):
        raise InvalidArgumentError(
            f"the lengths of {blob.name} are not known: its rows are made of parts, or of several "
            f"records, of what a view draws; pack or map before that view, or give lengths=array"
        )
    num_sources = int(str(view.values.get("num_sources", 1)))
    width = len(view.inputs) // num_sources
    outputs = [(view, one.index) for one in view.outputs]
    placed = (
        dict(zip(outputs, view.inputs[s * width :], strict=False)) for s in range(num_sources)
    )
    return [rebuilt([blob], others=others)[0] for others in placed]


def _same_view(view: Node, lengths: list[Blob]) -> Blob:
    """The same view of lengths."""
    if view.op.name in ("ZipDataset", "EnumerateDataset"):  # the same rows, with other fields
        return lengths[0]
    values = {**view.values, "fields": ["length"]}
    if "divided" in values:
        values["divided"] = []
    return Node(find_op(view.op.name), view.name, lengths, values).outputs[0]


def _outputs_used(blob: Blob) -> list[Blob]:
    """The outputs of views and readers that a field is computed from."""
    ops = in_order([blob], lambda one: one.node.inputs if _is_op_of_row(one.node) else ())
    return [one for one in ops if not _is_op_of_row(one.node)]


def _is_op_of_row(node: Node) -> bool:
    return not (node.op.is_view or node.op.is_reader)
