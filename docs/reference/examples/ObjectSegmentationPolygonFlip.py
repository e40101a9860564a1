import numpy as np
import pyflowdata as flow

points = np.array([[2, 3], [12, 3], [12, 8]], np.float32)              # x, y
print(flow.ObjectSegmentationPolygonFlip(points, np.array([20, 30], np.int32), np.int8(1)).tolist())

# [[28.0, 3.0], [18.0, 3.0], [18.0, 8.0]]
