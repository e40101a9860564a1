import numpy as np
import pyflowdata as flow

print([int(one) for one in flow.RowLength([np.int64([1, 2, 3]), np.int64([4])])])

# [3, 1]
