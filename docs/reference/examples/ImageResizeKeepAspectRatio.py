import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
out, size, scale = flow.ImageResizeKeepAspectRatio(image, target_size=12)
print(out.shape, size, scale)

# (12, 16, 1) [12 16] [2. 2.]
