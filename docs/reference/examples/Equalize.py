import numpy as np
import pyflowdata as flow

image = np.uint8([[[100], [120]], [[140], [150]]])
print(flow.Equalize(image).shape)

# (2, 2, 1)
