"""transformers.Trainer trains on a TorchLoader: the rows of each step, resumes and metrics."""

import dataclasses
import itertools
import json
import random
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")

import pyflowdata as flow
from pyflowdata.integrations.torch import DataLoader, TorchLoader
from pyflowdata.integrations.transformers import (
    _IGNORED_ARGUMENTS,
    LoaderMixin,
    LoaderStateCallback,
)

from support.rank_processes import run_ranks
from support.trainer_truth import epochs_of

RECORDS, BATCH, STEPS = 62, 6, 11  # the last batch has 2 rows
LENGTH = 4

pytestmark = pytest.mark.filterwarnings("ignore")  # of transformers' own


def tokens():
    """Row i begins with i."""
    return (np.arange(RECORDS)[:, None] + 100 * np.arange(LENGTH)).astype(np.int64)


def make_loader(
    *, kind="shuffled", last="short", seed=3, batch_size=BATCH, records=RECORDS, **ranks
):
    if kind == "stream":
        ids = flow.GeneratorReader(
            lambda: iter(tokens()),
            fields=[f"input_ids:int64[{LENGTH}]"],
            batch_size=batch_size,
            **ranks,
        )
    else:
        data = flow.from_arrays({"ids": tokens()[:records]})
        if kind == "shuffled":
            data = data.shuffle(seed=seed)
        ids = data.batch(batch_size, last=last, **ranks)["ids"]
    return TorchLoader(flow.DataLoader({"input_ids": ids, "labels": ids}))


def orders(epochs, **attrs):
    """The records of each step of these epochs, by the NumPy loader."""
    loader = make_loader(rank=0, world_size=1, **attrs).loader
    return epochs_of(loader, epochs, lambda step: step["input_ids"][:, 0].tolist())


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return RECORDS

    def __getitem__(self, i):
        return {"input_ids": torch.from_numpy(tokens()[i]), "labels": i}


def make_data_loader(seed=3):
    return DataLoader(Rows(), BATCH, shuffle=True, seed=seed)


class Model(torch.nn.Module):
    """Writes down the records it gets; its loss and its logits tell which they were."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.seen = []

    def forward(self, input_ids, labels=None):
        if self.training:
            self.seen.append(input_ids[:, 0].tolist())
        rows = input_ids.float().mean(1, keepdim=True)
        loss = (self.weight * rows).mean() + input_ids[:, 0].float().mean()
        return {"loss": loss, "logits": rows}


class Trainer(LoaderMixin, transformers.Trainer):
    pass


class Windows(transformers.TrainerCallback):
    """How many batches the model had seen at each optimizer step; ends the run at one of them."""

    def __init__(self, model, stop=None):
        self.model, self.stop, self.at = model, stop, []

    def on_step_end(self, args, state, control, **_):
        self.at.append(len(self.model.seen))
        if state.global_step == self.stop:
            control.should_save = control.should_training_stop = True


def make_trainer(
    folder, loader, *, stop=None, evaluation=None, metrics=None, trainer=Trainer, **args
):
    model = Model()
    arguments = transformers.TrainingArguments(
        output_dir=str(folder), use_cpu=True, report_to=[], disable_tqdm=True, logging_steps=1000,
        **{"num_train_epochs": 3, "save_strategy": "no", **args},
    )  # fmt: skip
    windows = Windows(model, stop)
    made = trainer(
        model=model, args=arguments, train_dataset=loader, eval_dataset=evaluation,
        callbacks=[windows], compute_metrics=metrics,
    )  # fmt: skip
    return made, model, windows


def train(folder, loader, *, resume=None, **attrs):
    trainer, model, _ = make_trainer(folder, loader, **attrs)
    trainer.train(resume_from_checkpoint=resume)
    return model.seen


@pytest.mark.cell("transformers", "fit")
@pytest.mark.parametrize("epochs", [{"num_train_epochs": 2}, {"max_steps": STEPS + 4}])
def test_an_epoch_of_the_trainer_is_one_of_the_loader(tmp_path, epochs):
    with make_loader() as loader:
        trainer, model, windows = make_trainer(
            tmp_path, loader, include_num_input_tokens_seen="all", **epochs
        )
        trainer.train()
        steps = epochs.get("max_steps", 2 * STEPS)
        seen = sum(orders(2), [])[:steps]
        assert model.seen == seen and windows.at == [*range(1, steps + 1)]
        assert trainer.state.num_input_tokens_seen == LENGTH * sum(map(len, seen))


@pytest.mark.cell("transformers", "accumulation")
def test_accumulation_over_the_end_of_an_epoch(tmp_path):
    with make_loader() as loader:
        trainer, model, windows = make_trainer(tmp_path, loader, gradient_accumulation_steps=4)
        trainer.train()
        assert model.seen == sum(orders(3), [])
        assert windows.at == [epoch * STEPS + at for epoch in range(3) for at in (4, 8, 11)]
        assert trainer.state.epoch == 3.0


@pytest.mark.cell("transformers", "mid-epoch resume")
@pytest.mark.cell("transformers", "epoch-end resume")
@pytest.mark.parametrize("ignore_data_skip", [False, True])
@pytest.mark.parametrize("stop", [1, 5, STEPS, STEPS + 3])
def test_resume_from_checkpoint(tmp_path, stop, ignore_data_skip):
    whole = sum(orders(3), [])
    with make_loader() as loader:
        assert train(tmp_path, loader, stop=stop) == whole[:stop]
    with make_loader(seed=8) as loader:  # the seed is that of the run
        resumed = train(tmp_path, loader, resume=True, ignore_data_skip=ignore_data_skip)
        assert resumed == whole[stop:]


@pytest.mark.cell("transformers", "mid-epoch resume")
@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_resume_with_accumulation(tmp_path, stop):
    whole = sum(orders(3), [])
    with make_loader() as loader:
        trainer, model, windows = make_trainer(
            tmp_path, loader, stop=stop, gradient_accumulation_steps=4
        )
        trainer.train()
        done = len(model.seen)
        assert done == windows.at[-1] and model.seen == whole[:done]
    with make_loader() as loader:
        trainer, model, windows = make_trainer(tmp_path, loader, gradient_accumulation_steps=4)
        trainer.train(resume_from_checkpoint=True)
        assert model.seen == whole[done:]
        ends = [epoch * STEPS + at for epoch in range(3) for at in (4, 8, 11)]
        assert [done + at for at in windows.at] == ends[stop:]


def test_a_second_stop_in_the_same_epoch(tmp_path):
    whole = sum(orders(3), [])
    for begin, stop in itertools.pairwise((0, 3, 7, STEPS, STEPS + 1, 3 * STEPS)):
        with make_loader() as loader:
            seen = train(
                tmp_path, loader, resume=begin > 0, stop=stop,
                restore_callback_states_from_checkpoint=True,
            )  # fmt: skip
            assert seen == whole[begin:stop]


@pytest.mark.parametrize("ignore_data_skip", [False, True])
def test_resume_of_a_stream(tmp_path, ignore_data_skip):
    (whole,) = orders(1, kind="stream")
    for resume, stop in ((None, 4), (True, 9)):
        with make_loader(kind="stream") as loader:
            seen = train(
                tmp_path, loader, resume=resume, stop=stop, max_steps=9,
                ignore_data_skip=ignore_data_skip,
            )  # fmt: skip
            assert seen == (whole[4:9] if resume else whole[:4])


@pytest.mark.parametrize("stop", [4, STEPS, STEPS + 3])
def test_resume_of_a_data_loader_with_torchs_arguments(tmp_path, stop):
    with make_data_loader() as loader:
        whole = [step["input_ids"][:, 0].tolist() for _ in range(3) for step in loader]
    with make_data_loader() as loader:
        assert train(tmp_path, loader, stop=stop) == whole[:stop]
    with make_data_loader(seed=8) as loader:
        assert train(tmp_path, loader, resume=True) == whole[stop:]


class Drawn(Rows):
    """With a random number in each sample."""

    def __getitem__(self, i):
        return {"input_ids": torch.tensor([i + 100 * int(torch.randint(1000, ()))])}


class Stream(torch.utils.data.IterableDataset):
    """The same, in an order for each epoch that it is told."""

    epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return RECORDS

    def __iter__(self):
        order = random.Random(self.epoch).sample(range(RECORDS), RECORDS)
        return (Drawn()[i] for i in order)


class Placed(Stream):
    """The same, in one order, with a state."""

    at = 0

    def __iter__(self):
        while self.at < RECORDS:
            self.at += 1
            yield Drawn()[self.at - 1]
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


def random_sampler(generator=None):
    return torch.utils.data.RandomSampler(Drawn(), generator=generator)


DATA_LOADERS = {
    "own order": lambda: DataLoader(Drawn(), BATCH, shuffle=True, seed=3),
    "sampler": lambda: DataLoader(
        Drawn(), BATCH, sampler=random_sampler(torch.Generator().manual_seed(8)), seed=3
    ),
    "sampler of the process": lambda: DataLoader(Drawn(), BATCH, sampler=random_sampler(), seed=3),
    "stream": lambda: DataLoader(Stream(), BATCH, seed=3),
    "stream with a state": lambda: DataLoader(Placed(), BATCH, seed=3),
}


@pytest.mark.cell("transformers", "mid-epoch resume")
@pytest.mark.parametrize("kind", DATA_LOADERS)
def test_several_resumes_of_a_data_loader(tmp_path, kind):
    """Order and random numbers are those of a run without a stop, also for accelerate's rest of an
    epoch, a DataLoader of torch."""
    with DATA_LOADERS[kind]() as loader:
        whole = train(tmp_path / "whole", loader)
    assert len(whole) == 3 * STEPS
    for begin, stop in itertools.pairwise((0, 4, 6, STEPS + 2, 3 * STEPS)):
        with DATA_LOADERS[kind]() as loader:
            seen = train(tmp_path, loader, resume=begin > 0, stop=stop)
            assert seen == whole[begin:stop]


def test_other_files_are_refused_on_resume(tmp_path):
    with make_loader() as loader:
        train(tmp_path, loader, stop=4)
    with make_loader(batch_size=4) as loader, pytest.raises(flow.Error, match="batch_size"):
        train(tmp_path, loader, resume=True)


class Plain(transformers.Trainer):
    """Without the mixin: the loader comes from get_train_dataloader."""

    def get_train_dataloader(self):
        return self.train_dataset


@pytest.mark.parametrize("with_state", [False, True])
def test_the_parts_work_without_the_mixin(tmp_path, with_state):
    whole = sum(orders(3), [])
    for begin, stop in ((0, 5), (5, 3 * STEPS)):
        with make_loader(seed=3) as loader:
            trainer, model, _ = make_trainer(tmp_path, loader, stop=stop, trainer=Plain)
            if with_state or begin:  # a checkpoint may be older than the callback
                trainer.add_callback(LoaderStateCallback())
            trainer.train(resume_from_checkpoint=begin > 0)
            assert model.seen == whole[begin:stop]
    state = json.loads((tmp_path / f"checkpoint-{3 * STEPS}" / "trainer_state.json").read_text())
    loader_state = state["stateful_callbacks"]["LoaderStateCallback"]["attributes"]["loader_state"]
    assert (loader_state["epoch"], loader_state["position"]) == (3, 0)


def test_resume_from_a_checkpoint_without_a_state_of_a_loader_that_was_used(tmp_path):
    whole = sum(orders(3), [])
    with make_loader() as loader:
        assert train(tmp_path, loader, stop=5, trainer=Plain) == whole[:5]
        assert train(tmp_path, loader, resume=True) == whole[5:]


@pytest.mark.cell("transformers", "evaluation counts")
@pytest.mark.parametrize("by_batch", [False, True])
def test_metrics_are_over_each_row_once(tmp_path, by_batch):
    rows = []

    def metrics(prediction, compute_result=True):
        rows.extend(np.asarray(prediction.label_ids)[:, 0].tolist())
        return {"rows": len(rows)} if compute_result else {}

    with make_loader() as loader, make_loader(kind="in order") as evaluation:
        trainer, model, _ = make_trainer(
            tmp_path, loader, evaluation={"a": evaluation, "b": evaluation}, metrics=metrics,
            batch_eval_metrics=by_batch, eval_strategy="steps", eval_steps=7, max_steps=14,
            per_device_eval_batch_size=3,
        )  # fmt: skip
        trainer.train()
        assert rows == 4 * [*range(RECORDS)]  # two sets, two times
        assert model.seen == sum(orders(2), [])[:14]
        del rows[:]
        with torch.no_grad():
            model.weight.zero_()
        answer = trainer.evaluate(evaluation)
        assert answer["eval_rows"] == RECORDS == len(rows)
        assert answer["eval_loss"] == pytest.approx(np.mean(np.arange(RECORDS)), rel=1e-6)
        assert trainer.args.per_device_eval_batch_size == 3
        del rows[:]
        predicted = trainer.predict(evaluation)
        if not by_batch:
            assert predicted.predictions[:, 0].tolist() == tokens().mean(1).tolist()
        assert rows == [*range(RECORDS)]


def test_arguments_without_effect_are_named(tmp_path):
    with make_loader() as loader:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            train(tmp_path, loader, max_steps=1, train_sampling_strategy="group_by_length",
                  dataloader_drop_last=True)  # fmt: skip
        (ours,) = (str(each.message) for each in said if "are ignored" in str(each.message))
        assert "dataloader_drop_last=True, train_sampling_strategy='group_by_length'" in ours


def test_the_arguments_without_effect_are_arguments():
    """An argument that transformers renames would not be named any more."""
    known = {field.name for field in dataclasses.fields(transformers.TrainingArguments)}
    assert set(_IGNORED_ARGUMENTS) <= known


def test_other_data_sets_stay_with_the_trainer(tmp_path):
    rows = [{"input_ids": row, "labels": row} for row in tokens()]
    trainer, model, _ = make_trainer(tmp_path, rows, evaluation=rows, num_train_epochs=1)
    trainer.train()
    assert sorted(sum(model.seen, [])) == [*range(RECORDS)]
    assert len(trainer.predict(rows).predictions) == RECORDS


# ---- Two ranks ----------------------------------------------------------------------------------


def run_two_ranks(folder):
    rows = []

    def metrics(prediction):
        rows.extend(np.asarray(prediction.label_ids)[:, 0].tolist())
        return {}

    loader = make_loader()
    evaluation = make_loader(kind="in order", last="pad")
    trainer, model, windows = make_trainer(
        folder, loader, evaluation=evaluation, metrics=metrics, stop=5, ddp_backend="gloo",
        gradient_accumulation_steps=2, per_device_train_batch_size=BATCH // 2,
    )  # fmt: skip
    trainer.train(resume_from_checkpoint=f"{folder}/checkpoint-2")
    trainer.evaluate()
    try:
        trainer.evaluate(make_loader(records=RECORDS - 1))
    except flow.InvalidArgumentError as error:
        refused = str(error)
    try:
        trainer.evaluate(DataLoader(torch.utils.data.Subset(Rows(), range(RECORDS - 1)), 4))
    except flow.InvalidArgumentError as error:
        uneven = str(error)
    return {
        "seen": model.seen, "at": windows.at, "rows": rows, "refused": refused, "uneven": uneven,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.cell("transformers", "other world size")
@pytest.mark.cell("transformers", "evaluation counts")
def test_two_ranks(tmp_path):
    whole = sum(orders(3), [])
    with make_loader() as loader:
        args = {"gradient_accumulation_steps": 2}
        assert train(tmp_path, loader, stop=2, **args) == whole[:4]
    ranks = run_ranks(run_two_ranks, 2, tmp_path / "ranks", str(tmp_path))
    assert [zero + one for zero, one in zip(*(rank["seen"] for rank in ranks))] == whole[4:10]
    for rank in ranks:
        assert rank["at"] == [2, 4, 6] and rank["rows"] == [*range(RECORDS)]
        assert "last='pad'" in rank["refused"]
        assert "5 of 8 rows, which 2 ranks cannot share evenly" in rank["uneven"]
    with make_loader() as loader:
        assert train(tmp_path, loader, resume=True, **args) == whole[10:]
