"""Trains a small transformer on windows of a flat file of tokens: python examples/train_tokens.py

The tokens are the bytes of this project's LICENSE; a file that nanoGPT or Megatron-LM wrote is read
in the same way.  The loss falls from that of guessing, log(128) = 4.85, to below 2 in some seconds.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader
from pyflowdata.io import RawWriter

LENGTH, WIDTH, EPOCHS = 32, 64, 8

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "train.bin"
with RawWriter(file, dtype="uint16", shape=[]) as writer:
    writer.write_batch(np.frombuffer((ROOT / "LICENSE").read_bytes(), np.uint8).astype(np.uint16))


class Transformer(nn.Module):
    """Predicts the next token from the tokens before it."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(128, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, 0, batch_first=True)
        self.layers, self.out = nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, 128)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.token(ids) + self.place.weight
        return self.out(self.layers(x, self.mask, is_causal=True))


torch.manual_seed(0)
torch.set_num_threads(1)
model = Transformer()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.003)
tokens = flow.GPTReader(files=file, file_dtype="uint16", seq_length=LENGTH, batch_size=8,
                        shuffle=True, seed=1)  # fmt: skip
with TorchLoader(flow.DataLoader(tokens)) as loader:
    for epoch in range(EPOCHS):
        losses = []
        for window in loader:  # int64 (8, 33): inputs and, one place later, targets
            loss = nn.functional.cross_entropy(model(window[:, :-1]).mT, window[:, 1:])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch}: loss {np.mean(losses):.2f} over {len(losses)} batches")
