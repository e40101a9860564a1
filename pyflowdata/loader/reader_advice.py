"""Warnings about the readers of a loader; each is given once, also if loaders are opened
repeatedly.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterable, Sequence

from ..native.calling_line import is_ours, warn_program_once
from ..native import lib
from ..nodes import Blob, Node
from ..nodes.node import nodes_of, reader_nodes
from ..nodes.objects import Object
from ..nodes.registry import HOST_OUTPUTS
from ..nodes.tables import Table
from ..words.plain_text import counted
from .graph_digest import draws_at_random
from .state import Reader


def _pairs(blobs: Iterable[Blob], readers: Sequence[Reader]) -> list[tuple[Node, Reader]]:
    nodes = reader_nodes(blobs)
    if [node.op.name for node in nodes] != [reader.op for reader in readers]:
        return []
    return list(zip(nodes, readers, strict=True))


def advise_on_batches(blobs: Iterable[Blob], readers: Sequence[Reader]) -> None:
    """Warns once of the batch size that is used if a program gives none.

    The caller is an OpenLoader, and the caller of its DataLoader has the blobs; where that is a
    module of this package, there is no warning.
    """
    if is_ours(sys._getframe(3)):
        return
    for node, reader in _pairs(blobs, readers):
        if not node.op.is_view and "batch_size" not in node.values:
            field = _field_of(node, blobs)
            warn_program_once(
                "batch_size",
                UserWarning(
                    f"{reader.name}: batch_size is left out, so that a batch has "
                    f"{reader.batch_size} record; "
                    + (f'take data.batch(32)["{field}"]' if field else "give the reader "
                       "batch_size=32")
                    + ", or the number that you want."
                ),
            )
            return


def _field_of(reader: Node, blobs: Iterable[Blob]) -> str:
    """The field of a data set that a program has taken from a reader; "": the reader is its own."""
    taken = [*blobs, *(one for node in nodes_of(blobs) for one in node.inputs)]
    own = [one for one in taken if one.node is reader and type(one) is not Blob]
    return own[0].name.rpartition("/")[2] if own else ""


def warn_of_left_out(blobs: Iterable[Blob], *, is_asked: bool = False) -> None:
    """Warns once of the columns of files that are no fields, where a program takes all fields and
    has named none: it believes that it has all columns.

    Args:
        blobs: What the program takes.
        is_asked: The program has called a function that gives it all fields.  Otherwise the callers
            are those of `advise_on_batches`.
    """
    if not is_asked and is_ours(sys._getframe(3)):
        return
    blobs = list(blobs)
    nodes = nodes_of(blobs)
    said = tuple(dict.fromkeys(one for node in nodes for one in node.left_out))
    if not said:
        return
    used = {*blobs, *(one for node in nodes for one in node.inputs)}
    ports = [one for node in nodes if node.op.is_reader or node.op.is_view for one in node.outputs]
    if any(one not in used and one.name.rpartition("/")[2] not in HOST_OUTPUTS for one in ports):
        return
    more = f"; and {len(said) - _MOST_COLUMNS} more" * (len(said) > _MOST_COLUMNS)
    warn_program_once(
        ("left out", said),
        UserWarning(
            "the records come without some columns of their files. Left out: "
            f"{'; '.join(said[:_MOST_COLUMNS])}{more}. Name the columns that you want in fields= "
            "of flow.open(), or in the list of the reader: a named one is read, or an error says "
            "why not, and this warning ends."
        ),
    )


_MOST_COLUMNS = 6  # named in a warning


Advice = tuple[tuple[Hashable, str], ...]  # warnings, each given once for its key


def repeating_orders(blobs: Iterable[Blob], readers: Sequence[Reader]) -> Advice:
    """Warnings for a second epoch that repeats the first although the program did not ask for that:
    readers with the same random order, and plans over records that a view draws.
    """
    blobs = list(blobs)
    orders = [
        (
            ("same order", reader.name),
            f"{reader.name}: every epoch has the same random order, as shuffle_after_epoch is "
            "left out; give the reader "
            f"{'shuffle_after_epoch=True' if 'shuffle' in node.values else 'shuffle=True'} for a "
            "new order in each, or shuffle_after_epoch=False to keep this one.",
        )
        for node, reader in _pairs(blobs, readers)
        if reader.spec.get("random_shuffle") == "true"
        and reader.spec.get("shuffle_after_epoch") == "false"
        and "shuffle_after_epoch" not in node.values
    ]
    # A view with lengths plans all epochs by the lengths of the first one's records.
    plans = [
        (plan, _drawn_below(plan))
        for plan in nodes_of(blobs)
        if plan.op.is_view and plan.op.attr("lengths") is not None
    ]
    return (*orders, *(_of_plan(plan, drawn) for plan, drawn in plans if drawn is not None))


def _drawn_below(plan: Node) -> Node | None:
    """A view below that draws other records in each epoch; a shuffle does not."""
    for node in nodes_of(plan.inputs):
        if node is not plan and node.op.is_view and node.op.attr("seed") is not None:
            if node.op.name != "ShuffleDataset":
                return node
    return None


def _of_plan(plan: Node, drawn: Node) -> tuple[Hashable, str]:
    return (
        ("same records", plan.op.name, drawn.op.name),
        f"{plan.op.name}: every epoch has the records that {drawn.op.name} draws in its first "
        f"epoch, since the lengths of records decide once where each record goes. For other "
        f"records in each epoch, plan all epochs of the training as one: repeat(epochs) before it, "
        f"and one epoch "
        "of the loader; or mix the packs of each source, flow.mix([a.pack(n), b.pack(n)], ...).",
    )


def advise_on_orders(repeating: Advice) -> None:
    """Gives each of these warnings once."""
    for key, text in repeating:
        warn_program_once(key, UserWarning(text))


def warn_of_next_epoch(epoch: int) -> None:
    """Warns once that a loop after load_state_dict() is the epoch after the epoch of the state's
    loop.
    """
    warn_program_once(
        "next epoch",
        UserWarning(
            f"the state was taken in a loop at the last batch of epoch {epoch - 1}, so this loop "
            f"is epoch {epoch}; `for epoch in range(start, epochs)` with start = {epoch - 1} would "
            "train an epoch more. Loop over range(loader.epoch, epochs): a program that reads "
            "loader.epoch after load_state_dict() is not warned."
        ),
    )


def warn_of_readers(readers: tuple[Reader, ...]) -> None:
    """Warns of attrs of readers that do not fit each other, or the number of ranks, and of what the
    readers found.
    """
    for reader in readers:
        for notice in reader.notices:
            _warn_of(reader, notice, f"{notice}.")
        shuffled = reader.spec.get("random_shuffle")
        if reader.spec.get("shuffle_after_epoch") == "true" and shuffled == "false":
            _warn_of(
                reader, "in order",
                "shuffle_after_epoch=True has no effect without random_shuffle=True or a shuffle; "
                "the records come in the order of the files.",
            )  # fmt: skip
        if reader.steps.empty_ranks:
            _warn_of(reader, "empty ranks", _of_empty_ranks(reader))
        if reader.seed_is_default and shuffled == "true":
            _warn_of(
                reader, "seed",
                f"seed is left open in one of several processes; {reader.seed} is used, so that "
                "all have the same order. Give a seed.",
            )  # fmt: skip
    _warn_of_unpaired(readers)


def warn_of_equal_orders(blobs: Iterable[Blob]) -> None:
    """Warns of a mix, concat and so on of two views that have the records of one data set in the
    same random order: the order of a view does not depend on the views beside it.
    """
    for node in nodes_of(blobs):
        count = node.values.get("num_sources")
        if isinstance(count, int) and node.op.is_view and node.op.name != "ZipDataset":
            width = len(node.inputs) // count
            starts = [node.inputs[i * width].node for i in range(count)]
            seen: dict[object, Node] = {}
            for view in [one for start in starts for one in _random_views(start)]:
                other = seen.setdefault(_order_of(view), view)
                if other is not view:
                    _warn_of_equal(node, view)


def _random_views(node: Node) -> list[Node]:
    """The views on the way from a node to its reader that draw random numbers."""
    found = []
    while node.inputs and not node.op.is_reader:
        if draws_at_random(node):
            found.append(node)
        node = node.inputs[0].node
    return found


def _order_of(view: Node) -> object:
    """Equal for views that draw the same records in the same order."""
    reader = view.inputs[0].node
    while reader.inputs:
        reader = reader.inputs[0].node
    return view.op.name, view.name, lib.pfd_node_attrs_hash(view.handle), reader


def _warn_of_equal(node: Node, view: Node) -> None:
    warn_program_once(
        ("equal orders", node.op.name, view.op.name),
        UserWarning(
            f"{node.op.name}: two of its data sets are the same records in the same random order, "
            f"by {view.op.name}: an order depends on its seed and attrs, and not on its place in "
            "the graph. Give one of the two another seed=."
        ),
    )


def warn_of_two_orders(blobs: Iterable[Blob], readers: Sequence[Reader]) -> None:
    """Warns once of batches of one source in two orders beside each other: a row of one field then
    belongs to another record than that row of another field.
    """
    nodes = reader_nodes(blobs)
    if len(nodes) != len(readers) or len(nodes) < 2:
        return
    seen: dict[tuple[object, int], tuple[object, Reader]] = {}
    for node, reader in zip(nodes, readers, strict=True):
        below = nodes_of(node.inputs)
        sources = frozenset(_source_of(one) for one in below if one.op.is_reader)
        own = _order_of_batches(node, [one for one in below if one.op.is_view], reader)
        order, other = seen.setdefault((sources, reader.records), (own, reader))
        if below and order != own:
            warn_program_once(
                ("two orders", sources),
                UserWarning(
                    f"{other.name} and {reader.name} read one source in two orders, so that the "
                    "rows of their fields belong to different records. Take all fields from one "
                    'batch: batches = data.batch(n), then batches["x"] and batches["y"]. For pairs '
                    "of different records write data.zip(other).batch(n)."
                ),
            )


def _source_of(reader: Node) -> object:
    """Equal for readers of the same files."""
    files = reader.values.get("files")
    return (reader.op.name, *files) if isinstance(files, list) else reader


def _order_of_batches(node: Node, views: Sequence[Node], reader: Reader) -> object:
    """Equal for batches whose rows are the same records."""
    is_shuffled = reader.spec.get("random_shuffle") == "true"
    draws = any(draws_at_random(one) and one.values.get("seed", -1) == -1 for one in views)
    return (
        reader.seed if is_shuffled or draws else 0,
        reader.shuffle,
        reader.spec.get("order_key") if is_shuffled else "",
        [(one.op.name, one.name, _order_attrs(one)) for one in views],
    )


def _order_attrs(view: Node) -> dict[str, object]:
    """The attrs of a view without those of its fields; tables as a key of their contents."""
    return {
        name: value.value.contents_key
        if isinstance(value, Object) and isinstance(value.value, Table) else value
        for name, value in view.values.items() if name != "fields"
    }  # fmt: skip


def _warn_of(reader: Reader, what: str, text: str) -> None:
    warn_program_once((what, reader.name), UserWarning(f"{reader.name}: {text}"))


def _of_empty_ranks(reader: Reader) -> str:
    rest = reader.steps.last_rows
    return (
        f"the last batch of an epoch has {counted(rest, 'record')} for "
        f"{reader.world_size} ranks: those from rank {rest} on get 0 rows, and may fail or make "
        'the others wait. last_batch="even", or data.batch(n, last="even"), leaves such records '
        'out; "drop" leaves out the whole batch, "pad" and "wrap" fill it.'
    )


def _warn_of_unpaired(readers: tuple[Reader, ...]) -> None:
    """Warns of readers of equal length with different orders: most often they are columns of one
    data set, whose rows belong together.
    """
    shuffled = [one for one in readers if one.spec.get("random_shuffle") == "true"]
    names = tuple(one.name for one in shuffled)
    keys = [one.spec["order_key"] for one in shuffled]
    is_left_open = all(one.name == key for one, key in zip(shuffled, keys, strict=True))
    lengths = {one.records for one in shuffled}
    if len(names) < 2 or not is_left_open or len(lengths) != 1:
        return
    warn_program_once(
        ("unpaired", names),
        UserWarning(
            f"{' and '.join(names)} have {shuffled[0].records} records each, and are shuffled each "
            "in its own order. For rows that belong together give them the same order_key; "
            "otherwise give each its own key."
        ),
    )
