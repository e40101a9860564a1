import numpy as np
import pyflowdata as flow

image = np.zeros((1, 3, 3), np.uint8)
image[0] = [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
print(flow.Grayscale(image).tolist())

# [[[76], [150], [29]]]
