import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
print(bool((flow.ImageFlip(image, np.int8(1)) == image[:, ::-1]).all()))

# True
