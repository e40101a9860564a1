"""The names of the files of a writer: one, or one for each shard."""

from __future__ import annotations

import os
import re
import string
from pathlib import Path

from ...errors import InvalidArgumentError, shown

_OWN_SHARD = r"-[0-9]{5,}-of-[0-9]{5,}"
# Suffixes that say how the file is compressed; the number goes before the format's own suffix.
_PACKED = {".gz": "gzip", ".zlib": "zlib", ".zst": "zstd", ".zstd": "zstd"}
# Only decimal numbers, without blanks or signs: these can be found again.
_SPEC = re.compile(r"(?:0[0-9]{0,2})?d?")


def _pieces(name: str) -> list[tuple[str, str, str]]:
    """A pattern as (text before, "shard", "shards" or nothing, how the number is written).

    Raises:
        ValueError: It is not a pattern.
    """
    pieces = []
    for text, field, spec, conversion in string.Formatter().parse(name):
        if field is not None and field not in ("shard", "shards"):
            raise ValueError(f"{{{field}}} is neither {{shard}} nor {{shards}}")
        if conversion or (spec and _SPEC.fullmatch(spec) is None):
            found = f"{'!' if conversion else ':'}{conversion or spec}"
            raise ValueError(f"{found} is not how shards are numbered: it must be like :05d")
        pieces.append((text, field or "", spec or ""))
    return pieces


class Names:
    """The names of the files of a writer.

    A path with `{shard}` in its last part, as `part-{shard:05d}`, is filled in with the number of
    the shard, and `{shards}` with how many there are, both in decimal.  Any other path is the name
    of the only file, or, with shards, has `-00000-of-00003` put before its suffix.
    """

    def __init__(self, path: Path, is_sharded: bool, suffixes: tuple[str, ...]) -> None:
        """Takes a path.

        Args:
            path: As the user gave it.
            is_sharded: Whether there may be several.
            suffixes: Appended to the name, one for each file of a shard; ("",) for one file.

        Raises:
            InvalidArgumentError: The pattern in the path is invalid.
        """
        self.folder, self.name, self._suffixes = path.parent, path.name, suffixes
        self._is_pattern = "{shard" in self.name
        self._is_sharded = is_sharded or self._is_pattern
        if not self.name or self.name in (".", ".."):
            raise InvalidArgumentError(f"path = {shown(str(path))}; it must be the name of a file")
        try:
            self._pieces = _pieces(self.name) if self._is_pattern else []
        except ValueError as failure:
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; its pattern must be like part-{{shard:05d}}, or with "
                f"{{shards}} for how many there are ({failure})"
            ) from None
        first, second = self._fill(0, 2), self._fill(1, 2)
        if self._is_sharded and first == second:
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; all shards would be {shown(first)}: "
                "put {shard:05d} where their numbers belong"
            )

    def _split(self) -> tuple[str, str]:
        """The name before the shard's number, and the suffix after it."""
        stem, tail = self.name, ""
        if stem.lower().endswith(tuple(_PACKED)):
            stem, dot, packed = stem.rpartition(".")
            tail = dot + packed
        suffix = Path(stem).suffix
        return stem.removesuffix(suffix), suffix + tail

    def _fill(self, shard: int, shards: int) -> str:
        if self._is_pattern:
            numbers = {"shard": shard, "shards": shards}
            return "".join(
                text + (format(numbers[field], spec) if field else "")
                for text, field, spec in self._pieces
            )
        if not self._is_sharded:
            return self.name
        stem, suffix = self._split()
        return f"{stem}-{shard:05d}-of-{shards:05d}{suffix}"

    def compression(self) -> str | None:
        """The compression that the path's suffix names, if the path is the name of a file."""
        suffix = Path(self.name).suffix.lower()
        return _PACKED.get(suffix) if self._suffixes == ("",) else None

    def of(self, shard: int, shards: int) -> list[Path]:
        """The files of one shard."""
        name = self._fill(shard, shards)
        return [self.folder / (name + suffix) for suffix in self._suffixes]

    def _matcher(self) -> re.Pattern[str]:
        if self._is_pattern:
            body = "".join(
                re.escape(text) + ("[0-9]+" if field else "") for text, field, _ in self._pieces
            )
        elif self._is_sharded:
            stem, suffix = self._split()
            body = re.escape(stem) + _OWN_SHARD + re.escape(suffix)
        else:
            body = re.escape(self.name)
        return re.compile(f"{body}(?:{'|'.join(map(re.escape, self._suffixes))})")

    def present(self) -> list[Path]:
        """Files that are there under such names, from an earlier run."""
        if not self._is_sharded:
            return [path for path in self.of(0, 1) if os.path.lexists(path)]
        matcher = self._matcher()
        try:
            return sorted(path for path in self.folder.iterdir() if matcher.fullmatch(path.name))
        except OSError:
            return []
