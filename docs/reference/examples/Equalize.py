import numpy as np
import pyflowdata as flow

image = np.array([[[100], [120]], [[140], [150]]], np.uint8)
print(flow.Equalize(image).shape)

# (2, 2, 1)
