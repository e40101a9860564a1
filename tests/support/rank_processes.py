"""Runs a function in several processes that are ranks of one gloo process group; and torchrun,
whose ranks import nothing again."""

import faulthandler
import multiprocessing
import os
import runpy
import signal
import sys
import time
import traceback

TIMEOUT = 240  # seconds for all ranks on a busy machine, less than faulthandler_timeout of pytest
SLOW_IMPORTS = ("pyflowdata", "torch.distributed", "accelerate", "transformers.trainer", "trl")


def _context(method):
    context = multiprocessing.get_context(method)
    if method == "forkserver":
        context.set_forkserver_preload([name for name in SLOW_IMPORTS if name in sys.modules])
    return context


def run_ranks(function, world_size, folder, *args, method="forkserver"):
    """What function(*args) returns on each rank; it is one of a module, and torch.save takes it.

    The process group is there, and RANK, WORLD_SIZE and LOCAL_RANK are set, as torchrun does.  The
    method "fork" spares the imports of this process, where no thread of torch was started.
    """
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    context = _context(method)
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


def start_torchrun(ranks, script, *arguments, output):
    """Starts torchrun in a process, and returns the process, whose children are the ranks.

    Each rank runs the script as the main module.  All of them are forks of a process that has
    imported torch, which takes longer than the script.

    output: A path; the file gets what they print.
    """
    words = [str(script), *map(str, arguments)]
    launcher = _context("forkserver").Process(target=_launch, args=(ranks, words, str(output)))
    launcher.start()
    return launcher


def _launch(ranks, words, output):
    from torch.distributed import run
    from torch.distributed.launcher.api import elastic_launch

    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    os.environ["OMP_NUM_THREADS"] = "1"
    options = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0"]  # those of --standalone
    options += ["--rdzv-id", os.path.basename(output), "--nproc-per-node", str(ranks)]
    config, _, _ = run.config_from_args(run.parse_args([*options, *words]))
    config.start_method = "fork"
    elastic_launch(config, _run_script)(words)


def _run_script(words):
    sys.argv, sys.path[0] = words, os.path.dirname(words[0])
    usual, os._exit = os._exit, sys.exit  # the launcher waits for what this function returns
    try:
        runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
    finally:
        os._exit = usual
        sys.stdout.flush()
