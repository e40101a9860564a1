"""The example reader of examples/custom_reader: as a plugin, and built into the library."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from bench import clips
from bench.columns import Repeated
from bench.contender import Source, contender
from bench.text import Text


class Samples:
    """Batches of all samples, back to back, and their labels."""

    def __init__(self, make: Callable[..., Any], source: Source, attrs: dict[str, Any]) -> None:
        import pyflowdata as flow

        parts = {"data_part_num": len(source.files), "part_name_suffix_length": 3}
        order = {"shuffle_after_epoch": True, "seed": 7, "batch_size": source.batch_size}
        self._loader = flow.DataLoader(*make(source.folder, **parts, **order, **attrs))

    def __iter__(self) -> Any:
        for samples, label in self._loader:
            yield samples.values, Repeated(label, samples.lengths)


def plugin(source: Source, **attrs: Any) -> Samples:
    import pyflowdata as flow

    return Samples(flow.load_library(clips.PLUGIN).ClipReader, source, attrs)


def built_in(source: Source, **attrs: Any) -> Samples:
    os.environ["PYFLOWDATA_LIBRARY"] = str(clips.LIBRARY)
    import pyflowdata as flow

    return Samples(flow.ops.ClipReader, source, attrs)


for name, function in (("plugin", plugin), ("built-in", built_in)):
    contender("W10", name=name, text="In the order of the files.")(function)
    contender("W10", name=f"{name}-shuffled", text="Shuffled over all records.")(
        functools.partial(function, random_shuffle=True)
    )


@contender("W10", name="MiniReader", data=Text(200))
def mini_reader(source: Source) -> Any:
    """For orientation: text, parsed by the built-in MiniReader, in batches of 256 rows."""
    from bench.peers.pyflowdata import loader

    return loader(source)
