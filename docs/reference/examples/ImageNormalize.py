import numpy as np
import pyflowdata as flow

image = np.full((2, 2, 3), 192, np.float32)
print(flow.ImageNormalize(image, mean=[128, 128, 128], std=[64, 64, 64])[0, 0])

# [1. 1. 1.]
