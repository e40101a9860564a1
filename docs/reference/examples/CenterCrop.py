import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(flow.CenterCrop(image, size=[2, 2])[..., 0].tolist())
print(image[2:4, 3:5, 0].tolist())

# [[95, 100], [135, 140]]
# [[95, 100], [135, 140]]
