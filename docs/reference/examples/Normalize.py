import numpy as np
import pyflowdata as flow

image = np.full((2, 2, 3), 255, np.uint8)
x = flow.Normalize(image, mean=flow.IMAGENET_MEAN, std=flow.IMAGENET_STD)
print(x.shape, x.dtype, x[:, 0, 0].round(3))

# (3, 2, 2) float32 [2.249 2.429 2.64 ]
