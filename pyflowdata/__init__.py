"""Data loading in C for models in Python: readers, decoders, and batches as NumPy arrays.

    import pyflowdata as flow

    rows = flow.MiniReader("data", batch_size=4, random_shuffle=True, seed=7)
    x, y = flow.MiniDecoder(rows)
    with flow.DataLoader(x, y) as loader:
        for x_batch, y_batch in loader:
            ...

The ops are functions of this module, made from the C library's registry: `help(flow.MiniReader)`.
"""

import importlib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import native  # first: it says what ends a command while the rest is imported
from . import ops
from . import pyops  # which says what C calls for sources in Python
from . import remote as remote
from .errors import (
    CancelledError,
    CompileError,
    CorruptDataError,
    Error,
    FileError,
    InternalError,
    InvalidArgumentError,
    OutOfMemoryError,
    StallWarning,
    UnsupportedError,
    UserFunctionError,
)
from .native import include_dir, version
from .nodes import Blob
from .nodes.sampled_attrs import set_sampler
from .nodes.world import World, world
from .ragged import Ragged

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "Batches",
    "Blob",
    "CancelledError",
    "Ceiling",
    "CompileError",
    "CorruptDataError",
    "Dashboard",
    "DataLoader",
    "Dataset",
    "Decision",
    "Error",
    "FileError",
    "Graph",
    "InternalError",
    "InvalidArgumentError",
    "Leaks",
    "OutOfMemoryError",
    "Plugin",
    "Progress",
    "Ragged",
    "RankReport",
    "Report",
    "Sheet",
    "Sink",
    "Speed",
    "Stall",
    "StallWarning",
    "Statistics",
    "Tokenize",
    "Trace",
    "Tuning",
    "UnsupportedError",
    "UserFunctionError",
    "Vocabulary",
    "World",
    "audit",
    "from_arrays",
    "from_arrow",
    "graph",
    "include_dir",
    "leaks",
    "load_library",
    "load_package_ops",
    "mix",
    "ops",
    "progress",
    "register_decoder",
    "show",
    "sink",
    "user_op_builder",
    "world",
]
__all__ += ops.__all__

__version__ = version()

if TYPE_CHECKING:
    from .ops import *  # noqa: F403
    from .datasets import Batches, Dataset, Leaks, from_arrays, from_arrow, leaks, mix
    from .datasets import open as open  # not in __all__: `import *` leaves the built-in one
    from .datasets import range as range  # not in __all__, like `open`
    from .insight.dashboard import Dashboard
    from .insight.graph_drawing import Graph, graph
    from .loader import DataLoader
    from .loader.audit import audit
    from .loader.sinks import Sink, sink
    from .nodes.image_files import IMAGENET_MEAN, IMAGENET_STD
    from .nodes.op_builder import user_op_builder
    from .plugins import Plugin, load_library, load_package_ops
    from .plugins.compiler import compile as compile  # not in __all__, like `open`
    from .insight.progress import Progress, progress
    from .insight.report import RankReport, Report
    from .insight.tuning import Decision, Tuning
    from .insight.speed import Ceiling, Speed
    from .datasets.fitting import Statistics, Vocabulary
    from .datasets.showing import Sheet, show
    from .insight.stalls import Stall
    from .insight.trace import Trace
    from .pyops.decoders import register_decoder
    from .pyops.tokens import Tokenize
else:  # a type checker finds unknown names by itself
    _LATER = {  # not all programs name these, and importing some of them takes a while
        "Batches": "datasets",
        "Ceiling": "insight.speed",
        "Dashboard": "insight.dashboard",
        "DataLoader": "loader",
        "Dataset": "datasets",
        "Decision": "insight.tuning",
        "Graph": "insight.graph_drawing",
        "IMAGENET_MEAN": "nodes.image_files",
        "IMAGENET_STD": "nodes.image_files",
        "Leaks": "datasets",
        "Plugin": "plugins",
        "Progress": "insight.progress",
        "RankReport": "insight.report",
        "Report": "insight.report",
        "Sheet": "datasets.showing",
        "Sink": "loader.sinks",
        "Speed": "insight.speed",
        "Stall": "insight.stalls",
        "Statistics": "datasets.fitting",
        "Tokenize": "pyops.tokens",
        "Trace": "insight.trace",
        "Tuning": "insight.tuning",
        "Vocabulary": "datasets.fitting",
        "audit": "loader.audit",
        "compile": "plugins.compiler",
        "from_arrays": "datasets",
        "from_arrow": "datasets",
        "graph": "insight.graph_drawing",
        "leaks": "datasets",
        "load_library": "plugins",
        "load_package_ops": "plugins",
        "mix": "datasets",
        "open": "datasets",
        "progress": "insight.progress",
        "range": "datasets",
        "register_decoder": "pyops.decoders",
        "show": "datasets.showing",
        "sink": "loader.sinks",
        "user_op_builder": "nodes.op_builder",
    }

    _MODULES = ("io", "testing")
    _HIDDEN = ("compile", "open", "range")  # names of built-ins, which `import *` leaves

    def __dir__() -> list[str]:
        """The ops and the rest of the public interface, without the modules that contain them."""
        return sorted({*__all__, *_HIDDEN, *_MODULES, "__version__", "version"})

    def __getattr__(name: str) -> object:
        if name in _LATER:
            found = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
            return globals().setdefault(name, found)
        if name in ops.__all__:
            return globals().setdefault(name, getattr(ops, name))
        if name in _MODULES:
            return importlib.import_module(f".{name}", __name__)
        from .nodes.name_hints import missing

        raise missing(name, [*__all__, *_HIDDEN])


def _values_in_files(*args: Any) -> Mapping[str, object]:
    """The values of attrs in files; imported late, since few programs leave fields out and the
    import takes a while.
    """
    from .formats import values_in_files

    return values_in_files(*args)


set_sampler(_values_in_files)
if os.environ.get("PYFLOWDATA_PLUGINS"):
    from .plugins import load_plugins_of_environment

    load_plugins_of_environment()
