"""Pages of the Python API, made of docstrings and signatures."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyflowdata as flow

from .absent import absent
from .markdown import docstring, fenced, heading, prose, signature, summary, table
from .page import Page

_SPECIAL = ("__call__", "__getitem__", "__iter__", "__len__", "__next__")
# Methods that other modules of the package call, and no program.
_INNER = {
    "Dataset": {"first_batch"},
    "Blob": {"fill"},
    "Report": {"add", "with_counters"},
    "FlowDatasource": {"estimate_inmemory_data_size", "get_read_tasks"},
}
_LIBRARIES = ("torch", "lightning", "transformers", "jax", "ray", "pyarrow", "setuptools")


@dataclass(frozen=True)
class Part:
    """A page: names of a module.

    Attributes:
        key: The name of the page's file.
        title: The title of the page.
        about: What a reader of the page finds, one sentence.
        module: The module from which users import the names.
        names: The names of the module; empty: its `__all__`.
    """

    key: str
    title: str
    about: str
    module: str
    names: tuple[str, ...] = ()

    @property
    def all_names(self) -> tuple[str, ...]:
        return self.names or tuple(importlib.import_module(self.module).__all__)


def _exceptions() -> tuple[str, ...]:
    """The exceptions of the package, the base class first."""
    found = {name: getattr(flow, name) for name in flow.__all__}
    names = (name for name, one in found.items()
             if inspect.isclass(one) and issubclass(one, Exception))  # fmt: skip
    return tuple(sorted(names, key=lambda name: len(found[name].__mro__)))


PARTS = (
    Part("loader", "Loaders and blobs",
         "The loader, what it delivers, and how a loop shows and runs its steps.", "pyflowdata",
         ("DataLoader", "Blob", "Ragged", "progress", "Progress", "sink", "Sink",
          "user_op_builder", "ops", "IMAGENET_MEAN", "IMAGENET_STD")),
    Part("datasets", "Dataset, open and mix",
         "Records as values: open files, take views, mix and batch them.", "pyflowdata",
          ("open", "from_arrays", "from_arrow", "range", "mix", "leaks", "Leaks", "Tokenize",
          "Vocabulary", "Statistics", "Dataset", "Batches")),
    Part("reports", "Reports, traces and graphs",
         "What a loader did, how fast it is, and what it computes.", "pyflowdata",
         ("Report", "RankReport", "Tuning", "Decision", "Speed", "Ceiling", "Trace", "Dashboard",
          "Stall", "graph", "Graph", "show", "Sheet", "audit")),
    Part("own-ops", "Own ops", "Ops made of Python functions, plugins and C sources.",
         "pyflowdata",
         ("register_decoder", "load_library", "load_package_ops", "compile", "Plugin",
          "include_dir")),
    Part("ranks", "Ranks", "Which part of every batch a process gets.", "pyflowdata",
         ("world", "World")),
    Part("errors", "Errors and warnings", "What can go wrong, and what each error knows about it.",
         "pyflowdata", _exceptions()),
    Part("writers", "Writers", "The classes and functions of pyflowdata.io, which write files.",
         "pyflowdata.io"),
    Part("torch", "torch integration", "Batches as torch tensors, on the host or on a device.",
         "pyflowdata.integrations.torch"),
    Part("lightning", "Lightning integration",
         "A DataModule whose loaders go on exactly from a Trainer's checkpoints.",
         "pyflowdata.integrations.lightning"),
    Part("transformers", "transformers integration",
         "Loaders as the data sets of a Trainer of transformers or TRL.",
         "pyflowdata.integrations.transformers"),
    Part("huggingface", "datasets integration", "Rows of a datasets.Dataset as records.",
         "pyflowdata.integrations.huggingface"),
    Part("jax", "jax integration", "Batches as jax arrays, on one device or sharded over many.",
         "pyflowdata.integrations.jax"),
    Part("ray", "Ray integration", "Readers as sources of Ray Data.",
         "pyflowdata.integrations.ray"),
    Part("tensorboard", "TensorBoard integration", "What a loader does, as curves.",
         "pyflowdata.integrations.tensorboard"),
    Part("opentelemetry", "OpenTelemetry integration", "What a loader does, as instruments.",
         "pyflowdata.integrations.opentelemetry"),
    Part("packaging", "Packages with a plugin",
         "For the setup.py of a package with a plugin, which is given `commands` of this module, "
         "too: `setup(ext_modules=[plugin(...)], cmdclass=commands)`.",
         "pyflowdata.packaging", ("plugin",)),
    Part("testing", "Testing ops", "Checks of readers and decoders for test suites.",
         "pyflowdata.testing"),
)  # fmt: skip


def pages() -> list[Page]:
    """A page for each part; `not_listed()` has what no part names."""
    with absent(*_LIBRARIES):
        return [_page(part) for part in PARTS]


def not_listed() -> list[str]:
    """Public names of the package, other than ops, that no part has."""
    listed = {name for part in PARTS if part.module == "pyflowdata" for name in part.all_names}
    return sorted(set(flow.__all__) - set(flow.ops.__all__) - listed)


def _page(part: Part) -> Page:
    module = importlib.import_module(part.module)
    names = part.all_names
    found = {name: getattr(module, name) for name in names}
    parts = [f"# {part.title}\n", f"{part.about}\n"]
    shown = "import pyflowdata as flow" if part.module == "pyflowdata" else (
        f"from {part.module} import {next(iter(sorted(names, key=str.islower)))}"
    )
    parts.append(fenced(shown, "python"))
    rows = [[f"[{name}](#{name})", prose(_about(one))] for name, one in found.items()]
    parts.append(table(["name", "what it is"], rows))
    parts += [_section(name, one) for name, one in found.items()]
    return Page(f"{part.key}.md", part.title, "\n".join(parts), names)


def _about(one: Any) -> str:
    if inspect.ismodule(one) or callable(one):
        return summary(inspect.getdoc(one) or "")
    return f"The constant {one!r}."


def _section(name: str, one: Any) -> str:
    parts = [heading(2, name, name)]
    if inspect.isclass(one):
        parts += list(_of_class(name, one))
    elif inspect.ismodule(one):
        parts.append(docstring(one.__doc__ or ""))
        parts.append("The [ops](../index.md#ops) have pages of their own.\n")
    elif callable(one):
        parts.append(fenced(signature(name, _signature(one)), "python"))
        parts.append(docstring(inspect.getdoc(one) or ""))
    else:
        parts.append(fenced(f"{name} = {one!r}", "python"))
    return "\n".join(parts)


def _signature(one: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(one)
    except (TypeError, ValueError):
        return None


def _of_class(name: str, one: type) -> Iterator[str]:
    own_init = any("__init__" in vars(base) for base in _bases(one))
    if own_init:
        yield fenced(signature(name, _without_return(_signature(one))), "python")
    bases = [base for base in one.__mro__[1:2] if base.__name__ in flow.__all__ or
             base.__module__ == "builtins" and base is not object]  # fmt: skip
    if bases:
        yield f"A kind of `{bases[0].__name__}`.\n"
    yield docstring(inspect.getdoc(one) or "")
    init = one.__init__.__doc__  # type: ignore[misc]
    if own_init and init and init.lstrip().startswith("Args:"):
        yield docstring(init if init.startswith("\n") else "\n" + " " * 8 + init)
    for method, value in _members(one):
        yield from _member(name, method, value)


def _without_return(made: inspect.Signature | None) -> inspect.Signature | None:
    return made and made.replace(return_annotation=inspect.Signature.empty)


def _bases(one: type) -> list[type]:
    return [base for base in one.__mro__ if base.__module__.startswith("pyflowdata")]


def _members(one: type) -> list[tuple[str, Any]]:
    """Methods and properties, also inherited ones of this package, by name; those of data classes
    are in the docstring of the class."""
    found: dict[str, Any] = {}
    hidden = set().union(*(_INNER.get(base.__name__, set()) for base in one.__mro__))
    for base in _bases(one):
        for name, value in vars(base).items():
            if name.startswith("_") and name not in _SPECIAL or name in hidden:
                continue
            if isinstance(value, (property, functools.cached_property, classmethod, staticmethod)):
                found.setdefault(name, value)
            elif inspect.isfunction(value):
                found.setdefault(name, value)
    return sorted(
        ((name, value) for name, value in found.items() if _doc(one, name)),
        key=lambda member: (member[0].startswith("__"), member[0]),
    )


def _doc(one: type, name: str) -> str:
    """Also of the base that a method replaces, if it has none of its own."""
    value = inspect.getattr_static(one, name)
    return inspect.getdoc(getattr(value, "__func__", value)) or inspect.getdoc(
        getattr(one, name, None)) or ""  # fmt: skip


def _member(owner: str, name: str, value: Any) -> Iterator[str]:
    cls = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
    is_value = isinstance(value, (property, functools.cached_property))
    yield heading(3, name, f"{owner}.{name}")
    if is_value:
        get = value.fget if isinstance(value, property) else value.func
        made = _signature(get)
        kind = "" if made is None or made.return_annotation is made.empty else (
            f": {signature('', made, skip_self=True).partition('-> ')[2]}"
        )
        yield fenced(f"{owner}.{name}{kind}", "python")
        yield docstring(inspect.getdoc(value) or inspect.getdoc(get) or "")
    else:
        yield fenced(signature(name, _signature(cls), skip_self=not isinstance(
            value, staticmethod)), "python")  # fmt: skip
        yield docstring(inspect.getdoc(cls) or "")
