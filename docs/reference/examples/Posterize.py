import numpy as np
import pyflowdata as flow

image = np.array([[[100], [120]], [[140], [150]]], np.uint8)
print(flow.Posterize(image, bits=2).ravel())

# [ 64  64 128 128]
