import numpy as np
import pyflowdata as flow

boxes = np.array([[2, 3, 11, 7]], np.float32)                          # left, top, right, bottom
print(flow.ObjectBboxScale(boxes, np.array([2, 0.5], np.float32)).tolist())

# [[1.0, 6.0, 5.5, 14.0]]
