"""Trains a small language model on JSON lines, and goes on from where it was killed.

    python examples/train_lm.py --folder run
    torchrun --nproc-per-node 2 examples/train_lm.py --folder run    # two ranks share each batch

Texts become tokens by a tokenizer that is trained here, and tokens become packs, in which each text
sees itself alone.  The folder keeps the newest checkpoint, and a checksum of the tokens that a rank
saw in each step.
"""

import argparse
import json
import sys
import tempfile
import zlib
from pathlib import Path

import torch
from tokenizers import ByteLevelBPETokenizer
from torch import distributed, nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader

temporary = tempfile.TemporaryDirectory()
parser = argparse.ArgumentParser()
parser.add_argument("--folder", type=Path, default=temporary.name, help="of this run, may be new")
folder, world = parser.parse_args().folder, flow.world()
folder.mkdir(exist_ok=True)
if world.world_size > 1:
    distributed.init_process_group("gloo")
texts = Path(__file__).resolve().parent.parent.joinpath("LICENSE").read_text().split("\n\n")
docs = Path(temporary.name, "docs.jsonl")
docs.write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
tokenizer = ByteLevelBPETokenizer()
tokenizer.train_from_iterator(texts, 400, special_tokens=["<eos>"], show_progress=False)
ids = flow.open(docs).map(flow.Tokenize, tokenizer=tokenizer, eos="<eos>")
batch = ids.pack(64, field="ids").shuffle(seed=1).batch(8, last="drop")  # of all ranks

torch.manual_seed(0)
layer = nn.TransformerEncoderLayer(96, 4, 192, 0, batch_first=True)
model = nn.ModuleList([nn.Embedding(400, 96), nn.Embedding(64, 96), layer, nn.Linear(96, 400)])
optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
loader = TorchLoader(flow.DataLoader(batch[["ids", "segment_ids", "position_ids"]]))
done, parts = 0, {"model": model, "optimizer": optimizer, "loader": loader}
if (folder / "newest.pt").exists():
    saved = torch.load(folder / "newest.pt")  # by rank 0, for every rank
    done = saved["step"]
    for name, part in parts.items():
        part.load_state_dict(saved[name])
with loader, (folder / f"tokens-of-rank-{world.rank}.txt").open("a", buffering=1) as log:
    for step, (x, text, place) in zip(range(done + 1, 61), loader.repeat()):
        print(step, zlib.crc32(x.numpy()), file=log)
        mask = (text[:, :, None] != text[:, None]) | (place[:, :, None] < place[:, None])
        y = model[3](layer(model[0](x) + model[1](place), mask.repeat_interleave(4, 0)))
        own = (text[:, 1:] == text[:, :-1]) & (text[:, 1:] > 0)  # the next token is of the text
        loss = nn.CrossEntropyLoss(reduction="sum")(y[:, :-1][own], x[:, 1:][own].long()) / 500
        loss.backward()
        if world.world_size > 1:
            for each in (loss.data, *(one.grad for one in model.parameters())):
                distributed.all_reduce(each)
        optimizer.step()
        optimizer.zero_grad()
        if step % 15 == 0 and world.rank == 0:
            print(f"step {step}: loss {loss:.2f}", flush=True)
            states = {name: part.state_dict() for name, part in parts.items()}
            torch.save({"step": step, "loss": loss.item(), **states}, folder / "new.pt")
            (folder / "new.pt").replace(folder / "newest.pt")  # a kill leaves one of them whole
