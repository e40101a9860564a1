import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
crop = flow.RandomCrop(image, size=[4, 4], seed=1)
print(crop.shape, bool((flow.RandomCrop(image, size=[4, 4], seed=1) == crop).all()))

# (4, 4, 1) True
