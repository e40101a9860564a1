"""What is said where a loader is used as another library's, or as an iterator or a list.

A type checker does not see the methods that are made here, so that it finds such uses by itself.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import WrongUseError
from . import remedies
from .similar import did_you_mean

_NEXT = "use batches = iter(loader), then next(batches)"
_LOOP = "use for batch in loader"
_LENGTH = "use len(loader)"
_NO_WORKERS = "threads make the batches, and loader.num_threads counts them"

_METHODS = {
    **dict.fromkeys(("get_next", "next"), _NEXT),
    **dict.fromkeys(
        ("as_numpy_iterator", "create_dict_iterator", "create_tuple_iterator"), _LOOP
    ),
    **dict.fromkeys(
        ("cardinality", "get_dataset_size", "num_batches", "num_steps", "steps"), _LENGTH
    ),
    **dict.fromkeys(("batch_sampler", "generator", "sampler"), remedies.ANY_ORDER),
    **dict.fromkeys(("cpu", "cuda", "device", "pin_memory", "to"), remedies.DEVICE),
    **dict.fromkeys(("num_workers", "persistent_workers", "worker_init_fn"), _NO_WORKERS),
    **dict.fromkeys(
        ("batch", "cache", "filter", "map", "random_shuffle", "shuffle", "skip", "where"),
        remedies.ON_DATA,
    ),
    "batch_size": "use loader.readers[0].batch_size",
    "collate_fn": "ops form the batch, such as flow.PadBatch(x)",
    "dataset": "keep the data set in a variable of yours; loader.readers and loader.blobs say what "
    "is loaded",
    "drop_last": "the readers have last_batch",
    "epochs": "use loader.epoch",
    "prefetch_factor": "use loader.prefetch",
    "reset": f"{_LOOP}, which starts the next epoch, or loader.seek(0)",
    "set_epoch": "each iteration is the next epoch, in an order of its own by shuffle=True; "
    "loader.seek(0, epoch=n) goes to another",
    "take": "use itertools.islice(loader, n)",
    "timeout": "a long wait gives a StallWarning",
}


class LoaderHints:
    """The base of loaders: its methods raise a WrongUseError, which is a TypeError, or an
    AttributeError."""

    __slots__ = ()


def _next(self: Any) -> NoReturn:
    raise WrongUseError(f"a {type(self).__name__} is not an iterator: {_NEXT}, or {_LOOP[4:]}")


def _getitem(self: Any, key: Any) -> NoReturn:
    name = type(self).__name__
    if isinstance(key, str):
        instead = f"each batch has {key!r} if a dict of blobs is given, for batch in loader"
    else:
        read = "loader.read([i])" if hasattr(self, "read") else "loader.data_loader.read([i])"
        instead = f"take batches by for batch in loader, rows by {read}, and records from "\
            "the data set, data[i]"  # fmt: skip
    raise WrongUseError(f"a {name} has no index: {instead}")


def _array(self: Any, *_args: Any, **_options: Any) -> NoReturn:
    raise WrongUseError(f"a {type(self).__name__} is not an array: {_LOOP}, each of arrays")


def _getattr(self: Any, name: str) -> NoReturn:
    said = f"a {type(self).__name__} has no {name!r}"
    taken_over = self.__dict__.get("loader")
    if name.startswith("_"):
        pass
    elif taken_over is not None and hasattr(type(taken_over), name):
        said += f", its DataLoader does: use loader.data_loader.{name}"
    elif name in _METHODS:
        said += f": {_METHODS[name]}"
    else:
        known = [one for one in dir(type(self)) if not one.startswith("_")]
        said += did_you_mean(name, known)
    raise AttributeError(said, name=name, obj=None)


for _name, _method in {
    "next": _next, "getitem": _getitem, "getattr": _getattr, "array": _array
}.items():  # fmt: skip
    setattr(LoaderHints, f"__{_name}__", _method)
