import numpy as np
import pyflowdata as flow

image = np.arange(6 * 8, dtype=np.uint8).reshape(6, 8, 1) * 5
crop = flow.ImageRandomCrop(image, seed=1)
print(crop.shape[0] <= 6 and crop.shape[1] <= 8)

# True
