import numpy as np
import pyflowdata as flow

image = np.uint8([[[100], [120]], [[140], [150]]])
print(flow.AdjustSharpness(image, factor=2.0).ravel())

# [100 120 140 150]
