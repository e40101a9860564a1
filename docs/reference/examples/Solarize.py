import numpy as np
import pyflowdata as flow

image = np.array([[[100], [120]], [[140], [150]]], np.uint8)
print(flow.Solarize(image, threshold=130).ravel())

# [100 120 115 105]
