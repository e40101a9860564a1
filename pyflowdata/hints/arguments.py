"""Arguments of the loaders and data sets of PyTorch, tf.data and MindData: what to do here."""

from __future__ import annotations

from . import remedies

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
OF_READERS = {
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

SOURCE_THREADS = (
    "thread_safe=True lets calls of the source overlap, in flow.DataLoader(blobs, num_threads=8); "
    "data.map(function, processes=2) has worker processes"
)
