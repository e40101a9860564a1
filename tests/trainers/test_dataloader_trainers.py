"""The DataLoader with torch's arguments in Lightning and Fabric, by the numbers of records."""

import itertools
import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
lightning = pytest.importorskip(
    "lightning.pytorch", reason="lightning is not installed: pip install pyflowdata[lightning]"
)

from lightning.fabric import Fabric  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from pyflowdata.integrations.lightning import DataModule  # noqa: E402
from pyflowdata.integrations.torch import DataLoader  # noqa: E402
from torch.utils.data import DistributedSampler  # noqa: E402

from support.trainer_truth import epochs_of  # noqa: E402

RECORDS, BATCH, STEPS, EPOCHS = 29, 6, 5, 3

pytestmark = pytest.mark.filterwarnings("ignore")  # of Lightning's own

both = pytest.mark.parametrize("as_module", [False, True], ids=["loader", "module"])


class Noisy(torch.utils.data.Dataset):
    """The number of a record, and a random number."""

    def __len__(self):
        return RECORDS

    def __getitem__(self, record):
        return record, torch.rand(())


def make_loader(seed=3):
    return DataLoader(Noisy(), batch_size=BATCH, shuffle=True, seed=seed)


def seen_in(batch):
    return [part.tolist() for part in batch]


def make_sampled(seed=3):
    """With a sampler of the program that has epochs."""
    sampler = DistributedSampler(range(RECORDS), num_replicas=1, rank=0, seed=4)
    return DataLoader(Noisy(), batch_size=BATCH, sampler=sampler, seed=seed)


def make_drawn(seed=3):
    """With a sampler of the program that draws an order for each epoch."""
    generator = torch.Generator().manual_seed(8)
    sampler = torch.utils.data.RandomSampler(range(RECORDS), generator=generator)
    return DataLoader(Noisy(), batch_size=BATCH, sampler=sampler, seed=seed)


def truth_of_sampled():
    """As truth(): the records are those of torch's sampler in a loop of torch."""
    loader = make_sampled()
    torchs = torch.utils.data.DataLoader(range(RECORDS), BATCH, sampler=loader.sampler)
    steps = []
    for epoch in range(EPOCHS):
        loader.set_epoch(epoch)
        seen = [seen_in(batch) for batch in loader]
        assert [records for records, _ in seen] == [batch.tolist() for batch in torchs]
        steps += [(epoch, each) for each in seen]
    return steps


def truth(steps=None):
    """What the steps of each epoch have, in a loop that nothing interrupts."""
    wholes = epochs_of(make_loader(), EPOCHS, seen_in)
    return [(epoch, each) for epoch, whole in enumerate(wholes) for each in whole[:steps]]


class Model(lightning.LightningModule):
    """Writes down what each step had."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.steps, self.validated = [], []

    def training_step(self, batch, _):
        self.steps.append((self.current_epoch, seen_in(batch)))
        return self.weight.sum()

    def validation_step(self, batch, _):
        if not self.trainer.sanity_checking:
            self.validated.append((self.current_epoch, seen_in(batch)))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


class Predicts(Model):
    def __init__(self):
        super().__init__()
        self.predicted = []

    def predict_step(self, batch, _):
        self.predicted += batch[0].tolist()


def fit(as_module, *, make=make_loader, epochs=EPOCHS, ckpt_path=None, val=None, **options):
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=epochs, logger=False, enable_progress_bar=False,
        enable_model_summary=False, **{"enable_checkpointing": False, **options},
    )  # fmt: skip
    if as_module:
        trainer.fit(model, DataModule(train=make, val=val), ckpt_path=ckpt_path)
    else:
        trainer.fit(model, make(), val and val(), ckpt_path=ckpt_path)
    return model


@both
def test_epochs_of_lightning_are_those_of_the_loader(as_module):
    model = fit(as_module, val=make_loader)
    assert model.steps == truth() == model.validated


@both
def test_lightning_predicts_each_record(as_module):
    trainer = lightning.Trainer(accelerator="cpu", devices=1, logger=False)

    def make():
        return DataLoader(Noisy(), batch_size=BATCH)

    trainer.predict(
        model := Predicts(), datamodule=DataModule(predict=make) if as_module else None,
        dataloaders=None if as_module else make(),
    )  # fmt: skip
    assert model.predicted == [*range(RECORDS)]


@both
@pytest.mark.parametrize("limit", [None, 3, STEPS + 4], ids=["whole", "cut", "above"])
@pytest.mark.parametrize("every", [{"every_n_train_steps": 1}, {"every_n_epochs": 1}], ids=str)
def test_lightning_goes_on_after_each_checkpoint(tmp_path, as_module, limit, every):
    options = {} if limit is None else {"limit_train_batches": limit}
    saves = ModelCheckpoint(tmp_path, save_top_k=-1, filename="{step:03}", **every)
    whole = fit(as_module, callbacks=[saves], enable_checkpointing=True, **options).steps
    assert whole == truth(limit)
    paths = [*tmp_path.glob("*.ckpt")]
    assert len(paths) == (len(whole) if "every_n_train_steps" in every else EPOCHS)
    for path in sorted(paths)[::2]:
        step = int(path.stem.partition("=")[2])
        assert fit(as_module, ckpt_path=path, **options).steps == whole[step:]


@both
@pytest.mark.parametrize("make", [make_sampled, make_drawn])
def test_lightning_tells_its_epochs_to_a_sampler(tmp_path, make, as_module):
    """Also where the sampler alone is told: random numbers and states are of that epoch."""
    saves = ModelCheckpoint(tmp_path, save_top_k=-1, filename="{step:03}", every_n_train_steps=1)
    whole = fit(as_module, make=make, callbacks=[saves], enable_checkpointing=True).steps
    if make is make_sampled:
        assert whole == truth_of_sampled()
    assert len({str(records) for _, (records, _) in whole}) == len(whole)
    for path in sorted(tmp_path.glob("*.ckpt")):
        step = int(path.stem.partition("=")[2])
        found = fit(as_module, make=lambda: make(9), ckpt_path=path).steps
        assert found == whole[step:], step


class Told(torch.utils.data.IterableDataset):
    """Samples say the epoch that the data set was told."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        return iter([100 * self.epoch + i for i in range(4)])


@pytest.mark.parametrize("workers", [0, 1])
def test_lightning_and_fabric_tell_their_epochs_to_an_iterable_dataset(workers):
    class Seen(Model):
        def training_step(self, batch, _):
            self.steps.append(batch.tolist())
            return self.weight.sum()

    expected = [[100 * epoch + i, 100 * epoch + i + 1] for epoch in range(2) for i in (0, 2)]

    def make():
        return DataLoader(Told(), batch_size=2, num_workers=workers)

    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=2, logger=False, enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=False,
    )  # fmt: skip
    trainer.fit(model := Seen(), make())
    assert model.steps == expected
    loader = Fabric(accelerator="cpu", devices=1).setup_dataloaders(make())
    assert [batch.tolist() for _ in range(2) for batch in loader] == expected


def test_a_module_makes_loaders_again():
    assert fit(True, reload_dataloaders_every_n_epochs=1).steps == truth()


class Placed(torch.utils.data.IterableDataset):
    """Goes on from its state."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < RECORDS:
            self.at += 1
            yield self.at - 1, 0
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Shuffled(torch.utils.data.IterableDataset):
    """Has no state, and another order in each epoch that it is told."""

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = random.Random(self.epoch).sample(range(RECORDS), RECORDS)
        return iter([(i, self.epoch) for i in order])


@both
@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("kind", [Placed, Shuffled])
def test_a_dataset_without_a_length_loses_no_batch(tmp_path, as_module, kind, workers):
    def make():
        return DataLoader(kind(), batch_size=BATCH, num_workers=workers)

    saves = ModelCheckpoint(
        tmp_path, save_top_k=-1, filename="{step:03}", every_n_train_steps=2 if workers else 1
    )
    whole = fit(as_module, make=make, callbacks=[saves], enable_checkpointing=True).steps
    assert len(whole) == EPOCHS * STEPS
    for path in sorted(tmp_path.glob("*.ckpt")):
        step = int(path.stem.partition("=")[2])
        assert fit(as_module, make=make, ckpt_path=path).steps == whole[step:], step


def test_a_sampler_without_a_length_goes_to_a_module(tmp_path):
    def make():
        return DataLoader(Noisy(), sampler=iter(range(5)), batch_size=2, seed=1)

    steps = fit(True, make=make, epochs=1).steps
    assert [records for _, (records, _) in steps] == [[0, 1], [2, 3], [4]]


class Run:
    """A model and a loader of a Fabric."""

    def __init__(self, seed=3):
        self.fabric = Fabric(accelerator="cpu", devices=1)
        self.fabric.launch()
        self.loader = self.fabric.setup_dataloaders(make_loader(seed))

    def train(self, epochs, *, limit=None, stop=-1):
        seen = []
        for _ in range(epochs):
            for batch in itertools.islice(self.loader, limit):
                seen.append(seen_in(batch))
                if len(seen) == stop:
                    return seen
        return seen

    def saved(self, path):
        self.fabric.save(path, {"loader": self.loader})
        return path

    def after(self, path):
        self.fabric.load(path, {"loader": self.loader})
        return self


def records(steps=None):
    return [each for _, each in truth(steps)]


@pytest.mark.parametrize("limit", [None, 3])
def test_each_iterator_of_fabric_is_the_next_epoch(limit):
    assert Run().train(EPOCHS, limit=limit) == records(limit)


@pytest.mark.parametrize("stop", [2, STEPS - 1, STEPS, STEPS + 1, 2 * STEPS, 2 * STEPS + 3])
def test_fabric_goes_on_after_a_step(tmp_path, stop):
    run = Run()
    assert run.train(EPOCHS, stop=stop) == records()[:stop]
    path = run.saved(tmp_path / "run")
    ended = (stop - 1) // STEPS  # after a last batch the first iterator of Fabric is empty
    assert Run(seed=9).after(path).train(EPOCHS - ended) == records()[stop:]


@pytest.mark.parametrize("epochs", [1, 2])
def test_fabric_goes_on_after_an_epoch(tmp_path, epochs):
    run = Run()
    run.train(epochs)
    path = run.saved(tmp_path / "run")
    assert Run(seed=9).after(path).train(EPOCHS - epochs) == records()[epochs * STEPS :]
