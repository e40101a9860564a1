import numpy as np
import pyflowdata as flow

file = flow.ImageEncoder(np.zeros((40, 60, 3), np.uint8), format="png")
print(flow.ImageSize(file))

# [40 60]
