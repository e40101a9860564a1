"""The plugins of kit/tests/faulty/, each with the words of its first comment:

    group: threads                 the group of checks that finds the fault
    finding: threads-differ        the id of what it says
    says: outputs of record \\d+    a regular expression of its text
    likely: a static variable      one of its first cause
    op: Centre                     which one to check; left out: BoxReader
    input: MiniReader              what feeds it: MiniReader (over data/), or an output of BoxReader
    sample: indexed                files with a companion each, as box_index.h reads them; or fixed
    seconds: 0.5                   of processor time for a pass, where the fault takes them all
    plugin: good.c                 which one has the BoxReader that feeds it
    sanitizer: ubsan               which one alone finds it
    fuzz: null-pointer             what a fuzzer alone finds, as a regular expression
    warns: cut-unnoticed           the ids of warnings about a good one, but for sample-poor
    left out: the loader           what the report says of a good one that some checks do not suit

A plugin whose name begins with good_ has no fault, and no group.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from support.paths import ROOT
from support.plugin_sources import compile_library

from pyflowdata_kit.spec import Spec

FOLDER = ROOT / "kit/tests/faulty"
_DATA = str(ROOT / "data")
_LINE = re.compile(r"^ \* ([a-z ]+): (.*?)(?: \*/)?$", re.M)


_COMPILED = ROOT / "build" / "faulty"  # libraries by their sources, for all tests and the next run
_FLAGS = ("-D_GNU_SOURCE", "-O0", "-g0")  # compilers take longer than many of the checks


@functools.cache
def _headers() -> bytes:
    """The files that plugins include, and the compilers that make plugins."""
    headers = [*FOLDER.glob("*.h"), ROOT / "csrc/include/pyflowdata/op.h"]
    tools = [os.environ.get(name, "") for name in ("CC", "CXX")]
    return b"".join(path.read_bytes() for path in sorted(headers)) + repr([tools, _FLAGS]).encode()


def compiled(source: Path, folder: Path) -> str:
    """A plugin's library in a folder; it is compiled if its sources are new."""
    digest = hashlib.sha256(_headers() + source.read_bytes()).hexdigest()[:16]
    known, library = _COMPILED / f"{source.stem}-{digest}.so", folder / f"{source.stem}.so"
    if known.exists():
        shutil.copyfile(known, library)
        return str(library)
    compile_library(library, source, flags=_FLAGS)
    _COMPILED.mkdir(parents=True, exist_ok=True)
    new = known.with_suffix(f".{os.getpid()}")
    shutil.copyfile(library, new)
    new.replace(known)
    for old in _COMPILED.glob(f"{source.stem}-" + "?" * 16 + ".so"):
        if old != known:
            old.unlink(missing_ok=True)
    return str(library)


@dataclass(frozen=True)
class Plugin:
    """One C or C++ file, and the facts of its first comment."""

    path: Path
    words: dict[str, str]

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_good(self) -> bool:
        return not {"group", "sanitizer", "fuzz"} & self.words.keys()

    @property
    def reader(self) -> Path | None:
        """The source of the plugin whose reader feeds it; None: its own reader does, or a built-in
        one."""
        return self.path.with_name(self.words["plugin"]) if "plugin" in self.words else None

    def compile(self, folder: Path) -> list[str]:
        """The libraries: first its reader's, and its own as the last."""
        sources = [*([self.reader] if self.reader else []), self.path]
        return [compiled(source, folder) for source in sources]

    @property
    def seconds(self) -> float:
        return float(self.words.get("seconds", 2))

    def spec(self, samples: Path) -> Spec:
        """The op to check, over files of the box format in a folder "box"; the folders of other
        samples are beside this folder."""
        if "sample" in self.words:
            samples = samples.with_name(self.words["sample"])
        box = Spec("BoxReader", attrs={"data_dir": str(samples)})
        source = self.words.get("input")
        if source is None:
            return box
        reader = Spec("MiniReader", attrs={"data_dir": _DATA}) if source == "MiniReader" else box
        output = source.partition(".")[2]
        return Spec(self.words["op"], inputs=((reader, output),))


def _read(path: Path) -> Plugin:
    comment = path.read_text().partition("*/")[0] + "*/"
    return Plugin(path, dict(_LINE.findall(comment)))


PLUGINS = {path.stem: _read(path) for path in sorted(FOLDER.iterdir()) if path.suffix != ".h"}
FAULTY = [name for name, one in PLUGINS.items() if "group" in one.words]
GOOD = [name for name, one in PLUGINS.items() if one.is_good]
ONLY_SANITIZED = [name for name, one in PLUGINS.items() if "sanitizer" in one.words]
FUZZED = [name for name, one in PLUGINS.items() if "fuzz" in one.words]
