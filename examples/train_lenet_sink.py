"""MindSpore's example LeNet5 with its data sink and without: python examples/train_lenet_sink.py

The losses are the same in each step.  The digits are the 1797 of scikit-learn, in IDX files.
"""

import copy
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow
from pyflowdata.integrations.torch import TorchLoader, sink
from pyflowdata.io import IDXWriter

EPOCHS, device = 5, "cuda" if torch.cuda.is_available() else "cpu"
folder = tempfile.TemporaryDirectory()
digits = load_digits()
for name, array in (("images", digits.images * 255 / 16), ("labels", digits.target)):
    with IDXWriter(f"{folder.name}/{name}", dtype="uint8") as writer:
        writer.write_batch(array.astype(np.uint8))
data = flow.open(f"{folder.name}/images", labels=f"{folder.name}/labels").shuffle(seed=0)
image, label = data.batch(32, last="drop")[["images", "labels"]]
x = flow.Normalize(flow.Resize(image, size=(32, 32)), mean=0.1307, std=0.3081)
torch.manual_seed(0)
lenet = nn.Sequential(
    nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
)  # fmt: skip


def train(dataset_sink_mode: bool) -> list[torch.Tensor]:
    model = copy.deepcopy(lenet).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(batch: tuple[torch.Tensor, ...]) -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss.detach()

    with TorchLoader(flow.DataLoader(x, flow.Cast(label, dtype="int64")), device=device) as loader:
        if not dataset_sink_mode:
            return [step(batch) for _ in range(EPOCHS) for batch in loader]
        with sink(loader, step, sink_size=-1) as run:
            return [loss for _ in range(EPOCHS) for loss in run()]


plain, sunk = (torch.stack(train(mode)).view(EPOCHS, -1).double() for mode in (False, True))
for epoch, (one, other) in enumerate(zip(plain.mean(1), sunk.mean(1), strict=True)):
    print(f"epoch {epoch}: loss {one:.6f}, with sink {other:.6f}")
print(f"{plain.numel()} steps, largest difference of their losses: {(plain - sunk).abs().max():g}")
