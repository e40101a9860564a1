import numpy as np
import pyflowdata as flow

ids = np.array([7, 8], np.int32)
print(flow.AddToken(ids, token=101))
print(flow.AddToken(ids, token=102, begin=False))

# [101   7   8]
# [  7   8 102]
