import numpy as np
import pyflowdata as flow

points = np.float32([[2, 3], [12, 3], [12, 8]])              # x, y
print(flow.ObjectSegmentationPolygonScale(points, np.float32([2, 0.5])).tolist())

# [[1.0, 6.0], [6.0, 6.0], [6.0, 16.0]]
