import numpy as np
import pyflowdata as flow

print(flow.Bucketize(np.array([3, 18, 40, 90]), boundaries=[18, 65]))

# [0 1 1 2]
