import numpy as np
import pyflowdata as flow

image = np.full((8, 10, 3), 128, np.uint8)
x = flow.CropMirrorNormalize(image, crop_h=4, crop_w=4, mean=[128, 128, 128], std=[64, 64, 64])
print(x.shape, x.dtype, float(abs(x).max()))

# (3, 4, 4) float32 0.0
