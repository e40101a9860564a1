import numpy as np
import pyflowdata as flow

points = np.array([[0, 0], [4, 0], [4, 2], [0, 2]], np.float32)
index = np.array([[point, 0, 0] for point in range(4)], np.int32)  # of one polygon, of one object
size, label = np.array([3, 5], np.int32), np.array([7], np.int32)
mask = flow.ObjectSegmentationPolygonToMask(points, index, size, label)
print(mask[0].tolist())

# [[1, 1, 1, 1, 0], [1, 1, 1, 1, 0], [0, 0, 0, 0, 0]]
