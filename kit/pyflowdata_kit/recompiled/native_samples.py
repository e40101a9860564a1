"""Samples for the programs of drivers/: folders with the files, and with damaged copies of one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from ..corpus import Corpus, case_of
from ..damaged_copies import KINDS
from ..file_kinds import file_of_each_kind

_DAMAGED = 16  # of each kind of damage, over all kinds of files
_KEPT = 64  # inputs of a corpus
WHOLE = "the sample"


def _damaged(files: Sequence[Path], corpus: Corpus) -> Iterator[tuple[str, Path, bytes]]:
    """The case, the file that has other bytes, and these."""
    victims = file_of_each_kind(files)
    for victim in victims:
        data = victim.read_bytes()
        for kind in KINDS.values():
            for damaged, doing in islice(kind(data, victim.name), _DAMAGED // len(victims)):
                yield doing, victim, damaged
    for file, path in corpus.inputs(files, _KEPT):
        yield case_of(file, path), file, path.read_bytes()


def write_samples(
    files: Sequence[Path], corpus: Corpus, folder: Path, only: str | None
) -> dict[str, Path]:
    """Folders with files of these names, by their cases.

    Args:
        files: Of the sample.
        corpus: What a fuzzer kept.
        folder: In which they are made.
        only: The only case that is wanted; None: all.
    """
    made: dict[str, Path] = {}

    def add(case: str) -> Path:
        made[case] = folder / f"{len(made):04}"
        made[case].mkdir(parents=True)
        for file in files:
            shutil.copyfile(file, made[case] / file.name)
        return made[case]

    if only in (None, WHOLE):
        add(WHOLE)
    for case, victim, data in _damaged(files, corpus):
        if only in (None, case) and case not in made:
            (add(case) / victim.name).write_bytes(data)
    return made
