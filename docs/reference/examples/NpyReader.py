import numpy as np
import pyflowdata as flow

np.save("x.npy", np.arange(6).reshape(3, 2))

x = flow.NpyReader(files="x.npy", batch_size=3, shuffle="global", seed=1)
with flow.DataLoader(x) as loader:
    for rows in loader:
        print(rows.dtype, rows.shape, sorted(rows[:, 0].tolist()))

# int64 (3, 2) [0, 2, 4]
