import numpy as np
import pyflowdata as flow

points = np.array([[2, 3], [12, 3], [12, 8]], np.float32)              # x, y
print(flow.ObjectSegmentationPolygonScale(points, np.array([2, 0.5], np.float32)).tolist())

# [[1.0, 6.0], [6.0, 6.0], [6.0, 16.0]]
