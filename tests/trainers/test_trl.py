"""TRL's SFTTrainer trains on packs of documents that a TorchLoader gives."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install pyflowdata[torch]")
trl = pytest.importorskip("trl", reason="trl is not installed")
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader
from pyflowdata.integrations.transformers import LoaderMixin

from support.rank_processes import run_ranks
from support.trainer_truth import epochs_of

DOCUMENTS, LENGTH, BATCH, WORDS = 60, 32, 4, 100
EPOCHS = 3

pytestmark = pytest.mark.filterwarnings("ignore")  # of TRL's own


def documents():
    """Document i has tokens of its own: no two documents begin with the same four."""
    random = np.random.default_rng(5)
    for _ in range(DOCUMENTS):
        yield {"ids": random.integers(2, WORDS, random.integers(4, 20))}


def labels_of(ids, position_ids, loss_mask):
    """No padding, and no first token of a document: what is before it is another document."""
    return np.where(loss_mask & (position_ids > 0), ids, -100)


def make_blobs(*, seed=3, last="short", **ranks):
    source = flow.GeneratorReader([*documents()], fields=["ids:int64[?]"])
    packs = flow.Dataset({"ids": source}).pack(LENGTH, field="ids")
    fields = ("ids", "position_ids", "loss_mask")
    packs = packs.map(labels_of, *fields, outputs={"labels": f"int64[{LENGTH}]"})
    if seed is not None:
        packs = packs.shuffle(seed=seed)
    batch = packs.batch(BATCH, last=last, **ranks)
    ids, positions, labels = batch[["ids", "position_ids", "labels"]]
    positions = flow.Cast(positions, dtype="int64")
    return {"input_ids": ids, "position_ids": positions, "labels": labels}


def make_loader(**attrs):
    return TorchLoader(flow.DataLoader(make_blobs(**attrs)))


def orders(epochs, **attrs):
    """The packs of each step, by the NumPy loader."""
    loader = flow.DataLoader(make_blobs(rank=0, world_size=1, **attrs))
    return epochs_of(loader, epochs, lambda step: step["input_ids"].tolist())


def make_tokenizer():
    words = {"<pad>": 0, "<eos>": 1, **{f"w{i}": i for i in range(2, WORDS)}}
    made = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>"
    )


def make_model():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=WORDS, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
        num_attention_heads=2, max_position_embeddings=LENGTH, eos_token_id=1, pad_token_id=0,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


class SFTTrainer(LoaderMixin, trl.SFTTrainer):
    """Writes down the packs that the model gets."""

    def __init__(self, *args, **kwargs):
        self.seen, self.evaluated = [], []
        super().__init__(*args, **kwargs)

    def compute_loss(self, model, inputs, *args, **kwargs):
        seen = self.seen if self.model.training else self.evaluated
        seen.append(inputs["input_ids"].tolist())
        return super().compute_loss(model, inputs, *args, **kwargs)


class Stop(transformers.TrainerCallback):
    def __init__(self, step):
        self.step, self.at = step, []

    def on_step_end(self, args, state, control, **_):
        self.at.append(state.global_step)
        if state.global_step == self.step:
            control.should_save = control.should_training_stop = True


def train(folder, loader, *, resume=None, stop=None, evaluation=None, **args):
    arguments = trl.SFTConfig(
        output_dir=str(folder), use_cpu=True, bf16=False, report_to=[], disable_tqdm=True,
        num_train_epochs=EPOCHS, save_strategy="no", logging_steps=1000, learning_rate=0.01, **args,
    )  # fmt: skip
    trainer = SFTTrainer(
        model=make_model(), args=arguments, train_dataset=loader, eval_dataset=evaluation,
        processing_class=make_tokenizer(), callbacks=[Stop(stop)],
    )  # fmt: skip
    trainer.train(resume_from_checkpoint=resume)
    return trainer


@pytest.mark.cell("TRL", "fit")
def test_packs_of_an_epoch(tmp_path):
    with make_loader() as loader:
        trainer = train(tmp_path, loader)
        assert trainer.seen == sum(orders(EPOCHS), [])
        assert trainer.state.global_step == EPOCHS * len(loader)


def test_a_document_of_a_pack_does_not_see_the_others():
    model = make_model().eval()
    with make_loader(seed=None) as loader:
        batch = next(iter(loader))
    alone = [*documents()]
    inputs = {name: batch[name] for name in ("input_ids", "position_ids")}
    whole = model(**inputs, use_cache=False).logits  # as a trainer calls it
    checked = 0
    for row, (ids, positions) in enumerate(zip(batch["input_ids"], batch["position_ids"])):
        for begin in (positions == 0).nonzero().flatten().tolist():
            for document in (torch.from_numpy(each["ids"]) for each in alone):
                end = begin + len(document)
                if torch.equal(ids[begin:end], document):
                    logits = model(input_ids=document[None]).logits[0]
                    torch.testing.assert_close(whole[row, begin:end], logits)
                    checked += 1
    assert checked >= 2 * BATCH


def test_labels_are_the_tokens_that_a_document_tells():
    told = sorted(token for each in documents() for token in each["ids"][1:].tolist())
    with make_loader() as loader:
        labels = torch.cat([batch["labels"] for batch in loader])
    assert sorted(labels[labels != -100].tolist()) == told


@pytest.mark.cell("TRL", "mid-epoch resume")
@pytest.mark.cell("TRL", "epoch-end resume")
@pytest.mark.parametrize("steps", [2, "epoch", "epoch and 1"])
def test_resume_from_checkpoint(tmp_path, steps):
    whole = sum(orders(EPOCHS), [])
    with make_loader() as loader:
        stop = {"epoch": len(loader), "epoch and 1": len(loader) + 1}.get(steps, steps)
        first = train(tmp_path, loader, stop=stop)
        assert first.seen == whole[:stop]
    with make_loader(seed=8) as loader:
        second = train(tmp_path, loader, resume=True)
        assert second.seen == whole[stop:]
    with make_loader() as loader:
        uninterrupted = train(tmp_path / "uninterrupted", loader)
    for name, weight in uninterrupted.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], weight)


@pytest.mark.cell("TRL", "accumulation")
def test_accumulation_over_the_end_of_an_epoch(tmp_path):
    with make_loader() as loader:
        steps = len(loader)
        assert steps % 4
        trainer = train(tmp_path, loader, gradient_accumulation_steps=4)
        assert trainer.seen == sum(orders(EPOCHS), [])
        assert trainer.state.global_step == EPOCHS * -(-steps // 4)


@pytest.mark.cell("TRL", "evaluation counts")
def test_evaluation_takes_each_pack_once(tmp_path):
    with make_loader() as loader, make_loader(seed=None) as evaluation:
        trainer = train(
            tmp_path, loader, evaluation={"a": evaluation, "b": evaluation},
            eval_strategy="epoch", prediction_loss_only=True,
        )  # fmt: skip
        assert trainer.evaluated == 2 * EPOCHS * orders(1, seed=None)[0]
        assert trainer.seen == sum(orders(EPOCHS), [])


def run_two_ranks(folder):
    trainer = train(folder, make_loader(), resume=f"{folder}/checkpoint-2", stop=5)
    return trainer.seen


@pytest.mark.slow
@pytest.mark.cell("TRL", "other world size")
def test_two_ranks(tmp_path):
    whole = sum(orders(EPOCHS), [])
    with make_loader() as loader:
        assert train(tmp_path, loader, stop=2).seen == whole[:2]
    ranks = run_ranks(run_two_ranks, 2, tmp_path / "ranks", str(tmp_path))
    assert [zero + one for zero, one in zip(*ranks)] == whole[2:5]
    with make_loader() as loader:
        assert train(tmp_path, loader, resume=True).seen == whole[5:]
