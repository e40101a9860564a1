import numpy as np
import pyflowdata as flow

image = np.uint8([[[100], [120]], [[140], [150]]])
print(flow.Solarize(image, threshold=130).ravel())

# [100 120 115 105]
