"""Runs a function in several processes that are ranks of one gloo process group."""

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback

TIMEOUT = 240  # seconds for all ranks on a busy machine, less than faulthandler_timeout of pytest
SLOW_IMPORTS = ("torch.distributed", "accelerate", "transformers.trainer", "trl")


def run_ranks(function, world_size, folder, *args, method="forkserver"):
    """What function(*args) returns on each rank; it is one of a module, and torch.save takes it.

    The process group is there, and RANK, WORLD_SIZE and LOCAL_RANK are set, as torchrun does.  The
    method "fork" spares the imports of this process, where no thread of torch was started.
    """
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload([name for name in SLOW_IMPORTS if name in sys.modules])
    processes = [
        context.Process(target=_run, args=(function, rank, world_size, str(folder), args))
        for rank in range(world_size)
    ]
    for process in processes:
        process.start()
    deadline = time.monotonic() + TIMEOUT
    for process in processes:
        process.join(max(0, deadline - time.monotonic()))
    stuck = [process for process in processes if process.is_alive()]
    for process in stuck:
        os.kill(process.pid, signal.SIGUSR1)  # it writes its stacks
    for process in stuck:
        process.join(1)
        process.kill()
        process.join()
    codes = [process.exitcode for process in processes]
    errors = [path.read_text() for path in sorted(folder.glob("error-*"))]
    assert codes == [0] * world_size, "\n".join([f"ranks end with {codes}", *errors])
    return [
        torch.load(folder / f"result-{rank}.pt", weights_only=False) for rank in range(world_size)
    ]


def _run(function, rank, world_size, folder, args):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world_size))
    os.environ.update(LOCAL_WORLD_SIZE=str(world_size), MASTER_ADDR="127.0.0.1", MASTER_PORT="1")
    os.environ["OMP_NUM_THREADS"] = "1"
    import torch

    stuck = open(os.path.join(folder, f"error-{rank}-stuck"), "w")
    # No timer of faulthandler: a fork would wait for the lock of that of pytest.
    faulthandler.register(signal.SIGUSR1, file=stuck)
    try:
        torch.set_num_threads(1)
        torch.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world_size
        )
        torch.save(function(*args), os.path.join(folder, f"result-{rank}.pt"))
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    except BaseException:
        with open(os.path.join(folder, f"error-{rank}"), "w") as file:
            file.write(traceback.format_exc())
        os._exit(1)
