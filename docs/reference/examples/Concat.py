import numpy as np
import pyflowdata as flow

print(flow.Concat(np.array([1, 2], np.float32), np.array([3], np.float32)))

# [1. 2. 3.]
