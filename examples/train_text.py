"""Tells good reviews from bad ones, a column of text in a CSV file: python examples/train_text.py

It writes the file.  Words become numbers by a hash; rows are padded to the longest of their batch.
The model has a weight for each word, and is written out in NumPy; it needs a second.
"""

import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow

WORDS, EPOCHS, RATE = 1 << 16, 6, 0.5
PRAISE = "a joy|brilliant|kind staff|lovely|well made|worth it|never dull|clean|loved it".split("|")
BLAME = "a waste|broken|rude staff|awful|badly made|too long|so dull|dirty|left early".split("|")

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "reviews.csv"
chance = np.random.default_rng(0)
with open(file, "w") as out:
    print("text,label", file=out)
    for label in chance.integers(0, 2, 4000):
        is_praise = chance.random(chance.integers(2, 12)) < (0.8 if label else 0.2)
        phrases = [chance.choice(PRAISE if each else BLAME) for each in is_praise]
        print(f'"{", ".join(phrases).capitalize()}!",{label}', file=out)


def tokenize(text: bytes) -> np.ndarray:
    """The words as numbers from 1; 0 is the padding."""
    words = text.lower().replace(b",", b" ").replace(b"!", b" ").split()
    return np.array([1 + zlib.crc32(word) % (WORDS - 1) for word in words], np.int32)


def open_loader(data: flow.Dataset) -> flow.DataLoader:
    batch = data.shuffle(seed=1).batch(100)
    return flow.DataLoader(flow.PadBatch(batch["ids"]), batch["label"])


data = flow.open(file).map(tokenize, "text", outputs={"ids": "int32[?]"})
train, test = data.split([0.9, 0.1])
print(data, data.head(1)[0]["text"], sep="\n")

weights = np.zeros(WORDS)
with open_loader(train) as train_loader, open_loader(test) as test_loader:
    for epoch in range(EPOCHS):
        loss = 0.0
        for ids, label in train_loader:  # ids: a row for each review, padded with 0
            share = (ids.dense > 0) / (ids.dense > 0).sum(1, keepdims=True)
            score = (weights[ids.dense] * share).sum(1)
            loss += np.log1p(np.exp(np.where(label, -score, score))).sum() / len(train)
            error = 1 / (1 + np.exp(-score)) - label
            np.add.at(weights, ids.dense, -RATE * error[:, None] * share)
        is_told = [(weights[ids.dense].sum(1) > 0) == label for ids, label in test_loader]
        told = np.concatenate(is_told)
        print(f"epoch {epoch}: loss {loss:.3f}, {told.mean():.1%} of {len(told)} reviews told")
