"""A data set is a value: it can be shown, compared, copied and sent to another process."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import WrongUseError
from ..nodes import Blob
from .base import SetT, Shuffle
from .describing import Described, described_graph
from .identity import identity_of
from .reading import Reading


class Value(Reading):
    """The methods of `Dataset` that Python calls for every value."""

    _identity: Hashable = None

    def _compared(self) -> Hashable:
        if self._identity is None:
            self._identity = identity_of(self._fields, self._shuffle)
        return self._identity

    def __eq__(self, other: object) -> bool:
        """Whether the files, fields, views and attrs are the same."""
        if self is other:
            return True
        if not isinstance(other, Value) or type(other) is not type(self):
            return NotImplemented
        return self._compared() == other._compared()

    def __hash__(self) -> int:
        return hash(self._compared())

    def __copy__(self: SetT) -> SetT:
        return self

    def __deepcopy__(self: SetT, _memo: dict[int, Any]) -> SetT:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (type(self), self._fields, self._shuffle)

    def __contains__(self, name: object) -> bool:
        """Whether there is a field of this name."""
        if not isinstance(name, str):
            raise TypeError(
                f"{type(name).__name__} in a Dataset: `in` is asked of the names of its fields"
            )
        return name in self._fields

    if not TYPE_CHECKING:  # a type checker finds this by itself

        def __array__(self, *_args: Any, **_options: Any) -> NoReturn:
            raise WrongUseError(
                "a Dataset is not an array: data.column(name) is that of a field, of all records, "
                "and data.rows(numbers)[name] of some"
            )

    def _described(self) -> Described:
        opened = self._opened
        return described_graph(
            self._fields, self._shuffle, None if opened is None else opened.size
        )

    def __repr__(self) -> str:
        return str(self._described())

    def _repr_html_(self) -> str:
        """For notebooks: what the repr() says."""
        from ..words.html_text import code, element, joined, note, table, title

        said = self._described()
        more = f"and {said.more_fields} more fields" if said.more_fields else ""
        style = "background:transparent;color:inherit"
        views = element("pre", "\n".join(said.views), style=style)
        fields = table([(name, code(type)) for name, type in said.fields], ("field", "type"))
        return joined(title(said.what), fields, note(more), views if said.views else "")


def _make(
    kind: type[Value], fields: Mapping[str, Blob], shuffle: Shuffle | None
) -> Value:
    return kind(fields, shuffle)
