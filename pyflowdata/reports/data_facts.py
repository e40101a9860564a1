"""What a report says of the data that a loader reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DataFacts:
    """Facts about the data.

    Attributes:
        readers: The fields of `pyflowdata.loader.state.Reader` of each, and "shuffle".
        order: Where the records of the first batches lie, see `sample_order()`.
        graph: A picture of what is computed, as HTML; "": there is none.  It is no value of JSON:
            what a file says is not put into a page as it is.
    """

    readers: Sequence[Mapping[str, Any]]
    order: Mapping[str, Any]
    graph: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Without the picture."""
        return {"readers": self.readers, "order": self.order}
