import numpy as np
import pyflowdata as flow

image = np.zeros((20, 30, 3), np.uint8)
print(flow.SizeRatio(np.array([20, 30], np.int32), flow.Resize(image, size=[10, 60])))

# [0.5 2. ]
