"""What a conversion writes: a format, and whether it can hold the fields of a source."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ...errors import InvalidArgumentError
from ...formats import FORMATS, RECORD, Field, Format, Source
from ...io import Writer
from ...ragged import Ragged


@dataclasses.dataclass(frozen=True)
class Target:
    """What is to be written.

    Attributes:
        path: As the user gave it.
        format: A key of FORMATS.
        compression: Of the files.
        float32: Whether float64 is stored as float32.
        skip: Whether damaged records are left out.
        overwrite: Whether files that are there are replaced.
    """

    path: str
    format: str
    compression: str | None = None
    float32: bool = False
    skip: bool = False
    overwrite: bool = False

    @property
    def kind(self) -> Format:
        """The format itself."""
        return FORMATS[self.format]

    @property
    def writer(self) -> type[Writer]:
        """The class that writes it."""
        found = self.kind.writer
        assert found is not None
        return found

    def fields(self, source: Source) -> list[Field]:
        """The fields as they are written."""
        return [self._narrowed(field) for field in source.fields]

    def _narrowed(self, field: Field) -> Field:
        is_narrowed = self.float32 and field.dtype == "float64"
        return dataclasses.replace(field, dtype="float32") if is_narrowed else field

    def check(self, source: Source) -> None:
        """Refuses what the target cannot hold, before anything is read.

        Raises:
            InvalidArgumentError: Says which field, and what to do.
        """
        if source.left_out:
            raise InvalidArgumentError(
                f"{'; '.join(source.left_out)}: that is not a field here, and would be lost; say "
                "with --fields what is to be converted"
            )
        if not source.fields:
            self._check_without_fields(source)
        elif self.kind.holds_one_field and len(source.fields) != 1:
            names = ", ".join(field.name for field in source.fields)
            raise InvalidArgumentError(
                f"--to {self.format} takes one field, and there are {names}: choose one with "
                "--fields"
            )
        for field in self.fields(source):
            if refusal := self.kind.refusal(field):
                raise InvalidArgumentError(refusal)

    def _check_without_fields(self, source: Source) -> None:
        """Of records without fields the same format alone can be made."""
        is_same = source.format == self.kind
        if is_same and (source.is_empty or self.kind.holds_records):
            return
        said = "has records of no fields that are known here"
        if source.is_empty:
            said = "has no records, so that their fields are not known"
        raise InvalidArgumentError(
            f"{source.files[0]} {said}: it can only be written as {source.format.name} again"
        )

    def options(self, source: Source) -> dict[str, Any]:
        """What the writer needs to know of the rows, so that empty files are of their type too."""
        return self.kind.writer_options(self.fields(source)) if source.fields else {}

    def adapted(self, batch: dict[str, Any], source: Source) -> Any:
        """A batch as the writer takes it."""
        if not source.fields:
            return batch[RECORD]
        if self.float32:
            batch = {name: _narrow(column) for name, column in batch.items()}
        return self.kind.adapted(self.fields(source), batch)


def _narrow(column: Any) -> Any:
    if column.dtype != np.float64:
        return column
    if isinstance(column, Ragged):
        return Ragged(
            column.values.astype(np.float32), column.row_splits, row_shape=column.row_shape,
            shapes=column.shapes if column.values.ndim == 1 else None,
        )  # fmt: skip
    return column.astype(np.float32)
