import numpy as np
import pyflowdata as flow

points = np.float32([[2, 3], [12, 3], [12, 8]])              # x, y
print(flow.ObjectSegmentationPolygonFlip(points, np.int32([20, 30]), np.int8(1)).tolist())

# [[28.0, 3.0], [18.0, 3.0], [18.0, 8.0]]
