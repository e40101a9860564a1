"""Formats whose files are one array: rows of one dtype and shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from .fields import Field
from .format import Format


class RowFormat(Format):
    """A file holds one field of numbers."""

    holds_one_field: ClassVar[bool] = True

    def writer_options(self, fields: Sequence[Field]) -> dict[str, Any]:
        """Dtype and shape of the rows, where the shape is the same in all of them."""
        (field,) = fields
        return {} if None in field.shape else {"dtype": field.dtype, "shape": field.shape}
