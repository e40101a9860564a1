import numpy as np
import pyflowdata as flow

points = np.float32([[0, 0], [4, 0], [4, 2], [0, 2]])
index = np.int32([[point, 0, 0] for point in range(4)])      # of one polygon, of one object
mask = flow.ObjectSegmentationPolygonToMask(points, index, np.int32([3, 5]), np.int32([7]))
print(mask[0].tolist())

# [[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
