import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(flow.RandomResizedCrop(image, size=[4, 4], seed=1).shape)

# (4, 4, 1)
