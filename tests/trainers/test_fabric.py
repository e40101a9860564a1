"""Lightning Fabric: the records of each step are those of an uninterrupted loop over a loader."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
pytest.importorskip(
    "lightning.fabric", reason="lightning is not installed: pip install pyflowdata[lightning]"
)

import pyflowdata as flow  # noqa: E402
from lightning.fabric import Fabric  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402

from support.rank_processes import run_ranks  # noqa: E402
from support.trainer_truth import numbered_blob, steps_of  # noqa: E402

RECORDS, BATCH, STEPS, EPOCHS = 29, 6, 5, 4

pytestmark = pytest.mark.filterwarnings("ignore")  # of Lightning's own


def make_loader(seed=3):
    return TorchLoader(flow.DataLoader(numbered_blob(RECORDS, BATCH, seed=seed)))


def truth(epochs=EPOCHS):
    """The records of each step, by the NumPy loader."""
    blob = numbered_blob(RECORDS, BATCH, rank=0, world_size=1)
    return steps_of(flow.DataLoader(blob), epochs)


class Run:
    """A model and a loader of a Fabric, and how many steps the optimizer took."""

    def __init__(self, seed=3, **fabric):
        self.fabric = Fabric(accelerator="cpu", **{"devices": 1, **fabric})
        self.fabric.launch()
        model = torch.nn.Linear(1, 1)
        self.model, self.optimizer = self.fabric.setup(
            model, torch.optim.SGD(model.parameters(), 0.1)
        )
        self.loader = self.fabric.setup_dataloaders(make_loader(seed))
        self.updates = 0

    @property
    def state(self):
        return {"model": self.model, "optimizer": self.optimizer, "loader": self.loader}

    def train(self, epochs, every=1, stop=None):
        """The records of each step."""
        seen = []
        for _ in range(epochs):
            for step, batch in enumerate(self.loader, 1):
                is_update = step % every == 0 or step == len(self.loader)
                with self.fabric.no_backward_sync(self.model, enabled=not is_update):
                    self.fabric.backward(self.model(batch.float()[:, None]).mean())
                if is_update:
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                    self.updates += 1
                seen.append(batch.tolist())
                if len(seen) == stop:
                    return seen
        return seen

    def after(self, path):
        """The same run, as it was saved."""
        self.fabric.load(path, self.state)
        return self

    def saved(self, path):
        self.fabric.save(path, self.state)
        return path


@pytest.mark.cell("Fabric", "fit")
def test_each_iterator_is_the_next_epoch():
    run = Run()
    assert run.train(EPOCHS) == truth()
    assert len(run.loader) == STEPS and run.loader.device == run.fabric.device


@pytest.mark.cell("Fabric", "mid-epoch resume")
@pytest.mark.parametrize("stop", [2, STEPS - 1, STEPS + 1, 2 * STEPS + 3])
def test_a_run_goes_on_after_a_step(tmp_path, stop):
    run = Run()
    assert run.train(EPOCHS, stop=stop) == truth()[:stop]
    path = run.saved(tmp_path / "run")
    epochs = EPOCHS - stop // STEPS  # with the started one
    assert Run(seed=9).after(path).train(epochs) == truth()[stop:]


@pytest.mark.cell("Fabric", "mid-epoch resume")
def test_a_second_stop_in_the_same_epoch(tmp_path):
    first = Run()
    seen = first.train(EPOCHS, stop=STEPS + 1)
    second = Run().after(first.saved(tmp_path / "first"))
    seen += second.train(1, stop=2)
    assert seen + Run().after(second.saved(tmp_path / "second")).train(3) == truth()


@pytest.mark.cell("Fabric", "epoch-end resume")
@pytest.mark.parametrize("epochs", [1, 3])
def test_a_run_goes_on_after_an_epoch(tmp_path, epochs):
    run = Run()
    run.train(epochs)
    path = run.saved(tmp_path / "run")
    assert Run(seed=9).after(path).train(EPOCHS - epochs) == truth()[epochs * STEPS :]


@pytest.mark.cell("Fabric", "accumulation")
@pytest.mark.parametrize("every, updates", [(2, 3), (3, 2), (5, 1)])
def test_the_last_batch_of_an_epoch_steps_the_optimizer(every, updates):
    run = Run()
    assert run.train(EPOCHS, every) == truth() and run.updates == EPOCHS * updates


def on_ranks(folder):
    """What a rank sees: in a separate run, after a step of one process, and in an evaluation."""
    options = {"devices": 2, "strategy": "ddp"}
    run = Run(**options)
    begun = run.train(1, stop=3)
    run.saved(f"{folder}/two")
    resumed = Run(seed=9, **options).after(f"{folder}/one").train(EPOCHS - 1)
    evaluated = [batch.tolist() for batch in Run(**options).loader]
    return begun, resumed, evaluated


@pytest.mark.cell("Fabric", "other world size")
@pytest.mark.cell("Fabric", "evaluation counts")
def test_two_ranks_have_the_records_of_one(tmp_path):
    run = Run()
    run.train(EPOCHS, stop=STEPS + 2)
    run.saved(tmp_path / "one")
    ranks = run_ranks(on_ranks, 2, tmp_path / "ranks", str(tmp_path), method="fork")
    begun, resumed, evaluated = (
        [[*itertools.chain(*parts)] for parts in zip(*each)] for each in zip(*ranks)
    )
    assert begun == truth()[:3] and resumed == truth()[STEPS + 2 :]
    assert sorted(itertools.chain(*evaluated)) == [*range(RECORDS)]
    assert Run(seed=9).after(tmp_path / "two").train(EPOCHS) == truth()[3:]
