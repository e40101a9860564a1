"""The names of the files of a writer: one, or one for each shard."""

from __future__ import annotations

import re
from pathlib import Path

from ..errors import InvalidArgumentError, shown

_OWN_SHARD = r"-\d{5,}-of-\d{5,}"
# Suffixes that say how the file is compressed; the number goes before the format's own suffix.
_PACKED = (".gz", ".zlib", ".zst", ".zstd")


class Names:
    """How the files of a writer are called.

    A path with `{shard}` in its last part, as `part-{shard:05d}`, is filled in with the number of
    the shard, and `{shards}` with how many there are.  Any other path is the name of the only file,
    or, with shards, has `-00000-of-00003` put before its suffix.
    """

    def __init__(self, path: Path, is_sharded: bool, suffixes: tuple[str, ...]) -> None:
        """Takes a path.

        Args:
            path: As the user gave it.
            is_sharded: Whether there may be several.
            suffixes: What is put behind the name, for each file of a shard; ("",) for one file.

        Raises:
            InvalidArgumentError: The pattern in the path is none.
        """
        self.folder, self.name, self._suffixes = path.parent, path.name, suffixes
        self._is_pattern = "{shard" in self.name
        self._is_sharded = is_sharded or self._is_pattern
        if not self.name or self.name in (".", ".."):
            raise InvalidArgumentError(f"path = {shown(str(path))}; it must be the name of a file")
        try:
            first, second = self._fill(0, 2), self._fill(1, 2)
        except (KeyError, IndexError, ValueError) as failure:
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; its pattern must be like part-{{shard:05d}}, or with "
                f"{{shards}} for how many there are ({failure})"
            ) from None
        if self._is_sharded and (first == second or "/" in first):
            raise InvalidArgumentError(
                f"path = {shown(str(path))}; all shards would be {shown(first)}: "
                "put {shard:05d} where their numbers belong"
            )

    def _split(self) -> tuple[str, str]:
        """The name before the shard's number, and the suffix behind it."""
        stem, tail = self.name, ""
        if stem.lower().endswith(_PACKED):
            stem, dot, packed = stem.rpartition(".")
            tail = dot + packed
        suffix = Path(stem).suffix
        return stem.removesuffix(suffix), suffix + tail

    def _fill(self, shard: int, shards: int) -> str:
        if self._is_pattern:
            return self.name.format(shard=shard, shards=shards)
        if not self._is_sharded:
            return self.name
        stem, suffix = self._split()
        return f"{stem}-{shard:05d}-of-{shards:05d}{suffix}"

    def of(self, shard: int, shards: int) -> list[Path]:
        """The files of one shard."""
        name = self._fill(shard, shards)
        return [self.folder / (name + suffix) for suffix in self._suffixes]

    def _matcher(self) -> re.Pattern[str]:
        if self._is_pattern:
            parts = re.split(r"\{shards?(?:[:!][^}]*)?\}", self.name)
            body = r"\d+".join(re.escape(part) for part in parts)
        elif self._is_sharded:
            stem, suffix = self._split()
            body = re.escape(stem) + _OWN_SHARD + re.escape(suffix)
        else:
            body = re.escape(self.name)
        return re.compile(f"{body}(?:{'|'.join(map(re.escape, self._suffixes))})")

    def present(self) -> list[Path]:
        """Files that are there under such names, from an earlier run."""
        if not self._is_sharded:
            return [path for path in self.of(0, 1) if path.exists() or path.is_symlink()]
        matcher = self._matcher()
        try:
            return sorted(path for path in self.folder.iterdir() if matcher.fullmatch(path.name))
        except OSError:
            return []
