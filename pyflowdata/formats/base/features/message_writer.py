"""What writers of messages in frames have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ....ragged import Ragged
from ..writing.columns import as_bytes, is_bytes_like
from ..writing.encoding import byte_column, encoded
from ..writing.images import ImageWriter


class MessageWriter(ImageWriter):
    """Takes dicts of features, which become messages, or the bytes of messages as they are."""

    frame: ClassVar[str]  # the op that makes a record of the file of a message

    def write(self, sample: Any) -> None:
        """Writes one record.

        Raises:
            InvalidArgumentError: It is neither a dict of features nor bytes, or the format has no
                such record.
            FileError: It cannot be written.
        """
        with self._naming():
            is_bytes = is_bytes_like(sample)
            record = as_bytes(sample) if is_bytes else self._encode(self._encoded_sample(sample))
            data = self._framed(record)
        self._emit(data, np.array([len(data)]))

    def write_batch(self, batch: Any) -> None:
        """Writes a record for each row.

        Raises:
            InvalidArgumentError: The batch is neither a dict of columns nor a column of bytes.
            FileError: It cannot be written.
        """
        with self._naming():
            is_columns = isinstance(batch, Mapping)
            records = (
                self._encode_batch(self._encoded_batch(batch))
                if is_columns
                else byte_column("records", batch)
            )
            rows = encoded(self.frame, {"records": records})
        self.write_encoded(rows)

    @abstractmethod
    def _encode(self, sample: Mapping[str, Any]) -> bytes:
        """The message of a dict of features."""

    @abstractmethod
    def _encode_batch(self, batch: Mapping[str, Any]) -> Ragged:
        """A message for each row of a dict of columns."""

    @abstractmethod
    def _framed(self, record: bytes) -> bytes:
        """A record with what stands around it in the file."""
