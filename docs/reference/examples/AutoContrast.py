import numpy as np
import pyflowdata as flow

image = np.array([[[100], [120]], [[140], [150]]], np.uint8)
print(flow.AutoContrast(image).ravel())

# [  0 102 204 255]
