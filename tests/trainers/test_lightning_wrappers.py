"""Loaders that something of the program stands before, or takes batches of, in a run of Lightning:
the steps are those of a loop that nothing interrupts, or an error says what to do."""

import itertools
import queue
import threading

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
lightning = pytest.importorskip(
    "lightning.pytorch",
    reason="lightning is not installed: pip install pyflowdata[lightning]",
)

import pyflowdata as flow  # noqa: E402
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402
from pyflowdata.integrations.torch import DataLoader, TorchLoader  # noqa: E402

from support.trainer_truth import numbered_blob  # noqa: E402

RECORDS, BATCH, STEPS, EPOCHS = 29, 6, 5, 3

pytestmark = pytest.mark.filterwarnings("ignore")  # of Lightning's own


# ---- Loaders ------------------------------------------------------------------------------------


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return RECORDS

    def __getitem__(self, i):
        return i


def native(kind=TorchLoader):
    return kind(flow.DataLoader(numbered_blob(RECORDS, BATCH, seed=3)))


def drop_in(kind=DataLoader):
    return kind(Numbers(), BATCH, shuffle=True, seed=3)


def drawn(kind=DataLoader):
    """With a sampler that draws an order for each epoch."""
    sampler = torch.utils.data.RandomSampler(Numbers(), generator=torch.Generator().manual_seed(8))
    return kind(Numbers(), BATCH, sampler=sampler, seed=3)


def stream(kind=TorchLoader):
    x = flow.GeneratorReader(
        lambda: iter(range(RECORDS)), fields=["x:int64"], batch_size=BATCH, shuffle="buffer",
        shuffle_after_epoch=True, seed=3,
    )  # fmt: skip
    return kind(flow.DataLoader(x))


# ---- What stands before them --------------------------------------------------------------------


class Held:
    """Gives the iterator of the loader."""

    def __init__(self, loader):
        self.loader = loader

    def __iter__(self):
        return iter(self.loader)


class Yielded(Held):
    """Gives the batches one by one."""

    def __iter__(self):
        yield from self.loader


class Sized:
    def __len__(self):
        return len(self.loader)


class Stateful:
    def state_dict(self):
        return {"of": self.loader.state_dict()}

    def load_state_dict(self, state):
        self.loader.load_state_dict(state["of"])


class HeldWithState(Stateful, Held):
    pass


class YieldedWithState(Stateful, Yielded):
    pass


class SizedWithState(Sized, Stateful, Held):
    pass


class SizedYieldedWithState(Sized, Stateful, Yielded):
    pass


class SizedYielded(Sized, Yielded):
    pass


class Skipping(YieldedWithState):
    """Leaves every second batch out."""

    def __iter__(self):
        return itertools.islice(self.loader, 1, None, 2)


class Derived(TorchLoader):
    def __iter__(self):
        for batch in super().__iter__():
            yield batch


class DerivedDropIn(DataLoader):
    def __iter__(self):
        yield from super().__iter__()


def derived(make):
    return make(Derived if make is native else DerivedDropIn)


# ---- Runs ---------------------------------------------------------------------------------------


class Model(lightning.LightningModule):
    """Writes down which records each step had."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.steps = []

    def training_step(self, batch, step):
        self.steps.append((self.current_epoch, step, batch.tolist()))
        return self.weight.sum()

    def validation_step(self, batch, step):
        pass

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)


class Stop(lightning.Callback):
    """Ends a run after so many steps and their checkpoints, as a kill does."""

    def __init__(self, steps):
        self.steps = steps

    def on_train_batch_start(self, trainer, *_):
        if trainer.fit_loop.total_batch_idx == self.steps:
            raise KeyError("killed")


def fit(loader, *callbacks, ckpt_path=None, val=None, **options):
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=EPOCHS, logger=False, callbacks=[*callbacks],
        enable_progress_bar=False, enable_model_summary=False,
        enable_checkpointing=any(isinstance(one, ModelCheckpoint) for one in callbacks), **options,
    )  # fmt: skip
    model = Model()
    try:
        trainer.fit(model, loader, val, ckpt_path=ckpt_path)
    except KeyError as error:
        assert error.args == ("killed",)
    return model.steps


def without_places(steps):
    """Epochs and records: Lightning counts the batches of a resumed stream from 0."""
    return [(epoch, records) for epoch, _, records in steps]


def resumed(folder, make, stop, **saves):
    """What a run sees that is ended after so many steps, and one that goes on after it."""
    path = folder / str(stop) / "last.ckpt"
    cut = fit(make(), ModelCheckpoint(path.parent, save_last=True, **saves), Stop(stop))
    return cut + fit(make(), ckpt_path=path)


# ---- Objects before a loader --------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind, make",
    [
        (HeldWithState, stream), (YieldedWithState, stream), (YieldedWithState, drop_in),
        (SizedWithState, drop_in), (SizedYieldedWithState, native), (SizedYieldedWithState, drawn),
        (derived, native), (derived, drop_in),
    ],
)  # fmt: skip
def test_an_object_that_iterates_over_a_loader_goes_on_after_each_checkpoint(tmp_path, kind, make):
    def wrapped():
        return derived(make) if kind is derived else kind(make())

    truth = fit(make())
    assert fit(wrapped()) == truth
    for stop in (3, STEPS, STEPS + 1):
        found = resumed(tmp_path, wrapped, stop, every_n_train_steps=1)
        assert without_places(found) == without_places(truth), stop


@pytest.mark.parametrize(
    "kind, make", [(Held, native), (Yielded, stream), (SizedYielded, drop_in)]
)
def test_an_object_without_a_state_goes_on_after_an_epoch(tmp_path, kind, make):
    found = resumed(tmp_path, lambda: kind(make()), STEPS, save_on_train_epoch_end=True)
    assert without_places(found) == without_places(fit(make()))


@pytest.mark.parametrize("kind, make", [(Held, native), (SizedYielded, drop_in)])
def test_an_object_without_a_state_is_refused_in_the_middle_of_an_epoch(tmp_path, kind, make):
    with pytest.raises(flow.Error, match="after batch 2 of epoch 1.* has none: give it state_dict"):
        resumed(tmp_path, lambda: kind(make()), STEPS + 2, every_n_train_steps=1)
    found = resumed(tmp_path, lambda: kind(make()), STEPS, every_n_train_steps=1)
    assert without_places(found) == without_places(fit(make()))


@pytest.mark.parametrize("make", [native, drop_in, stream])
def test_a_batch_that_an_object_leaves_out_comes_no_second_time(tmp_path, make):
    truth = fit(Skipping(make()))
    assert len(truth) == 2 * EPOCHS
    for stop in (1, 2, 3):
        found = resumed(tmp_path, lambda: Skipping(make()), stop, every_n_train_steps=1)
        assert without_places(found) == without_places(truth), stop


class SaveBefore(lightning.Callback):
    """Saves a checkpoint before a batch is trained with, and ends the run."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_start(self, trainer, *_):
        if trainer.fit_loop.total_batch_idx == self.step:
            trainer.save_checkpoint(self.path)
            raise KeyError("killed")


@pytest.mark.parametrize("limit", [STEPS, 3])
@pytest.mark.parametrize("kind", [None, Yielded, YieldedWithState, SizedYieldedWithState])
@pytest.mark.parametrize("make", [native, drop_in])
def test_a_checkpoint_before_the_first_and_the_last_batch_of_an_epoch(tmp_path, make, kind, limit):
    def wrapped():
        return make() if kind is None else kind(make())

    truth = fit(make(), limit_train_batches=limit)
    first = [limit, 2 * limit]
    for stop in first if kind is Yielded else [*first, limit - 1, 2 * limit - 1]:
        path = tmp_path / f"{stop}.ckpt"
        cut = fit(wrapped(), SaveBefore(stop, path), limit_train_batches=limit)
        found = cut + fit(wrapped(), ckpt_path=path, limit_train_batches=limit)
        assert without_places(found) == without_places(truth), stop


# ---- Second iterators ---------------------------------------------------------------------------


class Peeks(lightning.Callback):
    """Takes a batch of the loader for itself, in one of the hooks."""

    def __init__(self, loader, hook):
        self.seen = []
        setattr(self, hook, lambda *_: self.seen.append(next(iter(loader))))


@pytest.mark.parametrize(
    "hook, make, wrapped",
    [
        ("on_fit_start", native, False), ("on_train_start", stream, True),
        ("on_train_epoch_start", native, False), ("on_train_epoch_start", drawn, False),
        ("on_train_batch_start", stream, False), ("on_train_batch_end", native, False),
        ("on_train_batch_end", native, True), ("on_train_batch_end", drop_in, False),
        ("on_train_batch_end", drop_in, True), ("on_train_batch_end", stream, True),
    ],
)  # fmt: skip
def test_an_iterator_of_a_callback_changes_nothing(tmp_path, hook, make, wrapped):
    def run(*callbacks, **options):
        loader = make()
        peeks = Peeks(loader, hook)
        given = YieldedWithState(loader) if wrapped else loader
        steps = fit(given, peeks, *callbacks, **options)
        assert peeks.seen or (hook == "on_train_epoch_start" and options)
        return steps

    truth = fit(make())
    assert run() == truth
    for stop in (2, STEPS):
        path = tmp_path / f"{stop}" / "last.ckpt"
        saver = ModelCheckpoint(path.parent, save_last=True, every_n_train_steps=1)
        found = run(saver, Stop(stop)) + run(ckpt_path=path)
        assert without_places(found) == without_places(truth)


@pytest.mark.parametrize("make", [native, drop_in, stream])
def test_a_loader_that_is_validated_with_too(make):
    loader = make()
    truth = fit(make())
    assert fit(loader, val=loader, num_sanity_val_steps=1, val_check_interval=2) == truth


def test_a_context_that_keeps_the_place_in_a_run():
    class Keeps(lightning.Callback):
        def on_train_batch_end(self, *_):
            with loader.keep_place():
                next(iter(loader))

    truth, loader = fit(native()), native()
    assert fit(loader, Keeps()) == truth


def test_a_loader_goes_on_after_a_run():
    for make in (native, drop_in):
        loader, other = make(), make()
        fit(loader)
        other.set_epoch(EPOCHS)
        assert [x.tolist() for x in loader] == [x.tolist() for x in other]
        assert loader.state_dict() == other.state_dict()


# ---- Threads ------------------------------------------------------------------------------------


class Prefetching(SizedWithState):
    """Takes batches ahead in a thread."""

    def __iter__(self):
        ready = queue.Queue(2)

        def run():
            for batch in self.loader:
                ready.put(batch)
            ready.put(None)

        threading.Thread(target=run, daemon=True).start()
        return iter(ready.get, None)


@pytest.mark.parametrize("make", [native, drop_in])
def test_batches_that_another_thread_takes_ahead_have_no_state(tmp_path, make):
    assert len(fit(Prefetching(make()))) == EPOCHS * STEPS
    saver = ModelCheckpoint(tmp_path, every_n_train_steps=1)
    with pytest.raises(flow.Error, match="batches that the model has not had; give the Trainer"):
        fit(Prefetching(make()), saver)
