import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
out, scale = flow.ImageResizeToFixed(image, target_width=4, target_height=3, channels=1)
print(out.shape, scale)

# (3, 4, 1) [0.5 0.5]
