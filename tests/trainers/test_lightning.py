"""Lightning's Trainer: the records of each step are those of a loop that nothing interrupts."""

import itertools
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
lightning = pytest.importorskip(
    "lightning.pytorch",
    reason="lightning is not installed: pip install pyflowdata[lightning]",
)

import pyflowdata as flow  # noqa: E402
from lightning.pytorch.callbacks import BasePredictionWriter, ModelCheckpoint  # noqa: E402
from lightning.pytorch.utilities import CombinedLoader  # noqa: E402
from pyflowdata.integrations.lightning import DataModule  # noqa: E402
from pyflowdata.integrations.torch import TorchLoader  # noqa: E402

from support.rank_processes import run_ranks  # noqa: E402
from support.trainer_truth import epochs_of, numbered_blob  # noqa: E402

RECORDS, BATCH, STEPS, EPOCHS = 29, 6, 5, 3

pytestmark = pytest.mark.filterwarnings("ignore")  # of Lightning's own

both = pytest.mark.parametrize("as_module", [False, True], ids=["loader", "module"])


def make_loader(seed=3, records=RECORDS):
    return TorchLoader(flow.DataLoader(numbered_blob(records, BATCH, seed=seed)))


def numbers():
    return iter(range(RECORDS))


def make_stream(seed=3):
    x = flow.GeneratorReader(
        numbers, fields=["x:int64"], batch_size=BATCH, shuffle="buffer",
        shuffle_after_epoch=True, seed=seed,
    )  # fmt: skip
    return TorchLoader(flow.DataLoader(x))


def in_order():
    return TorchLoader(flow.DataLoader(numbered_blob(11, 4, shuffle=False)))


def truth(make=make_loader, epochs=EPOCHS, steps=None):
    """What the steps of each epoch have, by the NumPy loader: (epoch, step, records)."""
    wholes = epochs_of(make().loader, epochs)
    return [(e, s, each) for e, whole in enumerate(wholes) for s, each in enumerate(whole[:steps])]


class Model(lightning.LightningModule):
    """Writes down which records each step had, and how many steps the optimizer took."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        self.steps, self.validated, self.tested, self.updates = [], [], [], 0

    def training_step(self, batch, step):
        self.steps.append((self.current_epoch, step, as_lists(batch)))
        return (self.weight * 1.0).mean()

    def validation_step(self, batch, step):
        if not self.trainer.sanity_checking:
            self.validated.append((self.current_epoch, step, as_lists(batch)))

    def test_step(self, batch, step):
        self.tested += batch.tolist()

    def predict_step(self, batch, step):
        return batch * 10

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

    def optimizer_step(self, *args, **kwargs):
        self.updates += 1
        super().optimizer_step(*args, **kwargs)


def as_lists(batch):
    if isinstance(batch, (list, tuple)):
        return [as_lists(part) for part in batch]
    return batch if batch is None else batch.tolist()


class Stop(lightning.Callback):
    """Saves a checkpoint after a step, and ends the run as a crash does."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_end(self, trainer, *_):
        if trainer.fit_loop.total_batch_idx + 1 == self.step:
            trainer.save_checkpoint(self.path)
            raise KeyError("crash")


class Crash(lightning.Callback):
    """Ends a run when so many epochs are complete, after their checkpoints."""

    def __init__(self, epochs):
        self.epochs = epochs

    def on_train_epoch_start(self, trainer, _):
        if trainer.current_epoch == self.epochs:
            raise KeyError("crash")


def trainer_of(**options):
    given = {"max_epochs": EPOCHS, "logger": False, "enable_checkpointing": False, **options}
    return lightning.Trainer(
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        **{"devices": 1, **given},
    )


def fit(make=make_loader, as_module=False, *, val=None, ckpt_path=None, **options):
    """A run with loaders of these functions; its model."""
    model, trainer = Model(), trainer_of(**options)
    if as_module:
        given = {"datamodule": DataModule(train=make, val=val)}
    else:
        given = {"train_dataloaders": make(), "val_dataloaders": val and val()}
    try:
        trainer.fit(model, **given, ckpt_path=ckpt_path)
    except KeyError as error:
        assert error.args == ("crash",)
    return model


@pytest.mark.cell("Lightning", "fit")
@both
def test_an_epoch_of_the_trainer_is_one_of_the_loader(as_module):
    model = fit(as_module=as_module, val=make_loader)
    assert model.steps == truth() == model.validated


@pytest.mark.cell("Lightning", "fit")
@both
@pytest.mark.parametrize("limit, steps, most", [(2, 2, -1), (0.5, 2, -1), (3, 3, 9)])
def test_a_cut_epoch_is_the_first_batches_of_each(tmp_path, as_module, limit, steps, most):
    options = {"limit_train_batches": limit, "max_steps": most}
    whole = truth(steps=steps)
    assert fit(as_module=as_module, **options).steps == whole
    for stop in range(1, 2 * steps + 1):
        path = tmp_path / f"{stop}.ckpt"
        cut = fit(as_module=as_module, callbacks=[Stop(stop, path)], **options)
        resumed = fit(lambda: make_loader(9), as_module, ckpt_path=path, **options)
        assert cut.steps + resumed.steps == whole


@pytest.mark.cell("Lightning", "mid-epoch resume")
@both
@pytest.mark.parametrize("stop", [1, 3, STEPS, STEPS + 2])
def test_a_run_goes_on_after_its_checkpoint(tmp_path, as_module, stop):
    path = tmp_path / "stopped.ckpt"
    assert fit(as_module=as_module, callbacks=[Stop(stop, path)]).steps == truth()[:stop]
    (state,) = torch.load(path, weights_only=True)["loops"]["fit_loop"]["state_dict"][
        "combined_loader"
    ]
    assert (state["epoch"], state["position"]) == divmod(stop, STEPS)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*not resumable.*")
        resumed = fit(lambda: make_loader(9), as_module, ckpt_path=path)
    assert resumed.steps == truth()[stop:]


@pytest.mark.cell("Lightning", "mid-epoch resume")
@both
def test_a_second_stop_in_the_same_epoch(tmp_path, as_module):
    first, second = tmp_path / "first.ckpt", tmp_path / "second.ckpt"
    one = fit(as_module=as_module, callbacks=[Stop(6, first)]).steps
    two = fit(as_module=as_module, callbacks=[Stop(8, second)], ckpt_path=first).steps
    assert one + two + fit(as_module=as_module, ckpt_path=second).steps == truth()


@pytest.mark.cell("Lightning", "mid-epoch resume")
@both
def test_checkpoints_each_few_steps(tmp_path, as_module):
    saves = ModelCheckpoint(tmp_path, every_n_train_steps=2, save_top_k=-1, filename="{step}")
    fit(as_module=as_module, callbacks=[saves], enable_checkpointing=True)
    for step in range(2, EPOCHS * STEPS, 2):
        path = tmp_path / f"step={step}.ckpt"
        assert fit(as_module=as_module, ckpt_path=path).steps == truth()[step:]


@pytest.mark.cell("Lightning", "mid-epoch resume")
@both
def test_checkpoints_of_a_validation_in_an_epoch(tmp_path, as_module):
    options = {"val_check_interval": 2, "val": in_order}
    saves = ModelCheckpoint(tmp_path, save_top_k=-1, filename="{step}", save_last=True)
    whole = fit(as_module=as_module, callbacks=[saves], enable_checkpointing=True, **options)
    assert whole.steps == truth() and len(whole.validated) == 2 * EPOCHS * 3
    for step in (2, 4, 7, 9, 12):
        path = tmp_path / f"step={step}.ckpt"
        assert fit(as_module=as_module, ckpt_path=path, **options).steps == truth()[step:]


@pytest.mark.cell("Lightning", "epoch-end resume")
@both
@pytest.mark.parametrize(
    "ends, limit, val",
    [
        ({}, 1.0, None),
        ({}, 3, in_order),
        ({"save_on_train_epoch_end": True}, 1.0, in_order),
        ({"save_on_train_epoch_end": False}, 1.0, in_order),
        ({"save_on_train_epoch_end": True}, 3, None),
        ({"every_n_epochs": 2}, 1.0, None),
    ],
)
def test_a_run_goes_on_after_an_epoch(tmp_path, as_module, ends, limit, val):
    saves = ModelCheckpoint(tmp_path, save_last=True, **ends)
    options = {"val": val, "max_epochs": 4, "limit_train_batches": limit}
    fit(as_module=as_module, callbacks=[saves, Crash(2)], enable_checkpointing=True, **options)
    resumed = fit(as_module=as_module, ckpt_path=tmp_path / "last.ckpt", **options)
    steps = STEPS if limit == 1.0 else limit
    assert resumed.steps == truth(epochs=4, steps=steps)[2 * steps :]


@pytest.mark.cell("Lightning", "epoch-end resume")
@both
@pytest.mark.parametrize("limit", [1.0, 3])
def test_a_seed_that_was_drawn_is_kept(tmp_path, as_module, limit):
    saves = ModelCheckpoint(tmp_path, save_last=True)
    options = {"limit_train_batches": limit}
    cut = fit(lambda: make_loader(7), as_module, callbacks=[saves, Crash(1)],
              enable_checkpointing=True, **options)  # fmt: skip
    resumed = fit(lambda: make_loader(None), as_module, ckpt_path=tmp_path / "last.ckpt", **options)
    steps = None if limit == 1.0 else limit
    assert cut.steps + resumed.steps == truth(lambda: make_loader(7), steps=steps)


@pytest.mark.cell("Lightning", "fit")
def test_a_stream_is_taken_to_its_end():
    assert fit(make_stream).steps == fit(make_stream, True).steps == truth(make_stream)


@pytest.mark.cell("Lightning", "mid-epoch resume")
@both
@pytest.mark.parametrize("stop", [1, 3, STEPS, STEPS + 2])
def test_a_stream_goes_on_after_the_batch_that_was_used(tmp_path, as_module, stop):
    path = tmp_path / "stopped.ckpt"
    cut = fit(make_stream, as_module, callbacks=[Stop(stop, path)])
    resumed = fit(lambda: make_stream(9), as_module, ckpt_path=path)
    seen = [(epoch, records) for epoch, _, records in cut.steps + resumed.steps]
    assert seen == [(epoch, records) for epoch, _, records in truth(make_stream)]


@pytest.mark.cell("Lightning", "epoch-end resume")
@pytest.mark.parametrize("stop", [2, STEPS, STEPS + 1, 2 * STEPS, 3 * STEPS])
@pytest.mark.parametrize("streams", [1, 2])
@pytest.mark.parametrize("knows_its_end", [False, True])
def test_a_stream_that_is_shorter_than_the_limit_goes_on(tmp_path, stop, streams, knows_its_end):
    if knows_its_end:  # a batch ahead of its user, as copies to a device are
        pytest.importorskip("accelerate").Accelerator(cpu=True)
    make = make_stream if streams == 1 else lambda: [make_stream(), make_stream(4)]
    options = {"limit_train_batches": STEPS + 2}
    path = tmp_path / "stopped.ckpt"
    cut = fit(make, True, callbacks=[Stop(stop, path)], **options).steps
    resumed = fit(make, True, ckpt_path=path, **options).steps
    seen = [(epoch, records) for epoch, _, records in cut + resumed]
    whole = [(epoch, records) for epoch, _, records in truth(make_stream)]
    if streams == 2:
        second = truth(lambda: make_stream(4))
        whole = [(e, [one, two]) for (e, one), (_, _, two) in zip(whole, second, strict=True)]
    assert seen == whole


@pytest.mark.cell("Lightning", "epoch-end resume")
@both
def test_a_stream_goes_on_after_an_epoch(tmp_path, as_module):
    saves = ModelCheckpoint(tmp_path, save_last=True)
    fit(make_stream, as_module, callbacks=[saves, Crash(2)], enable_checkpointing=True)
    resumed = fit(lambda: make_stream(9), as_module, ckpt_path=tmp_path / "last.ckpt")
    assert resumed.steps == truth(make_stream)[2 * STEPS :]


@pytest.mark.parametrize("make", [make_loader, make_stream])
def test_loaders_that_are_made_again_go_on_with_the_epochs(make):
    made = []

    def counted():
        made.append(make())
        return made[-1]

    whole = fit(counted, True, val=make_loader, reload_dataloaders_every_n_epochs=2, max_epochs=4)
    assert whole.steps == truth(make, 4) and whole.validated == truth(make_loader, 4)
    assert len(made) == 2
    with pytest.raises(flow.Error, match="closed"):
        next(iter(made[0]))


@pytest.mark.parametrize("make", [make_loader, make_stream])
def test_loaders_that_are_made_again_in_a_resumed_run(tmp_path, make):
    options = {"reload_dataloaders_every_n_epochs": 1}
    for stop in (1, STEPS - 1, STEPS, 2 * STEPS):
        path = tmp_path / f"{stop}.ckpt"
        cut = fit(make, True, callbacks=[Stop(stop, path)], **options)
        resumed = fit(make, True, ckpt_path=path, **options)
        seen = [(epoch, records) for epoch, _, records in cut.steps + resumed.steps]
        assert seen == [(epoch, records) for epoch, _, records in truth(make)]


def test_every_epoch_is_the_same_with_overfit_batches(tmp_path):
    first = [(epoch, s, each) for epoch in range(EPOCHS) for _, s, each in truth(steps=2)[:2]]
    options = {"overfit_batches": 2, "val": make_loader}
    whole = fit(as_module=True, **options)
    assert whole.steps == first == whole.validated
    for stop in range(1, 5):
        path = tmp_path / f"{stop}.ckpt"
        cut = fit(as_module=True, callbacks=[Stop(stop, path)], **options)
        assert cut.steps + fit(as_module=True, ckpt_path=path, **options).steps == first


@both
def test_sanity_steps_use_up_nothing(as_module):
    model = fit(as_module=as_module, val=make_loader, num_sanity_val_steps=2,
                check_val_every_n_epoch=2, max_epochs=4)  # fmt: skip
    assert model.steps == truth(epochs=4)
    assert model.validated == [each for each in truth(epochs=4) if each[0] in (1, 3)]


def two_loaders(mode):
    return lambda: CombinedLoader([make_loader(1, 14), make_loader(2)], mode)


@both
@pytest.mark.parametrize("make", [make_loader, make_stream, two_loaders("max_size_cycle")])
def test_a_second_resume_after_the_last_batch_of_an_epoch(tmp_path, as_module, make):
    paths = [tmp_path / f"{i}.ckpt" for i in range(3)]
    seen = fit(make, as_module, callbacks=[Stop(STEPS, paths[0])]).steps
    for before, after, stop in zip(paths, paths[1:], (STEPS + 2, 2 * STEPS), strict=False):
        seen += fit(make, as_module, callbacks=[Stop(stop, after)], ckpt_path=before).steps
    seen += fit(make, as_module, ckpt_path=paths[-1]).steps
    assert seen == fit(make, as_module).steps


@both
@pytest.mark.parametrize("make", [make_loader, make_stream])
def test_a_resume_after_an_epoch_of_a_run_that_counts_steps(tmp_path, as_module, make):
    options = {"max_epochs": -1, "max_steps": 3 * STEPS - 1, "enable_checkpointing": True}
    saves = ModelCheckpoint(tmp_path, save_last=True, save_on_train_epoch_end=True)
    whole = truth(make)[: 3 * STEPS - 1]
    for ended in (1, 2):
        fit(make, as_module, callbacks=[saves, Crash(ended)], **options)
        saves = ModelCheckpoint(tmp_path, save_last=True, save_on_train_epoch_end=True)
        path = tmp_path / "last.ckpt"
        resumed = fit(make, as_module, callbacks=[saves], ckpt_path=path, **options).steps
        assert resumed == whole[ended * STEPS :]


class Save(lightning.Callback):
    """Saves a checkpoint before a batch is trained with, and ends the run."""

    def __init__(self, step, path):
        self.step, self.path = step, path

    def on_train_batch_start(self, trainer, *_):
        if trainer.fit_loop.total_batch_idx + 1 == self.step:
            trainer.save_checkpoint(self.path)
            raise KeyError("crash")


@both
@pytest.mark.parametrize("make", [make_loader, make_stream])
def test_a_batch_that_was_taken_and_not_trained_with_comes_again(tmp_path, as_module, make):
    for step in (1, 3, STEPS + 1, 2 * STEPS):
        path = tmp_path / f"{step}.ckpt"
        cut = fit(make, as_module, callbacks=[Save(step, path)]).steps
        assert cut + fit(make, as_module, ckpt_path=path).steps == truth(make)


@both
@pytest.mark.parametrize("mode", ["min_size", "max_size_cycle", "max_size"])
def test_two_loaders_of_different_lengths(tmp_path, as_module, mode):
    def combined():
        return CombinedLoader([make_loader(1, 14), make_loader(2)], mode)

    whole = fit(combined, as_module, max_epochs=2).steps
    long = [each for _, _, each in truth(lambda: make_loader(2), 2)]
    per_epoch = 3 if mode == "min_size" else STEPS
    assert [each[2][1] for each in whole] == [
        each for e in range(2) for each in long[e * STEPS :][:per_epoch]
    ]
    for stop in (2, per_epoch - 1, per_epoch, per_epoch + 1):
        path = tmp_path / f"{stop}.ckpt"
        cut = fit(combined, as_module, callbacks=[Stop(stop, path)], max_epochs=2).steps
        assert cut + fit(combined, as_module, ckpt_path=path, max_epochs=2).steps == whole


def test_the_repeated_loader_goes_on_where_it_was(tmp_path):
    def combined():
        return CombinedLoader([make_loader(1, 14), make_loader(2)], "max_size_cycle")

    whole = fit(combined, True).steps
    path = tmp_path / "4.ckpt"
    fit(combined, True, callbacks=[Stop(4, path)])
    assert fit(combined, True, ckpt_path=path).steps == whole[4:]
    saves = ModelCheckpoint(tmp_path, save_last=True)
    fit(combined, True, callbacks=[saves, Crash(2)], enable_checkpointing=True)
    assert fit(combined, True, ckpt_path=tmp_path / "last.ckpt").steps == whole[2 * STEPS :]


@pytest.mark.cell("Lightning", "evaluation counts")
@both
def test_each_record_is_evaluated_once(as_module):
    for run in ("validate", "test"):
        model, trainer = Model(), trainer_of()
        name = "val" if run == "validate" else run
        for _ in range(2):
            if as_module:
                getattr(trainer, run)(model, datamodule=DataModule(**{name: make_loader}))
            else:
                getattr(trainer, run)(model, make_loader())
        seen = model.tested or [x for each in model.validated for x in each[2]]
        assert seen == 2 * [x for each in truth(epochs=1) for x in each[2]]


class Writer(BasePredictionWriter):
    """Keeps which positions Lightning says that each prediction is of."""

    def __init__(self):
        super().__init__("batch_and_epoch")
        self.batches, self.epoch = [], None

    def write_on_batch_end(self, trainer, module, prediction, indices, batch, *_):
        self.batches.append((prediction.tolist(), list(indices)))

    def write_on_epoch_end(self, trainer, module, predictions, indices):
        self.epoch = indices


class OwnHook(Model):
    def predict_dataloader(self):
        return make_loader()


@pytest.mark.cell("Lightning", "evaluation counts")
@pytest.mark.parametrize("limit", [1.0, 2])
@pytest.mark.parametrize("way", ["loader", "module", "hook"])
def test_predictions_have_the_positions_of_their_records(way, limit):
    order = list(itertools.chain(*(each[2] for each in truth(epochs=1))))
    writer = Writer()
    trainer = trainer_of(callbacks=[writer], limit_predict_batches=limit)
    model, given = OwnHook() if way == "hook" else Model(), {}
    if way == "loader":
        given = {"dataloaders": make_loader()}
    elif way == "module":
        given = {"datamodule": DataModule(predict=make_loader)}
    made = trainer.predict(model, **given)
    records = order if limit == 1.0 else order[: 2 * BATCH]
    assert torch.cat(made).tolist() == [10 * i for i in records]
    assert [(values, [10 * order[p] for p in places]) for values, places in writer.batches] == [
        (values, values) for values, _ in writer.batches
    ]
    assert [p for batch in writer.epoch[0] for p in batch] == [*range(len(records))]


def test_a_stream_is_predicted():
    made = trainer_of().predict(Model(), make_stream())
    assert torch.cat(made).tolist() == [
        10 * x for each in truth(make_stream, 1) for x in each[2]
    ]


@pytest.mark.cell("Lightning", "accumulation")
@pytest.mark.parametrize("make", [make_loader, make_stream])
@pytest.mark.parametrize("every, updates", [(2, 3), (3, 2), (5, 1)])
def test_the_last_batch_of_an_epoch_steps_the_optimizer(make, every, updates):
    model = fit(make, True, accumulate_grad_batches=every)
    assert model.steps == truth(make) and model.updates == EPOCHS * updates


@both
def test_no_warning_is_false(monkeypatch, as_module):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    options = {"val": make_loader, "max_epochs": 1}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(as_module=as_module, **options)
    said = "".join(str(each.message) for each in caught)
    assert ("does not have many workers" in said) == (not as_module)
    assert "shuffling" not in said and "__len__" not in said


def test_a_state_is_saved_after_the_run(tmp_path):
    data, trainer = DataModule(train=make_loader), trainer_of(max_epochs=2)
    trainer.fit(Model(), datamodule=data)
    path = tmp_path / "end.ckpt"
    trainer.save_checkpoint(path)
    assert fit(as_module=True, ckpt_path=path).steps == truth()[2 * STEPS :]


def test_what_a_module_refuses():
    with pytest.raises(flow.Error, match="no Trainer"):
        DataModule(train=make_loader).train_dataloader()
    with pytest.raises(flow.Error, match=r"function train .* gave \[1, 2\]"):
        fit(lambda: {"a": make_loader(), "b": [1, 2]}, True)


def on_ranks(folder):
    """What a rank sees: in whole runs, after a step and an epoch of one process, and cut."""
    options = {"devices": 2, "strategy": "ddp"}
    whole = fit(as_module=True, val=make_loader, **options)
    after = [
        fit(lambda: make_loader(9), True, ckpt_path=f"{folder}/{name}.ckpt", **options).steps
        for name in ("step", "last")
    ]
    cut = fit(as_module=True, callbacks=[Stop(STEPS + 2, f"{folder}/two.ckpt")], **options).steps
    model, predicting = Model(), trainer_of(**options)
    predicted = predicting.predict(model, datamodule=DataModule(predict=make_loader))
    predicted = [(0, step, batch.tolist()) for step, batch in enumerate(predicted)]
    return whole.steps, whole.validated, *after, cut, predicted


@pytest.mark.cell("Lightning", "other world size")
@pytest.mark.cell("Lightning", "evaluation counts")
def test_two_ranks_have_the_records_of_one(tmp_path):
    saves = ModelCheckpoint(tmp_path, save_last=True)
    fit(callbacks=[Stop(STEPS + 3, tmp_path / "step.ckpt")])
    fit(as_module=True, callbacks=[saves, Crash(2)], enable_checkpointing=True)
    ranks = run_ranks(on_ranks, 2, tmp_path / "ranks", str(tmp_path), method="fork")
    whole, validated, step, last, cut, predicted = (
        [(*one[:2], one[2] + other[2]) for one, other in zip(*parts, strict=True)]
        for parts in zip(*ranks, strict=True)
    )
    assert whole == validated == truth()
    assert step == truth()[STEPS + 3 :] and last == truth()[2 * STEPS :]
    assert cut == truth()[: STEPS + 2]
    resumed = fit(lambda: make_loader(9), ckpt_path=tmp_path / "two.ckpt")
    assert resumed.steps == truth()[STEPS + 2 :]
    assert predicted == [(0, s, [10 * i for i in each]) for _, s, each in truth(epochs=1)]


def test_a_graph_that_was_made_before_the_process_group_is_refused(monkeypatch):
    loader = make_loader()
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda: 1)
    with pytest.raises(flow.Error, match=r"rank 1 of 2.* train_dataloader\(\)"):
        iter(loader)
    assert iter(make_loader())  # which is for rank 1 of 2


SCRIPT = """
import test_lightning as own
loader = own.make_loader()
own.trainer_of(devices=2, strategy="ddp").fit(own.Model(), loader)
"""


@pytest.mark.slow
def test_a_graph_that_was_made_before_fit_says_where_to_make_it(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    folders = [str(Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    ended = subprocess.run([sys.executable, path], env=environment, timeout=300,
                           capture_output=True, text=True)  # fmt: skip
    assert ended.returncode != 0
    assert "make the graph in each process, after the process group exists" in ended.stderr


def test_a_module_goes_to_processes_that_are_spawned():
    data = pickle.loads(pickle.dumps(DataModule(train=make_loader, val=in_order)))
    model = Model()
    trainer_of(max_epochs=1).fit(model, datamodule=data)
    assert model.steps == truth(epochs=1) and len(model.validated) == 3
