import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(flow.RandomRotation(image, degrees=[-10, 10], seed=1).shape)

# (6, 8, 1)
