"""Messages for arguments that belong elsewhere, such as those of other libraries' loaders."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from ..errors import WrongUseError, shown
from ..words import remedies
from ..words.remedies import did_you_mean
from .op_facts import Op
from .registry import find_op


# ---- Arguments of other libraries ---------------------------------------------------------------

# Arguments of the loaders and data sets of PyTorch, tf.data and MindData -> what to do instead.

_THREADS = "threads make the batches, flow.DataLoader(blobs, num_threads=4)"
_NO_WORKERS = "leave it out, as threads make the batches and no workers are started"
_LAST = 'the reader has last_batch="drop", and a data set .batch(n, last="drop")'
_RANKS = "the reader has rank= and world_size=; left out, both are inferred"
_PINNED = f"{remedies.DEVICE}, by way of pinned memory"
_FUNCTION = f"call ops on the blobs; {remedies.OWN_OP}"
_LOADER = "give it to flow.DataLoader(...)"

ARGUMENTS = {
    "batch_sampler": remedies.ANY_ORDER,
    "buffer_size": f"{remedies.SHUFFLE}; neither needs a buffer",
    "collate_fn": "ops form the batch: flow.PadBatch(x) pads its rows, and "
    'flow.register_decoder(..., per="batch") makes an op of a function',
    "dataset": "give the blobs, as flow.DataLoader(flow.open(path).batch(n))",
    "device": remedies.DEVICE,
    "drop_last": _LAST,
    "drop_remainder": _LAST,
    "epochs": "each `for batch in loader` is an epoch, and loader.repeat() goes on without end",
    "generator": remedies.SEED,
    "in_order": "leave it out, as batches always come in order",
    "memory_budget": _LOADER,
    "multiprocessing_context": _NO_WORKERS,
    "num_parallel_calls": _THREADS,
    "num_parallel_workers": _THREADS,
    "num_replicas": _RANKS,
    "num_shards": _RANKS,
    "num_threads": _LOADER,
    "num_workers": _THREADS,
    "persistent_workers": _NO_WORKERS,
    "pin_memory": _PINNED,
    "pin_memory_device": _PINNED,
    "prefetch": _LOADER,
    "prefetch_factor": "flow.DataLoader(blobs, prefetch=4) has the number of batches made ahead",
    "sampler": remedies.ANY_ORDER,
    "shard_id": _RANKS,
    "target_transform": _FUNCTION,
    "timeout": "leave it out: a long wait gives a StallWarning that says which op is at work",
    "transform": _FUNCTION,
    "transforms": _FUNCTION,
    "worker_init_fn": f"{_NO_WORKERS}; random numbers of ops depend on the reader's seed",
}
ARGUMENTS["num_epochs"] = ARGUMENTS["epochs"]

# Attrs of readers that other libraries give to a loader.
_OF_READERS = {
    "batch_size": remedies.BATCH_SIZE,
    "random_shuffle": remedies.SHUFFLE,
    "shuffle": remedies.SHUFFLE,
    "seed": remedies.SEED,
}

# Attrs of readers as pandas, NumPy and the csv module call them.
ATTRS = {
    "delim": "delimiter",
    "na_values": "missing",
    "names": "fields",
    "sep": "delimiter",
    "separator": "delimiter",
    "skiprows": "skip_header_lines",
    "usecols": "fields",
}

# Arguments of methods of data sets, as Hugging Face calls them.
_OF_METHODS = {"probabilities": "weights", "stopping_strategy": "stop"}

_SOURCE_THREADS = (
    "thread_safe=True lets calls of the source overlap, in flow.DataLoader(blobs, num_threads=8); "
    "data.map(function, processes=2) has worker processes"
)


# ---- Unknown arguments --------------------------------------------------------------------------


P = ParamSpec("P")
ResultT = TypeVar("ResultT")


def _is_of_readers(name: str) -> bool:
    return find_op("BatchDataset").attr(name) is not None


def refuse_arguments(given: Iterable[str], function: str, own: Iterable[str]) -> None:
    """Refuses the unknown arguments `given` of a function, if there are any.

    Args:
        given: Names of the unknown arguments.
        function: Name of the function.
        own: Names of the arguments that it has.

    Raises:
        WrongUseError: The text says where each argument belongs, or which argument is meant; `attr`
            is the first one.
    """
    said = {name: _said_of(name, own) for name in given}
    if said:
        first, *others = said
        more = "".join(f"; nor '{name}'{said[name]}" for name in others)
        raise WrongUseError(
            f"{function}() has no argument '{first}'{said[first]}{more}", attr=first
        )


def _said_of(name: str, own: Iterable[str]) -> str:
    if name in _OF_READERS:
        return f": {_OF_READERS[name]}"
    if name in ARGUMENTS:
        return f": {ARGUMENTS[name]}"
    near = did_you_mean(name, own, 0.8)
    if near:
        return near
    if _is_of_readers(name):
        return ": give it to the reader, or to .batch(n) of a data set"
    return f"; it has {', '.join(own)}"


def takes_own_arguments(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
    """Makes a function, which takes loaders, answer unknown arguments as loaders do."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def called(*args: P.args, **given: P.kwargs) -> ResultT:
        refuse_arguments((one for one in given if one not in names), function.__name__, names)
        return function(*args, **given)

    return called


def says_how(
    hint: str | Callable[[Callable[..., Any]], str],
) -> Callable[[Callable[P, ResultT]], Callable[P, ResultT]]:
    """Makes a function answer a call with wrong arguments by showing the right form of the call.

    Args:
        hint: The form of the call, or a function that returns it when it is needed.
    """

    def changed(function: Callable[P, ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def called(*args: P.args, **given: P.kwargs) -> ResultT:
            try:
                return function(*args, **given)
            except TypeError:
                said = _misfit(function, args, given)
                if not said:
                    raise
                form = hint if isinstance(hint, str) else hint(function)
                raise WrongUseError(f"{function.__name__}(): {said}: {form}") from None

        return called

    return changed


def _misfit(function: Callable[..., Any], args: Any, given: Any) -> str:
    """Why a call does not fit the arguments of the function; "": it fits."""
    try:
        inspect.signature(function).bind(*args, **given)
    except TypeError as failure:
        called = [f"{one} is called {_OF_METHODS[one]}" for one in given if one in _OF_METHODS]
        return "; ".join([str(failure), *called])
    return ""


def refuse_other_argument(op: Op, name: str) -> None:
    """Raises a WrongUseError for an unknown attr of an op, if it is known where the attr belongs.
    """
    meant = None if op.is_reader and name == "dataset" else ARGUMENTS.get(name)
    if meant is None and not op.is_reader and _is_of_readers(name):
        meant = f"the reader has it, before {op.name} in the graph"
    word = ATTRS.get(name, "")
    if op.attr(word) is not None or (word == "fields" and op.attr("columns") is not None):
        meant = f"it is {word}= of flow.open here" if word == "fields" else f"it is {word}= here"
    if name in ("num_workers", "num_parallel_workers") and op.attr("thread_safe") is not None:
        meant = _SOURCE_THREADS
    if meant is not None:
        raise WrongUseError(f"unknown attr '{name}': {meant}", op=op.name, attr=name)
