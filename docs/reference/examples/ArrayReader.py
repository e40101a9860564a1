import numpy as np
import pyflowdata as flow

data = flow.from_arrays({"x": np.arange(6).reshape(3, 2)})   # makes ArrayReaders
print(len(data), data[1]["x"])
with flow.DataLoader(data.batch(2).blobs) as loader:
    print([batch["x"].tolist() for batch in loader])

# 3 [2 3]
# [[[0, 1], [2, 3]], [[4, 5]]]
