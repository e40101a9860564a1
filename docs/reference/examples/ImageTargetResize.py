import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
out, size, scale = flow.ImageTargetResize(image, target_size=12, max_size=20)
print(out.shape, size, scale)

# (12, 16, 1) [12 16] [2. 2.]
