"""Features that a decoder is told to read, compared with those of the first records."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from ....errors import InvalidArgumentError, shown
from ....words.plain_text import no_field
from ..fields import BYTES
from .decode import Feature

_ENOUGH = 2  # records that say what the others are like
Records = Sequence[Mapping[str, Feature | None]]

class Wanted(NamedTuple):
    """A feature that is asked for.

    Attributes:
        key: Its name in the records.
        kind: "bytes", "float" or "int": of which a list is read; "": any.
        is_needed: Whether a record without it is an error.
        said: How it is asked for.
        attr: Which says it.
    """

    key: str
    kind: str
    is_needed: bool
    said: str
    attr: str


def kind_of(dtype: str) -> str:
    """Of the list that has values of a dtype."""
    return BYTES if dtype == BYTES else "float" if dtype.startswith("float") else "int"


def wanted_of(element: str, raw: Container[str], attr: str) -> Wanted:
    """What [NAME=]KEY:TYPE[=DEFAULT] asks for.

    Args:
        element: Of the attr that lists the features.
        raw: Names of the fields whose feature is bytes of numbers.
        attr: Of which it is an element.
    """
    left, equals, _ = element.rpartition("=")
    if not equals or ":" not in left:  # what is before the mark is a name
        left, equals = element, ""
    name, _, rest = left.rpartition("=")
    key, _, dtype = rest.rpartition(":")
    kind = BYTES if (name or key) in raw else kind_of(dtype.partition("[")[0])
    return Wanted(key, kind, not equals and "?" not in dtype, element, attr)


def refuse_unknown(wanted: Iterable[Wanted], looked_at: Callable[[], Records]) -> None:
    """Refuses features that none of the first records has, or that all have as another kind of
    list.

    Args:
        wanted: What is asked for.
        looked_at: The features of the first records, which are looked at if anything is asked for.
    """
    asked = list(wanted)
    records = looked_at() if asked else []
    known = sorted({name for record in records for name in record})
    for one in asked if len(records) >= _ENOUGH else ():
        where = f"attr '{one.attr}': {shown(one.said)}"
        if one.is_needed and one.key not in known:
            raise InvalidArgumentError(
                f"{where}: {no_field(one.key, known, 'feature')} in the first {len(records)} "
                "records", attr=one.attr,
            )  # fmt: skip
        found = [feature for record in records if (feature := record.get(one.key)) is not None]
        dtypes = {feature.dtype for feature in found}
        if dtypes and one.kind and one.kind not in map(kind_of, dtypes):
            raise InvalidArgumentError(
                f"{where}: the feature {shown(one.key)} is {' and '.join(sorted(dtypes))} in the "
                f"first {len(records)} records", attr=one.attr,
            )  # fmt: skip
