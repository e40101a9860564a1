"""The inputs that a fuzzer kept, as regression tests."""

from __future__ import annotations

from pathlib import Path

from ...errors import Error
from ...plain_text import counted
from ..corpus import Corpus, case_of
from ..kit import FORWARD, Kit
from .check import Check
from .refusals import tell_damage_status
from .sample_files import copy_files, overwrite

_MOST = 256


def corpus(check: Check) -> str:
    """Each input in the place of the file that it stands for: it must be read or refused."""
    assert check.job.corpus is not None
    paths = [Path(path) for path in check.kit.files()]
    inputs = Corpus(Path(check.job.corpus)).inputs(paths, _MOST)
    folder = Path(check.job.folder, "corpus")
    copy_files(paths, folder)
    kit = check.make_kit(check.job.spec.in_folder(str(folder)))
    for file, path in inputs:
        if not check.case(case_of(file, path)):
            continue
        overwrite(folder / file.name, path.read_bytes())
        _look(check, kit, f"{path} as {file.name}")
        overwrite(folder / file.name, file.read_bytes())
    return counted(len(inputs), "input")


def _look(check: Check, kit: Kit, doing: str) -> None:
    try:
        run = kit.run(order=FORWARD, range=check.range, doing=doing)
    except Error:  # of the reader before the op
        return
    tell_damage_status(check, run, doing)
