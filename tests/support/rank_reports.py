"""Reports of ranks that train together: three loaders of one job, which meet in each step."""

import threading
import time

import numpy as np

import pyflowdata as flow

RANKS, STEPS = 3, 40


@flow.register_decoder(outputs={"out": "float64"}, per="row")
def late(x, *, seconds: float = 0.0):
    time.sleep(seconds)
    return x[()]


def reports(step_seconds, load_seconds, marks):
    """Reports of ranks that wait for each other at the end of each step, as an all-reduce does."""
    meet, found, failures = threading.Barrier(RANKS), [None] * RANKS, []

    def train(rank):
        x = flow.from_arrays({"x": np.arange(STEPS * RANKS * 2.0)}).batch(
            RANKS * 2, rank=rank, world_size=RANKS
        )["x"]
        if load_seconds[rank]:
            x = late(x, seconds=load_seconds[rank] / 2)  # of two rows a batch
        try:
            with flow.DataLoader(x, num_threads=1, prefetch=1) as loader:
                for _ in loader:
                    time.sleep(step_seconds[rank])
                    if marks:
                        with loader.collective():
                            meet.wait(20)
                    elif marks is not None:
                        meet.wait(20)
                found[rank] = loader.report()
        except BaseException as failure:
            failures.append(failure)
            meet.abort()

    threads = [threading.Thread(target=train, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    return found
