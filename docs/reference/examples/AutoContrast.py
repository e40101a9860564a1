import numpy as np
import pyflowdata as flow

image = np.uint8([[[100], [120]], [[140], [150]]])
print(flow.AutoContrast(image).ravel())

# [  0 102 204 255]
