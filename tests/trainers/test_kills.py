"""Runs of every trainer that are killed at random steps and resumed, up to four times: each batch
that a loop without a kill trains with is trained with once, in the same order.

A kill is an exception at a step: nothing of the run is left but the files of its last checkpoint.
KILLS is the number of runs, shared by the trainers:

    make test-trainers KILLS=1000 ARGS='-k kills'
"""

import dataclasses
import os
import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")

import pyflowdata as flow  # noqa: E402
from pyflowdata.integrations.torch import DataLoader, TorchLoader  # noqa: E402

RECORDS, BATCH, EPOCHS, RESUMES = 29, 6, 3, 4
KILLS = int(os.environ.get("KILLS") or 20)

pytestmark = pytest.mark.filterwarnings("ignore")  # of the trainers' own


class Killed(Exception):
    """Ends a run at a step."""


# ---- Loaders ------------------------------------------------------------------------------------


class Rows(torch.utils.data.Dataset):
    """The numbers of records, as transformers wants them, too."""

    def __len__(self):
        return RECORDS

    def __getitem__(self, i):
        return {"input_ids": torch.tensor([i]), "labels": i}


class Stream(torch.utils.data.IterableDataset):
    """The same, in an order for each epoch that it is told."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        order = random.Random(self.epoch).sample(range(RECORDS), RECORDS)
        return ({"input_ids": torch.tensor([i]), "labels": i} for i in order)


class Yielded:
    """An object of the program that gives the batches of a loader."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        yield from self.loader

    def state_dict(self):
        return self.loader.state_dict()

    def load_state_dict(self, state):
        self.loader.load_state_dict(state)


class Given(Yielded):
    """The same, with the loader's own iterator and its length."""

    def __iter__(self):
        return iter(self.loader)

    def __len__(self):
        return len(self.loader)


class SizedYielded(Yielded):
    def __len__(self):
        return len(self.loader)


class Placed(Stream):
    """The same, with its own state, and one order."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < RECORDS:
            self.at += 1
            yield {"input_ids": torch.tensor([self.at - 1]), "labels": 0}
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def sampled():
    sampler = torch.utils.data.RandomSampler(Rows(), generator=torch.Generator().manual_seed(8))
    return DataLoader(Rows(), BATCH, sampler=sampler, seed=3)


def numbers():
    return ({"input_ids": np.array([i])} for i in range(RECORDS))


def native():
    ids = flow.from_arrays({"ids": np.arange(RECORDS)[:, None]}).shuffle(seed=3).batch(BATCH)["ids"]
    return TorchLoader(flow.DataLoader({"input_ids": ids, "labels": ids}))


def stream():
    ids = flow.GeneratorReader(
        numbers, fields=["input_ids:int64[1]"], batch_size=BATCH, shuffle="buffer",
        shuffle_after_epoch=True, seed=3,
    )  # fmt: skip
    return TorchLoader(flow.DataLoader({"input_ids": ids, "labels": ids}))


LOADERS = {
    "native": native,
    "stream": stream,
    "drop-in": lambda: DataLoader(Rows(), BATCH, shuffle=True, seed=3),
    "threads": lambda: DataLoader(Rows(), BATCH, shuffle=True, seed=3, num_workers=2,
                                  workers="threads"),  # fmt: skip
    "sampler": sampled,
    "iterable": lambda: DataLoader(Stream(), BATCH),
    "placed": lambda: DataLoader(Placed(), BATCH),
}
DROP_INS = ["drop-in", "threads", "sampler", "iterable", "placed"]
WITH_LENGTH = ["native", "drop-in", "threads", "sampler"]


def ids(batch):
    return None if batch is None else batch["input_ids"][:, 0].tolist()


# ---- Runs ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Run:
    """What a trainer is asked for.

    Attributes:
        make: Makes the loader.
        folder: For checkpoints.
        every: Steps between two checkpoints.
        kill: The step of this run that is killed; 0: none.
        way: How the trainer is used, a number for choices of its own.
        seen: What each step trained with, from the start of the first run.
    """

    make: object
    folder: Path
    every: int
    kill: int
    way: int
    seen: list

    @property
    def checkpoint(self):
        return self.folder / "last"

    def step(self, batch):
        """A step was made."""
        self.seen.append(batch)
        self.kill -= 1

    def check(self):
        """The end of a step, before or after its checkpoint."""
        if self.kill == 0:
            raise Killed

    def saves(self):
        return len(self.seen) % self.every == 0

    def save(self, state):
        torch.save({**state, "steps": len(self.seen)}, self.checkpoint)

    def restored(self):
        """The state of the last checkpoint; None: there is none."""
        if not self.checkpoint.exists():
            self.seen.clear()
            return None
        state = torch.load(self.checkpoint, weights_only=False)
        del self.seen[state["steps"] :]
        return state


def by_torch(run):
    """A loop from the epoch of the loader."""
    loader = run.make()
    state = run.restored()
    if state is not None:
        loader.load_state_dict(state["loader"])
    for epoch in range(loader.epoch, EPOCHS):
        if run.way % 2:
            loader.set_epoch(epoch)
        for batch in loader:
            run.step(ids(batch))
            if run.saves():
                run.save({"loader": loader.state_dict()})
            run.check()
        if run.way % 3 == 0:
            run.save({"loader": loader.state_dict()})


def by_stateful_loop(run):
    """A loop from the epoch that the program has saved, as with torchdata's StatefulDataLoader.
    A TorchLoader needs a loop from its own epoch: a state at the end is that of the next epoch."""
    loader, start = run.make(), 0
    state = run.restored()
    if state is not None:
        loader.load_state_dict(state["loader"])
        start = state["epoch"]
    for epoch in range(start, EPOCHS):
        for batch in loader:
            run.step(ids(batch))
            if run.saves():
                run.save({"loader": loader.state_dict(), "epoch": epoch})
            run.check()
        if run.way % 2:
            run.save({"loader": loader.state_dict(), "epoch": epoch + 1})


def by_accelerate(run):
    import accelerate
    from accelerate.state import AcceleratorState, GradientState

    GradientState._reset_state()
    AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = accelerate.Accelerator(cpu=True)
    loader = accelerator.prepare(run.make())
    if run.restored() is not None:
        accelerator.load_state(str(run.folder / "state"))
    for _ in range(loader.epoch, EPOCHS):
        for batch in loader:
            run.step(ids(batch))
            if run.saves():
                accelerator.save_state(str(run.folder / "state"))
                run.save({})
            run.check()
    GradientState._reset_state()
    AcceleratorState._reset_state(reset_partial_state=True)


def by_lightning(run):
    """With checkpoints of ModelCheckpoint in several places, with the DataModule and without, with
    objects of the program before the loader, and with second iterators of the loader."""
    import lightning.pytorch as lightning
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.utilities import CombinedLoader
    from pyflowdata.integrations.lightning import DataModule

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch, _):
            run.step([ids(part) for part in batch] if isinstance(batch, list) else ids(batch))
            return self.weight.sum()

        def validation_step(self, batch, _):
            pass

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

        def on_save_checkpoint(self, checkpoint):
            checkpoint["steps"] = len(run.seen)

    class Kills(lightning.Callback):
        def on_train_batch_end(self, *_):
            run.check()

    class Peeks(lightning.Callback):
        def on_train_epoch_start(self, *_):
            self.take("epoch")

        def on_train_batch_start(self, *_):
            self.take("batch")

        def take(self, hook):
            if peeks == hook:
                next(iter(made[-1]), None)

    choose = random.Random(run.way)
    saves = [
        {"every_n_train_steps": run.every}, {"save_on_train_epoch_end": True},
        {"save_on_train_epoch_end": False}, {},
    ][run.way % 4]  # fmt: skip
    options = choose.choice([
        {}, {"limit_train_batches": 3}, {"max_steps": 12}, {"val_check_interval": 2},
        {"accumulate_grad_batches": 2}, {"reload_dataloaders_every_n_epochs": 1},
    ])  # fmt: skip
    mode = choose.choice([None, None, "min_size", "max_size", "max_size_cycle"])
    as_module, kills_first = choose.random() < 0.5, choose.random() < 0.5
    make = run.make
    if mode is not None:
        def make(one=run.make):
            short = DataLoader(Rows(), 2 * BATCH, shuffle=True, seed=5)
            return CombinedLoader([short, one()], mode)
    if options.get("reload_dataloaders_every_n_epochs") and not as_module:
        options = {}
    made, before = [], choose.choice([None, None, Yielded, Given, SizedYielded])
    peeks = choose.choice([None, None, "epoch", "batch"])

    def make(parts=make):
        loaders = parts()
        made.append(loaders if mode is None else loaders.flattened[-1])
        if before is None or as_module or mode is not None:
            return loaders
        has_length = run.make in map(LOADERS.get, WITH_LENGTH)
        return before(loaders) if has_length or before is Yielded else loaders

    callbacks = [Peeks(), ModelCheckpoint(run.folder, save_last=True, **saves)]
    callbacks.insert(0 if kills_first else 1, Kills())
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=EPOCHS, logger=False, callbacks=callbacks,
        enable_progress_bar=False, enable_model_summary=False, **options,
    )  # fmt: skip
    path = run.folder / "last.ckpt"
    steps = torch.load(path, weights_only=False)["steps"] if path.exists() else 0
    del run.seen[steps:]
    path = path if path.exists() else None
    if as_module:
        trainer.fit(Model(), datamodule=DataModule(train=make, val=native), ckpt_path=path)
    else:
        trainer.fit(Model(), make(), native(), ckpt_path=path)


def by_transformers(run):
    import transformers
    from pyflowdata.integrations.transformers import LoaderMixin

    class Trainer(LoaderMixin, transformers.Trainer):
        pass

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, input_ids, labels=None):
            run.step(input_ids[:, 0].tolist())
            return {"loss": self.weight.sum()}

    class Kills(transformers.TrainerCallback):
        def on_step_end(self, *_, **__):
            run.check()

    arguments = transformers.TrainingArguments(
        output_dir=str(run.folder), use_cpu=True, report_to=[], disable_tqdm=True,
        num_train_epochs=EPOCHS, logging_steps=1000, save_total_limit=1,
        save_strategy="epoch" if run.way % 3 == 0 else "steps", save_steps=run.every,
    )  # fmt: skip
    trainer = Trainer(
        model=Model(), args=arguments, train_dataset=run.make(), callbacks=[Kills()]
    )
    last = transformers.trainer_utils.get_last_checkpoint(str(run.folder))
    del run.seen[int(last.rpartition("-")[2]) if last else 0 :]
    trainer.train(resume_from_checkpoint=last)


TRAINERS = {
    "torch": (by_torch, [*LOADERS]),
    "StatefulDataLoader": (by_stateful_loop, DROP_INS),
    "accelerate": (by_accelerate, [*LOADERS]),
    "Lightning": (by_lightning, [*LOADERS]),
    "transformers": (by_transformers, WITH_LENGTH),
}
NEEDS = {"accelerate": "accelerate", "Lightning": "lightning", "transformers": "transformers"}


def killed_run(train, make, folder, number):
    """What a run saw that was killed and resumed, and what one sees that was not; and the steps at
    which it was killed."""
    choose = random.Random(number)
    every, way, seen, kills = choose.randint(1, 5), choose.randrange(1 << 16), [], []
    whole = Run(make, folder / "whole", every, 0, way, [])
    run = Run(make, folder / "killed", every, 0, way, seen)
    for one in (whole, run):
        one.folder.mkdir(parents=True)
    train(whole)
    for left in reversed(range(RESUMES + 1)):
        run.kill = choose.randint(1, 10) if left else 0
        kills.append(run.kill)
        try:
            train(run)
            break
        except Killed:
            pass
    return seen, whole.seen, kills


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("name", TRAINERS)
def test_a_run_that_is_killed_and_resumed_trains_with_each_batch_once(name, part, tmp_path):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is not installed")
    train, loaders = TRAINERS[name]
    failed = []
    for number in range(part, -(-KILLS // len(TRAINERS)), 2):
        kind = loaders[number % len(loaders)]
        seen, whole, kills = killed_run(train, LOADERS[kind], tmp_path / str(number), number)
        if seen != whole:
            failed.append((number, kind, kills, len(seen), len(whole)))
    assert not failed
