"""Lightning stores the loader's state in its checkpoints and goes on from there."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
lightning = pytest.importorskip(
    "lightning.pytorch",
    reason="lightning is not installed: pip install pyflowdata[lightning]",
)

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

from support.files import lines, write_parts

STEPS = 8  # of an epoch

pytestmark = pytest.mark.filterwarnings("ignore")  # of Lightning's own


class Model(lightning.LightningModule):
    """Writes down which records each step of the training had."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        self.steps = []

    def training_step(self, batch, _):
        batch = batch["rows"] if isinstance(batch, dict) else batch
        self.steps.append((self.current_epoch, batch[:, 0].tolist()))
        return (self.weight * batch).mean()

    def validation_step(self, batch, _):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


class Stop(lightning.Callback):
    """Saves a checkpoint behind a step, and ends the run as a crash does."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            trainer.save_checkpoint(self.path)
            raise KeyError("crash")


def make_loader(folder, seed=5):
    rows = flow.MiniReader(
        folder, batch_size=4, random_shuffle=True, shuffle_after_epoch=True, seed=seed
    )
    return TorchLoader(flow.DataLoader(rows))


def fit(loader, *, epochs=3, callbacks=(), ckpt_path=None, validation=None):
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        devices=1,
        callbacks=list(callbacks),
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    try:
        trainer.fit(model, loader, validation, ckpt_path=ckpt_path)
    except KeyError as error:
        assert error.args == ("crash",)
    return model.steps


@pytest.fixture
def folder(tmp_path):
    return write_parts(tmp_path / "parts", lines(0, 29))


@pytest.fixture
def whole(folder):
    """What each step has if nothing is stopped."""
    with make_loader(folder) as loader:
        return [(epoch, rows[:, 0].tolist()) for epoch in range(3) for rows in loader]


def test_fit_takes_an_epoch_of_the_loader_for_one_of_its_own(folder, whole):
    with make_loader(folder) as loader, make_loader(folder) as validation:
        assert fit(loader, validation=validation) == whole


@pytest.mark.parametrize("stop", [1, 5, STEPS, STEPS + 3])
def test_a_run_goes_on_behind_its_checkpoint(folder, whole, tmp_path, stop):
    path = str(tmp_path / "stopped.ckpt")
    with make_loader(folder) as loader:
        assert fit(loader, callbacks=[Stop(stop, path)]) == whole[:stop]
    saved = torch.load(path, weights_only=False)
    (state,) = saved["loops"]["fit_loop"]["state_dict"]["combined_loader"]
    assert (state["epoch"], state["position"]) == divmod(stop, STEPS)
    with make_loader(folder, seed=6) as loader, warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not resumable.*")
        assert fit(loader, ckpt_path=path) == whole[stop:]


def test_a_second_stop_in_the_same_epoch(folder, whole, tmp_path):
    first, second = str(tmp_path / "first.ckpt"), str(tmp_path / "second.ckpt")
    with make_loader(folder) as loader:
        fit(loader, callbacks=[Stop(2, first)])
    with make_loader(folder) as loader:
        assert fit(loader, callbacks=[Stop(5, second)], ckpt_path=first) == whole[2:5]
    with make_loader(folder) as loader:
        assert fit(loader, ckpt_path=second) == whole[5:]


def test_two_loaders_each_have_their_state(folder, tmp_path):
    from lightning.pytorch.utilities import CombinedLoader

    def combined():
        return CombinedLoader([make_loader(folder, 1), make_loader(folder, 2)], "min_size")

    def as_lists(made):
        return [part.tolist() for part in made[0]]

    def states(loaders):
        return [loader.state_dict() for loader in loaders.flattened]

    left = iter(combined())
    for _ in range(3):
        next(left)
    saved = left._state_dicts()
    assert saved == states(left) and len(saved) == 2
    rest = [as_lists(next(left)) for _ in range(STEPS - 3)]
    right = combined()
    next(iter(right))
    right._load_state_dicts(saved)
    assert [as_lists(made) for made in right] == rest
