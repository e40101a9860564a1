import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
moved = flow.RandomAffine(image, degrees=[-10, 10], translate=[0.1, 0.1], seed=1)
print(moved.shape)

# (6, 8, 1)
