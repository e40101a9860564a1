"""Trains a small language model on JSON lines, is stopped, and goes on: python examples/train_lm.py

Texts become tokens by a tokenizer that is trained here, and tokens become packs, in which each text
sees itself alone.  Two ranks share each batch: torchrun --nproc-per-node 2 examples/train_lm.py
"""

import json
import sys
import tempfile
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from torch import distributed, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

if flow.world().world_size > 1:
    distributed.init_process_group("gloo")
folder = Path((temporary := tempfile.TemporaryDirectory()).name)
texts = Path(__file__).resolve().parent.parent.joinpath("LICENSE").read_text().split("\n\n")
(folder / "docs.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator(texts, 400, special_tokens=["<eos>"], show_progress=False)
ids = flow.open(folder / "docs.jsonl").map(flow.Tokenize, tokenizer=tokenizer, eos="<eos>")
batch = ids.pack(64, field="ids").shuffle(seed=1).batch(8, last="drop")  # of all ranks


def train(begin: int, end: int) -> list[torch.Tensor]:
    """The weights after a step, from the checkpoint of an earlier one on."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(96, 4, 192, 0, batch_first=True)
    model = nn.ModuleList([nn.Embedding(400, 96), nn.Embedding(64, 96), layer, nn.Linear(96, 400)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    with TorchLoader(flow.DataLoader(batch[["ids", "segment_ids", "position_ids"]])) as loader:
        parts = model, optimizer, loader
        for part, state in zip(parts, torch.load(folder / f"{begin}.pt") if begin else ()):
            part.load_state_dict(state)
        for step, (x, text, place) in zip(range(begin + 1, end + 1), loader.repeat()):
            mask = (text[:, :, None] != text[:, None]) | (place[:, :, None] < place[:, None])
            y = model[3](layer(model[0](x) + model[1](place), mask.repeat_interleave(4, 0)))
            own = (text[:, 1:] == text[:, :-1]) & (text[:, 1:] > 0)  # the next token is of the text
            loss = nn.CrossEntropyLoss(reduction="sum")(y[:, :-1][own], x[:, 1:][own].long()) / 500
            loss.backward()
            for each in (loss.data, *(one.grad for one in model.parameters())):
                if distributed.is_initialized():
                    distributed.all_reduce(each)
            optimizer.step()
            optimizer.zero_grad()
            if step % 15 == 0:
                torch.save([part.state_dict() for part in parts], folder / f"{step}.pt")
                print(f"step {step}: loss {loss:.2f}")
    return list(model.parameters())


whole, _ = train(0, 60), train(0, 40)  # the second run is stopped, and goes on after step 30
print("the same weights:", all(map(torch.equal, train(30, 60), whole)))
