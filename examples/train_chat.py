"""Trains a small language model on the answers of chats: python examples/train_chat.py

Chats of JSON lines become tokens, and tokens become packs; only tokens of answers count in the
loss.  A second run is stopped, and goes on from its checkpoint.
"""

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from tokenizers import ByteLevelBPETokenizer
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

SPECIAL = ["<|end|>", "<|user|>", "<|assistant|>"]
USER, ASSISTANT = 1, 2  # numbers of these tokens


def chat(a: int) -> list[dict[str, str]]:
    """Two questions with their answers."""
    turns = []
    for b in (a % 7, a % 5):
        turns.append({"role": "user", "text": f"What is {a % 10} plus {b}?"})
        turns.append({"role": "assistant", "text": f"It is {a % 10 + b}."})
    return turns


def as_text(turns: bytes) -> str:
    return "".join(f"<|{one['role']}|>{one['text']}<|end|>" for one in json.loads(turns))


def is_answer(ids: np.ndarray) -> np.ndarray:
    """Which tokens the assistant has to say: the tokens after its mark, up to the end mark."""
    places = np.arange(len(ids))
    marks = np.maximum.accumulate(np.where((ids == USER) | (ids == ASSISTANT), places, 0))
    return (ids[marks] == ASSISTANT) & (marks < places)


folder = Path((temporary := tempfile.TemporaryDirectory()).name)
chats = [json.dumps({"turns": chat(a)}) for a in range(350)]
(folder / "chats.jsonl").write_text("\n".join(chats))
tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator(chats, 300, special_tokens=SPECIAL, show_progress=False)
turns = flow.open(folder / "chats.jsonl", fields=["turns:json"])
texts = turns.map(as_text, outputs={"text": "uint8[?]"})
ids = texts.map(flow.Tokenize, "text", tokenizer=tokenizer)
data = ids.map(is_answer, "ids", outputs={"is_answer": "bool[?]"})
batch = data.pack(128, field=["ids", "is_answer"]).shuffle(seed=1).batch(8, last="drop")


def train(begin: int, end: int) -> list[torch.Tensor]:
    """The weights after a step, from the checkpoint of an earlier one on."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, 0, batch_first=True)
    model = nn.ModuleList([nn.Embedding(300, 64), nn.Embedding(128, 64), layer, nn.Linear(64, 300)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    fields = ["ids", "is_answer", "segment_ids", "position_ids"]
    with TorchLoader(flow.DataLoader(batch[fields])) as loader:
        parts = model, optimizer, loader
        for part, state in zip(parts, torch.load(folder / f"{begin}.pt") if begin else ()):
            part.load_state_dict(state)
        for step, (x, answer, text, place) in zip(range(begin + 1, end + 1), loader.repeat()):
            mask = (text[:, :, None] != text[:, None]) | (place[:, :, None] < place[:, None])
            y = model[3](layer(model[0](x) + model[1](place), mask.repeat_interleave(4, 0)))
            said = answer[:, 1:]  # whether the next token counts; no answer begins a chat
            loss = nn.functional.cross_entropy(y[:, :-1][said], x[:, 1:][said].long())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if step % 20 == 0:
                torch.save([part.state_dict() for part in parts], folder / f"{step}.pt")
                print(f"step {step}: loss {loss:.2f} of {said.sum()} tokens of answers")
    return list(model.parameters())


whole, _ = train(0, 80), train(0, 50)  # the second run is stopped, and goes on after step 40
print("the same weights:", all(map(torch.equal, train(40, 80), whole)))
