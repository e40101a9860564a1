import numpy as np
import pyflowdata as flow

rows = [np.array([1, 2, 3], np.int64), np.array([4], np.int64)]
print([int(one) for one in flow.RowLength(rows)])

# [3, 1]
