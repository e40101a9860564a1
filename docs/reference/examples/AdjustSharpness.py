import numpy as np
import pyflowdata as flow

image = np.array([[[100], [120]], [[140], [150]]], np.uint8)
print(flow.AdjustSharpness(image, factor=2.0).ravel())

# [100 120 140 150]
