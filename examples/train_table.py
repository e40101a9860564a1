"""Predicts fares from a table with dates, categories and gaps: python examples/train_table.py

It writes the CSV file.  All columns become float32 in C: no Python function is called for a record.
The model is linear, and is written out in NumPy; it needs a second.
"""

import sys
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow

CITIES, PRICES = ["Rome", "Oslo", "Paris", "Lima"], [0.0, 9.0, 4.0, -3.0]
folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "fares.csv"
chance = np.random.default_rng(0)
with open(file, "w") as out:
    print("day,city,km,fare", file=out)
    for _ in range(4000):
        day = date(2024, 1, 1) + timedelta(int(chance.integers(366)))
        city, far = chance.integers(4), chance.gamma(3, 4)
        fare = 3 + 1.5 * far + PRICES[city] + 5 * (day.weekday() > 4) + chance.normal()
        gap = chance.random() < 0.1
        print(f"{day},{CITIES[city]},{'' if gap else f'{far:.2f}'},{fare:.2f}", file=out)

train, test = flow.open(file).split([0.9, 0.1])
cities = flow.Vocabulary.fit(train, "city", unknown="<unknown>")
km = flow.Statistics.fit(train, "km", quantiles=[0.5])
print(train, cities, f"km: {km.mean[0]:.3f} on average, {km.missing[0]} gaps", sep="\n")


def open_loader(data: flow.Dataset) -> flow.DataLoader:
    batch = data.shuffle(seed=1).batch(100)
    weekday = flow.ParseDate(batch["day"], unit="weekday")
    city = flow.Lookup(batch["city"], vocabulary=cities)
    filled, gap = flow.FillMissing(batch["km"], value=km.median, with_missing=True)
    x = flow.Concat(
        flow.OneHot(weekday, depth=7), flow.OneHot(city, depth=len(cities)),
        flow.Affine(filled, **km.standardize()), flow.Cast(gap, dtype="float32"), axis=-1,
    )  # fmt: skip
    return flow.DataLoader(x, flow.Cast(batch["fare"], dtype="float32"))


with open_loader(train) as train_loader, open_loader(test) as test_loader:
    weights = np.zeros(7 + len(cities) + 2, np.float32)
    for epoch in range(5):
        for x, fare in train_loader:
            weights -= 0.1 * x.T @ (x @ weights - fare) / len(fare)
        error = np.concatenate([np.abs(x @ weights - fare) for x, fare in test_loader])
        print(f"epoch {epoch}: {np.median(error):.2f} off, the median of {len(error)} fares")
