import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(flow.Resize(image, size=[3, 4]).shape)
print(flow.Resize(image, shorter=12).shape)

# (3, 4, 1)
# (12, 16, 1)
