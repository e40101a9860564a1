"""Forecasts the next reading of a sensor, from windows of a table: python examples/train_series.py

It writes a CSV file with the readings of many sensors, one after another.  No window has readings
of two sensors.  The model has a weight for each of the last 12 readings, and is in NumPy.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # works without being installed
import pyflowdata as flow

SENSORS, PAST, EPOCHS, RATE = 60, 12, 4, 0.002

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "readings.csv"
chance = np.random.default_rng(0)
with open(file, "w") as out:
    print("sensor,value", file=out)
    for sensor in range(SENSORS):
        hours = np.arange(chance.integers(20, 200)) + chance.uniform(0, 24)
        noise = chance.normal(0, 0.1, len(hours))
        for value in np.sin(2 * np.pi * hours / 24) + noise:
            print(f"{sensor},{value:.4f}", file=out)

readings = flow.open(file, fields=["sensor:int64", "value:float32"])
train, test = readings.split([0.8, 0.2], by="sensor")
print(readings, [len(part) for part in (train, test)], sep="\n")

windows = train.windows(PAST + 1, step=1, key="sensor")
print(windows, windows[0]["value"].shape, sep="\n")
sizes = [len(group["value"]) for group in test.group_by("sensor")]
print(f"{len(sizes)} sensors for the test, with {min(sizes)} to {max(sizes)} readings")

weights = np.zeros(PAST)
with (
    flow.DataLoader(windows.shuffle(seed=1).batch(32)["value"]) as loader,
    flow.DataLoader(test.windows(PAST + 1, step=1, key="sensor").batch(256)["value"]) as held_out,
):
    for epoch in range(EPOCHS):
        for batch in loader:  # (32, 13): the past, and the value to forecast
            past, following = batch[:, :-1], batch[:, -1]
            error = past @ weights - following
            weights -= RATE * past.T @ error / len(batch)
        squares = [(batch[:, :-1] @ weights - batch[:, -1]) ** 2 for batch in held_out]
        print(f"epoch {epoch}: root mean square error {np.concatenate(squares).mean() ** 0.5:.3f}")
