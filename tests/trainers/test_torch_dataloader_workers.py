"""Worker processes and threads of DataLoader: failures, memory, their end, Ctrl-C."""

import gc
import re
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402
from support.numbered_samples import (  # noqa: E402
    BATCH,
    WAYS,
    Numbers,
    ids,
)
from support.programs import environment  # noqa: E402

from pyflowdata.integrations.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")


# ---- Failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_an_exception_keeps_its_class_and_the_next_batches_follow(way):
    batches = iter(DataLoader(Numbers(bad=9), BATCH, **way))
    assert ids([next(batches), next(batches)]) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.raises(KeyError, match="no sample 9") as failure:
        next(batches)
    if way and "workers" not in way:
        said = str(failure.value)
        assert re.match(r"Caught KeyError in DataLoader worker process \d\.\nOriginal Trace", said)
        assert re.search(r'File ".*numbered_samples\.py", line \d+, in __getitem__', said)
        assert "fetching.py" not in said and "worker_main.py" not in said
        assert failure.value.__cause__.args == ("no sample 9",)
    assert ids(batches) == [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21]]


class Fails(Numbers):
    """Its exceptions have texts and arguments of their own."""

    def __init__(self, failure):
        super().__init__()
        self.failure = failure

    def __getitem__(self, index):
        raise self.failure


class Coded(Exception):
    code = 0


@pytest.mark.parametrize("failure", [OSError(2, "no such thing"), Coded("no")], ids=repr)
def test_an_exception_of_any_class_begins_as_torchs(failure):
    if isinstance(failure, Coded):
        failure.code = 7
    with pytest.raises(Exception, match=rf"^Caught {type(failure).__name__} in D") as caught:
        next(iter(DataLoader(Fails(failure), BATCH, num_workers=1)))
    cause = caught.value.__cause__
    assert isinstance(caught.value, type(failure))
    if isinstance(failure, Coded):
        assert caught.value.code == 7
    assert (type(cause), cause.args, vars(cause)) == (
        type(failure), failure.args, vars(failure)
    )  # fmt: skip


def test_a_killed_worker_is_an_error_with_signal_and_sample():
    with pytest.raises(RuntimeError, match=r"signal: SIGKILL.*fetched sample 9"):
        ids(DataLoader(Numbers(end=9), BATCH, num_workers=2))


@pytest.mark.parametrize("workers", ["processes", "threads"])
def test_timeout_is_an_error(workers):
    class Waiting(Numbers):
        def __getitem__(self, index):
            time.sleep(0.5)
            return index, index

    begin = time.monotonic()
    with pytest.raises(RuntimeError, match="timed out after 0.05 seconds"):
        ids(DataLoader(Waiting(2), 2, num_workers=1, timeout=0.05, workers=workers))
    assert time.monotonic() - begin < 30


def fails(number):
    raise ValueError(f"not in worker {number}")


def test_worker_init_fn_runs_in_each_worker_and_its_exception_arrives():
    class Info(torch_data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            info = torch_data.get_worker_info()
            return info.id, info.num_workers, self.told

    def tell(number):
        torch_data.get_worker_info().dataset.told = 10 + number

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [[one.tolist() for one in batch] for batch in DataLoader(
            Info(), num_workers=2, worker_init_fn=tell, multiprocessing_context="fork",
        )]  # fmt: skip
    assert sorted(found) == [[[0], [2], [10]]] * 2 + [[[1], [2], [11]]] * 2
    with pytest.raises(ValueError, match="not in worker 0"):
        ids(DataLoader(Numbers(), num_workers=1, worker_init_fn=fails))


# ---- Processes and memory -----------------------------------------------------------------------


def test_batches_that_are_held_keep_their_values_and_others_use_their_memory_again():
    loader = DataLoader(Numbers(200), BATCH, num_workers=1, persistent_workers=True)
    held = [*loader]
    for step, (numbers, rows) in enumerate(held):
        assert numbers.tolist() == [*range(step * BATCH, step * BATCH + BATCH)]
        assert torch.equal(rows, numbers[:, None].float().expand(BATCH, 300))
        rows.zero_()
    used = loader.stats()["slot_bytes"]
    del held, rows
    for numbers, rows in loader:
        assert torch.equal(rows, numbers[:, None].float().expand(BATCH, 300))
    assert loader.stats()["slot_bytes"] == used
    del rows, numbers
    gc.collect()
    assert loader.stats()["slots_held"] == 0
    loader.close()


class Shared(torch_data.Dataset):
    """Says how much memory is this process's own: pages that it has written to."""

    def __init__(self):
        self.array, self.tensor = np.ones(1 << 24, np.uint8), torch.ones(1 << 24, dtype=torch.uint8)

    def __len__(self):
        return 2

    def __getitem__(self, index):
        self.array.sum(), self.tensor.sum()
        with open("/proc/self/smaps_rollup") as file:
            own = sum(int(line.split()[1]) for line in file if line.startswith("Anonymous"))
        self.array[0] = 2  # which is of this process alone
        return own * 1024, int(self.array[1])


@pytest.mark.slow
def test_arrays_and_tensors_of_a_dataset_are_in_memory_once():
    def own(data):
        loader = DataLoader(data, num_workers=1, multiprocessing_context="forkserver")
        return max(batch[0].item() for batch in loader)

    small = Shared()
    small.array, small.tensor = small.array[:8], small.tensor[:8]
    assert own(Shared()) - own(small) < 1 << 22


def children():
    import multiprocessing

    return multiprocessing.active_children()


def test_workers_end_with_the_iterator_and_kept_ones_with_close():
    batches = iter(DataLoader(Numbers(), BATCH, num_workers=2))
    next(batches)
    assert len(children()) == 2
    del batches
    assert not children()
    with DataLoader(Numbers(), BATCH, num_workers=1, persistent_workers=True) as loader:
        ids(loader)
        (first,) = children()
        ids(loader)
        assert children() == [first]
    assert not children()


@pytest.mark.parametrize("persistent", [False, True])
def test_slots_are_those_of_the_workers_that_run(persistent):
    loader = DataLoader(Numbers(), BATCH, num_workers=2, persistent_workers=persistent)
    with loader:
        assert loader.stats()["slots"] == loader.stats()["slot_bytes"] == 0
        batches = iter(loader)
        held = [next(batches), next(batches)]
        running = loader.stats()
        assert running["slots"] >= running["slots_held"] >= 2
        assert running["slot_bytes"] >= 2 * sum(part.nbytes for part in held[0])
        ids(batches)
        over = loader.stats()
        assert (over["slots"] >= 2) == persistent
        del held, batches
        gc.collect()
        assert loader.stats()["slots_held"] == 0
    assert loader.stats()["slots"] == 0


SCRIPT = """
import sys
import torch
from pyflowdata.integrations.torch import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return torch.full((400,), index)

if __name__ == "__main__":
    for how in ("spawn", "forkserver", "fork"):
        loader = DataLoader(Data(), 2, num_workers=1, multiprocessing_context=how)
        print([batch[:, 0].tolist() for batch in loader])
"""


@pytest.mark.slow
def test_a_script_with_its_dataset_in_main_works_with_every_start_method(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script], env=environment(), capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[[0, 1], [2, 3], [4, 5]]"] * 3, done.stderr


INTERRUPTED = """
import os, signal, sys, threading, time
import torch
from pyflowdata.integrations.torch import DataLoader

class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 300

    def __getitem__(self, index):
        time.sleep(0.002)
        return torch.full((200,), index)

count, workers = int(sys.argv[1]), sys.argv[2]
batches = iter(DataLoader(Data(), 4, num_workers=count, workers=workers))
found, ends = next(batches)[:, 0].tolist(), threading.Event()

def interrupt():
    while not ends.wait(0.02):
        os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
batch, interrupts = None, 0
while True:
    try:
        if batch is not None:
            found, batch = found + batch[:, 0].tolist(), None
        batch = next(batches)
    except KeyboardInterrupt:
        interrupts += 1
    except StopIteration:
        break
    if interrupts > 10:
        ends.set()
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.write(1, f"{found == list(range(300))} {interrupts > 0}".encode())
os._exit(0)
"""


@pytest.mark.slow
@pytest.mark.parametrize("count, workers", [(0, "processes"), (2, "processes"), (2, "threads")])
def test_ctrl_c_costs_no_batch(tmp_path, count, workers):
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, script, str(count), workers], env=environment(),
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == "True True", done.stderr
