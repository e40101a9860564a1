"""The corpus of a plugin: inputs that a fuzzer kept, in a folder beside the plugin.

`NAME-corpus/FILE/INPUT` stands in for FILE of the sample.  The names of inputs that showed a fault
begin with `pyflowdata-fuzz-`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

_FAILED = "pyflowdata-fuzz-"


def corpus_beside(first: str) -> Path:
    """The corpus of the plugin with this first source or library; the folder may not exist."""
    path = Path(first).absolute()
    return path.with_name(f"{path.stem}-corpus")


class Corpus:
    """A folder of inputs, which may not exist."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def folder_of(self, file: Path) -> Path:
        """Makes and returns the folder of inputs that stand in for a file."""
        folder = self.folder / file.name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def inputs(self, files: Sequence[Path], most: int) -> list[tuple[Path, Path]]:
        """Pairs of a file of the sample and an input: all inputs that failed once, then others, up
        to a limit.
        """
        found = [
            (file, path)
            for file in files
            if (self.folder / file.name).is_dir()
            for path in sorted((self.folder / file.name).iterdir())
            if path.is_file()
        ]
        failed = [one for one in found if one[1].name.startswith(_FAILED)]
        return failed + [one for one in found if one not in failed][: max(most - len(failed), 0)]

    def keep_failed(self, file: Path, data: bytes) -> Path:
        """Saves an input that showed a fault, and returns where."""
        name = f"{_FAILED}{hashlib.sha1(data, usedforsecurity=False).hexdigest()[:12]}"
        path = self.folder_of(file) / name
        path.write_bytes(data)
        return path


def case_of(file: Path, path: Path) -> str:
    """The name of an input in a report."""
    return f"{file.name}/{path.name}"
