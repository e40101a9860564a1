"""Functions over the fields of a data set, and choosing and naming fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import InvalidArgumentError, shown
from ..nodes import Blob, Node, find_op
from ..nodes.row_types import RowType, row_type
from ..words.plain_text import no_field
from ..pyops.mapped import mapped_op
from ..pyops.row_function import RowFunction, is_bytes
from .base import named_view
from .map_types import Outputs, SampleBatch, SampleRows, named, types_of
from .reading import Reading

MapsT = TypeVar("MapsT", bound="Maps")


class Maps(Reading):
    """The methods of `Dataset` that compute fields, choose them or name them."""

    def map(
        self: MapsT,
        function: Callable[..., Any],
        *fields: str,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> MapsT:
        """The same records with fields that a function makes of others.

            images = data.map(flow.ImageDecoder, "image")                  # takes the field's place
            sizes = images.map(lambda image: image.shape[:2], "image", outputs={"size": "int64[2]"})

        Args:
            function: An op of this package, of a plugin or of `register_decoder`; or a Python
                function of rows, which gets arrays, numbers, and bytes, and returns such, texts, or
                a tuple or dict of several.  It may take `rng` and `ids` by keyword, as
                `register_decoder` has it.
            *fields: What it is called with, in order; left out, the only field.
            outputs: Names of the fields it makes, which come in addition or in place of fields of
                the same name; with their types, {"size": "int64[2]"}, where it is a Python
                function.  Types that are left out are those of the first records.  None: the
                results take the place of `fields`.
            processes: Worker processes that call a Python function, in place of threads; 0: none.
            name: Of the node; random numbers depend on it.
            **attrs: Attrs of the op, or keyword arguments of the function.

        Raises:
            InvalidArgumentError: There is no such field, or the function does not fit the fields.
        """
        blobs, names = self._fields, chosen(self._fields, fields)
        _check_scope(function)
        rows = SampleRows(self, names)
        made = computed(blobs, names, function, outputs, processes, name, attrs, rows)
        return self._with_blobs({**blobs, **made})

    def flat_map(
        self: MapsT,
        function: Callable[..., Any],
        *fields: str,
        fan_out: int,
        outputs: Outputs | None = None,
        processes: int = 0,
        name: str | None = None,
        **attrs: Any,
    ) -> MapsT:
        """`fan_out` rows of each record: row p has part p % fan_out of record p // fan_out.

            crops = images.flat_map(five_crops, "image", fan_out=5)

        Args:
            function: As of `map`.  Of each output it returns all parts, as an array whose first
                dimension is `fan_out`, or a list of arrays of one shape.
            fan_out: Rows of each record.
            outputs: As of `map`; types are those of a part.  Other fields are the same in all rows
                of a record.

        Raises:
            InvalidArgumentError: As of `map`.
        """
        if isinstance(outputs, Mapping):
            outputs = {key: _parts(key, given, fan_out) for key, given in outputs.items()}
        made = self.map(
            function, *fields, outputs=outputs, processes=processes, name=name, **attrs
        )
        blobs, former = made.blobs, self._fields
        divided = [i for i, key in enumerate(blobs) if made._fields[key] is not former.get(key)]
        return type(self)(
            named_view("FlatDataset", blobs, {"fan_out": fan_out, "divided": divided})
        )

    def project(self: MapsT, *names: str) -> MapsT:
        """These fields alone, in this order."""
        return self._with_blobs({name: self._fields[name] for name in checked(self._fields, names)})

    def drop(self: MapsT, *names: str) -> MapsT:
        """All fields but these."""
        checked(self._fields, names)
        kept = {name: blob for name, blob in self._fields.items() if name not in names}
        if not kept:
            raise InvalidArgumentError("drop() of all fields; a data set needs one or more")
        return self._with_blobs(kept)

    def rename(self: MapsT, names: Mapping[str, str] | None = None, **named: str) -> MapsT:
        """The same fields with other names: `data.rename({"jpg": "image"})`, or
        `data.rename(jpg="image")`."""
        new = {**(names or {}), **named}
        checked(self._fields, list(new))
        blobs: dict[str, Blob] = {}
        for name, blob in self._fields.items():
            called = new.get(name, name)
            if not isinstance(called, str) or not called:
                raise InvalidArgumentError(
                    f"rename: the new name of '{name}' is {shown(called)}; it must be a str"
                )
            if called in blobs:
                raise InvalidArgumentError(f"rename: two fields would be called '{called}'")
            blobs[called] = blob
        return self._with_blobs(blobs)


def _check_scope(function: Any) -> None:
    op = getattr(function, "op_name", None)
    if op is not None and find_op(op).is_whole_batch:
        raise InvalidArgumentError(
            f"map: {op} looks at all rows of a batch; use it after batch(), as in "
            f"data.batch(64).map({op}, ...)"
        )


def _parts(name: str, given: Any, fan_out: int) -> Any:
    if given is None:
        return None
    declared = row_type(f"outputs['{name}']", given)
    return declared.dtype, (fan_out, *declared.shape)


# ---- Fields -------------------------------------------------------------------------------------


def checked(blobs: Mapping[str, Blob], names: Sequence[str]) -> list[str]:
    """Names of fields, each once.

    Raises:
        InvalidArgumentError: There is no such field, or one is named twice.
    """
    for i, name in enumerate(names):
        if not isinstance(name, str) or name not in blobs:
            raise InvalidArgumentError(no_field(name, blobs))
        if name in names[:i]:
            raise InvalidArgumentError(f"the field '{name}' is named twice")
    return list(names)


def chosen(blobs: Mapping[str, Blob], names: Sequence[str]) -> list[str]:
    """The fields that a function is called with."""
    if not names and len(blobs) == 1:
        return list(blobs)
    if not names:
        raise InvalidArgumentError(
            f"map: no fields were named, and there are {len(blobs)}: {', '.join(blobs)}"
        )
    return checked(blobs, names)


# ---- What a function makes of them --------------------------------------------------------------


def computed(
    blobs: Mapping[str, Blob],
    names: Sequence[str],
    function: Callable[..., Any],
    outputs: Outputs | None,
    processes: int,
    name: str | None,
    attrs: Mapping[str, Any],
    samples: SampleRows | SampleBatch,
) -> dict[str, Blob]:
    """The fields that a function makes."""
    if not callable(function):
        raise InvalidArgumentError(f"map: {shown(function)} was given; it must be a function")
    inputs = [blobs[one] for one in names]
    if hasattr(function, "op_name"):
        if processes:
            raise InvalidArgumentError(
                f"map: processes = {shown(processes)}; it is for Python functions, and "
                f"{function.op_name} is an op"
            )
        made = function(*inputs, name=name, **attrs)
        found = made if isinstance(made, tuple) else (made,)
        return dict(zip(named(names, outputs, len(found)), found, strict=True))
    are_bytes = [
        samples.per == "row" and is_bytes(RowType(one.dtype, one.shape[1:])) for one in inputs
    ]
    wrapped = RowFunction(function, attrs, are_bytes)
    types = types_of(wrapped, names, outputs, samples)
    op = mapped_op(wrapped, types, per=samples.per, processes=processes)
    return dict(zip(types, Node(op, name, inputs, {}).outputs, strict=True))
