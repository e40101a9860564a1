import numpy as np
import pyflowdata as flow

np.arange(10, dtype=np.uint16).tofile("train.bin")

tokens = flow.GPTReader(files="train.bin", file_dtype="uint16", seq_length=3, batch_size=2)
with flow.DataLoader(tokens) as loader:
    for windows in loader:
        print(windows.tolist())

# [[0, 1, 2, 3], [3, 4, 5, 6]]
# [[6, 7, 8, 9]]
