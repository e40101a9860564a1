import numpy as np
import pyflowdata as flow

file = flow.ImageEncoder(np.full((40, 60, 3), 99, np.uint8), format="png")
image = flow.ImageDecoder(file)
print(image.shape, image.dtype, image[0, 0])
print(flow.ImageDecoder(file, color_space="GRAY").shape)

# (40, 60, 3) uint8 [99 99 99]
# (40, 60, 1)
