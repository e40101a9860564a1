import numpy as np
import pyflowdata as flow

rows, labels = [np.zeros(2, np.float32), np.ones(2, np.float32)], flow.OneHot([0, 1], depth=2)
mixed, shares = flow.MixUp(rows, labels, seed=1)
print([row.shape for row in mixed], [round(float(row.sum()), 3) for row in shares])

# [(2,), (2,)] [1.0, 1.0]
