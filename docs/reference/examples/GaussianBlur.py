import numpy as np
import pyflowdata as flow

image = np.zeros((5, 5, 1), np.uint8)
image[2, 2] = 255
print(flow.GaussianBlur(image, kernel_size=[3, 3], sigma=[1, 1])[1:4, 1:4, 0].tolist())

# [[19, 32, 19], [32, 52, 32], [19, 32, 19]]
