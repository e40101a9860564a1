"""Runs the inputs that a fuzzer kept as regression tests."""

from __future__ import annotations

from pathlib import Path

from pyflowdata.errors import Error
from pyflowdata.words.plain_text import counted
from ..corpus import Corpus, case_of
from ..kit import FORWARD, Kit
from .check import Check, tell_damage_status
from .sample_files import SampleCopy

_MOST = 256


def corpus(check: Check) -> str:
    """Puts each input in place of its file: the op must read it or refuse it."""
    assert check.job.corpus is not None
    copy = SampleCopy(check, "corpus")
    inputs = Corpus(Path(check.job.corpus)).inputs(copy.paths, _MOST)
    for file, path in inputs:
        if not check.case(case_of(file, path)):
            continue
        with copy.changed(file) as write:
            write(path.read_bytes())
            _look(check, copy.kit, f"{path} as {file.name}")
    return counted(len(inputs), "input")


def _look(check: Check, kit: Kit, doing: str) -> None:
    try:
        run = kit.run(order=FORWARD, range=check.range, doing=doing)
    except Error:  # the reader before the op failed
        return
    tell_damage_status(check, run, doing)
