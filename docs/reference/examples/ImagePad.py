import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(flow.ImagePad(image, padding=[1, 2]).shape)

# (8, 12, 1)
