import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(image.shape, flow.HWC2CHW(image).shape)

# (6, 8, 1) (1, 6, 8)
