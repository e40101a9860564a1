import numpy as np
import pyflowdata as flow

np.arange(6, dtype="<f4").tofile("part-0")

row = flow.RawReader(".", dtype="float32", shape=[2], batch_size=3)
with flow.DataLoader(row) as loader:
    for rows in loader:
        print(rows.tolist())

# [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
