import numpy as np
import pyflowdata as flow

print(flow.Concat(np.float32([1, 2]), np.float32([3])))

# [1. 2. 3.]
