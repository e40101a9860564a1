import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
changed = flow.RandAugment(image, seed=1)
print(changed.shape, changed.dtype)

# (6, 8, 1) uint8
