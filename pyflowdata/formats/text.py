"""Text files of lines."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..errors import InvalidArgumentError, shown
from ..native import ffi, lib, text
from .base.damage import Damage, Scan
from .base.detection import file_bytes
from .base.fields import BYTES, Field
from .base.format import Format
from .base.columns import as_bytes, bytes_rows, is_bytes_like, only_field
from .base.source import Source
from .base.writer import Sizes, Writer


class TextLineWriter(Writer):
    r"""Writes text files: a line for each record, ended by "\n".

    A sample is text or bytes, a batch a list of these or a Ragged of uint8; a dict with one entry
    is taken for that.  A line holds no line break.
    """

    def write(self, sample: Any) -> None:
        """Writes one line.

        Raises:
            InvalidArgumentError: The sample is not text, or has a line break.
            FileError: The file cannot be written.
        """
        with self._naming():
            line = only_field(sample)
            if not is_bytes_like(line):
                raise InvalidArgumentError(f"{shown(line)} is not a line; it must be text or bytes")
            lines = [as_bytes(line, "the line")]
            self._check(lines)
        self._put_lines(lines)

    def write_batch(self, batch: Any) -> None:
        """Writes a line for each row; raises as `write`."""
        with self._naming():
            lines = bytes_rows("lines", only_field(batch))
            self._check(lines)
        self._put_lines(lines)

    def _check(self, lines: list[bytes]) -> None:
        for row, line in enumerate(lines):
            at = line.find(b"\n")
            if at < 0 and line.endswith(b"\r"):
                at = len(line) - 1
            if at >= 0:
                raise InvalidArgumentError(
                    f"the line has a line break at its byte {at}, and would be read as another",
                    ordinal=row,
                )

    def _put_lines(self, lines: list[bytes]) -> None:
        sizes: Sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
        self._emit(b"".join(line + b"\n" for line in lines), sizes)


class Text(Format):
    """A line is the only field of a record."""

    writer = TextLineWriter
    holds_one_field = True
    is_text = True

    def refusal(self, field: Field) -> str | None:
        if field.dtype == BYTES:
            return None
        return f"{field.name} is {field.type}, which {self.name} cannot hold"

    def damage(self, source: Source, scan: Scan) -> list[Damage]:
        """The damage of a JSON document, if the name says JSON; lines alone show no damage."""
        found = super().damage(source, scan)
        (path,) = source.files
        if found or not re.search(r"\.json(\.[a-z]+)?$", path.lower()):
            return found
        data = b"".join(file_bytes(path))
        mark = 3 * data.startswith(b"\xef\xbb\xbf")
        at, problem = ffi.new("int64_t *"), ffi.new("const char **")
        with ffi.from_buffer("uint8_t[]", data) as all_bytes:
            if lib.pfd_json_values(all_bytes + mark, len(data) - mark, 0, at, problem):
                return []
        line = data.count(b"\n", 0, mark + at[0]) + 1
        said = f"the name says JSON, which the content is not: {text(problem[0])}"
        return [Damage(path, None, mark + at[0], said, line)]


FORMAT = Text
