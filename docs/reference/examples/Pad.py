import numpy as np
import pyflowdata as flow

rows = [np.array([1, 2, 3], np.int64), np.array([4], np.int64)]
out, mask = flow.Pad(rows, shape=[4], value=-1, with_mask=True)
print([row.tolist() for row in out])
print([row.tolist() for row in mask])

# [[1, 2, 3, -1], [4, -1, -1, -1]]
# [[True, True, True, False], [True, False, False, False]]
