import numpy as np
import pyflowdata as flow

image = np.uint8([[[100], [120]], [[140], [150]]])
print(flow.Invert(image).ravel())

# [155 135 115 105]
