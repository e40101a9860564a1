import numpy as np
import pyflowdata as flow

print(flow.SlidingWindow(np.array([1, 2, 3, 4, 5]), width=3).tolist())
print(flow.SlidingWindow(np.array([1, 2, 3, 4, 5]), width=2, step=2).tolist())

# [[1, 2, 3], [2, 3, 4], [3, 4, 5]]
# [[1, 2], [3, 4]]
