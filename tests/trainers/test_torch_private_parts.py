"""What DataLoader uses of torch, NumPy and Python that may change: each change is noticed."""

import multiprocessing.forkserver
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
import torch.utils.data as torch_data  # noqa: E402

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader  # noqa: E402
from pyflowdata.integrations.torch.data_loader import (  # noqa: E402
    randomness,
    worker_main,
    workers,
)

SAMPLES = 12


class Numbers(torch_data.Dataset):
    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return index


class Counting(torch_data.IterableDataset):
    """Numbers, of which each worker has its part."""

    def __iter__(self):
        info = torch_data.get_worker_info()
        return iter(range(info.id, SAMPLES, info.num_workers))


class DrawsLate(Numbers):
    """Draws from NumPy's generator, but for the first samples of an epoch."""

    def __getitem__(self, index):
        return index, np.random.rand() if index >= 6 else 0.0


WITHOUT_A_PART = """
import sys
import torch.utils.data._utils.collate as collate
del collate.collate_tensor_fn
import pyflowdata.integrations.torch as integration
assert "DataLoader" in dir(integration)
assert "pyflowdata.integrations.torch.data_loader" not in sys.modules
try:
    integration.DataLoader
except ImportError as failure:
    print(failure)
"""


def test_another_torch_costs_the_dataloader_and_no_other_loader():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_PART], capture_output=True, text=True, check=True
    )
    assert f"DataLoader cannot be used with torch {torch.__version__}" in done.stdout
    assert "collate_tensor_fn" in done.stdout and "torch 2.6" in done.stdout


def test_pinning_takes_a_batch_and_a_device():
    from torch.utils.data._utils.pin_memory import pin_memory

    if not torch.accelerator.is_available():
        assert pin_memory("a text", "cuda") == "a text"  # not a tensor: there is nothing to pin


def test_workers_that_torch_does_not_know_are_refused(monkeypatch):
    monkeypatch.setattr(worker_main, "get_worker_info", lambda: None)
    loader = DataLoader(Counting(), 3, num_workers=2, multiprocessing_context="fork")
    with pytest.raises(flow.UnsupportedError, match="get_worker_info.*num_workers=0"):
        next(iter(loader))


def test_a_forkserver_of_another_form_costs_the_preload_alone(monkeypatch):
    context = multiprocessing.get_context("forkserver")
    asked = []
    preload = "set_forkserver_preload"
    monkeypatch.setattr(type(context), preload, lambda _, names: asked.append(names))
    monkeypatch.setattr(multiprocessing.forkserver, "_forkserver", object())
    workers._preload(context)
    assert asked == []


@pytest.mark.parametrize("shift", [0, 1, 8])
def test_numpy_words_are_read_only_where_they_are(monkeypatch, shift):
    monkeypatch.setattr(randomness, "_KEY_WORDS", 624 - shift)
    randomness._has_known_layout.cache_clear()
    try:
        assert (randomness.words_of(np.random.MT19937(3)) is None) == (shift > 0)
        assert randomness.words_of(np.random.PCG64(3)) is None
        whole = [part.tolist() for part in _drawn(1)]
        assert [part.tolist() for part in _drawn(4)] == whole  # draws are seen without them, too
    finally:
        monkeypatch.undo()
        randomness._has_known_layout.cache_clear()


def _drawn(batch_size):
    loader = DataLoader(DrawsLate(), batch_size, seed=7)
    return [torch.cat(parts) for parts in zip(*loader, strict=True)]


@pytest.mark.parametrize("seed", [3, [3, 5]])
def test_every_form_of_seed_changes_the_words(seed):
    random = np.random.RandomState(1)
    words = randomness.words_of(random._bit_generator)
    before = words.word.value
    random.seed(seed)
    assert words.word.value != before and words.position.value == 624
