"""Views that make new records from the records: pieces of one, windows and groups of several.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..errors import Error, InvalidArgumentError, UserFunctionError, shown
from ..formats import field_of
from ..native.calling_line import warn_program_once
from ..nodes import Blob, Node
from ..nodes.row_types import RowType, row_type
from ..nodes.tables import Table
from ..pyops.callbacks import user_failure
from ..pyops.decoders import check_processes
from ..pyops.op import function_place, given_by_host, name_of
from ..pyops.records import (
    Divided,
    NumPieces,
    PiecesFunction,
    RecordFunction,
    all_parameters,
    fields_named_by,
    fields_read,
    holds_texts,
    note_failure,
)
from ..pyops.row_function import check_keywords, is_bytes, mapped_op
from ..ragged import Ragged
from ..pyops.tensors import Mismatch
from .base import DatasetBase, named_view, names_of, whole
from .batches import padding_of, row_lengths
from .columns import (
    Array,
    Columns,
    Computation,
    evaluate,
    files_state,
    naming,
    refuse_changing_order,
    words_of,
)
from .fingerprints import of_blobs, of_function
from .mapping import Maps, Outputs, joined_types, refuse_open, row_type_of, type_of
from .splitting import check_hashed, hashes_of

OwnT = TypeVar("OwnT", bound="Regrouping")

_SAMPLED = 4  # records with pieces that are looked at where the types of pieces are left out
_MOST_SAMPLED = 256  # records that are read to find these
_MOST_PIECES = 16  # of each


class Regrouping(Maps):
    """The methods of `Dataset` that make several records from one, or one from several."""

    # ---- Several of one -----------------------------------------------------------------------

    def explode(
        self: OwnT,
        what: str | Sequence[str] | Callable[..., Any],
        *,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> OwnT:
        """Several records, or none, from each record: the elements of a field, or the pieces that a
        function makes from the record.

            data.explode("tags")                       # a record for each tag
            data.explode(["boxes", "labels"])          # side by side, equally many in a record
            docs.explode(lambda r: [{"chunk": r["text"][i : i + 512]}
                                    for i in range(0, len(r["text"]), 512)])

        The pieces of all records are counted once, when the length or a record is first needed, and
        the counts are stored like an index.  So there is a `len()`, each piece is read directly,
        and `shuffle()` after `explode()` shuffles the pieces.

        Args:
            what: A field, or several, whose rows are divided along their first dimension.  Or a
                function that gets the record, as `map()` has it, and returns a list of dicts, or
                yields dicts: the fields of each piece.  It must give the same number of pieces each
                time it gets the same record.  If pieces of a record are read one after another,
                they come from one call.
            outputs: With a function, the names of the new fields, perhaps with their types, as in
                `map()`.  A new field replaces a field of the same name; all other fields are the
                same in all pieces of a record.
            processes: As in `map()`, also for counting.
            name: The name of the function's node.
            **attrs: Keyword arguments of the function.

        Raises:
            InvalidArgumentError: A field cannot be divided; the function does not fit; the records
                are shuffled.
        """
        check_processes(processes)
        self._refuse_shuffle("explode", "pieces")
        if not callable(what):
            if outputs is not None or processes or name is not None or attrs:
                raise InvalidArgumentError(
                    "explode: outputs, processes, name and further arguments belong to a function, "
                    "but fields were given"
                )
            return self._explode_fields(_names("what", what))
        made = _Exploded(self, what, outputs, processes, name, attrs)
        return type(self)(made.fields())

    def flat_map(
        self: OwnT,
        function: Callable[..., Any],
        *fields: str,
        fan_out: int | None = None,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> OwnT:
        """Several records from each record.  Without `fan_out` it is `explode(function)`.  With
        `fan_out` each record gives `fan_out` records, so nothing is counted: row p has piece p %
        fan_out of record p // fan_out.

            crops = images.flat_map(five_crops, "image", fan_out=5)

        Args:
            function: With `fan_out`, as in `map`.  For each output it returns all pieces of the
                record, as an array whose first dimension is `fan_out`, or as a list of arrays of
                one shape.
            *fields: With `fan_out`, as in `map`.
            fan_out: How many records each record gives.
            outputs: As in `map`; a type is the type of one piece.  Other fields are the same in all
                rows of a record.
            processes, name, **attrs: As in `map`.

        Raises:
            InvalidArgumentError: As in `map` and `explode`.
        """
        if fan_out is None:
            if fields:
                raise InvalidArgumentError(
                    "flat_map: fields were named, but a function that gives any number of pieces "
                    "gets the whole record; leave the fields out, or give fan_out"
                )
            return self.explode(
                function, outputs=outputs, processes=processes, name=name, **attrs
            )
        if isinstance(outputs, Mapping):
            outputs = {key: _pieces(key, given, fan_out) for key, given in outputs.items()}
        made = self.map(function, *fields, outputs=outputs, processes=processes, name=name, **attrs)
        former = self._fields
        divided = [key for key in made._fields if made._fields[key] is not former.get(key)]
        return made._flat(divided, fan_out)

    def _flat(self: OwnT, divided: Sequence[str], fan_out: int) -> OwnT:
        blobs = self.blobs
        attrs = {"fan_out": fan_out, "divided": _places(blobs, divided)}
        return type(self)(named_view("FlatDataset", blobs, attrs))

    def _explode_fields(self: OwnT, names: Sequence[str]) -> OwnT:
        sizes: set[Any] = set()
        for one in names:
            declared = row_type_of(self.blob(one))
            if is_bytes(declared) or not declared.shape:
                what = "a text or bytes" if declared.shape else "one value"
                raise InvalidArgumentError(
                    f"explode: the field {shown(one)} is {what} in each record, which has no "
                    "elements; a function makes pieces of a record, as in "
                    f'explode(lambda r: [{{"piece": one}} for one in r[{one!r}].split()]); where '
                    f"the text is JSON, json.loads(r[{one!r}]) takes the place of the split()"
                )
            sizes.add(declared.shape[0])
        fixed = sizes - {None}
        if len(fixed) > 1:
            raise InvalidArgumentError(
                f"explode({shown(names)}): the fields have {', '.join(map(str, sorted(fixed)))} "
                "elements in each record; they must have equally many"
            )
        if None not in sizes:
            return self._flat(names, *fixed)
        refuse_changing_order(self)
        self._check_files()
        said = ", ".join(map(repr, names))
        counts = row_lengths(self._fields[names[0]], f"explode({said})")
        attrs = {"counts": counts, "divided": _places(self._fields, names)}
        return type(self)(named_view("ExplodeDataset", self._fields, attrs))

    # ---- One of several -----------------------------------------------------------------------

    def windows(
        self: OwnT,
        length: int,
        *,
        step: int | None = None,
        last: str | None = None,
        padding: float | Mapping[str, float] = 0,
        mask: str | None = None,
        key: str | Sequence[str] | None = None,
    ) -> OwnT:
        """Windows of neighbouring records: each field gets a first dimension of `length` records.

            frames.windows(16, step=8, key="video")    # 16 frames of one video, every 8 frames

        The number of a window decides its records, so there is a `len()`, each window is read
        directly, and `shuffle()` after `windows()` shuffles windows.  All rows of a field must have
        one shape.

        Args:
            length: Records of a window.
            step: Records from the start of a window to that of the next one; None: `length`.
            last: What happens to windows that would go beyond the last record.  "drop": they are
                left out.  "pad": `padding` stands in place of the missing records.  "short": they
                have fewer records, so the first dimension is None.  With "pad" and "short" a window
                begins at every step.  None: "drop", with a warning if all records of a key are left
                out, since it has fewer records than a window, or if the records of a key lie in
                several runs.
            padding: With "pad", the value in place of missing records: one for all fields, or a
                dict by field.
            mask: The name of one more field, bool of `length` values: True for records.
            key: A field, or several: all records of a window have the same key.  Records with the
                same key must stand together: `sort(key)` before `windows()` puts them together in
                their order, `sort([key, "time"])` in the order of a field.  The keys of all records
                are compared once, and the result is stored like an index.  In a window, each field
                of the key stays one value.

        Raises:
            InvalidArgumentError: An argument is wrong; a field has rows of different shapes.
        """
        length, step = whole(length, "length", 1), None if step is None else whole(step, "step", 1)
        is_drop = last is None or (isinstance(last, str) and last == "drop")
        given = {"step": step, "last": None if is_drop else last, "key": key}
        words = [f"{name}={shown(one)}" for name, one in given.items() if one is not None]
        said = f"windows({', '.join([str(length), *words])})"
        if key is None:
            kept, blobs = [], self.blobs
            runs = Table(np.zeros(1, np.int64), said=said)
        else:
            self._refuse_shuffle("windows", "windows")
            kept, blobs = _checked_key(self, key), self._fields
            runs = _runs_table(self, kept, said, length if is_drop else 0, is_told=last is not None)
        attrs = {"length": length, "step": step or 0, "last": "drop" if is_drop else last}
        return self._windows("windows", blobs, kept, runs, padding, mask, attrs)

    def group_by(self: OwnT, key: str | Sequence[str]) -> OwnT:
        """The records with the same key as one record, in the order in which the keys appear first.

            sessions = clicks.group_by("user")         # {"user": 7, "item": [3, 1, 4], ...}

        The fields of the key stay one value; each other field gets a first dimension for the
        records of the group, in their order.  All rows of such a field must have one shape.  The
        keys of all records are compared once, when the length or a group is first needed, and the
        result is stored like an index.  It takes 16 bytes a record on disk and 8 in memory; forming
        the groups takes about 80.  A group is read whole, into the memory of its batch.

        Args:
            key: A field, or several.

        Raises:
            InvalidArgumentError: There is no such field; a field has rows of different shapes; the
                records are shuffled.
        """
        self._refuse_shuffle("group_by", "groups")
        self._check_files()
        kept = _checked_key(self, key)
        groups = _Groups(self, kept)
        state = functools.partial(files_state, self)
        said = "in the order of groups"
        order = Table(groups.order, said=said, key=groups.key and (*groups.key, said), state=state)
        blobs = named_view("SelectDataset", self._fields, {"table": order})
        runs = Table(groups.runs, said=f"group_by({shown(key)})", key=groups.key, state=state)
        return self._windows("group_by", blobs, kept, runs, 0, None, {"length": 0})

    def distinct(self: OwnT, by: str | Sequence[str] | None = None) -> OwnT:
        """The first record of each value of a field, without those that repeat it, in their order.

            docs.distinct("text")                      # each text once
            docs.distinct()                            # each record once

        The values of all records are compared once, by hashes of 128 bits, when the length or a
        record is first needed, and the result is stored like an index.

        Args:
            by: A field, or several, whose values count together; None: all fields.

        Raises:
            InvalidArgumentError: There is no such field; a field has rows of which not only the
                first dimension varies; an order changes from epoch to epoch.
        """
        refuse_changing_order(self, "use distinct() before it")
        self._check_files()
        names = list(self._fields) if by is None else _checked_key(self, by, "by")
        for name in names:
            check_hashed(self, name, "by")
        wanted, key = _hashes(self, names)

        def firsts() -> Array:
            keys = _keys(self, wanted)
            order, is_first = np.lexsort((keys[:, 1], keys[:, 0])), np.zeros(len(keys), np.bool_)
            is_first[order[_starts(keys[order])]] = True  # the sort is stable
            return words_of(is_first)

        said = f"distinct({'' if by is None else shown(by)})"
        state = functools.partial(files_state, self)
        return self._selected(Table(firsts, said=said, key=key and (*key, "distinct"), state=state))

    def _windows(
        self: OwnT,
        what: str,
        blobs: Mapping[str, Blob],
        kept: Sequence[str],
        runs: Table,
        padding: float | Mapping[str, float],
        mask: str | None,
        attrs: Mapping[str, Any],
    ) -> OwnT:
        made = "a window" if what == "windows" else "a group"
        for name, blob in blobs.items():
            if name not in kept and blob.is_ragged:
                raise InvalidArgumentError(
                    f"{what}: the field {shown(name)} is {field_of(name, blob).type}, and "
                    "rows that differ in shape cannot be stacked: make them equal before, "
                    f"map(flow.Pad, {name!r}, shape=..., on_longer='truncate'), or number the "
                    f"records, enumerate('row').drop({name!r}), and read the rows that {made} has "
                    f"by data[number][{name!r}]"
                )
        if mask is not None and (not isinstance(mask, str) or not mask or mask in blobs):
            raise InvalidArgumentError(
                f"windows(mask={shown(mask)}): give a name that no field has"
            )
        values = {**attrs, "kept": _places(blobs, kept), "runs": runs,
                  "padding": padding_of(padding, list(blobs))}  # fmt: skip
        more = [] if mask is None else [mask]
        return type(self)(named_view("WindowDataset", blobs, values, more))

    def _refuse_shuffle(self, what: str, made: str) -> None:
        if self._shuffle is not None:
            raise InvalidArgumentError(
                f"the records are shuffled, but {what} makes {made} in one order: shuffle the "
                f"{made}, data.{what}(...).shuffle()"
            )
        refuse_changing_order(self, f"use {what} before it")


def _names(what: str, given: Any) -> list[str]:
    """The names of fields, one or several, each once."""
    names = names_of(given, what)
    if not names or len(set(names)) < len(names):
        raise InvalidArgumentError(
            f"{what} = {shown(given)}; it must be the name of a field, or a list of names, each "
            "once", attr=what,
        )  # fmt: skip
    return names


def _places(blobs: Mapping[str, Blob], names: Sequence[str]) -> list[int]:
    return [place for place, name in enumerate(blobs) if name in names]


def _pieces(name: str, given: Any, fan_out: int) -> Any:
    if given is None:
        return None
    declared = row_type(f"outputs['{name}']", given)
    return declared.dtype, (fan_out, *declared.shape)


# ---- Pieces that a function makes ----------------------------------------------------------------


class _Exploded:
    """One call of `explode()` with a function."""

    def __init__(
        self,
        data: Regrouping,
        function: Callable[..., Any],
        outputs: Outputs | None,
        processes: int,
        name: str | None,
        attrs: Mapping[str, Any],
    ) -> None:
        self._data, self._function, self._attrs = data, function, attrs
        self._outputs, self._processes, self._name = outputs, processes, name
        self._said = name_of(function)
        taken = {one.name: one for one in all_parameters(function)}
        for one in ("batched", "with_index"):
            if one in attrs and one not in taken:
                raise InvalidArgumentError(
                    f"explode has no {one}=, unlike map(): its function gets one record, without a "
                    f"number; enumerate() before it adds a field of numbers"
                )
        check_keywords(function, list(taken.values()), attrs)
        if fields_named_by(function, data._fields, attrs) is not None:
            raise InvalidArgumentError(
                f"explode: {self._said}() must take the record, a dict, as its one parameter, "
                "under a name that no field has"
            )
        for one in given_by_host(taken.values(), attrs, data._fields):
            raise InvalidArgumentError(
                f"explode: {self._said}() takes {one}, and a record has the same pieces whatever "
                "else is drawn; use map() on the pieces"
            )
        self._read = fields_read(function, data._fields)

    def fields(self) -> dict[str, Blob]:
        """The fields of the pieces."""
        blobs = self._data._fields
        types = self._types()
        own = next(one for one in map("part{}".format, itertools.count()) if one not in blobs)
        view = named_view("ExplodeDataset", blobs, {"counts": self._counts(), "divided": []}, [own])
        fields = {name: view[name] for name in blobs}
        if types:
            inputs = [*self._read, own]
            piece = self._record_function(PiecesFunction, self._function, view, inputs)
            op = mapped_op(piece, types, per="row", processes=self._processes)
            node = Node(op, self._name, [view[one] for one in inputs], {})
            fields.update(zip(types, node.outputs, strict=True))
        return fields

    def _record_function(
        self, kind: type[RecordFunction], function: Callable[..., Any], blobs: Mapping[str, Blob],
        inputs: Sequence[str],
    ) -> RecordFunction:  # fmt: skip
        return kind(
            function, self._attrs, [is_bytes(row_type_of(blobs[one])) for one in inputs],
            self._read, has_index=len(inputs) > len(self._read), at_once=0, extra=(),
            known=tuple(self._data._fields),
        )  # fmt: skip

    def _counts(self) -> Table:
        """The number of pieces of each record: all threads or processes call the function for all
        records.
        """
        data = self._data
        counted = self._record_function(
            RecordFunction, NumPieces(self._function), data._fields, self._read
        )
        declared = {"count": row_type("count", "int64")}
        op = mapped_op(counted, declared, per="row", processes=self._processes)
        fields = {one: data._fields[one] for one in self._read}
        blob = Node(op, None, list(fields.values()), {}).outputs[0]
        digest = of_function(functools.partial(self._function, **self._attrs))
        key = None if digest is None else f"parts {digest}"
        said = f"explode({self._said})"
        wanted = Computation({"count": blob}, _count, key, said, fields=fields)
        graph = of_blobs(fields)
        known = None if key is None or graph is None else ("explode", key, graph)
        return Table(
            lambda: evaluate(wanted, data._fields),
            said=said, key=known, state=lambda: files_state(data),
        )  # fmt: skip

    # ---- Types --------------------------------------------------------------------------------

    def _types(self) -> dict[str, RowType]:
        """The types of the fields of pieces: as given, or found in the pieces of the first records.
        """
        outputs = self._outputs
        names = None if outputs is None else names_of(outputs, "outputs")
        given: dict[str, Any] = dict(outputs) if isinstance(outputs, Mapping) else {}
        types = {key: row_type(f"outputs['{key}']", one) for key, one in given.items()
                 if one is not None}  # fmt: skip
        if names is not None and len(types) == len(names):
            return types
        found: dict[str, RowType] = {}
        for piece in self._samples(names):
            for key in names if names is not None else piece:
                if key not in piece:
                    self._refuse_piece(piece, f"lacks {shown(key)}, which outputs names")
                kind = type_of(key, piece[key])
                found[key] = joined_types(key, found.get(key), kind)
        refuse_open({key: one for key, one in found.items() if key not in types})
        return {**found, **types}

    def _samples(self, names: Sequence[str] | None) -> Iterator[dict[str, Any]]:
        """The pieces of the first records that have pieces."""
        function = Divided(self._function)
        fields = {name: self._data._fields[name] for name in self._read}
        with naming():
            records = itertools.islice(self._data._with_blobs(fields), _MOST_SAMPLED)
            yield from self._pieces_of(records, function, names or ())

    def _pieces_of(
        self, records: Iterable[dict[str, Any]], function: Divided, names: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        num_found = 0
        for record in records:
            try:
                found = function.pieces(dict(record), self._attrs)
                pieces = [function.made_by(one, record, names) for one in found]
            except Mismatch as failure:
                raise UserFunctionError(failure.message) from None
            except Error:
                raise
            except Exception as failure:
                fields = self._data._fields
                texts = {name for name in self._read if holds_texts(fields[name])}
                note_failure(failure, self._function, fields, texts)
                raise user_failure(failure, f"{self._said}()") from failure
            num_found += bool(pieces)
            yield from pieces[:_MOST_PIECES]
            if num_found == _SAMPLED:
                return
        if num_found == 0:
            raise InvalidArgumentError(
                f"explode: {self._said}() gives no piece of the first records, so that the types "
                'of pieces are not known; give them, as outputs={"chunk": "bytes"}'
            )

    def _refuse_piece(self, piece: Mapping[str, Any], what: str) -> None:
        raise InvalidArgumentError(
            f"explode: {self._said}() gave a piece with {', '.join(piece) or 'no fields'}, which "
            f"{what} ({function_place(self._function)})"
        )


def _count(batch: Columns) -> Any:
    return batch["count"]


# ---- Records with the same key ------------------------------------------------------------------


def _checked_key(data: DatasetBase, key: str | Sequence[str], what: str = "key") -> list[str]:
    names = _names(what, key)
    for name in names:
        data.blob(name)
    return names


def _hashes(data: DatasetBase, names: Sequence[str]) -> tuple[Computation, Any]:
    """A hash of 128 bits of the key of each record, and a text that names the fields of the key.
    Among 2^40 different keys, two have the same hash with a probability of 2^-49.
    """
    blobs = {name: data._fields[name] for name in names}

    def of_batch(batch: Columns) -> Array:
        exact = {name: _exact(column) for name, column in batch.items()}
        return np.stack([hashes_of(batch, 0), hashes_of(exact, 1)], axis=1)

    said = f"the key {', '.join(names)}"
    graph = of_blobs(blobs)
    wanted = Computation(blobs, of_batch, "keys of 128 bits, exact", said)
    return wanted, None if graph is None else ("exact keys", tuple(names), graph)


def _exact(column: Any) -> Any:
    """Floats as their bits: the hash of a whole one is that of the integer, which some other float
    has for its bits.  All NaN are the same, and -0.0 is 0.0.
    """
    if column.dtype.kind != "f":
        return column
    values = np.asarray(column.values if isinstance(column, Ragged) else column, np.float64) + 0.0
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    return Ragged(bits, column.row_splits) if isinstance(column, Ragged) else bits


def _keys(data: DatasetBase, wanted: Computation) -> npt.NDArray[np.uint64]:
    return np.asarray(evaluate(wanted, data._fields)).reshape(-1, 2).view(np.uint64)


def _starts(keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """The places where a key differs from the key before it."""
    differs = np.ones(len(keys), np.bool_)
    np.any(keys[1:] != keys[:-1], axis=1, out=differs[1:])
    return np.flatnonzero(differs).astype(np.int64)


def _runs_table(
    data: DatasetBase, names: Sequence[str], said: str, length: int, *, is_told: bool
) -> Table:
    """The start of each run of records with the same key.

    Args:
        length: The length of a window; a warning says if all runs are shorter.
        is_told: The program says what happens to short runs: no warning tells of them, or of keys
            in several runs.
    """
    wanted, key = _hashes(data, names)

    def starts() -> Array:
        keys = _keys(data, wanted)
        found = _starts(keys)
        sizes = np.diff(found, append=len(keys))
        longest, short = int(sizes.max(initial=0)), sizes[sizes < length]
        fields, count = ", ".join(names), 0 if is_told else len(np.unique(keys[found], axis=0))
        by = repr(names[0] if len(names) == 1 else list(names))
        together = f"data.sort({by}).{said} puts them together, in the order that they have now"
        if 0 < longest < length:
            text = (
                f"{said} has no window: at most {longest} records with the same "
                f"{fields} stand together, and a window has {length}; where those of a key lie "
                f"apart, {together}"
            )
            warn_program_once(("windows", said, longest), UserWarning(text))
        elif is_told:
            pass
        elif count < len(found):
            text = (
                f"{said}: records with the same {fields} lie apart, in {len(found)} runs of "
                f"{count} keys, and a window ends with its run; {together}, and last=\"drop\" says "
                "that runs are wanted"
            )
            warn_program_once(("apart", said, len(found)), UserWarning(text))
        elif len(short):
            text = (
                f"{said} leaves out {short.sum()} of {len(keys)} records: {len(short)} of "
                f"{len(sizes)} runs with the same {fields} are shorter than a window; "
                'last="pad" or "short" keeps them, and last="drop" says that they are not wanted'
            )
            warn_program_once(("short runs", said, len(short)), UserWarning(text))
        return found

    return Table(
        starts,
        said=said, key=key and (*key, "runs"), state=lambda: files_state(data),
    )  # fmt: skip


class _Groups:
    """The records grouped by their keys, computed when needed.

    Attributes:
        key: Differs for groups of other fields over the same records; None: not known.
    """

    def __init__(self, data: DatasetBase, names: Sequence[str]) -> None:
        self._data = data
        self._wanted, self.key = _hashes(data, names)
        self._runs: Array | None = None

    def order(self) -> Array:
        """The records, group by group."""
        order, self._runs = self._computed()
        return order

    def runs(self) -> Array:
        """The start of each group in this order; a view needs it after the order."""
        found, self._runs = self._runs, None
        return self._computed()[1] if found is None else found

    def _computed(self) -> tuple[Array, Array]:
        keys = _keys(self._data, self._wanted)
        order = np.argsort(keys[:, 0], kind="stable")
        ordered = keys[order]
        if np.any((ordered[1:, 0] == ordered[:-1, 0]) & (ordered[1:, 1] != ordered[:-1, 1])):
            order = np.lexsort((keys[:, 1], keys[:, 0]))
            ordered = keys[order]
        starts = _starts(ordered)
        sizes = np.diff(np.append(starts, len(order)))
        by = np.argsort(order[starts])  # the groups in the order of their first records
        begins = np.cumsum(sizes[by]) - sizes[by]
        moved = np.empty_like(starts)
        moved[by] = begins
        places = np.arange(len(order)) + np.repeat(moved - starts, sizes)
        found = np.empty(len(order), np.int64)
        found[places] = order
        return found, begins
