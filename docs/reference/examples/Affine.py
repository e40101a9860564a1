import numpy as np
import pyflowdata as flow

pixels = np.array([0, 51, 255], np.uint8)
print(flow.Affine(pixels, scale=1 / 255, dtype="float32"))

# [0.  0.2 1. ]
