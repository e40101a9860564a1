"""accelerate stores and restores a loader that is registered for checkpointing."""

import itertools

import pytest

accelerate = pytest.importorskip(
    "accelerate", reason="accelerate is not installed: pip install pyflowdata[accelerate]"
)
torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

from support.files import lines, write_parts

STEPS = 8


def make_loader(folder, seed):
    return TorchLoader(
        flow.DataLoader(
            flow.MiniReader(
                folder, batch_size=4, random_shuffle=True, shuffle_after_epoch=True, seed=seed
            )
        )
    )


def taken(batches, count=None):
    return [batch.tolist() for batch in itertools.islice(batches, count)]


@pytest.mark.parametrize("steps", [3, STEPS])
def test_register_for_checkpointing(tmp_path, steps):
    folder = write_parts(tmp_path / "parts", lines(0, 29))
    with make_loader(folder, 5) as loader:
        accelerator = accelerate.Accelerator(cpu=True)
        accelerator.register_for_checkpointing(loader)
        taken(iter(loader), steps)
        accelerator.save_state(tmp_path / "checkpoint")
        rest = taken(loader.repeat(), 2 * STEPS)
    with make_loader(folder, 6) as loader:
        accelerator = accelerate.Accelerator(cpu=True)
        accelerator.register_for_checkpointing(loader)
        taken(iter(loader), 2)
        accelerator.load_state(tmp_path / "checkpoint")
        assert taken(loader) == rest[: STEPS - steps % STEPS]
        assert taken(loader) == rest[STEPS - steps % STEPS :][:STEPS]


def test_prepare_leaves_a_loader_as_it_is(tmp_path):
    folder = write_parts(tmp_path / "parts", lines(0, 29))
    with make_loader(folder, 5) as loader:
        assert accelerate.Accelerator(cpu=True).prepare(loader) is loader
